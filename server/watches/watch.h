// One watch: what it is of, and what it has still to tell. It keeps no values: only which rows to look at again when there is room
// in its session's queue. So a slow client costs lists of ids and gets the newest values when it is back, and the simulation
// never waits. What it begins with, or becomes, is told as the world was when it was asked for, however long that takes; what changed
// meanwhile comes after it.
//
//   become, change    what it is of is another: whom that concerns is marked        server/watches/watch.cc
//   catch_up          what changed since its last turn: whom it concerns is marked  server/watches/watch.cc
//   send              the marked ones are told, as they are now                     server/watches/watch_sending.cc
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "registry/storage/flat_map.h"
#include "server/session/session.h"
#include "server/watches/byte_budget.h"
#include "server/watches/entity_set.h"
#include "server/watches/equal_rows.h"
#include "server/watches/recent_changes.h"
#include "server/watches/seen_world.h"
#include "server/watches/watch_asked.h"

namespace muster {

/// What of a watch others may read. Any thread.
struct WatchFigures {
  std::atomic<std::uint64_t> entities = 0;  ///< that it is of
  std::atomic<std::uint64_t> promises = 0;  ///< changes of it whose end was not told yet
  /// No value that it owes was found later than this, by the steady clock; 0: it owes none.
  std::atomic<std::uint64_t> owed_since_ns = 0;
  std::atomic<bool> is_open = false;  ///< once it has begun
};

/// One thread only. Memory: at most some hundred bytes for each entity that it is of, lists in open nodes included.
class Watch {
 public:
  /// What all watches share.
  struct Shared {
    SeenWorld& world;
    const RecentChanges& recent;
    EqualRows& equal_rows;
    bool is_alone = true;  ///< there is no other watch
  };
  /// Of nothing, until become().
  Watch(const Shared& shared, std::shared_ptr<Session> to, std::uint64_t request, std::uint64_t number,
        std::shared_ptr<WatchFigures> figures);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  Session& to() const noexcept { return *to_; }
  std::uint64_t request() const noexcept { return request_; }
  /// In the order they were opened.
  std::uint64_t number() const noexcept { return number_; }
  const WatchAsked& asked() const noexcept { return asked_; }

  // --- what it is of. What is still to be told is told as the world is now, whatever changes before it was.

  /// From now on it is of this; what is different is marked.
  void become(WatchAsked asked);
  /// Entities not for the whole world.
  void change(std::span<const Entity> add, std::span<const Entity> drop, std::span<const Entity> open,
              std::span<const Entity> close);
  /// A type that the registry has learned: watches of every component are of it too.
  void learn(TypeId component);
  /// Sends Following; when all that is marked then was told, Followed is sent under this request.
  void promise(std::uint64_t request);

  /// Whether it is of this entity.
  bool concerns(Entity e) const { return filtered_ ? shown_.contains(e) : asked_.world || scope_.contains(e); }
  /// Of the whole world without exception.
  bool is_of_everyone() const noexcept { return asked_.world && !filtered_; }
  /// How many that are.
  std::size_t entities() const;

  // --- what it tells

  /// The look up to which it knows what changed.
  std::uint64_t seen() const noexcept { return seen_; }
  /// Marks whom changes since its last turn concern. As for RecentChanges::each. Nothing where it still tells a state.
  void catch_up();
  /// Whether it still tells what it began with, or became.
  bool tells_state() const noexcept { return state_ != nullptr; }
  /// What is left of that is told as the world is when there is room for it: the state takes too much memory.
  void let_state_go() { state_.reset(); }
  /// How many are marked, some of them perhaps twice.
  std::size_t marks() const;
  /// Whether somebody is marked, or the client waits for the end of a state.
  bool pending() const { return marked() || owes_end_ || !promised_.empty(); }
  /// A slice, then as much as the session's queue and the watch's budget take while `time_is_left` says so. False: there was room,
  /// and no time.
  bool send(std::uint64_t steady_now_ns, const std::function<bool()>& time_is_left);
  /// Sends Watching; the state follows with send().
  void begin();

  // Of the turns and events of Watches.
  std::uint64_t due_ns = 0;
  std::uint64_t turned = 0;  ///< its last turn; turn_order.h
  ByteBudget budget;
  std::uint64_t event_sequence = 0;  ///< of the last event sent, or not sent and reported
  std::uint64_t lost_through = 0, lost = 0;
  std::uint64_t interval_ns() const {
    constexpr double never_ns = 1e18;  // thirty years
    return asked_.rate_max > 0
               ? static_cast<std::uint64_t>(std::min(1e9 / static_cast<double>(asked_.rate_max), never_ns))
               : 0;
  }

 private:
  struct Told {
    Entity parent;
    Text name;
  };
  class Frames;
  class Marking;

  bool marked() const { return !values_.empty() || !structure_.empty() || !gone_.empty() || !rows_.empty(); }
  const EntitySet& members() const { return filtered_ ? shown_ : scope_; }
  bool passes(const SeenKind& kind) const;
  bool passes(Entity e) const;
  /// Who is marked twice is marked once, where the marks may have become many: whoever does not read can change a watch again and again.
  void tidy();
  void mark(Entity e, std::span<const TypeId> components, bool structure);
  /// Of the world, and with the right components.
  void mark_everyone(std::span<const TypeId> components, bool structure);
  void mark_members(std::span<const TypeId> components, bool structure);
  void leave(Entity e);
  /// The client named it, and it is not alive: that is told.
  void mark_dead(Entity e, bool structure);
  /// Whether the client may have been told of it: of a watch that tells structure that is known, of others it is not.
  bool may_know(Entity e) const { return !asked_.structure || was_without_structure_ || told_.find(e) != nullptr; }
  /// Which entities are named is new, or how they are chosen: who is a member is found anew, and marked where that is different.
  /// Those who were members before have been told all but `added` components, and structure but where it is `structure_new`.
  void find_members(const EntitySet& before, bool was_everyone, std::span<const TypeId> added, bool structure_new);
  void change_entities(std::span<const Entity> add, std::span<const Entity> drop);
  void change_nodes(std::span<const Entity> open, std::span<const Entity> close);
  /// As it is told: as it was when a state was asked for, or as it is.
  const SeenState& world() const noexcept { return state_ ? *state_ : world_; }
  /// What changed until now is marked, and all that is marked is told as it is now.
  void hold_state();
  void publish() const;
  void add_scope(Entity e);
  void catch_up_members(std::uint64_t since);
  void catch_up_rows(std::uint64_t since);
  void catch_up_values(TypeId component, std::uint64_t since);
  /// Whether e belongs to the scope: it is named, or the scope has its parent and goes down.
  bool is_inside(Entity e) const;
  /// Scope, then what is shown of it: e came into it, or went.
  void flip(Entity e, bool inside);
  void reconsider(Entity e);
  template <class F>
  void each_child(Entity node, F&& f) const;

  struct Slice {
    std::size_t rows = 0, text_bytes = 0;
  };
  template <class Texts>
  Slice slice_of(std::span<const Entity> entities, std::size_t rows, Texts&& texts) const;
  template <class Texts, class Tell>
  bool tell_all(Frames& frames, std::vector<Entity>& list, std::size_t rows, Texts&& texts, Tell&& tell,
                std::size_t from = 0);
  bool send_gone(Frames& frames);
  bool send_structure(Frames& frames);
  void order_structure();
  bool send_rows(Frames& frames);
  bool send_values(Frames& frames);
  /// All of them were asked for their turn since the last time.
  void end_round(std::uint64_t now_ns);
  void send_name(Text name);
  void tell_structure(Frames& frames, Entity e);
  bool tell_values(Frames& frames, TypeId component, std::vector<Entity>& entities);
  void tell_equal_rows(Frames& frames, const SeenState::Column& column, std::span<const Entity> entities);
  bool tell_rows(BatchBuilder& out, Frames& frames, const SeenState::Column& column, std::span<const Entity> entities);

  const Shared& shared_;
  SeenWorld& world_;
  std::shared_ptr<const SeenState> state_;
  const RecentChanges& recent_;
  const std::shared_ptr<Session> to_;
  const std::uint64_t request_, number_;
  WatchAsked asked_;  // its lists of entities are empty: they are the sets here
  bool filtered_ = false;
  EntitySet named_;
  std::unordered_set<Entity> open_;
  EntitySet scope_;  // where not the whole world: whom it names, and those below
  EntitySet shown_;  // where filtered: who of these, or of the world, has the right components

  // Still to be told. Every list may name entities that died or changed again meanwhile: what is sent is what is true then.
  std::map<TypeId, std::vector<Entity>> values_;
  // Of these the next ones, in rounds: what changes all the time must not keep the others waiting.
  TypeId next_component_ = 0;
  Entity next_entity_;
  std::uint64_t round_ns_ = 0;  // when this one began
  std::vector<Entity> structure_;
  std::size_t structure_in_order_ = 0;  // where it is all of them: parents first, each there once
  std::vector<Entity> rows_;
  std::vector<Entity> gone_;  // are no members any more, or died
  std::size_t tidy_at_ = tidy_min;
  static constexpr std::size_t tidy_min = 4096;
  // In one block each: a watch of a large world ends at once.
  FlatMap<Entity, Told> told_;
  FlatMap<Entity, Entity> listed_;  // who was told as a child, and of whom
  std::vector<std::uint64_t> promised_;
  const std::shared_ptr<WatchFigures> figures_;
  bool was_without_structure_ = false;  // values of some may have been told that are not in told_
  bool owes_end_ = false;               // the last frame sent had flag more
  std::uint64_t seen_ = 0;              // look: what changed after it was not looked at yet
};

}  // namespace muster

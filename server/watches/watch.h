// Defines a watch, which has a scope and keeps track of the changes that it has not sent yet. A
// watch does not store values. It records only which rows to read again once its session's queue
// has room. For a slow client, the server therefore needs only the memory for lists of ids. The
// client receives the most recent values later, and the simulation never waits. The initial state,
// like the state after the watch is changed, is sent as of the time of the request, no matter how
// long sending takes. Later changes are sent afterwards.
//
//   become, change    the scope changes: affected entities are marked              server/watches/watch.cc
//   catch_up          changes since the last turn: affected entities are marked    server/watches/watch.cc
//   send              marked entities are sent with their current values           server/watches/watch_sending.cc
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
#include "server/mirror/recent_changes.h"
#include "server/mirror/seen_world.h"
#include "server/session/session.h"
#include "server/watches/byte_budget.h"
#include "server/watches/entity_set.h"
#include "server/watches/equal_rows.h"
#include "server/watches/watch_asked.h"

namespace muster {

/// Statistics about a watch. May be read by any thread.
struct WatchFigures {
  std::atomic<std::uint64_t> entities = 0;  ///< number of entities in the watch's scope

  /// Number of changes of the watch for which Followed has not been sent yet.
  std::atomic<std::uint64_t> promises = 0;

  /// Steady-clock time at which the oldest unsent value was found, or 0 if there is none.
  std::atomic<std::uint64_t> owed_since_ns = 0;
  std::atomic<bool> is_open = false;  ///< true after begin()
};

/// Must be used by only one thread. A watch uses at most a few hundred bytes per entity in its
/// scope, including the lists of open nodes.
class Watch {
 public:
  /// Objects shared by all watches.
  struct Shared {
    SeenWorld& world;
    const RecentChanges& recent;
    EqualRows& equal_rows;
    bool is_alone = true;  ///< true if there are no other watches
  };
  /// Creates a watch. Its scope is empty until become() is called.
  Watch(const Shared& shared, std::shared_ptr<Session> to, std::uint64_t request, std::uint64_t number,
        std::shared_ptr<WatchFigures> figures);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  Session& to() const noexcept { return *to_; }
  /// Returns the queue of the connection on which the watch was opened or resumed. If that
  /// connection has ended, the queue is closed, and the watch sends nothing until it is resumed.
  Outgoing& outgoing() const noexcept { return on_->outgoing; }
  /// Returns true if the connection has ended.
  bool is_paused() const noexcept { return outgoing().closed(); }
  std::uint64_t request() const noexcept { return request_; }
  /// Returns the watch's number. Watches are numbered in the order in which they are opened.
  std::uint64_t number() const noexcept { return number_; }
  const WatchAsked& asked() const noexcept { return asked_; }

  // --- scope. Unsent changes are sent with the values that are current at the time of sending.

  /// Replaces the scope and marks the differences.
  void become(WatchAsked asked);
  /// Adds and drops entities, and opens and closes nodes. Must not be called if the scope is the
  /// whole world.
  void change(std::span<const Entity> add, std::span<const Entity> drop, std::span<const Entity> open,
              std::span<const Entity> close);
  /// Replaces what the user may see, after a Look. Entities that are no longer visible are sent as
  /// destroyed, and others as new.
  void see(std::shared_ptr<const WatchSight> sight);
  /// If the watch covers every component, adds a component that the registry has newly learned.
  void learn(TypeId component);
  /// Sends Following immediately, and sends Followed for this request once all current marks have
  /// been sent.
  void promise(std::uint64_t request);

  /// Returns true if the entity is in the scope.
  bool concerns(Entity e) const { return filtered_ ? shown_.contains(e) : asked_.world || scope_.contains(e); }
  /// Returns true if the scope is the whole world without a filter.
  bool is_of_everyone() const noexcept { return asked_.world && !filtered_; }
  /// Returns the number of entities in the scope.
  std::size_t entities() const;

  // --- sending

  // --- resuming. While the watch is paused, it keeps its scope and no marks.

  /// Forgets everything that is marked, because the connection has ended.
  void pause();
  /// Continues on the session's current connection. Sends Resuming, and marks the rows that have
  /// changed since the client had the frame with this sequence. Returns false if that is not known;
  /// the watch must then be opened anew.
  bool resume(std::uint64_t sequence);
  /// Returns the number of the Look from which on the changes are needed to resume the watch.
  std::uint64_t needs_since() const noexcept { return done_.empty() ? seen_ : std::min(seen_, done_.front().look); }
  /// Gives up the states that need changes up to and including this Look.
  void give_up_before(std::uint64_t look) {
    std::erase_if(done_, [&](const Done& done) { return done.look < look; });
  }
  bool can_resume() const noexcept { return !done_.empty(); }
  const std::shared_ptr<WatchFigures>& figures() const noexcept { return figures_; }

  /// Returns the number of the most recent Look whose changes have been marked.
  std::uint64_t seen() const noexcept { return seen_; }
  /// Marks the entities in the scope that have changed since the watch's previous turn. Must be
  /// called at a point where RecentChanges::each may be called. Has no effect while a state is
  /// being sent.
  void catch_up();
  /// Returns true while the initial state, or the state after a change, is being sent.
  bool tells_state() const noexcept { return state_ != nullptr; }
  /// Releases the state that is being sent, because that state uses too much memory. The remaining
  /// entities are sent with current values.
  void let_state_go() { state_.reset(); }
  /// Returns the number of marks. An entity may be marked twice.
  std::size_t marks() const;
  /// Returns true if there are any marks, or if the client is waiting for the end of a state.
  bool pending() const { return marked() || owes_end_ || !promised_.empty(); }
  /// Sends one slice, and then continues while `time_is_left` returns true and both the session's
  /// queue and the watch's budget have room. Returns false if the time ran out first.
  bool send(std::uint64_t steady_now_ns, const std::function<bool()>& time_is_left);
  /// Sends Watching, or Resuming if the watch is opened anew for a session that was resumed. The
  /// state is then sent by send().
  void begin(bool resumed = false);

  // Used by WatchTurns for turns and events.
  std::uint64_t due_ns = 0;
  std::uint64_t turned = 0;       ///< number of the watch's most recent turn; see turn_order.h
  std::uint64_t frames_sent = 0;  ///< number of frames with a state or a part of one
  ByteBudget budget;
  /// Sequence number of the most recent event that was sent or reported as lost.
  std::uint64_t event_sequence = 0;
  std::uint64_t lost_through = 0, lost = 0;
  std::uint64_t interval_ns() const {
    constexpr double never_ns = 1e18;  // about thirty years
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
  /// Returns true if the entity is alive and the user may see it.
  bool is_there(Entity e) const { return is_there(e, asked_.sight.get()); }
  bool is_there(Entity e, const WatchSight* sight) const {
    return sight ? sight->places->sees(world(), e) : world().alive(e);
  }
  bool passes(const SeenKind& kind) const;
  bool passes(Entity e) const;
  /// Removes duplicate marks if there may be many of them. Duplicates can accumulate because a
  /// client can keep changing a watch even if it does not read.
  void tidy();
  void mark(Entity e, std::span<const TypeId> components, bool structure);
  /// Marks all entities of the world that pass the filter.
  void mark_everyone(std::span<const TypeId> components, bool structure);
  void mark_members(std::span<const TypeId> components, bool structure);
  void leave(Entity e);
  /// Marks a dead entity that the client has named, so that the entity's death is reported.
  void mark_dead(Entity e, bool structure);
  /// Returns true if the client may know the entity. The exact set of known entities is recorded
  /// only if the watch includes structure.
  bool may_know(Entity e) const {
    return !asked_.structure || was_without_structure_ || told_.find(e) != nullptr || uncertain_.contains(e);
  }
  /// Recomputes the members after the named entities or the filter have changed, and marks the
  /// differences. The client already has all components of earlier members, except those in
  /// `added`. Unless `structure_new` is true, the client also has the structure of those members.
  void find_members(const EntitySet& before, bool was_everyone, std::span<const TypeId> added, bool structure_new);
  void change_entities(std::span<const Entity> add, std::span<const Entity> drop);
  void change_nodes(std::span<const Entity> open, std::span<const Entity> close);
  /// Returns the state from which to send, which is the requested state while that state is being
  /// sent, and the current state otherwise.
  const SeenState& world() const noexcept { return state_ ? *state_ : world_; }
  /// Marks all changes so far, and keeps the current state, from which the changes are then sent.
  void hold_state();
  void publish() const;
  void add_scope(Entity e);
  void catch_up_members(std::uint64_t since);
  void catch_up_rows(std::uint64_t since);
  void catch_up_values(TypeId component, std::uint64_t since);
  /// Returns true if `e` is named, or if its parent is in the scope and the scope includes
  /// descendants.
  bool is_inside(Entity e) const;
  /// Updates scope_, and then shown_, after `e` has entered or left the scope.
  void flip(Entity e, bool inside);
  void reconsider(Entity e);
  void reconsider_with_descendants(Entity e);
  /// Returns the next sibling that the user may see, starting with `e`.
  Entity there_from(Entity e) const;
  void add_row(session::ChildRows& rows, Entity e, Entity parent);
  void mark_next_row(Entity hidden);
  /// Calls f for each child of a node. For a nil node, calls f for each root.
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
  /// Ends a round, after every component has had its turn.
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
  /// A state of the watch that was sent completely: the sequence of its last frame, and the Look up
  /// to which the client then had all changes.
  struct Done {
    std::uint64_t sequence, look;
    bool is_last = true;  // no later state with the same sequence was sent
  };
  /// Number of states from which a client may resume.
  static constexpr std::size_t done_max = 64;
  void note_done(std::uint64_t sequence);
  /// Notes that an entity has left the scope, or that it is no longer a child of an open node.
  void note_left(Entity e, bool is_row);
  void mark_missed(std::uint64_t since);
  void mark_again(Entity e, bool with_descendants);
  template <GeneratedType M>
  void tell(const M& message, std::uint32_t flags, std::uint64_t request) {
    BatchBuilder builder;
    session::append(builder, message);
    outgoing().watch_control(builder.bytes(), request, flags);
  }
  template <GeneratedType M>
  void tell(const M& message, std::uint32_t flags) {
    tell(message, flags, request_);
  }

  const std::shared_ptr<Session> to_;
  std::shared_ptr<Connection> on_;
  std::vector<Done> done_;  // in ascending order; empty if it cannot be resumed
  struct Gone {
    std::uint64_t look;
    Entity entity;
    bool is_row;
  };
  std::vector<Gone> left_;                // since the first of done_
  std::unordered_set<Entity> uncertain_;  // the client may know these, although told_ does not
  const std::uint64_t request_, number_;
  WatchAsked asked_;  // the request; its lists of entities are stored in the sets below
  bool filtered_ = false;
  EntitySet named_;
  std::unordered_set<Entity> open_;
  EntitySet scope_;  // named entities and their descendants; unused if the scope is the whole world
  EntitySet shown_;  // entities that pass the filter, if there is one

  // Unsent changes. The lists may contain entities that have since died or changed again. The
  // values sent are those at the time of sending.
  std::map<TypeId, std::vector<Entity>> values_;
  // The next component in values_. Components take turns, so that a component that changes
  // constantly does not delay the others.
  TypeId next_component_ = 0;
  Entity next_entity_;
  std::uint64_t round_ns_ = 0;  // start of the current round
  std::vector<Entity> structure_;
  // Number of entities that are sorted so that parents come first.
  std::size_t structure_in_order_ = 0;
  std::vector<Entity> rows_;
  std::vector<Entity> gone_;  // entities that have left the scope or died
  std::size_t tidy_at_ = tidy_min;
  static constexpr std::size_t tidy_min = 4096;
  // Each of these maps uses a single block of memory, so that a watch of a large world can be
  // destroyed quickly.
  FlatMap<Entity, Told> told_;
  FlatMap<Entity, Entity> listed_;            // children that were sent, mapped to their parents
  FlatMap<Entity, std::uint64_t> listed_as_;  // if places may be hidden: hashes of their rows
  std::vector<std::uint64_t> promised_;
  const std::shared_ptr<WatchFigures> figures_;
  // True if values may have been sent for entities not in told_.
  bool was_without_structure_ = false;
  bool owes_end_ = false;   // the last frame sent had the flag `more`
  std::uint64_t seen_ = 0;  // most recent Look whose changes have been marked
};

template <class F>
void Watch::each_child(Entity node, F&& f) const {
  if (node) {
    for (Entity child = world().first_child(node); child; child = world().next_sibling(child)) f(child);
    return;
  }
  world().each_chunk([&](const SeenState::Chunk& chunk) {
    if (chunk.depth == 0)
      for (const Entity e : *chunk.ids) f(e);
  });
}

}  // namespace muster

// The registry as one would write it to be sure: maps and vectors, one message after another. No batches, no chunks, no
// arena, no bound columns. It is written from the rules, and slow on purpose; the tests drive it beside the real one.
//
// One notion of batches is left: consecutive posts of one type are one input, so they share a sequence number, up to a number
// of bytes. A Run is such a list of messages.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "registry/delivery/input_sink.h"
#include "registry/handlers/changes.h"
#include "tests/model/naive/naive_handler.h"
#include "tests/model/naive/naive_messages.h"
#include "tests/model/naive/naive_template.h"

namespace naive {

enum class IdState : std::uint8_t { free, reserved, granted, alive };

struct Thing {
  std::uint32_t archetype = 0, depth = 0;
  Entity parent;
  std::vector<Entity> children;
  RowValues components;
};

struct Counters {
  std::uint64_t messages = 0, unhandled = 0, dead = 0, refused = 0, carried = 0, overtaken = 0, dropped = 0;
  friend bool operator==(const Counters&, const Counters&) = default;
};

struct Input {
  muster::Envelope envelope;
  Receipt receipt;
  std::vector<std::byte> bytes = {};  ///< of a registry's; the model has none
};

class Model {
 public:
  Model(const Types& types, std::uint64_t cascade_messages_max, std::uint64_t carried_messages_max);

  // --- inputs, as EntityRegistry has them ---
  Receipt push(Message message);
  void post(Message message);
  Receipt push_foreign(const Messages& batch, std::uint64_t session, std::uint64_t request);
  void post_foreign(const Messages& batch);
  void put(std::size_t lane, const Messages& batch, std::uint64_t request);
  /// These take spans of several batches, or of none; each batch as its namesake above takes one.
  Receipt push_several(const std::vector<Messages>& batches, std::uint64_t session, std::uint64_t request);
  void post_several(const std::vector<Messages>& batches);
  void put_several(std::size_t lane, const std::vector<Messages>& batches, std::uint64_t request);
  Receipt flush();
  Receipt advance(std::uint64_t ns);
  std::uint64_t post_later(std::uint64_t due_ns, Message inner);
  Text intern(std::string_view text);
  Entity create(Entity parent, std::string_view name, const RowValues& rows);
  std::vector<Entity> create_many(std::uint32_t count, const RowValues& rows);
  /// Nil where it was refused, or the template is unknown.
  Entity spawn(std::string_view what, const muster::SpawnOptions& options, const RowValues& root);
  Receipt merge(Entity top, std::string_view what, std::vector<Entity>* ids);
  Receipt define(std::shared_ptr<const TemplateSpec> spec);
  Receipt enable(std::string_view name, bool enabled);
  Entity grant(std::uint32_t count, std::uint64_t session);
  void return_grant(Entity first, std::uint32_t count);
  /// Returns the handler's number; 0 and nothing changed where the registry throws SetupError.
  std::uint64_t subscribe(Handler handler);
  /// Also one that was asked for inside a handler and waits for its turn.
  void unsubscribe(std::uint64_t ordinal);
  /// All values of a runtime component are gone, and new ones are there: `value` of each entity.
  void renew(TypeId runtime, bool first, const std::function<std::uint64_t(Entity)>& value);

  // --- state, open for comparison ---
  bool alive(Entity e) const;
  const Thing* find(Entity e) const;
  std::vector<Entity> row_order() const;
  Entity peek_id() const;
  Text name_of(Entity e) const;
  std::string text(Text text) const;
  Entity find_child(Entity parent, Text name) const;
  std::string path(Entity e) const;
  std::vector<Entity> ancestors(Entity e) const;  ///< nearest first
  std::vector<Entity> below(Entity e) const;      ///< e and all below it, pre-order
  bool waiting() const { return !cascade_.empty() || !posts_.empty(); }
  std::size_t posted() const { return posts_.size(); }
  std::size_t carried() const { return cascade_.size(); }
  /// The enabled ones, in order.
  std::vector<Handler*> handlers_of(TypeId message) const;
  bool subscribed(std::uint64_t ordinal) const { return handlers_.contains(ordinal); }
  /// Whether handlers wait for their turn to begin or to end.
  bool requests_wait() const;
  const std::map<Text, TemplateSpec>& templates() const { return templates_; }

  Counters counters;
  std::uint64_t now_ns = 0, sequence = 0, next_timer = 1, retired = 0;
  std::vector<std::uint32_t> generations{0};  ///< by index
  std::vector<IdState> states{IdState::free};
  std::deque<std::uint32_t> free_queue;
  std::vector<std::string> texts;
  std::vector<std::set<TypeId>> archetypes;                                     ///< by number
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Entity>> rows;  ///< (depth, archetype) -> row order
  std::map<std::pair<std::uint64_t, std::uint64_t>, Messages> timers;           ///< (due, id) -> what is due
  std::vector<std::pair<std::uint64_t, std::vector<std::pair<Messages, std::uint64_t>>>> lanes;  ///< session -> batches
  // What the managers of the tests hold (ledger.h).
  std::map<Entity, std::vector<std::pair<std::uint64_t, std::uint32_t>>> ledger;
  std::uint64_t next_instance = 1;
  std::vector<Entity> watched;
  std::vector<Entity> gone;                              ///< in the order of destruction; the test empties it
  std::vector<Input> inputs;                             ///< what an InputSink saw; the test empties it
  mutable std::map<std::string, std::uint64_t> covered;  ///< what happened, for the test to see that everything did

 private:
  friend class Outbox;
  friend class Spawner;
  struct Run {
    Messages messages;
    bool own = false;  ///< nothing is added to it
    std::size_t bytes = 0;
  };

  Receipt deliver_input(const Messages& run, muster::InputKind kind, std::uint64_t session, std::uint64_t request);
  Receipt deliver_posts();
  bool deliver_cascade();
  /// Before an input: what was carried over, then what was posted.
  void wait_over(bool ahead = false);
  /// Whether it goes before what a cut cascade carries over.
  bool is_ahead(const Message& message) const;
  /// Drops all but the oldest `kept` messages that wait, and the requests about handlers.
  void drop_carried(std::size_t kept);
  void deliver_carried();
  void claim(const Messages& batch);
  void claim_timers(const Messages& batch);
  Receipt input(const Messages& batch, std::uint64_t session, std::uint64_t request, bool ahead = false);

  void deliver(const Message& message, Receipt& receipt);
  void to_targets(const Message& message, const std::vector<Entity>& targets, Receipt& receipt);
  void to_world(const Message& message, Receipt& receipt);
  /// Takes a pass to its handlers entity by entity, each with its own copy. True if any was called.
  bool changed_pass(TypeId type, Bytes& payload);
  void builtin(const Message& message, Entity target, Receipt& receipt);
  Refusal builtin_world(const Message& message);
  void tree(const Message& message, Receipt& receipt);
  /// Sends a message of the registry's own to one entity's handlers.
  void tell(Entity target, TypeId type, const Bytes& payload);
  void tell_of_new(std::span<const Entity> fresh);
  bool matches(const Handler& handler, const Thing& thing) const;
  /// Whether some row of the entity's archetype may: of enableable components the archetype does not say who has them.
  bool may_match(const Handler& handler, const Thing& thing) const;
  bool call(Handler& handler, Entity self, Bytes& message);
  void follow(muster::ChangeKind kind, Entity e, TypeId component);
  void handlers_at(const Message& message, Entity target, const Bytes& payload);
  void request(const muster::HandlerRequest& request, Refusal& refusal);

  Refusal apply(const Message& message, Entity target);
  Refusal create(Entity e, const Message& message);
  Refusal check_rows(const RowValues& rows) const;
  Refusal set(Entity e, const Message& message);
  Refusal set_field(Entity e, const muster::SetField& message, const std::uint8_t* expected);
  Refusal remove(Entity e, TypeId component);
  Refusal reparent(Entity e, const muster::Reparent& message);
  Refusal rename(Entity e, const muster::Rename& message);
  void destroy(Entity e);
  /// A component that came, or was followed by a change, by merging.
  struct Merged {
    muster::ChangeKind kind;
    Entity entity;
    TypeId component;
  };
  Refusal define_template(const TemplateSpec& spec);
  Refusal spawn_trees(const muster::Spawn& how, const std::vector<Entity>& ids, const RowValues& root);
  void spawn_tree(const TemplateSpec& spec, const muster::Spawn& how, std::span<const Entity> ids,
                  const RowValues& root);
  Refusal merge_tree(const muster::MergeTemplate& how, const std::vector<Entity>& ids, std::vector<bool>& previously,
                     std::vector<Merged>& merged);
  void merge_node(const TemplateNode& node, const Flat& flat, std::span<const Entity> ids, Entity e,
                  std::vector<Merged>& merged);
  /// Makes the row of an entity that has everything but one, and hangs it under its parent.
  void bring(Entity e, Thing thing, Text name, Entity before);
  void give_up(std::span<const Entity> ids);
  bool fresh(Entity e) const { return in_state(e, IdState::reserved) || in_state(e, IdState::granted); }

  Entity reserve();
  void release(Entity e);
  bool in_state(Entity e, IdState state) const;
  std::uint32_t archetype_of(const std::set<TypeId>& types);
  void take_row(Entity e, const Thing& thing);
  void put_row(Entity e, Thing& thing);
  void move(Entity e, std::uint32_t depth);
  /// What becomes of a value that was handed over; `old` is what is there.
  Bytes stored(TypeId component, const Bytes& value, const Bytes* old = nullptr) const;
  Text keep_text(std::string_view text);
  bool knows(Text text) const;
  Text free_name(Entity parent, Text name);
  std::vector<Handler*> ordered(std::vector<Handler*> handlers, bool& contradiction) const;
  bool admit(Handler& handler);
  void end(std::uint64_t ordinal);

  const Types& types_;
  std::uint64_t cascade_messages_max_, carried_messages_max_;
  bool carries_ = false;  // the last call that went on with the cascade left messages
  bool resumed_ = false;  // a cut cascade was gone on with since the last input
  std::map<Entity, Thing> things_;
  std::map<std::uint64_t, std::string> text_by_hash_;
  std::deque<Run> posts_;
  bool posts_open_ = false;
  std::deque<Message> cascade_;
  std::map<Text, TemplateSpec> templates_;
  std::map<std::uint64_t, Handler> handlers_;
  std::map<std::uint64_t, Handler> kept_;  ///< asked for inside a handler, not begun yet
  std::set<std::uint64_t> ending_;         ///< of whom a handler asked that they end
  std::set<Text> disabled_;
  std::map<TypeId, std::vector<Handler*>> routes_;  ///< in order, disabled ones too
  std::uint64_t next_ordinal_ = 1;
};

}  // namespace naive

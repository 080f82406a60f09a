// The registry as one would write it to be sure: maps and vectors, one message after another. No batches, no chunks, no
// arena, no bound columns. It is written from the rules, and slow on purpose; the tests drive it beside the real one.
//
// One notion of batches is left: consecutive posts of one type are one input, so they share a sequence number. A Run is
// such a list of messages.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/batch.h"
#include "registry/changes.h"
#include "registry/handler.h"
#include "registry/input_sink.h"
#include "registry/receipt.h"
#include "schema/descriptor.h"
#include "schema/muster.h"

namespace naive {

using muster::Entity;
using muster::FieldId;
using muster::Receipt;
using muster::Refusal;
using muster::RefusalCode;
using muster::Text;
using muster::TypeId;
using Bytes = std::string;

template <class T>
Bytes bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
template <class T>
T as(const Bytes& bytes) {
  T value;
  std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof value);
  return value;
}
template <class T>
inline constexpr TypeId id_of = muster::TypeTraits<T>::id;

/// What the model must be told of a type; the test's own list, not the type table's.
struct KnownType {
  std::string name;
  bool component = false, tag = false;
  std::size_t size = 0;
  struct Spot {
    std::size_t offset, bytes;
  };
  std::map<FieldId, Spot> fields;
  std::function<bool(const Bytes&)> good;  ///< empty: every value is
};
using Types = std::map<TypeId, KnownType>;

using RowValues = std::map<TypeId, Bytes>;

struct Message {
  enum class To { one, span, world, line, later };
  To to = To::one;
  TypeId type = 0;
  std::vector<Entity> targets = {};  ///< one, line: exactly one
  std::uint64_t parts = 0;           ///< line: a mask of SubtreeParts
  Bytes payload = {};                ///< the message struct, or the FlatBuffer
  bool is_table = false;
  bool has_rows = false;
  RowValues rows = {};
  std::uint64_t due_ns = 0, timer = 0;  ///< later
  std::vector<Message> inner = {};      ///< later
};

/// Messages that are one input: see above.
using Messages = std::vector<Message>;
/// Whether the second may follow the first in one.
bool same_run(const Message& first, const Message& second);

class Model;
class Outbox;
class Spawner;
struct Call;

struct Term {
  TypeId type = 0;
  muster::Source source = muster::Source::self;
  muster::Presence presence = muster::Presence::required;
  bool value = true;
  TypeId anchor = 0;
};

struct Handler {
  std::string name = {};
  TypeId message = 0;
  std::vector<Term> terms = {};
  bool once = false;             ///< asks for no entity and no component: once per pass
  bool changes_message = false;  ///< takes Msg& or gives a Verdict
  int priority = 0;
  std::vector<std::string> before = {}, after = {};
  std::function<bool(const std::set<TypeId>&)> filter = {};
  std::function<bool()> on_begin = {};
  std::function<bool(Call&)> run = {};  ///< true: the message is consumed
  std::uint64_t ordinal = 0;
};

/// One call of a handler, with what its terms found.
struct Call {
  Model& model;
  Entity self;
  Bytes& message;
  std::vector<Bytes*> values;  ///< per term; null where absent, without value, or of a tag
  std::vector<bool> present;   ///< per term
  Outbox& out;
  Spawner& spawner;

  template <class T>
  T value(std::size_t term) const {
    return as<T>(*values[term]);
  }
  template <class T>
  const T* value_or_null(std::size_t term, T& room) const {
    if (!values[term]) return nullptr;
    room = as<T>(*values[term]);
    return &room;
  }
  template <class T>
  void write(std::size_t term, const T& value) {
    *values[term] = bytes_of(value);
  }
};

enum class IdState : std::uint8_t { free, reserved, granted, alive };

struct Thing {
  std::uint32_t archetype = 0, depth = 0;
  Entity parent;
  std::vector<Entity> children;
  RowValues components;
};

struct Counters {
  std::uint64_t messages = 0, unhandled = 0, dead = 0, refused = 0, carried = 0, overtaken = 0;
  friend bool operator==(const Counters&, const Counters&) = default;
};

struct Input {
  muster::Envelope envelope;
  Receipt receipt;
};

class Model {
 public:
  explicit Model(const Types& types, std::uint64_t cascade_messages_max);

  // --- inputs, as EntityRegistry has them ---
  Receipt push(Message message);
  void post(Message message);
  Receipt push_foreign(const Messages& batch, std::uint64_t author, std::uint64_t request);
  void post_foreign(const Messages& batch);
  void put(std::size_t lane, const Messages& batch, std::uint64_t request);
  Receipt flush();
  Receipt advance(std::uint64_t ns);
  std::uint64_t post_later(std::uint64_t due_ns, Message inner);
  Text intern(std::string_view text);
  Entity create(Entity parent, std::string_view name, const RowValues& rows);
  std::vector<Entity> create_many(std::uint32_t count, const RowValues& rows);
  Entity grant(std::uint32_t count, std::uint64_t author);
  void return_grant(Entity first, std::uint32_t count);
  /// Returns the handler's number; 0 and nothing changed where the registry throws SetupError.
  std::uint64_t subscribe(Handler handler);
  void unsubscribe(std::uint64_t ordinal);

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
  const std::vector<Handler*>& handlers_of(TypeId message) { return routes_[message]; }

  Counters counters;
  std::uint64_t now_ns = 0, sequence = 0, next_timer = 1, retired = 0;
  std::vector<std::uint32_t> generations{0};  ///< by index
  std::vector<IdState> states{IdState::free};
  std::deque<std::uint32_t> free_queue;
  std::vector<std::string> texts;
  std::vector<std::set<TypeId>> archetypes;                                     ///< by number
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Entity>> rows;  ///< (depth, archetype) -> row order
  std::map<std::pair<std::uint64_t, std::uint64_t>, Messages> timers;           ///< (due, id) -> what is due
  std::vector<std::pair<std::uint64_t, std::vector<std::pair<Messages, std::uint64_t>>>> lanes;  ///< author -> batches
  std::vector<Input> inputs;                     ///< what an InputSink saw; the test empties it
  std::map<std::string, std::uint64_t> covered;  ///< what happened, for the test to see that everything did

 private:
  friend class Outbox;
  friend class Spawner;
  struct Run {
    Messages messages;
    bool own = false;  ///< nothing is added to it
  };

  Receipt deliver_input(const Messages& run, muster::InputKind kind, std::uint64_t author, std::uint64_t request);
  Receipt deliver_posts();
  bool deliver_cascade();
  void deliver_carried();
  void claim(const Messages& batch);
  Receipt input(const Messages& batch, std::uint64_t author, std::uint64_t request);

  void deliver(const Message& message, Receipt& receipt);
  void to_targets(const Message& message, const std::vector<Entity>& targets, Receipt& receipt);
  void to_world(const Message& message, Receipt& receipt);
  void builtin(const Message& message, Entity target, Receipt& receipt);
  bool matches(const Handler& handler, const Thing& thing) const;
  bool call(Handler& handler, Entity self, Bytes& message);
  void follow(muster::ChangeKind kind, Entity e, TypeId component);
  void handlers_at(const Message& message, Entity target, const Bytes& payload);

  Refusal apply(const Message& message, Entity target);
  Refusal create(Entity e, const Message& message);
  Refusal check_rows(const RowValues& rows) const;
  Refusal set(Entity e, const Message& message);
  Refusal set_field(Entity e, const muster::SetField& message, const std::uint8_t* expected);
  Refusal remove(Entity e, TypeId component);
  Refusal reparent(Entity e, const muster::Reparent& message);
  Refusal rename(Entity e, const muster::Rename& message);
  void destroy(Entity e);

  Entity reserve();
  void release(Entity e);
  bool in_state(Entity e, IdState state) const;
  std::uint32_t archetype_of(const std::set<TypeId>& types);
  void take_row(Entity e, const Thing& thing);
  void put_row(Entity e, Thing& thing);
  void move(Entity e, std::uint32_t depth);
  Bytes stored(TypeId component, const Bytes& value) const;
  Text keep_text(std::string_view text);
  bool knows(Text text) const;
  Text free_name(Entity parent, Text name);
  std::vector<Handler*> ordered(std::vector<Handler*> handlers, bool& contradiction) const;

  const Types& types_;
  std::uint64_t cascade_messages_max_;
  std::map<Entity, Thing> things_;
  std::map<std::uint64_t, std::string> text_by_hash_;
  std::deque<Run> posts_;
  bool posts_open_ = false;
  std::deque<Message> cascade_;
  std::map<std::uint64_t, Handler> handlers_;
  std::map<TypeId, std::vector<Handler*>> routes_;
  std::uint64_t next_ordinal_ = 1;
};

// --- making messages ---

template <class M>
Message one(Entity target, const M& message) {
  return {.to = Message::To::one, .type = id_of<M>, .targets = {target}, .payload = bytes_of(message)};
}
template <class M>
Message span(std::span<const Entity> targets, const M& message) {
  return {.to = Message::To::span,
          .type = id_of<M>,
          .targets = {targets.begin(), targets.end()},
          .payload = bytes_of(message)};
}
template <class M>
Message world(const M& message) {
  return {.to = Message::To::world, .type = id_of<M>, .payload = bytes_of(message)};
}
template <class M>
Message line(Entity target, std::uint64_t parts, const M& message) {
  return {.to = Message::To::line, .type = id_of<M>, .targets = {target}, .parts = parts, .payload = bytes_of(message)};
}
inline Message later(std::uint64_t due_ns, std::uint64_t timer, Message inner) {
  Message made{.to = Message::To::later, .type = inner.type, .due_ns = due_ns, .timer = timer};
  made.inner.push_back(std::move(inner));
  return made;
}

/// The same words as muster::Outbox, so that a handler's body is written once for both.
class Outbox {
 public:
  explicit Outbox(Model& model) : model_(model) {}
  template <class M>
  void push(Entity target, const M& message) {
    add(one(target, message));
  }
  template <class M>
  void push(std::span<const Entity> targets, const M& message) {
    if (!targets.empty()) add(span(targets, message));
  }
  template <class M>
  void push(const M& message) {
    add(world(message));
  }
  template <class M>
  void push_subtree(Entity target, std::uint64_t parts, const M& message) {
    add(line(target, parts, message));
  }
  template <class M>
  std::uint64_t push_after(std::uint64_t delay_ns, Entity target, const M& message) {
    add(later(model_.now_ns + delay_ns, model_.next_timer, one(target, message)));
    return model_.next_timer++;
  }
  template <class M>
  std::uint64_t push_after(std::uint64_t delay_ns, const M& message) {
    add(later(model_.now_ns + delay_ns, model_.next_timer, world(message)));
    return model_.next_timer++;
  }
  void cancel(std::uint64_t timer) { add(world(muster::CancelTimer{.timer = timer})); }
  void destroy(Entity target) { add(one(target, muster::Destroy{})); }
  template <class... Cs>
  void set(Entity target, const Cs&... components) {
    Message made = one(target, muster::Set{});
    made.has_rows = true;
    (made.rows.emplace(id_of<Cs>, bytes_of(components)), ...);
    add(std::move(made));
  }
  template <class C>
  void remove(Entity target) {
    add(one(target, muster::Remove{.component = id_of<C>}));
  }
  void reparent(Entity target, Entity parent, Entity before = {}) {
    add(one(target, muster::Reparent{.parent = parent, .before = before}));
  }
  void rename(Entity target, std::string_view name) {
    add(one(target, muster::Rename{.name = model_.keep_text(name), .clash = muster::NameClash::suffix}));
  }
  std::uint64_t now_ns() const { return model_.now_ns; }

 private:
  void add(Message message) { model_.cascade_.push_back(std::move(message)); }
  Model& model_;
};

/// The same words as muster::Spawner.
class Spawner {
 public:
  explicit Spawner(Model& model) : model_(model) {}
  template <class... Cs>
  Entity create_under(Entity parent, std::string_view name, const Cs&... components) {
    const Entity made = model_.reserve();
    Message create =
        one(made, muster::Create{.parent = parent, .name = model_.keep_text(name), .clash = muster::NameClash::suffix});
    create.has_rows = true;
    (create.rows.emplace(id_of<Cs>, bytes_of(components)), ...);
    model_.cascade_.push_back(std::move(create));
    return made;
  }

 private:
  Model& model_;
};

}  // namespace naive

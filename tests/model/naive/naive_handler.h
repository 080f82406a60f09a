// A handler as the naive model has it, and what it is given: its terms' values, an Outbox and a Spawner that say the same
// words as the registry's.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "registry/apply/template.h"
#include "registry/handlers/handler.h"
#include "tests/model/naive/naive_messages.h"

namespace naive {

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
  std::size_t other_offset = 0;  ///< of the entity in the message that terms with source other mean
  bool once = false;             ///< asks for no entity and no component: once per pass
  bool changes_message = false;  ///< takes Msg& or gives a Verdict
  int priority = 0;
  std::vector<std::string> before = {}, after = {};
  std::function<bool(const std::set<TypeId>&)> filter = {};
  std::function<bool()> on_begin = {};
  std::function<bool(Call&)> run = {};  ///< true: the message is consumed
  std::uint64_t ordinal = 0;
};

/// A runtime component's value, of which there is one per process: that of the registry that was there from the beginning,
/// and of the one that was loaded last.
struct TwoValues {
  std::uint64_t first = 7, loaded = 7;
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

template <class... Cs>
RowValues rows_of(const Cs&... components) {
  RowValues made;
  (made.emplace(id_of<Cs>, bytes_of(components)), ...);
  return made;
}

class Outbox {
 public:
  explicit Outbox(Model& model) : model_(model) {}
  template <class M>
  void post(Entity target, const M& message) {
    add(one(target, message));
  }
  template <class M>
  void post(std::span<const Entity> targets, const M& message) {
    if (!targets.empty()) add(span(targets, message));
  }
  template <class M>
  void post(const M& message) {
    add(world(message));
  }
  template <class M>
  void post_subtree(Entity target, std::uint64_t parts, const M& message) {
    add(line(target, parts, message));
  }
  template <class M>
  std::uint64_t post_after(std::uint64_t delay_ns, Entity target, const M& message) {
    return add_later(delay_ns, one(target, message));
  }
  template <class M>
  std::uint64_t post_after(std::uint64_t delay_ns, const M& message) {
    return add_later(delay_ns, world(message));
  }
  void cancel(std::uint64_t timer) { add(world(muster::CancelTimer{.timer = timer})); }
  void destroy(Entity target) { add(one(target, muster::Destroy{})); }
  template <class... Cs>
  void set(Entity target, const Cs&... components) {
    Message made = one(target, muster::Set{});
    made.has_rows = true;
    made.rows = rows_of(components...);
    add(std::move(made));
  }
  template <class C>
  void remove(Entity target) {
    add(one(target, muster::Remove{.component = id_of<C>}));
  }
  void reparent(Entity target, Entity parent, Entity before = {}) {
    add(one(target, muster::Reparent{.parent = parent, .before = before}));
  }
  void rename(Entity target, std::string_view name);
  /// The handler's number; it begins when the request's turn comes.
  std::uint64_t subscribe(std::string name, Handler handler, int priority);
  void end(std::uint64_t ordinal);
  void set_handler_enabled(std::string_view name, bool enabled);
  std::uint64_t now_ns() const;

 private:
  void add(Message message);
  std::uint64_t add_later(std::uint64_t delay_ns, Message inner);
  Model& model_;
};

class Spawner {
 public:
  explicit Spawner(Model& model) : model_(model) {}
  template <class... Cs>
  Entity create_under(Entity parent, std::string_view name, const Cs&... components) {
    return create(parent, name, rows_of(components...));
  }
  template <class... Cs>
  Entity spawn(std::string_view what, const muster::SpawnOptions& options, const Cs&... root) {
    return spawn_rows(what, options, rows_of(root...));
  }

 private:
  Entity create(Entity parent, std::string_view name, RowValues rows);
  Entity spawn_rows(std::string_view what, const muster::SpawnOptions& options, RowValues rows);
  Model& model_;
};

}  // namespace naive

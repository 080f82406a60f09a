#include "tests/model/participant.h"

#include "messages/verifier.h"
#include "tests/model/trial_types.h"

namespace naive {

using namespace trial;

namespace {

/// The sets of components that the typed functions are called with.
template <class F, class... Cs>
bool try_rows(const RowValues& rows, F& f) {
  if (rows.size() != sizeof...(Cs) || !(rows.contains(id_of<Cs>) && ...)) return false;
  f(as<Cs>(rows.at(id_of<Cs>))...);
  return true;
}
template <class F>
void with_rows(const RowValues& rows, F&& f) {
  const bool found = try_rows<F>(rows, f) || try_rows<F, Life>(rows, f) || try_rows<F, Life, Armor>(rows, f) ||
                     try_rows<F, Place>(rows, f) || try_rows<F, Link, Tally>(rows, f) ||
                     try_rows<F, Flags, Life>(rows, f) || try_rows<F, Wide>(rows, f) || try_rows<F, Tally>(rows, f) ||
                     try_rows<F, Life, Tally, Link>(rows, f) || try_rows<F, Frozen>(rows, f) ||
                     try_rows<F, Frozen, Life, Marked>(rows, f) || try_rows<F, Place, Big, Marked>(rows, f) ||
                     try_rows<F, Armor, Flags, Wide, Tally>(rows, f) || try_rows<F, Place, Life, Tally>(rows, f);
  muster::require(found, "a set of components that the test does not know");
}

std::string show(Entity e) { return "#" + std::to_string(e.index) + ":" + std::to_string(e.generation); }

std::string show(const Receipt& r) {
  std::string text = "sequence " + std::to_string(r.sequence) + ", handled " + std::to_string(r.handled) +
                     ", unhandled " + std::to_string(r.unhandled) + ", dead " + std::to_string(r.dead) + ", refused " +
                     std::to_string(r.refused) + (r.cut_short ? ", cut short" : "");
  if (r.refused)
    text += " (" + std::string(muster::name(r.refusal.code)) + " " + show(r.refusal.entity) + " type " +
            std::to_string(r.refusal.type) + " field " + std::to_string(r.refusal.field) + ")";
  return text;
}

std::string hex(const Bytes& bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

}  // namespace

class Participant::Sink final : public muster::InputSink {
 public:
  explicit Sink(Participant& owner) : owner_(owner) {}
  void on_input(const muster::Envelope& envelope, std::span<const std::byte> batch) override {
    owner_.inputs.push_back({envelope, {}});
    if (batch.empty()) return;
    if (const auto good = muster::verify_batch(batch, owner_.registry.types()); !good)
      owner_.trouble = "input " + std::to_string(envelope.sequence) + " is no good batch: " + good.error().text;
  }
  void on_receipt(const muster::Envelope& envelope, const Receipt& receipt) override {
    if (owner_.inputs.empty() || owner_.inputs.back().envelope.sequence != envelope.sequence)
      owner_.trouble = "a receipt for another input than the last";
    else
      owner_.inputs.back().receipt = receipt;
  }

 private:
  Participant& owner_;
};

Participant::Participant(std::uint64_t cascade_messages_max)
    : registry({.cascade_messages_max = cascade_messages_max}), sink_(std::make_unique<Sink>(*this)) {
  registry.add_type<Life>();
  const auto added = registry.types().add_schema(
      std::as_bytes(muster::TypeTraits<foreign::Mana>::schema));  // by id only; no code here names its types
  muster::require(added.has_value(), "foreign.fbs cannot be added");
  registry.add_sink(*sink_);
  for (std::size_t lane = 0; lane < lane_count; ++lane) lanes_.push_back(registry.inbox().open_lane(lane_author(lane)));
}

Participant::~Participant() { registry.remove_sink(*sink_); }

Receipt Participant::push(const Message& message) {
  Receipt receipt;
  with_message(message.type, message.payload, [&](const auto& m) {
    switch (message.to) {
      case Message::To::one: receipt = registry.push(message.targets[0], m); break;
      case Message::To::span: receipt = registry.push(std::span<const Entity>(message.targets), m); break;
      case Message::To::world: receipt = registry.push(m); break;
      case Message::To::line: receipt = registry.push_subtree(message.targets[0], message.parts, m); break;
      case Message::To::later: break;
    }
  });
  return receipt;
}

void Participant::post(const Message& message) {
  with_message(message.type, message.payload, [&](const auto& m) {
    switch (message.to) {
      case Message::To::one: registry.post(message.targets[0], m); break;
      case Message::To::span: registry.post(std::span<const Entity>(message.targets), m); break;
      case Message::To::world: registry.post(m); break;
      case Message::To::line: registry.post_subtree(message.targets[0], message.parts, m); break;
      case Message::To::later: break;
    }
  });
}

Outcome Participant::perform(const Action& a, std::uint64_t slot) {
  active_recorder = &recorder;
  Outcome made;
  const auto bytes_of_batch = [&](muster::BatchBuilder& builder) {
    build(builder, a.batch, registry.types());
    if (builder.batches() != 1) made.error = "not one batch";
    const auto good = muster::verify_batch(builder.front().bytes(), registry.types());
    if (!good) made.error = "the verifier refused it: " + good.error().text;
    return builder.front().bytes();
  };
  switch (a.what) {
    case Do::push: made.receipt = push(a.message); break;
    case Do::post: post(a.message); break;
    case Do::post_later:
      with_message(a.message.type, a.message.payload, [&](const auto& m) {
        made.number = a.message.to == Message::To::world ? registry.post_at(a.number, m)
                                                         : registry.post_at(a.number, a.message.targets[0], m);
      });
      break;
    case Do::push_batch: {
      muster::BatchBuilder builder;
      made.receipt = registry.push_batch(bytes_of_batch(builder), a.author, a.request);
      break;
    }
    case Do::post_batch: {
      muster::BatchBuilder builder;
      registry.post_batch(bytes_of_batch(builder));
      break;
    }
    case Do::put: {
      muster::BatchBuilder builder;
      if (!lanes_[a.lane]->put(bytes_of_batch(builder), a.request)) made.error = "the lane is full";
      break;
    }
    case Do::flush: made.receipt = registry.flush(); break;
    case Do::advance: made.receipt = registry.advance(a.number); break;
    case Do::cancel: made.receipt = registry.cancel(a.number); break;
    case Do::create:
      with_rows(a.rows,
                [&](const auto&... cs) { made.made.push_back(registry.create_under(a.parent, a.text, cs...)); });
      break;
    case Do::create_many:
      with_rows(a.rows, [&](const auto&... cs) {
        made.made = registry.create_many(static_cast<std::uint32_t>(a.number), cs...);
      });
      break;
    case Do::destroy: made.receipt = registry.destroy(a.target); break;
    case Do::set: with_rows(a.rows, [&](const auto&... cs) { made.receipt = registry.set(a.target, cs...); }); break;
    case Do::remove: {
      bool known = false;
      each_component([&]<class T>() {
        if (id_of<T> != a.component) return;
        made.receipt = registry.remove<T>(a.target);
        known = true;
      });
      if (!known) made.receipt = registry.push(a.target, muster::Remove{.component = a.component});
      break;
    }
    case Do::reparent: made.receipt = registry.reparent(a.target, a.parent, a.before); break;
    case Do::rename: made.receipt = registry.rename(a.target, a.text); break;
    case Do::intern: made.number = registry.intern(a.text).hash; break;
    case Do::grant: made.made.push_back(registry.grant(static_cast<std::uint32_t>(a.number), a.author)); break;
    case Do::return_grant: registry.return_grant(a.target, static_cast<std::uint32_t>(a.number)); break;
    case Do::subscribe:
      try {
        subscriptions_[slot] = handler_kinds()[a.kind].install(registry, recorder, a.text, a.options);
        made.number = 1;
      } catch (const muster::SetupError&) {
        subscriptions_.erase(slot);
      }
      break;
    case Do::unsubscribe: subscriptions_.erase(a.number); break;
    case Do::reload: break;
  }
  return made;
}

void Participant::subscribe(const Subscribed& what) {
  subscriptions_[what.slot] = handler_kinds()[what.kind].install(registry, recorder, what.name, what.options);
}

StateRows Participant::save() const {
  StateRows rows;
  RowsSink sink(rows);
  registry.save(sink);
  muster::require(!sink.twice(), "a row was saved twice");
  return rows;
}

Outcome perform(Model& model, const Action& a) {
  Outcome made;
  switch (a.what) {
    case Do::push: made.receipt = model.push(a.message); break;
    case Do::post: model.post(a.message); break;
    case Do::post_later: made.number = model.post_later(a.number, a.message); break;
    case Do::push_batch: made.receipt = model.push_foreign(a.batch, a.author, a.request); break;
    case Do::post_batch: model.post_foreign(a.batch); break;
    case Do::put: model.put(a.lane, a.batch, a.request); break;
    case Do::flush: made.receipt = model.flush(); break;
    case Do::advance: made.receipt = model.advance(a.number); break;
    case Do::cancel: made.receipt = model.push(world(muster::CancelTimer{.timer = a.number})); break;
    case Do::create: made.made.push_back(model.create(a.parent, a.text, a.rows)); break;
    case Do::create_many: made.made = model.create_many(static_cast<std::uint32_t>(a.number), a.rows); break;
    case Do::destroy: made.receipt = model.push(one(a.target, muster::Destroy{})); break;
    case Do::set: {
      Message message = one(a.target, muster::Set{});
      message.has_rows = true;
      message.rows = a.rows;
      made.receipt = model.push(std::move(message));
      break;
    }
    case Do::remove: made.receipt = model.push(one(a.target, muster::Remove{.component = a.component})); break;
    case Do::reparent:
      made.receipt = model.push(one(a.target, muster::Reparent{.parent = a.parent, .before = a.before}));
      break;
    case Do::rename: {
      const Text name = model.intern(a.text);
      made.receipt = model.push(one(a.target, muster::Rename{.name = name}));
      break;
    }
    case Do::intern: made.number = model.intern(a.text).hash; break;
    case Do::grant: made.made.push_back(model.grant(static_cast<std::uint32_t>(a.number), a.author)); break;
    case Do::return_grant: model.return_grant(a.target, static_cast<std::uint32_t>(a.number)); break;
    case Do::subscribe:
    case Do::unsubscribe:
    case Do::reload: break;
  }
  return made;
}

// --- comparing

namespace {

std::string compare(const Receipt& expected, const Receipt& found) {
  const bool same = expected.sequence == found.sequence && expected.handled == found.handled &&
                    expected.unhandled == found.unhandled && expected.dead == found.dead &&
                    expected.refused == found.refused && expected.cut_short == found.cut_short &&
                    (expected.refused == 0 ||
                     (expected.refusal.code == found.refusal.code && expected.refusal.entity == found.refusal.entity &&
                      expected.refusal.type == found.refusal.type && expected.refusal.field == found.refusal.field));
  return same ? std::string() : "receipt: expected " + show(expected) + "; found " + show(found);
}

std::string show(const LogEntry& entry) {
  return entry.handler + " " + show(entry.self) + " message " + hex(entry.message) + " saw " +
         std::to_string(entry.seen);
}

template <class T>
std::string differ(const std::string& what, const T& expected, const T& found) {
  if (expected == found) return {};
  if constexpr (std::is_same_v<T, std::string>)
    return what + ": expected '" + expected + "', found '" + found + "'";
  else
    return what + ": expected " + std::to_string(expected) + ", found " + std::to_string(found);
}

}  // namespace

std::string compare(const Outcome& expected, const Outcome& found) {
  if (!found.error.empty()) return found.error;
  if (std::string difference = compare(expected.receipt, found.receipt); !difference.empty()) return difference;
  if (expected.number != found.number)
    return "expected " + std::to_string(expected.number) + ", found " + std::to_string(found.number);
  if (expected.made != found.made) {
    std::string text = "ids: expected";
    for (const Entity e : expected.made) text += " " + show(e);
    text += ", found";
    for (const Entity e : found.made) text += " " + show(e);
    return text;
  }
  return {};
}

std::string compare(const Recorder& expected, const Recorder& found) {
  // Calls of handlers with state are in one order; those of each handler without state in its own.
  const auto split = [](const Recorder& recorder) {
    std::map<std::string, std::vector<const LogEntry*>> streams;
    for (const LogEntry& entry : recorder.log) streams[entry.alone ? entry.handler : ""].push_back(&entry);
    return streams;
  };
  auto a = split(expected), b = split(found);
  for (const auto& [handler, entries] : b) a[handler];
  for (const auto& [handler, entries] : a) {
    const auto& others = b[handler];
    for (std::size_t i = 0; i < std::max(entries.size(), others.size()); ++i) {
      if (i >= entries.size()) return "call " + std::to_string(i) + " was not expected: " + show(*others[i]);
      if (i >= others.size()) return "call " + std::to_string(i) + " did not come: " + show(*entries[i]);
      if (*entries[i] != *others[i])
        return "call " + std::to_string(i) + ": expected " + show(*entries[i]) + "; found " + show(*others[i]);
    }
  }
  return {};
}

std::string compare(const std::vector<Input>& expected, const std::vector<Input>& found) {
  for (std::size_t i = 0; i < std::max(expected.size(), found.size()); ++i) {
    if (i >= expected.size()) return "input " + std::to_string(found[i].envelope.sequence) + " was not expected";
    if (i >= found.size()) return "input " + std::to_string(expected[i].envelope.sequence) + " did not reach the sink";
    const muster::Envelope &a = expected[i].envelope, &b = found[i].envelope;
    if (a.sequence != b.sequence || a.author != b.author || a.request != b.request || a.kind != b.kind)
      return "input: expected sequence " + std::to_string(a.sequence) + " author " + std::to_string(a.author) +
             " request " + std::to_string(a.request) + " kind " + std::to_string(static_cast<int>(a.kind)) +
             ", found sequence " + std::to_string(b.sequence) + " author " + std::to_string(b.author) + " request " +
             std::to_string(b.request) + " kind " + std::to_string(static_cast<int>(b.kind));
    Receipt one = expected[i].receipt;
    one.cut_short = found[i].receipt.cut_short;
    if (a.kind == muster::InputKind::flush) one = found[i].receipt;
    if (std::string difference = compare(one, found[i].receipt); !difference.empty())
      return "at the sink, input " + std::to_string(a.sequence) + ", " + difference;
  }
  return {};
}

std::string compare(const Model& model, const muster::EntityRegistry& registry) {
  std::string d;
  const auto number = [&](const char* what, std::uint64_t expected, std::uint64_t found) {
    if (d.empty()) d = differ(what, expected, found);
  };
  const auto entity = [&](const std::string& what, Entity expected, Entity found) {
    if (d.empty() && expected != found) d = what + ": expected " + show(expected) + ", found " + show(found);
  };

  // Rows in row order, with everything that is theirs.
  const std::vector<Entity> order = model.row_order();
  std::vector<Entity> found_order;
  registry.each_entity([&](Entity e) { found_order.push_back(e); });
  number("number of entities", order.size(), registry.entity_count());
  number("number of rows", order.size(), found_order.size());
  for (std::size_t i = 0; i < order.size() && d.empty(); ++i)
    entity("row " + std::to_string(i), order[i], found_order[i]);
  std::map<Entity, std::string> paths;
  for (std::size_t i = 0; i < order.size() && d.empty(); ++i) {
    const Entity e = order[i];
    const Thing& thing = *model.find(e);
    const std::string who = show(e) + " ";
    if (!registry.alive(e)) return who + "is not alive";
    std::vector<TypeId> types;
    for (const auto& [type, value] : thing.components) types.push_back(type);
    const auto found_types = registry.components(e);
    if (!std::ranges::equal(types, found_types)) return who + "has other components than it should";
    for (const auto& [type, value] : thing.components) {
      const std::byte* found = registry.find(e, type);
      if (!found) return who + "lacks the value of " + trial_types().at(type).name;
      const Bytes bytes(reinterpret_cast<const char*>(found), value.size());
      if (!value.empty() && bytes != value)
        return who + trial_types().at(type).name + ": expected " + hex(value) + ", found " + hex(bytes);
    }
    entity(who + "parent", thing.parent, registry.parent(e));
    number("depth", thing.depth, registry.depth(e));
    number("number of children", thing.children.size(), registry.child_count(e));
    Entity child = registry.first_child(e);
    for (const Entity expected : thing.children) {
      entity(who + "child", expected, child);
      child = registry.next_sibling(child);
    }
    if (d.empty() && child) d = who + "has a child too many: " + show(child);
    const Text name = model.name_of(e);
    const std::string text = model.text(name);
    if (d.empty()) d = differ(who + "name", text, std::string(registry.name(e)));
    if (name) entity(who + "found by its name", e, registry.find_child(thing.parent, text));
    const std::string path = model.path(e);
    if (d.empty()) d = differ(who + "path", path, registry.path(e));
    bool named = name && thing.depth < 12;
    for (Entity up = thing.parent; up && named; up = model.find(up)->parent)
      named = static_cast<bool>(model.name_of(up));
    if (named) entity(who + "found by its path", e, registry.find_path(path));
  }
  if (!d.empty()) return d;

  // Archetypes and ids.
  const muster::Storage& storage = registry.storage();
  number("number of archetypes", model.archetypes.size(), storage.next_archetype());
  for (std::size_t i = 0; i < model.archetypes.size() && d.empty(); ++i)
    if (!std::ranges::equal(model.archetypes[i], storage.archetypes()[i]->types))
      d = "archetype " + std::to_string(i) + " holds other components";
  const auto& ids = storage.ids();
  entity("next id", model.peek_id(), ids.peek());
  number("ids", model.generations.size(), ids.indices());
  number("retired ids", model.retired, ids.retired());
  number("free ids", model.free_queue.size(), ids.free_queue().size());
  for (std::size_t i = 0; i < model.free_queue.size() && d.empty(); ++i)
    number("free id", model.free_queue[i], ids.free_queue()[i]);
  for (std::uint32_t i = 1; i < model.generations.size() && d.empty(); ++i) {
    const Entity e{i, model.generations[i]};
    number("generation", e.generation, ids.slot(i).generation);
    number("alive", model.states[i] == IdState::alive, registry.alive(e));
    number("reserved", model.states[i] == IdState::reserved, storage.in_state(e, muster::IdState::reserved));
    number("granted", model.states[i] == IdState::granted, storage.in_state(e, muster::IdState::granted));
  }

  number("number of texts", model.texts.size(), registry.text_count());
  for (std::size_t i = 0; i < model.texts.size() && d.empty(); ++i)
    d = differ("text " + std::to_string(i), model.texts[i], std::string(registry.text_at(i)));
  number("clock", model.now_ns, registry.now_ns());
  std::uint64_t due = 0;
  number("a timer waits", !model.timers.empty(), registry.next_due(due));
  if (!model.timers.empty()) number("next due time", model.timers.begin()->first.first, due);
  number("sequence", model.sequence, registry.sequence());
  const auto& c = registry.counters();
  number("counted messages", model.counters.messages, c.messages);
  number("counted unhandled", model.counters.unhandled, c.unhandled);
  number("counted dead", model.counters.dead, c.dead);
  number("counted refused", model.counters.refused, c.refused);
  number("counted carried", model.counters.carried, c.carried);
  number("counted overtaken", model.counters.overtaken, c.overtaken);
  return d;
}

}  // namespace naive

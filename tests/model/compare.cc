// What differs between the naive model and a registry, in words.
#include <algorithm>
#include <cstring>

#include "registry/host.h"
#include "tests/model/participant.h"
#include "tests/model/trial_types.h"

namespace naive {

namespace {

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

std::string compare(const Recorder& expected_of_both, const Recorder& found, bool loaded) {
  Recorder expected;
  expected.log = expected_of_both.log;
  for (LogEntry& entry : expected.log) {
    if (entry.of_process && loaded) entry.seen = entry.seen_loaded;
    entry.seen_loaded = 0;
  }
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
    if (a.sequence != b.sequence || a.session != b.session || user_of(a.session) != b.user || a.request != b.request ||
        a.kind != b.kind)
      return "input: expected sequence " + std::to_string(a.sequence) + " session " + std::to_string(a.session) +
             " request " + std::to_string(a.request) + " kind " + std::to_string(static_cast<int>(a.kind)) +
             ", found sequence " + std::to_string(b.sequence) + " session " + std::to_string(b.session) + " user " +
             std::to_string(b.user) + " request " + std::to_string(b.request) + " kind " +
             std::to_string(static_cast<int>(b.kind));
    Receipt one = expected[i].receipt;
    one.cut_short = found[i].receipt.cut_short;
    if (a.kind == muster::InputKind::flush) one = found[i].receipt;
    if (std::string difference = compare(one, found[i].receipt); !difference.empty())
      return "at the sink, input " + std::to_string(a.sequence) + ", " + difference;
  }
  return {};
}

namespace {

/// A component's value; of a runtime component that of this process.
std::string compare_value(TypeId type, const Bytes& value, const muster::EntityRegistry& registry, Entity e,
                          bool loaded) {
  const KnownType& known = trial_types().at(type);
  const std::byte* found = registry.find(e, type);
  if (!found) return "lacks the value of " + known.name;
  if (known.runtime) {
    const auto two = as<TwoValues>(value);
    const std::uint64_t now = type == id_of<Voice> ? registry.get<Voice>(e).value() : registry.get<Spark>(e).value();
    return differ(known.name, loaded ? two.loaded : two.first, now);
  }
  const Bytes bytes(reinterpret_cast<const char*>(found), value.size());
  if (value.empty() || bytes == value) return {};
  return known.name + ": expected " + hex(value) + ", found " + hex(bytes);
}

std::string compare_templates(const Model& model, const muster::EntityRegistry& registry) {
  if (model.templates().size() != registry.host().template_names().size()) return "another number of templates";
  for (const auto& [name, spec] : model.templates()) {
    const auto definition = registry.host().template_definition(spec.name);
    if (!definition) return "there is no template " + spec.name;
    const auto found = muster::TemplateTree::read(*definition).compile();
    if (!found) return "template " + spec.name + ": " + found.error();
    if (muster::encode(*found) != muster::encode(as_message(spec, registry.types())))
      return "template " + spec.name + " is another one";
  }
  return {};
}

std::string compare_managers(const Model& model, const Participant& participant) {
  const Recorder& recorder = participant.recorder;
  if (!recorder.ledger->trouble.empty()) return recorder.ledger->trouble;
  if (recorder.ledger->held != model.ledger) return "the ledger holds something else";
  if (recorder.ledger->next_instance != model.next_instance) return "the ledger counts otherwise";
  if (recorder.watcher->watched != model.watched) return "the watcher watches others";
  Ledger::Amounts described;
  for (const auto& [e, amounts] : model.ledger) {
    described.clear();
    participant.registry.host().describe(e, [&](std::string_view manager, const muster::Held& held) {
      std::uint32_t amount = 0;
      if (manager == "ledger" && held.bytes.size() == sizeof amount)
        std::memcpy(&amount, held.bytes.data(), sizeof amount);
      described.emplace_back(held.instance, amount);
    });
    if (described != amounts) return "the ledger describes something else of " + show(e);
  }
  return {};
}

}  // namespace

std::string compare(const Model& model, const Participant& participant, bool loaded) {
  const muster::EntityRegistry& registry = participant.registry;
  std::string d = compare_templates(model, registry);
  if (d.empty()) d = compare_managers(model, participant);
  const auto number = [&](const char* what, std::uint64_t expected, std::uint64_t found) {
    if (d.empty()) d = differ(what, expected, found);
  };
  const auto entity = [&](const std::string& what, Entity expected, Entity found) {
    if (d.empty() && expected != found) d = what + ": expected " + show(expected) + ", found " + show(found);
  };

  // Rows in row order, with everything that is theirs.
  const std::vector<Entity> order = model.row_order();
  std::vector<Entity> found_order;
  registry.each<>([&](Entity e) { found_order.push_back(e); });
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
    const auto found_types = registry.host().components(e);
    if (!std::ranges::equal(types, found_types)) return who + "has other components than it should";
    for (const auto& [type, value] : thing.components) {
      if (const std::string other = compare_value(type, value, registry, e, loaded); !other.empty()) return who + other;
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

  // The same by C++ types, over chunks.
  std::vector<Entity> some;
  for (const Entity e : order)
    if (const RowValues& has = model.find(e)->components;
        has.contains(id_of<trial::Life>) && has.contains(id_of<trial::Tally>))
      some.push_back(e);
  std::vector<Entity> found_some;
  registry.each<const trial::Life, const trial::Tally>(
      [&](Entity e, const trial::Life&, const trial::Tally&) { found_some.push_back(e); });
  if (some != found_some) return "each() finds others than those that have both components";

  std::vector<Entity> shielded, found_shielded;
  for (const Entity e : order)
    if (model.find(e)->components.contains(id_of<trial::Shield>)) shielded.push_back(e);
  registry.each<const trial::Shield>([&](Entity e, const trial::Shield&) { found_shielded.push_back(e); });
  if (shielded != found_shielded) return "each() finds others than those that have an enableable component";

  // Archetypes and ids.
  const muster::Storage& storage = registry.host().storage();
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

  number("number of texts", model.texts.size(), registry.host().texts().size());
  for (std::size_t i = 0; i < model.texts.size() && d.empty(); ++i)
    d = differ("text " + std::to_string(i), model.texts[i], std::string(registry.host().texts()[i]));
  number("clock", model.now_ns, registry.now_ns());
  const muster::Timers& timers = registry.host().timers();
  number("a timer waits", !model.timers.empty(), !timers.empty());
  if (!model.timers.empty() && !timers.empty())
    number("next due time", model.timers.begin()->first.first, timers.next_due());
  number("sequence", model.sequence, registry.sequence());
  const auto& c = registry.host().counters();
  number("counted messages", model.counters.messages, c.messages);
  number("counted unhandled", model.counters.unhandled, c.unhandled);
  number("counted dead", model.counters.dead, c.dead);
  number("counted refused", model.counters.refused, c.refused);
  number("counted carried", model.counters.carried, c.carried);
  number("counted overtaken", model.counters.overtaken, c.overtaken);
  number("counted dropped", model.counters.dropped, c.dropped);
  return d;
}

}  // namespace naive

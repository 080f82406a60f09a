// Batches of structure and other messages, good and bad.
#include <algorithm>
#include <cstring>

#include "tests/model/steps/decider.h"

namespace naive {

using namespace trial;

constexpr TypeId charge = muster::hash32("foreign.Charge");

Entity Decider::id_for_create() {
  const std::uint64_t roll = random_.below(100);
  if (roll < 65 && !s_.granted.empty()) return s_.granted[random_.below(s_.granted.size())];
  if (roll < 90) return model_.peek_id();
  return somebody();
}

/// Sometimes ids that all may be used: granted ones in a row, or those that the host would take next.
std::vector<Entity> Decider::ids_for_create(std::size_t count) {
  std::vector<Entity> made;
  const std::uint64_t roll = random_.below(100);
  const std::size_t first = random_.below(std::max<std::size_t>(s_.granted.size(), 1));
  for (std::size_t i = 0; i < count; ++i) {
    if (roll < 60 && first + i < s_.granted.size())
      made.push_back(s_.granted[first + i]);
    else if (roll < 95 && model_.free_queue.size() <= 1024)
      made.push_back({static_cast<std::uint32_t>(model_.generations.size() + i), 1});
    else
      made.push_back(id_for_create());
  }
  return made;
}

muster::SetField Decider::set_field(Entity e, TypeId component) {
  muster::SetField made{.component = component};
  const auto& paths = field_paths(component);
  if (paths.empty() || random_.percent(4)) {
    made.field = static_cast<FieldId>(random_.next());
    made.bytes = 4;
    return made;
  }
  const auto& [path, spot] = paths[random_.below(paths.size())];
  made.field = muster::hash32(path);
  made.bytes = static_cast<std::uint32_t>(spot.bytes + (random_.percent(4) ? 1 : 0));
  const bool in_range = component == id_of<Flags> && random_.percent(80);
  for (std::size_t i = 0; i < std::min<std::size_t>(spot.bytes, made.value.size()); ++i)
    made.value[i] = static_cast<std::uint8_t>(in_range ? random_.below(2) : random_.below(7));
  static_cast<void>(e);
  return made;
}

muster::SetFieldIf Decider::set_field_if(Entity e, TypeId component) {
  muster::SetFieldIf made{.set = set_field(e, component)};
  const Thing* thing = model_.find(e);
  const auto& known = trial_types().at(component);
  const auto spot = known.fields.find(made.set.field);
  if (thing && thing->components.contains(component) && !known.tag && spot != known.fields.end() && random_.percent(70))
    std::memcpy(made.expected.data(), thing->components.at(component).data() + spot->second.offset,
                std::min<std::size_t>(spot->second.bytes, 64));
  return made;
}

Messages Decider::foreign() {
  const std::uint64_t kind = random_.below(28);
  const std::uint64_t count = kind == 0 || random_.percent(40) ? 1 : 1 + random_.below(4);
  Messages made;
  for (std::uint64_t i = 0; i < count; ++i) {
    Message next = foreign(kind);
    if (i == 0 || same_run(made[0], next)) made.push_back(std::move(next));
  }
  return made;
}

std::vector<Messages> Decider::several_batches() {
  std::vector<Messages> made;
  for (std::uint64_t i = random_.percent(10) ? 0 : 1 + random_.below(5); i > 0; --i) made.push_back(foreign());
  return made;
}

void Decider::flood(Action& a) {
  const Entity nobody{0xfffffff0u, 1};
  const Broad broad{.low = random_.below(9), .high = random_.below(9)};
  a.number = 1;
  if (random_.percent(40)) {  // many of one type in a row: they fill more than one batch
    a.message = one(random_.percent(80) ? nobody : somebody(), broad);
    a.number = random_.one_of<std::uint64_t>({40, 700, 8800});
    return;
  }
  std::vector<Entity> targets(random_.one_of<std::size_t>({70, 900, 9000, 36'000}), nobody);
  for (std::uint64_t i = random_.below(4); i > 0; --i) {
    const Entity e = somebody();
    targets[random_.below(targets.size())] = e;
  }
  a.message = span(std::span<const Entity>(targets), broad);
  if (random_.percent(30)) a.what = Do::push;
}

Message Decider::create_message(std::uint64_t kind) {
  muster::Create create{.parent = random_.percent(70) ? somebody() : Entity{}, .clash = clash()};
  if (random_.percent(25)) create.before = child_of(create.parent);
  if (random_.percent(50)) create.name = some_text();
  Message made = one(id_for_create(), create);
  made.has_rows = kind != 3;
  if (kind == 2) made.rows = any_rows();
  return made;
}

Message Decider::say_message() {
  Message made{.to = Message::To::one, .type = id_of<Say>, .targets = {somebody()}, .payload = say(), .is_table = true};
  if (random_.percent(30)) made.to = Message::To::world, made.targets.clear();
  if (random_.percent(30) && !made.targets.empty()) made.to = Message::To::line, made.parts = 1 + random_.below(7);
  if (made.to == Message::To::one && !made.targets[0]) made.to = Message::To::world, made.targets.clear();
  return made;
}

Message Decider::foreign(std::uint64_t kind) {
  switch (kind) {
    case 0: {  // several at once, one set of values
      Message made = span(std::span<const Entity>(), muster::Create{.parent = somebody(), .clash = clash()});
      for (std::uint64_t i = 1 + random_.below(4); i > 0; --i) made.targets.push_back(id_for_create());
      made.has_rows = true;
      made.rows = any_rows();
      return made;
    }
    case 1:
    case 2:
    case 3: return create_message(kind);
    case 4: return one(somebody(), muster::Destroy{});
    case 5: {
      const std::vector<Entity> all = {somebody(), somebody()};
      return span(std::span<const Entity>(all), muster::Destroy{});
    }
    case 6:
    case 7: {
      const auto mode =
          random_.one_of({muster::SetMode::add_or_replace, muster::SetMode::add, muster::SetMode::replace});
      Message made = one(somebody(), muster::Set{.mode = mode});
      if (kind == 7) {
        made.to = Message::To::span;
        made.targets.push_back(somebody());
      }
      made.has_rows = true;
      made.rows = any_rows();
      return made;
    }
    case 8: {
      const Entity e = somebody();
      const TypeId type =
          random_.percent(90) ? component_of(e) : random_.one_of<TypeId>({id_of<muster::ChildOf>, id_of<Hit>, 12345});
      return one(e, muster::Remove{.component = type});
    }
    case 9:
    case 10: {
      const Entity e = somebody();
      const TypeId type =
          random_.percent(94) ? component_of(e) : random_.one_of<TypeId>({id_of<muster::Name>, id_of<Hit>, 12345});
      return one(e, set_field(e, type));
    }
    case 11: {
      const Entity e = somebody();
      return one(e, set_field_if(e, component_of(e)));
    }
    case 12:
    case 13: {
      muster::Reparent made{.parent = random_.percent(80) ? somebody() : Entity{}};
      if (random_.percent(30)) made.before = child_of(made.parent);
      return one(somebody(), made);
    }
    case 14: {
      const muster::Rename made{.name = some_text(), .clash = clash()};
      return one(somebody(), made);
    }
    case 15:
      return {.to = Message::To::world,
              .type = id_of<muster::InternText>,
              .payload = "foreign " + std::to_string(random_.below(30)),
              .is_table = true};
    case 16: return say_message();
    case 17: return world(muster::CancelTimer{.timer = timer()});
    case 18: {
      const std::uint64_t inner_kind = random_.below(18);  // of those before this one
      const Message inner = random_.percent(50)   ? foreign(inner_kind)
                            : random_.percent(70) ? to_one(message_type())
                                                  : to_world();
      const std::uint64_t due_ns = model_.now_ns + random_.below(60);
      const std::uint64_t id = random_.percent(85) ? 0 : 1 + random_.below(20);
      return later(due_ns, id, inner);
    }
    case 19: {  // what makes no sense
      const Entity e = somebody();
      const std::uint64_t parts = 1 + random_.below(7);
      if (random_.percent(50)) return line(e, parts, muster::Destroy{});
      if (random_.percent(50)) return world(muster::Reparent{.parent = e});
      return one(e, muster::CancelTimer{.timer = timer()});
    }
    case 20: return to_one(charge);
    case 21:
    case 22: return spawn_message();
    case 23: return merge_message();
    case 24: return define_message();
    case 25: {
      const bool enabled = random_.percent(60);
      const std::string name = handler_name();
      if (name.empty() || name.starts_with("late.")) return world(muster::DropCarried{});
      return world(muster::EnableHandler{.name = {name.empty() ? 0 : muster::hash64(name)}, .enabled = enabled});
    }
    default: {
      Message made = to_somebody(message_type());
      if (made.to == Message::To::span && made.targets.empty()) made.targets.push_back(somebody());
      return made;
    }
  }
}

}  // namespace naive

// Values of components and messages, and whom messages go to.
#include <algorithm>

#include "tests/model/steps/decider.h"

namespace naive {

using namespace trial;

namespace {

constexpr TypeId mana = muster::hash32("foreign.Mana");
constexpr TypeId charge = muster::hash32("foreign.Charge");

template <class T>
void add(RowValues& rows, const T& value) {
  rows[id_of<T>] = bytes_of(value);
}

}  // namespace

template <class T>
T Decider::value() {
  T made;
  if constexpr (std::is_same_v<T, Life>) made = {.value = int32(60), .most = int32(100)};
  if constexpr (std::is_same_v<T, Armor>) made = {.factor = int32(4)};
  if constexpr (std::is_same_v<T, Place>) {
    made.at = {.x = static_cast<float>(random_.below(100)) / 8, .y = -1, .z = 0.25f};
    made.slots[0] = static_cast<std::uint16_t>(random_.below(9));
  }
  if constexpr (std::is_same_v<T, Link>) made = {.to = somebody(), .weight = 0.5};
  if constexpr (std::is_same_v<T, Flags>)
    made = {.on = random_.percent(30), .team = random_.one_of({Team::red, Team::blue, Team::green}), .level = int32(9)};
  if constexpr (std::is_same_v<T, Wide>) made = {.low = random_.next(), .high = random_.below(5)};
  if constexpr (std::is_same_v<T, Tally>) made = {.calls = 0, .sum = random_.small(1000)};
  if constexpr (std::is_same_v<T, Shield>) made = {.strength = int32(60), .left = 0.25f, .by = somebody()};
  if constexpr (std::is_same_v<T, Big>)
    for (auto& byte : made.bytes) byte = static_cast<std::uint8_t>(random_.next());
  return made;
}

template <class... Ts>
RowValues Decider::rows() {
  RowValues made;
  (add(made, value<Ts>()), ...);
  return made;
}

RowValues Decider::typed_rows() {
  if (s_.enableable && random_.percent(45)) switch (random_.below(6)) {
      case 0: return rows<Shield>();
      case 1: return rows<Stunned>();
      case 2: return rows<Shield, Stunned>();
      case 3: return rows<Shield, Life>();
      case 4: return rows<Stunned, Tally, Life>();
      default: return rows<Shield, muster::Has<Voice>>();
    }
  switch (random_.below(17)) {
    case 0: return rows<>();
    case 1: return rows<Life>();
    case 2: return rows<Life, Armor>();
    case 3: return rows<Place>();
    case 4: return rows<Link, Tally>();
    case 5: return rows<Flags, Life>();
    case 6: return rows<Wide>();
    case 7: return rows<Tally>();
    case 8: return rows<Life, Tally, Link>();
    case 9: return rows<Frozen>();
    case 10: return rows<Frozen, Life, Marked>();
    case 11: return rows<Place, Big, Marked>();
    case 12: return rows<Armor, Flags, Wide, Tally>();
    case 13: return rows<muster::Has<Voice>>();
    case 14: return rows<muster::Has<Voice>, Life, Tally>();
    case 15: return rows<muster::Has<Spark>, muster::Has<Voice>, Wide>();
    default: return rows<Place, Life, Tally>();
  }
}

Bytes Decider::value_of(TypeId component) {
  Bytes made;
  each_drawn([&]<class T>() {
    if (id_of<T> == component) made = bytes_of(value<T>());
  });
  return made;
}

RowValues Decider::any_rows() {
  RowValues made;
  each_drawn([&]<class T>() {
    if (random_.percent(22)) add(made, value<T>());
  });
  if (random_.percent(25)) made[mana] = bytes_of(random_.small(10));
  if (random_.percent(2)) made[id_of<muster::Name>] = bytes_of(muster::Name{});
  return made;
}

TypeId Decider::any_component() {
  std::vector<TypeId> all{mana};
  each_drawn([&]<class T>() { all.push_back(id_of<T>); });
  return all[random_.below(all.size())];
}

TypeId Decider::component_of(Entity e) {
  const Thing* thing = model_.find(e);
  if (!thing || thing->components.empty() || random_.percent(20)) return any_component();
  auto at = thing->components.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random_.below(thing->components.size())));
  return at->first;
}

// --- messages

TypeId Decider::message_type() {
  return random_.one_of<TypeId>({id_of<Hit>,    id_of<Hit>,   id_of<Hit>,   id_of<Poke>,  id_of<Poke>,  id_of<Nudge>,
                                 id_of<Tick>,   id_of<Tick>,  id_of<Beat>,  id_of<Grow>,  id_of<Grow>,  id_of<Kill>,
                                 id_of<Chain>,  id_of<Alarm>, id_of<Alarm>, id_of<Turn>,  id_of<Turn>,  id_of<Turn>,
                                 id_of<Broad>,  id_of<Stock>, id_of<Stock>, id_of<Raise>, id_of<Raise>, id_of<Enlist>,
                                 id_of<Enlist>, id_of<Orphan>});
}

Bytes Decider::payload(TypeId type) {
  if (type == id_of<Hit>)
    return bytes_of(Hit{.amount = int32(30), .from = random_.percent(50) ? somebody() : Entity{}});
  if (type == id_of<Poke>) return bytes_of(Poke{.value = random_.small(100)});
  if (type == id_of<Nudge>) return bytes_of(Nudge{.x = int32(9), .y = int32(9), .z = int32(9)});
  if (type == id_of<Tick>) return bytes_of(Tick{.step = random_.small(16)});
  if (type == id_of<Beat>) return bytes_of(Beat{.step = random_.small(16)});
  if (type == id_of<Grow>) return bytes_of(Grow{.children = random_.small(4), .seed = random_.small(1000)});
  if (type == id_of<Kill>) return bytes_of(Kill{.way = random_.small(6)});
  if (type == id_of<Chain>) return bytes_of(Chain{.hops = random_.small(5), .seed = 1, .to = somebody()});
  if (type == id_of<Alarm>)
    return bytes_of(Alarm{.delay_ns = random_.below(50), .timer = timer(), .way = random_.small(5)});
  if (type == id_of<Turn>)
    return bytes_of(Turn{.way = random_.small(18), .seed = random_.small(1000), .other = somebody()});
  if (type == id_of<Broad>) return bytes_of(Broad{.low = random_.below(9), .high = random_.next()});
  if (type == id_of<Enlist>) return bytes_of(Enlist{.way = random_.small(8), .seed = random_.small(1000)});
  if (type == id_of<Raise>) return bytes_of(Raise{.what = random_.small(5), .way = random_.small(15)});
  if (type == id_of<Stock>) return bytes_of(Stock{.amount = random_.small(40)});
  if (type == charge) return bytes_of(random_.small(20));
  return bytes_of(Orphan{.value = random_.small(100)});
}

Bytes Decider::say() {
  const std::vector<std::byte> table = muster::encode(
      Say{.text = "word " + std::to_string(random_.below(50)), .volume = random_.small(6), .to = somebody()});
  return {reinterpret_cast<const char*>(table.data()), table.size()};
}

Message Decider::to_one(TypeId type) {
  return {.to = Message::To::one, .type = type, .targets = {somebody()}, .payload = payload(type)};
}

Message Decider::to_world() {
  const auto type = random_.one_of<TypeId>({id_of<Tick>, id_of<Tick>, id_of<Tick>, id_of<Beat>, id_of<Beat>,
                                            id_of<Poke>, id_of<Nudge>, id_of<Orphan>, id_of<Hit>, id_of<Broad>});
  return {.to = Message::To::world, .type = type, .payload = payload(type)};
}

std::vector<Entity> Decider::several() {
  std::vector<Entity> all;
  for (std::uint64_t i = random_.below(6); i > 0; --i) all.push_back(somebody());
  return all;
}

Message Decider::to_somebody(TypeId type) {
  const std::uint64_t roll = random_.below(100);
  if (type == id_of<Tick> || type == id_of<Beat> || roll < 10) return to_world();
  if (roll < 25) return {.to = Message::To::span, .type = type, .targets = several(), .payload = payload(type)};
  if (type == id_of<Stock> && roll < 60) return to_world();
  if (roll < 40 && type != id_of<Grow>)
    return {.to = Message::To::line,
            .type = type,
            .targets = {somebody()},
            .parts = 1 + random_.below(7),
            .payload = payload(type)};
  return to_one(type);
}

Text Decider::some_text() {
  if (random_.percent(8)) return {random_.next()};
  if (random_.percent(10) || model_.texts.empty()) return {};
  return {muster::hash64(model_.texts[random_.below(model_.texts.size())])};
}

}  // namespace naive

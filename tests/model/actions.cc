#include "tests/model/actions.h"

#include <algorithm>

#include "tests/model/trial_types.h"

namespace naive {

namespace {

using namespace trial;

constexpr TypeId mana = muster::hash32("foreign.Mana");
constexpr TypeId charge = muster::hash32("foreign.Charge");

const char* const names[] = {"a", "b", "orc", "orc~2", "x/y", "back\\slash", "~", "a~9", "gr\xc3\xbc\xc3\x9f", "orc~"};

template <class T>
void add(RowValues& rows, const T& value) {
  rows[id_of<T>] = bytes_of(value);
}

std::string show(Entity e) {
  return e ? "#" + std::to_string(e.index) + ":" + std::to_string(e.generation) : std::string("nil");
}

std::string show_type(TypeId type) {
  const auto at = trial_types().find(type);
  return at == trial_types().end() ? "type " + std::to_string(type) : at->second.name;
}

/// Decides with one generator. Arguments of a function are evaluated in whatever order the compiler likes (those in braces
/// are not): what draws numbers gets a name first.
class Decider {
 public:
  Decider(std::uint64_t seed, const Situation& situation)
      : random_(seed), s_(situation), model_(situation.model), living_(situation.model.row_order()) {}

  Action decide(Do what) {
    Action a;
    a.what = what;
    switch (what) {
      case Do::push:
      case Do::post: a.message = to_somebody(message_type()); break;
      case Do::post_later:
        a.message = random_.percent(80) ? to_one(message_type()) : to_world();
        a.number = model_.now_ns + random_.below(60) - std::min<std::uint64_t>(model_.now_ns, 5);
        break;
      case Do::push_batch:
        a.batch = foreign();
        a.author = random_.percent(70) ? 7 : 0;
        a.request = random_.below(1000);
        break;
      case Do::post_batch: a.batch = foreign(); break;
      case Do::put:
        a.batch = foreign();
        a.lane = random_.below(lane_count);
        a.request = random_.below(1000);
        break;
      case Do::flush: break;
      case Do::advance: a.number = random_.one_of<std::uint64_t>({0, 1, 5, 20, 60}); break;
      case Do::cancel: a.number = timer(); break;
      case Do::create:
        a.text = random_.percent(50) ? names[random_.below(std::size(names))] : "";
        a.parent = random_.percent(60) ? somebody() : Entity{};
        a.rows = typed_rows();
        break;
      case Do::create_many:
        a.number = s_.crowd ? random_.one_of<std::uint64_t>({40, 300, 1100}) : 1 + random_.below(12);
        a.rows = typed_rows();
        break;
      case Do::destroy:
        a.target = somebody();
        if (random_.percent(s_.crowd ? 50 : 10)) {  // many at once, so that ids come round again
          a.what = Do::push;
          const std::size_t count = std::min<std::size_t>(living_.size(), s_.crowd ? 1200 : 3);
          a.message = span(std::span<const Entity>(living_).first(count), muster::Destroy{});
        }
        break;
      case Do::set:
        a.target = somebody();
        a.rows = typed_rows();
        break;
      case Do::remove:
        a.target = somebody();
        a.component = component_of(a.target);
        break;
      case Do::reparent:
        a.target = somebody();
        a.parent = random_.percent(80) ? somebody() : Entity{};
        a.before = random_.percent(30) ? child_of(a.parent) : Entity{};
        break;
      case Do::rename:
        a.target = somebody();
        a.text = random_.percent(85) ? names[random_.below(std::size(names))] : "";
        break;
      case Do::intern: a.text = "text " + std::to_string(random_.below(40)); break;
      case Do::grant:
        a.number = random_.below(12);
        a.author = 1 + random_.below(5);
        break;
      case Do::return_grant:
        a.target = s_.granted.empty() ? Entity{1, 1} : s_.granted[random_.below(s_.granted.size())];
        a.number = random_.below(6);
        break;
      case Do::subscribe: subscribe(a); break;
      case Do::unsubscribe:
        if (!s_.subscribed.empty()) a.number = s_.subscribed[random_.below(s_.subscribed.size())].slot;
        break;
      case Do::reload: break;
    }
    return a;
  }

 private:
  Entity alive() { return living_.empty() ? Entity{} : living_[random_.below(living_.size())]; }
  /// Mostly somebody alive, sometimes everything else an id can be.
  Entity somebody() {
    const std::uint64_t roll = random_.below(100);
    if (roll < 90) return alive();
    const auto index = static_cast<std::uint32_t>(random_.below(model_.generations.size()));
    if (roll < 95) return {index, model_.generations[index] - random_.small(2)};
    if (roll < 96) return {static_cast<std::uint32_t>(model_.generations.size() + random_.below(3)), 1};
    if (roll < 97) return {0xfffffff0u, random_.small(3)};
    if (roll < 98) return {0, 1};
    if (roll < 99 && !s_.granted.empty()) return s_.granted[random_.below(s_.granted.size())];
    return {};
  }
  Entity child_of(Entity parent) {
    const Thing* thing = model_.find(parent);
    if (!thing || thing->children.empty() || random_.percent(15)) return somebody();
    return thing->children[random_.below(thing->children.size())];
  }
  std::uint64_t timer() { return model_.next_timer - std::min(model_.next_timer, random_.below(6)); }

  // --- components

  template <class T>
  T value() {
    T made;
    if constexpr (std::is_same_v<T, Life>) made = {.value = int32(60), .most = int32(100)};
    if constexpr (std::is_same_v<T, Armor>) made = {.factor = int32(4)};
    if constexpr (std::is_same_v<T, Place>) {
      made.at = {.x = static_cast<float>(random_.below(100)) / 8, .y = -1, .z = 0.25f};
      made.slots[0] = static_cast<std::uint16_t>(random_.below(9));
    }
    if constexpr (std::is_same_v<T, Link>) made = {.to = somebody(), .weight = 0.5};
    if constexpr (std::is_same_v<T, Flags>)
      made = {
          .on = random_.percent(30), .team = random_.one_of({Team::red, Team::blue, Team::green}), .level = int32(9)};
    if constexpr (std::is_same_v<T, Wide>) made = {.low = random_.next(), .high = random_.below(5)};
    if constexpr (std::is_same_v<T, Tally>) made = {.calls = 0, .sum = random_.small(1000)};
    if constexpr (std::is_same_v<T, Big>)
      for (auto& byte : made.bytes) byte = static_cast<std::uint8_t>(random_.next());
    return made;
  }
  std::int32_t int32(std::uint32_t end) { return static_cast<std::int32_t>(random_.small(end)); }
  template <class... Ts>
  RowValues rows() {
    RowValues made;
    (add(made, value<Ts>()), ...);
    return made;
  }
  /// A set that perform.cc can give to the typed functions.
  RowValues typed_rows() {
    switch (random_.below(14)) {
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
      default: return rows<Place, Life, Tally>();
    }
  }
  RowValues any_rows() {
    RowValues made;
    each_component([&]<class T>() {
      if (random_.percent(22)) add(made, value<T>());
    });
    if (random_.percent(25)) made[mana] = bytes_of(random_.small(10));
    if (random_.percent(2)) made[id_of<muster::Name>] = bytes_of(muster::Name{});
    return made;
  }
  TypeId any_component() {
    std::vector<TypeId> all{mana};
    each_component([&]<class T>() { all.push_back(id_of<T>); });
    return all[random_.below(all.size())];
  }
  TypeId component_of(Entity e) {
    const Thing* thing = model_.find(e);
    if (!thing || thing->components.empty() || random_.percent(20)) return any_component();
    auto at = thing->components.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random_.below(thing->components.size())));
    return at->first;
  }

  // --- messages

  TypeId message_type() {
    return random_.one_of<TypeId>({id_of<Hit>,   id_of<Hit>,  id_of<Hit>,   id_of<Poke>,  id_of<Poke>,
                                   id_of<Nudge>, id_of<Tick>, id_of<Tick>,  id_of<Beat>,  id_of<Grow>,
                                   id_of<Grow>,  id_of<Kill>, id_of<Chain>, id_of<Alarm>, id_of<Alarm>,
                                   id_of<Turn>,  id_of<Turn>, id_of<Turn>,  id_of<Broad>, id_of<Orphan>});
  }
  Bytes payload(TypeId type) {
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
    if (type == charge) return bytes_of(random_.small(20));
    return bytes_of(Orphan{.value = random_.small(100)});
  }
  Message to_one(TypeId type) {
    return {.to = Message::To::one, .type = type, .targets = {somebody()}, .payload = payload(type)};
  }
  Message to_world() {
    const auto type = random_.one_of<TypeId>({id_of<Tick>, id_of<Tick>, id_of<Tick>, id_of<Beat>, id_of<Beat>,
                                              id_of<Poke>, id_of<Nudge>, id_of<Orphan>, id_of<Hit>, id_of<Broad>});
    return {.to = Message::To::world, .type = type, .payload = payload(type)};
  }
  std::vector<Entity> several() {
    std::vector<Entity> all;
    for (std::uint64_t i = random_.below(6); i > 0; --i) all.push_back(somebody());
    return all;
  }
  Message to_somebody(TypeId type) {
    const std::uint64_t roll = random_.below(100);
    if (type == id_of<Tick> || type == id_of<Beat> || roll < 10) return to_world();
    if (roll < 25) return {.to = Message::To::span, .type = type, .targets = several(), .payload = payload(type)};
    if (roll < 40 && type != id_of<Grow>)
      return {.to = Message::To::line,
              .type = type,
              .targets = {somebody()},
              .parts = 1 + random_.below(7),
              .payload = payload(type)};
    return to_one(type);
  }
  Text some_text() {
    if (random_.percent(8)) return {random_.next()};
    if (random_.percent(10) || model_.texts.empty()) return {};
    return {muster::hash64(model_.texts[random_.below(model_.texts.size())])};
  }
  muster::NameClash clash() { return random_.percent(50) ? muster::NameClash::refuse : muster::NameClash::suffix; }
  Entity id_for_create() {
    const std::uint64_t roll = random_.below(100);
    if (roll < 65 && !s_.granted.empty()) return s_.granted[random_.below(s_.granted.size())];
    if (roll < 90) return model_.peek_id();
    return somebody();
  }
  muster::SetField set_field(Entity e, TypeId component) {
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
    (void)e;
    return made;
  }
  muster::SetFieldIf set_field_if(Entity e, TypeId component) {
    muster::SetFieldIf made{.set = set_field(e, component)};
    const Thing* thing = model_.find(e);
    const auto& known = trial_types().at(component);
    const auto spot = known.fields.find(made.set.field);
    if (thing && thing->components.contains(component) && !known.tag && spot != known.fields.end() &&
        random_.percent(70))
      std::memcpy(made.expected.data(), thing->components.at(component).data() + spot->second.offset,
                  std::min<std::size_t>(spot->second.bytes, 64));
    return made;
  }
  Bytes say() {
    const std::vector<std::byte> table = muster::encode(
        Say{.text = "word " + std::to_string(random_.below(50)), .volume = random_.small(6), .to = somebody()});
    return {reinterpret_cast<const char*>(table.data()), table.size()};
  }

  /// Messages of one kind, as an editor or a client sends them.
  Messages foreign() {
    const std::uint64_t kind = random_.below(22);
    const std::uint64_t count = kind == 0 || random_.percent(40) ? 1 : 1 + random_.below(4);
    Messages made;
    for (std::uint64_t i = 0; i < count; ++i) {
      Message next = foreign(kind);
      if (i == 0 || same_run(made[0], next)) made.push_back(std::move(next));
    }
    return made;
  }
  Message foreign(std::uint64_t kind) {
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
      case 3: {
        muster::Create create{.parent = random_.percent(70) ? somebody() : Entity{}, .clash = clash()};
        if (random_.percent(25)) create.before = child_of(create.parent);
        if (random_.percent(50)) create.name = some_text();
        Message made = one(id_for_create(), create);
        made.has_rows = kind != 3;
        if (kind == 2) made.rows = any_rows();
        return made;
      }
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
      case 16: {
        Message made{
            .to = Message::To::one, .type = id_of<Say>, .targets = {somebody()}, .payload = say(), .is_table = true};
        if (random_.percent(30)) made.to = Message::To::world, made.targets.clear();
        if (random_.percent(30) && !made.targets.empty())
          made.to = Message::To::line, made.parts = 1 + random_.below(7);
        if (made.to == Message::To::one && !made.targets[0]) made.to = Message::To::world, made.targets.clear();
        return made;
      }
      case 17: return world(muster::CancelTimer{.timer = timer()});
      case 18: {
        const Message inner = random_.percent(70) ? to_one(message_type()) : to_world();
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
      default: {
        Message made = to_somebody(message_type());
        if (made.to == Message::To::span && made.targets.empty()) made.targets.push_back(somebody());
        return made;
      }
    }
  }

  void subscribe(Action& a) {
    const auto kinds = handler_kinds();
    a.kind = random_.below(kinds.size());
    const HandlerKind& kind = kinds[a.kind];
    a.text = random_.percent(85) ? kind.name : random_.percent(50) ? "" : std::string(kind.name) + "'";
    a.options.priority = random_.percent(60) ? 0 : static_cast<int>(random_.below(5)) - 2;
    for (const HandlerKind& other : kinds) {
      if (other.message != kind.message) continue;
      if (random_.percent(12)) a.options.before.emplace_back(other.name);
      if (random_.percent(8)) a.options.after.emplace_back(other.name);
    }
  }

  Random random_;
  const Situation& s_;
  const Model& model_;
  std::vector<Entity> living_;
};

}  // namespace

Action decide(Do what, std::uint64_t seed, const Situation& situation) { return Decider(seed, situation).decide(what); }

void build(muster::BatchBuilder& builder, const Messages& messages, const muster::TypeTable& types) {
  for (const Message& message : messages) {
    const muster::TypeDescriptor& type = *types.find(message.type);
    const auto shape = muster::PayloadShape::of(type);
    const Entity target = message.targets.empty() ? Entity{} : message.targets[0];
    std::byte* at = nullptr;
    if (message.type == id_of<muster::InternText>) {
      builder.append_table(type.id, {}, muster::encode(muster::InternText{.text = message.payload}));
    } else if (message.is_table) {
      builder.append_table(type.id, target, std::as_bytes(std::span(message.payload)), message.parts);
    } else if (message.has_rows) {
      std::vector<const muster::TypeDescriptor*> components;
      for (const auto& [component, value] : message.rows) components.push_back(types.find(component));
      const muster::RowSet rows(type, components);
      at = message.to == Message::To::span ? builder.append_rows_shared(rows, message.targets)
                                           : builder.append_rows(rows, target);
      for (const auto& [component, value] : message.rows)
        std::memcpy(at + rows.offset(component), value.data(), value.size());
    } else {
      switch (message.to) {
        case Message::To::one: at = builder.append(shape, target); break;
        case Message::To::span: at = builder.append_shared(shape, message.targets); break;
        case Message::To::world: at = builder.append_world(shape); break;
        case Message::To::line: at = builder.append_subtree(shape, target, message.parts); break;
        case Message::To::later: {
          muster::BatchBuilder inner;
          build(inner, message.inner, types);
          builder.append_timed(message.due_ns, message.timer, inner.front());
          break;
        }
      }
    }
    if (at) std::memcpy(at, message.payload.data(), message.payload.size());
  }
}

// --- for people

namespace {

std::string show(const RowValues& rows) {
  std::string text = "{";
  for (const auto& [type, value] : rows) text += (text.size() > 1 ? ", " : "") + show_type(type);
  return text + "}";
}

std::string details(const Message& message) {
  const Bytes& p = message.payload;
  const auto n = [](auto value) { return std::to_string(value); };
  if (message.type == id_of<Hit>) return " amount=" + n(as<Hit>(p).amount) + " from=" + show(as<Hit>(p).from);
  if (message.type == id_of<Turn>)
    return " way=" + n(as<Turn>(p).way) + " seed=" + n(as<Turn>(p).seed) + " other=" + show(as<Turn>(p).other);
  if (message.type == id_of<Grow>) return " children=" + n(as<Grow>(p).children) + " seed=" + n(as<Grow>(p).seed);
  if (message.type == id_of<Alarm>)
    return " way=" + n(as<Alarm>(p).way) + " delay=" + n(as<Alarm>(p).delay_ns) + " timer=" + n(as<Alarm>(p).timer);
  if (message.type == id_of<Chain>) return " hops=" + n(as<Chain>(p).hops) + " to=" + show(as<Chain>(p).to);
  if (message.type == id_of<muster::Create>) {
    const auto m = as<muster::Create>(p);
    return " parent=" + show(m.parent) + " before=" + show(m.before) + " name=" + n(m.name.hash) +
           (m.clash == muster::NameClash::suffix ? " suffix" : "");
  }
  if (message.type == id_of<muster::Reparent>)
    return " parent=" + show(as<muster::Reparent>(p).parent) + " before=" + show(as<muster::Reparent>(p).before);
  if (message.type == id_of<muster::Rename>) return " name=" + n(as<muster::Rename>(p).name.hash);
  if (message.type == id_of<muster::Set>) return " mode=" + n(static_cast<int>(as<muster::Set>(p).mode));
  if (message.type == id_of<muster::Remove>) return " component=" + show_type(as<muster::Remove>(p).component);
  if (message.type == id_of<muster::SetField> || message.type == id_of<muster::SetFieldIf>) {
    const auto m = as<muster::SetField>(p);
    return " component=" + show_type(m.component) + " field=" + n(m.field) + " bytes=" + n(m.bytes) +
           " value[0]=" + n(m.value[0]);
  }
  if (message.type == id_of<muster::CancelTimer>) return " timer=" + n(as<muster::CancelTimer>(p).timer);
  if (message.is_table) return "";
  if (p.size() >= 4) return " " + n(as<std::uint32_t>(p));
  return "";
}

}  // namespace

std::string describe(const Message& message) {
  std::string text = show_type(message.type) + details(message);
  if (message.has_rows) text += " " + show(message.rows);
  switch (message.to) {
    case Message::To::one: text += " to " + show(message.targets.empty() ? Entity{} : message.targets[0]); break;
    case Message::To::span:
      text += " to each of";
      for (const Entity e : message.targets) text += " " + show(e);
      break;
    case Message::To::world: text += " to the world"; break;
    case Message::To::line:
      text += " to parts " + std::to_string(message.parts) + " of " + show(message.targets[0]);
      break;
    case Message::To::later:
      text = "at " + std::to_string(message.due_ns) + " (timer " + std::to_string(message.timer) + ")";
      for (const Message& inner : message.inner) text += ": " + describe(inner);
      break;
  }
  return text;
}

const char* name(Do what) {
  static constexpr const char* all[] = {
      "push",   "post",   "post_at",      "push_batch", "post_batch",  "put into a lane", "flush",    "advance",
      "cancel", "create", "create_many",  "destroy",    "set",         "remove",          "reparent", "rename",
      "intern", "grant",  "return_grant", "subscribe",  "unsubscribe", "save and load"};
  return all[static_cast<std::size_t>(what)];
}

std::string describe(const Action& a) {
  std::string text = name(a.what);
  switch (a.what) {
    case Do::push:
    case Do::post: return text + " " + describe(a.message);
    case Do::post_later: return text + " " + std::to_string(a.number) + ": " + describe(a.message);
    case Do::push_batch:
    case Do::post_batch:
    case Do::put:
      text += a.what == Do::put ? " " + std::to_string(a.lane) : " author " + std::to_string(a.author);
      for (const Message& message : a.batch) text += "\n        " + describe(message);
      return text;
    case Do::create: return text + " '" + a.text + "' under " + show(a.parent) + " " + show(a.rows);
    case Do::create_many: return text + " " + std::to_string(a.number) + " " + show(a.rows);
    case Do::set: return text + " " + show(a.target) + " " + show(a.rows);
    case Do::remove: return text + " " + show(a.target) + " " + show_type(a.component);
    case Do::reparent: return text + " " + show(a.target) + " under " + show(a.parent) + " before " + show(a.before);
    case Do::rename: return text + " " + show(a.target) + " '" + a.text + "'";
    case Do::subscribe: {
      text += " '" + a.text + "' (" + handler_kinds()[a.kind].name + ") priority " + std::to_string(a.options.priority);
      for (const auto& other : a.options.before) text += " before " + other;
      for (const auto& other : a.options.after) text += " after " + other;
      return text;
    }
    case Do::destroy: return text + " " + show(a.target);
    case Do::intern: return text + " '" + a.text + "'";
    case Do::return_grant: return text + " " + show(a.target) + " and on, " + std::to_string(a.number);
    case Do::flush:
    case Do::reload: return text;
    default: return text + " " + std::to_string(a.number);
  }
}

}  // namespace naive

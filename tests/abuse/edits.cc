// The edits that are drawn.
#include <algorithm>
#include <cstring>

#include "messages/row_set.h"
#include "tests/abuse/draw_values.h"
#include "tests/abuse/requests.h"

namespace muster::abuse {

namespace {

constexpr std::size_t own_entities_max = 800;  // more are destroyed: the world is to stay about as large as it was
constexpr std::uint32_t templates_max = 60;

template <class T>
void put(std::byte* at, const T& value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

std::vector<Entity> Requests::take_ids(Belongings& has, std::uint32_t count) {
  const std::size_t taken = std::min<std::size_t>(count, has.ids.size());
  std::vector<Entity> ids(has.ids.end() - static_cast<std::ptrdiff_t>(taken), has.ids.end());
  has.ids.resize(has.ids.size() - taken);
  has.entities.insert(has.entities.end(), ids.begin(), ids.end());
  return ids;
}

Text Requests::name() {
  if (known_.texts.empty() || random_.percent(5)) return {};
  return random_.one_of(known_.texts);
}

Create Requests::new_child(const Belongings& has) {
  Create made;
  if (!random_.percent(30)) made.parent = has.own(random_, known_);
  if (random_.percent(5)) made.before = has.own(random_, known_);
  if (random_.percent(40)) made.name = name();
  made.clash = random_.percent(50) ? NameClash::refuse : NameClash::suffix;
  return made;
}

void Requests::value(const TypeDescriptor& type, const Belongings& has, std::byte* at) {
  draw_value(random_, known_, type, [&] { return has.any(random_, known_); }, at);
}

void Requests::create(BatchBuilder& out, Belongings& has) {
  if (has.entities.size() > own_entities_max && !has.large) return destroy(out, has);
  const auto& set = random_.one_of(known_.sets);
  const RowSet rows(*known_.types->find(TypeTraits<Create>::id), set);
  for (const Entity e : take_ids(has, random_.size(200))) {
    std::byte* const payload = out.append_rows(rows, e);
    put(payload, new_child(has));
    for (const TypeDescriptor* type : set)
      if (type->size > 0) value(*type, has, payload + rows.offset(type->id));
  }
}

/// As deep as it goes, and deeper.
void Requests::chain(BatchBuilder& out, Belongings& has) {
  if (has.entities.size() > own_entities_max && !has.large) return destroy(out, has);
  Entity parent = random_.percent(50) ? Entity{} : has.own(random_, known_);
  for (const Entity e : take_ids(has, random_.size(1100))) {
    Create made;
    made.parent = parent;
    out.append(e, made);
    parent = e;
  }
}

/// As many at once as one batch may make.
void Requests::crowd(BatchBuilder& out, Belongings& has) {
  if (!has.large || has.entities.size() > own_entities_max) return destroy(out, has);
  const auto& set = random_.one_of(known_.sets);
  const RowSet rows(*known_.types->find(TypeTraits<Create>::id), set);
  const std::vector<Entity> ids = take_ids(has, random_.size(60'000));
  if (ids.empty()) return;
  std::byte* const payload = out.append_rows_shared(rows, ids);
  put(payload, new_child(has));
  for (const TypeDescriptor* type : set)
    if (type->size > 0) value(*type, has, payload + rows.offset(type->id));
}

void Requests::destroy(BatchBuilder& out, Belongings& has) {
  if (random_.percent(5)) {
    // Of the game: it makes new ones. Never all of it.
    const Entity e = has.any(random_, known_);
    if (std::ranges::find(known_.roots, e) == known_.roots.end()) out.append(e, Destroy{});
    return;
  }
  const std::size_t count =
      std::min<std::size_t>(has.entities.size(), has.entities.size() > own_entities_max ? 40'000 : random_.size(200));
  const std::vector<Entity> gone(has.entities.end() - static_cast<std::ptrdiff_t>(count), has.entities.end());
  has.entities.resize(has.entities.size() - count);
  if (random_.percent(50))
    out.append_shared(std::span(gone), Destroy{});
  else
    for (const Entity e : gone) out.append(e, Destroy{});
}

void Requests::set(BatchBuilder& out, Belongings& has) {
  std::vector<const TypeDescriptor*> types;
  for (const TypeDescriptor* type : known_.changing)
    if (random_.percent(40) && std::ranges::find(types, type) == types.end()) types.push_back(type);
  const RowSet rows(*known_.types->find(TypeTraits<Set>::id), types);
  const auto mode = static_cast<SetMode>(random_.percent(70) ? 0 : random_.small(3));
  const auto fill = [&](std::byte* payload) {
    put(payload, Set{.mode = mode});
    for (const TypeDescriptor* type : types)
      if (type->size > 0) value(*type, has, payload + rows.offset(type->id));
  };
  const std::uint32_t count = random_.size(has.large ? 50'000 : 500);
  if (random_.percent(70)) {
    for (std::uint32_t i = 0; i < count && i < 2000; ++i) fill(out.append_rows(rows, has.own(random_, known_)));
    return;
  }
  std::vector<Entity> targets;
  for (std::uint32_t i = 0; i < count; ++i) targets.push_back(has.own(random_, known_));
  fill(out.append_rows_shared(rows, targets));
}

void Requests::remove(BatchBuilder& out, Belongings& has) {
  for (std::uint32_t i = 0, count = random_.size(200); i < count; ++i)
    out.append(has.own(random_, known_), Remove{.component = random_.one_of(known_.changing)->id});
}

SetField Requests::field_of(const Belongings& has) {
  SetField made;
  const TypeDescriptor& type = *random_.one_of(known_.components);
  made.component = type.id;
  if (type.fields.empty()) return made;
  const FieldDescriptor& field = type.fields[random_.below(type.fields.size())];
  made.field = hash32(field.name);
  made.bytes = field.size * field.count;
  if (made.bytes > sizeof made.value) return made;  // refused
  std::vector<std::byte> whole(type.size);
  value(type, has, whole.data());
  std::memcpy(&made.value, whole.data() + field.offset, made.bytes);
  return made;
}

void Requests::set_field(BatchBuilder& out, Belongings& has) {
  const SetField made = field_of(has);
  // Nobody brings the game's bodies together in one place.
  const bool moves = made.component == hash32("scene.Transform");
  for (std::uint32_t i = 0, count = random_.size(1000); i < count; ++i)
    out.append(moves ? has.own(random_, known_) : has.any(random_, known_), made);
}

void Requests::set_field_if(BatchBuilder& out, Belongings& has) {
  SetFieldIf made;
  made.set = field_of(has);
  std::memcpy(&made.expected, &made.set.value, sizeof made.expected);
  for (std::uint32_t i = 0, count = random_.size(100); i < count; ++i) out.append(has.any(random_, known_), made);
}

void Requests::reparent(BatchBuilder& out, Belongings& has) {
  for (std::uint32_t i = 0, count = random_.size(100); i < count; ++i) {
    Reparent made;
    made.parent = random_.percent(30) ? Entity{} : has.own(random_, known_);
    if (random_.percent(10)) made.before = has.own(random_, known_);
    out.append(has.own(random_, known_), made);
  }
}

void Requests::rename(BatchBuilder& out, Belongings& has) {
  Rename made;
  for (std::uint32_t i = 0, count = random_.size(300); i < count; ++i) {
    if (random_.percent(50)) made.name = name();
    made.clash = random_.percent(50) ? NameClash::refuse : NameClash::suffix;
    out.append(has.own(random_, known_), made);
  }
}

void Requests::intern(BatchBuilder& out, Belongings&) {
  for (std::uint32_t i = 0, count = random_.size(30); i < count; ++i) {
    InternText made;
    made.text = random_.percent(90) ? word(random_.percent(10) ? 65'536 : 60) : word(70'000);
    if (random_.percent(60)) made.text += std::to_string(known_.texts_made++);
    session::append(out, made);
    // One list for all, of those that may be names: what was refused is asked for, and found unknown.
    if (made.text.size() > 300) continue;
    if (known_.texts.size() < 5000)
      known_.texts.push_back(text_of(made.text));
    else
      known_.texts[random_.below(known_.texts.size())] = text_of(made.text);
  }
}

TemplateValue Requests::template_value(const TypeDescriptor& type, const Belongings& has) {
  TemplateValue made;
  made.type = type.id;
  made.fingerprint = type.fingerprint;
  std::vector<std::byte> bytes(type.size);
  draw_value(random_, known_, type, [] { return Entity{}; }, bytes.data());
  (void)has;
  const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  made.value.assign(first, first + bytes.size());
  if (random_.percent(50)) made.given.push_back({.offset = 0, .bytes = type.size});
  return made;
}

void Requests::define_template(BatchBuilder& out, Belongings& has) {
  DefineTemplate made;
  made.name = "abuse-" + std::to_string(random_.small(templates_max));
  const std::uint32_t nodes = random_.size(random_.percent(5) ? 10'500 : 200);
  for (std::uint32_t i = 0; i < nodes; ++i) {
    TemplateNode node;
    node.parent = i == 0 ? 0 : random_.percent(30) ? i - 1 : random_.small(i);
    if (i > 0) node.name = "n" + std::to_string(i);
    auto set = random_.one_of(known_.sets);
    std::ranges::sort(set, {}, &TypeDescriptor::id);
    if (nodes < 500 || random_.percent(5))
      for (const TypeDescriptor* type : set) node.components.push_back(template_value(*type, has));
    if (random_.percent(5)) node.messages.push_back(template_value(*random_.one_of(known_.messages), has));
    made.nodes.push_back(std::move(node));
  }
  if (random_.percent(30)) made.texts.push_back(word(100));
  // In pre-order: a node's parent is before it, and its siblings' children are not between.
  std::vector<std::vector<std::uint32_t>> children(nodes);
  for (std::uint32_t i = 1; i < nodes; ++i) children[made.nodes[i].parent].push_back(i);
  std::vector<TemplateNode> ordered;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open{{0, 0}};
  while (!open.empty()) {
    const auto [node, parent] = open.back();
    open.pop_back();
    const auto number = static_cast<std::uint32_t>(ordered.size());
    ordered.push_back(std::move(made.nodes[node]));
    ordered.back().parent = parent;
    for (auto at = children[node].rbegin(); at != children[node].rend(); ++at) open.emplace_back(*at, number);
  }
  made.nodes = std::move(ordered);
  if (random_.percent(5)) made.nodes.clear();  // forgotten
  session::append(out, made);
  const auto at = std::ranges::find(known_.templates, made.name, &KnownTemplate::name);
  if (at == known_.templates.end())
    known_.templates.push_back({made.name, nodes});
  else
    at->nodes = nodes;
}

void Requests::spawn(BatchBuilder& out, Belongings& has) {
  if (known_.templates.empty() || (has.entities.size() > own_entities_max && !has.large)) return destroy(out, has);
  const KnownTemplate& what = random_.one_of(known_.templates);
  const std::uint32_t trees = random_.size(has.large ? 1000 : 5);
  const std::vector<Entity> ids = take_ids(has, std::min(what.nodes * trees, 60'000u) / what.nodes * what.nodes);
  if (ids.empty()) return;
  Spawn made;
  made.what = text_of(what.name);
  if (random_.percent(60)) made.parent = has.own(random_, known_);
  if (random_.percent(10)) made.before = has.own(random_, known_);
  if (random_.percent(50)) made.name = name();
  made.clash = random_.percent(20) ? NameClash::refuse : NameClash::suffix;
  out.append_shared(std::span(ids), made);
}

void Requests::merge(BatchBuilder& out, Belongings& has) {
  if (known_.templates.empty()) return;
  const KnownTemplate& what = random_.one_of(known_.templates);
  std::vector<Entity> targets{has.own(random_, known_)};
  for (const Entity e : take_ids(has, what.nodes - 1)) targets.push_back(e);
  MergeTemplate made;
  made.what = text_of(what.name);
  out.append_shared(std::span<const Entity>(targets), made);
}

void Requests::cancel_timer(BatchBuilder& out, Belongings&) {
  for (std::uint32_t i = 0, count = random_.size(100); i < count; ++i)
    out.append_world(CancelTimer{.timer = random_.below(20'000)});
}

void Requests::enable_handler(BatchBuilder& out, Belongings&) {
  EnableHandler made;
  made.name = random_.percent(30) ? text_of("skirmish.deploy") : name();
  made.enabled = random_.percent(70);
  out.append_world(made);
}

void Requests::message(BatchBuilder& out, Belongings& has) {
  const TypeDescriptor& type = *random_.one_of(known_.messages);
  const PayloadShape shape = PayloadShape::of(type);
  const std::uint32_t count = random_.size(has.large ? 60'000 : 500);
  // Nobody ends the war by one message to all.
  switch (random_.small(type.name == "skirmish.Damage" ? 2 : 4)) {
    case 0:
      for (std::uint32_t i = 0; i < count; ++i) {
        const Entity e = has.any(random_, known_);
        value(type, has, out.append(shape, e));
      }
      return;
    case 1: {
      std::vector<Entity> targets;
      for (std::uint32_t i = 0; i < count; ++i) targets.push_back(has.any(random_, known_));
      value(type, has, out.append_shared(shape, targets));
      return;
    }
    case 2:
      for (std::uint32_t i = 0; i < std::min(count, 40u); ++i) value(type, has, out.append_world(shape));
      return;
    default:
      for (std::uint32_t i = 0; i < std::min(count, 40u); ++i)
        value(type, has, out.append_subtree(shape, has.any(random_, known_), 1 + random_.below(7)));
      return;
  }
}

}  // namespace muster::abuse

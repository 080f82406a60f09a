// Templates, good and bad, and what is spawned from them.
#include <algorithm>

#include "tests/model/steps/decider.h"

namespace naive {

using namespace trial;

namespace {

constexpr const char* node_names[] = {"", "body", "arm", "leaf", "orc", "x/y"};

/// Where a type's values name an entity.
bool names_entity(TypeId type, std::size_t& offset) {
  if (type == id_of<Link>) return offset = 0, true;
  if (type == id_of<Hit> || type == id_of<Chain> || type == id_of<Shield>) return offset = 8, true;
  return false;
}

}  // namespace

template <class T>
void Decider::add_part(TemplateNode& node) {
  const KnownType& known = trial_types().at(id_of<T>);
  TemplatePart part;
  if constexpr (std::is_same_v<T, muster::Has<Voice>> || std::is_same_v<T, muster::Has<Spark>>) {
    part.bytes = Bytes(1, '\0');
  } else {
    part.bytes = known.tag ? bytes_of(T{}) : value_of(id_of<T>);
  }
  const bool all = known.tag || random_.percent(40);
  part.given.assign(part.bytes.size(), all);
  if (!all)
    for (const auto& [path, spot] : field_paths(id_of<T>))
      if (spot.bytes < part.bytes.size() && random_.percent(40))
        std::fill_n(part.given.begin() + static_cast<std::ptrdiff_t>(spot.offset), spot.bytes, true);
  node.components[id_of<T>] = std::move(part);
}

void Decider::grow(TemplateSpec& spec, TemplateNode& node, unsigned& left) {
  each_drawn([&]<class T>() {
    if (random_.percent(18)) add_part<T>(node);
  });
  for (std::uint64_t i = random_.percent(30) ? 1 + random_.below(2) : 0; i > 0; --i) {
    TemplatePart part;
    const auto type = random_.one_of<TypeId>({id_of<Hit>, id_of<Poke>, id_of<Chain>, id_of<Turn>, id_of<Say>});
    part.table = type == id_of<Say>;
    part.bytes = part.table ? say() : payload(type);
    part.given.assign(part.bytes.size(), true);
    node.messages.emplace_back(type, std::move(part));
  }
  while (left > 0 && random_.percent(60)) {
    --left;
    TemplateNode child;
    child.name = node_names[random_.below(std::size(node_names))];
    if (!child.name.empty() && std::ranges::count(node.children, child.name, &TemplateNode::name)) child.name.clear();
    child.key = spec.next_key++;
    grow(spec, child, left);
    node.children.push_back(std::move(child));
  }
}

void Decider::refer(TemplateNode& node, unsigned keys) {
  const auto one_of = [&](TypeId type, TemplatePart& part) {
    std::size_t offset = 0;
    if (!names_entity(type, offset) || random_.percent(30)) return;
    part.refers[offset] = static_cast<unsigned>(random_.below(keys));
    std::fill_n(part.bytes.begin() + static_cast<std::ptrdiff_t>(offset), 8, '\0');
    std::fill_n(part.given.begin() + static_cast<std::ptrdiff_t>(offset), 8, true);
  };
  for (auto& [type, part] : node.components) one_of(type, part);
  for (auto& [type, part] : node.messages) one_of(type, part);
  for (TemplateNode& child : node.children) refer(child, keys);
}

TemplateSpec Decider::template_tree() {
  TemplateSpec spec;
  spec.name = template_name(random_.below(5));
  unsigned left = random_.small(6);
  grow(spec, spec.root, left);
  refer(spec.root, spec.next_key);
  for (std::uint64_t i = random_.below(3); i > 0; --i) spec.texts.insert("text " + std::to_string(random_.below(60)));
  return spec;
}

TemplateSpec Decider::template_of(Entity top) {
  TemplateSpec spec;
  std::map<Entity, unsigned> keys;
  const auto shape = [&](auto&& self, Entity e, TemplateNode& node) -> void {
    keys[e] = node.key;
    for (const Entity below : model_.find(e)->children) {
      TemplateNode child;
      child.key = spec.next_key++;
      child.name = model_.text(model_.name_of(below));
      self(self, below, child);
      node.children.push_back(std::move(child));
    }
  };
  const auto values = [&](auto&& self, Entity e, TemplateNode& node) -> void {
    const Thing& thing = *model_.find(e);
    for (const auto& [type, value] : thing.components) {
      const KnownType& known = trial_types().at(type);
      if (type == id_of<muster::Name>) continue;
      TemplatePart& part = node.components[type];
      part.bytes = known.tag ? Bytes(1, '\0') : value;
      part.given.assign(part.bytes.size(), true);
      std::size_t offset = 0;
      if (!names_entity(type, offset)) continue;
      const auto inside = keys.find(as<Entity>(value.substr(offset, sizeof(Entity))));
      if (inside == keys.end()) continue;
      std::fill_n(part.bytes.begin() + static_cast<std::ptrdiff_t>(offset), 8, '\0');
      part.refers[offset] = inside->second;
    }
    for (std::size_t i = 0; i < thing.children.size(); ++i) self(self, thing.children[i], node.children[i]);
  };
  if (!model_.alive(top)) return spec;
  shape(shape, top, spec.root);
  values(values, top, spec.root);
  return spec;
}

void Decider::define(Action& a) {
  const std::uint64_t roll = random_.below(100);
  a.spec = std::make_shared<TemplateSpec>();
  if (roll < 20) {
    Entity top = somebody();
    if (model_.alive(top) && model_.below(top).size() > 12) top = alive();
    if (model_.alive(top) && model_.below(top).size() > 12) top = {};
    a.how = DefineFrom::entity;
    a.target = top;
    *a.spec = template_of(top);
    a.spec->name = template_name(random_.below(5));
  } else if (roll < 45 && !model_.templates().empty()) {
    auto base = model_.templates().begin();
    std::advance(base, static_cast<std::ptrdiff_t>(random_.below(model_.templates().size())));
    if (Flat(base->second).nodes.size() > 12) base = model_.templates().begin();
    a.how = DefineFrom::base;
    a.text = base->second.name;
    a.over = std::make_shared<TemplateSpec>(template_tree());
    a.component = any_component();
    a.spec->name = a.over->name;
    lay(*a.spec, base->second);
    lay(*a.spec, *a.over);
    a.spec->root.components.erase(a.component);
    if (Flat(*a.spec).nodes.size() > 20) {  // they would grow and grow
      a.how = DefineFrom::scratch;
      *a.spec = *a.over;
    }
  } else {
    *a.spec = template_tree();
  }
}

void Decider::spawn(Action& a) {
  a.text = template_name(random_.below(5));
  a.parent = random_.percent(60) ? somebody() : Entity{};
  a.before = random_.percent(20) ? child_of(a.parent) : Entity{};
  if (random_.percent(50)) a.name = random_.percent(50) ? "orc" : "a";
  a.clash = clash();
  a.number = random_.percent(20) ? 2 + random_.below(2) : 1;
  a.rows = random_.percent(40) ? typed_rows() : RowValues{};
}

void Decider::spoil(TemplateSpec& spec) {
  TemplateNode& node = spec.root.children.empty() || random_.percent(50) ? spec.root : spec.root.children[0];
  TemplatePart part;
  part.bytes = Bytes(8, '\0');
  part.given.assign(8, true);
  switch (random_.below(6)) {
    case 0: node.components[12345] = part; break;
    case 1:
      part.bytes[0] = 2;  // neither true nor false
      node.components[id_of<Flags>] = part;
      break;
    case 2:
      for (int i = 0; i < 2; ++i) {
        node.children.emplace_back().name = "twin";
        node.children.back().key = spec.next_key++;
      }
      break;
    case 3:
      part.bytes.resize(4);
      part.given.resize(4);
      node.messages.emplace_back(id_of<muster::Destroy>, part);
      break;
    case 4: node.components[id_of<muster::Name>] = part; break;
    default: spec.forgets = true; break;
  }
}

Message Decider::define_message() {
  auto spec = std::make_shared<TemplateSpec>(template_tree());
  if (random_.percent(45)) spoil(*spec);
  Message made{.to = Message::To::world, .type = id_of<muster::DefineTemplate>, .payload = spec->name};
  made.is_table = true;
  made.defines = std::move(spec);
  return made;
}

Message Decider::spawn_message() {
  const std::string what = template_name(random_.below(5));
  muster::Spawn how{.what = {muster::hash64(what)}, .parent = random_.percent(70) ? somebody() : Entity{}};
  how.clash = clash();
  if (random_.percent(25)) how.before = child_of(how.parent);
  if (random_.percent(50)) how.name = some_text();
  const auto known = model_.templates().find(how.what);
  std::size_t count = known == model_.templates().end() ? 1 : Flat(known->second).nodes.size();
  if (random_.percent(15)) count *= 2;
  if (random_.percent(5)) ++count;
  Message made = span(std::span<const Entity>(), how);
  made.targets = ids_for_create(count);
  if (random_.percent(10)) made.targets[0] = made.targets.back();
  made.has_rows = random_.percent(40);
  if (made.has_rows) made.rows = any_rows();
  return made;
}

Message Decider::merge_message() {
  const std::string what = template_name(random_.below(5));
  const muster::MergeTemplate how{.what = {muster::hash64(what)}};
  Message made = span(std::span<const Entity>(), how);
  made.targets.push_back(somebody());
  const auto known = model_.templates().find(how.what);
  if (known == model_.templates().end()) return made;
  const Flat flat(known->second);
  const std::vector<Entity> ids = ids_for_create(flat.nodes.size());
  std::vector<bool> there(flat.nodes.size(), false);
  there[0] = model_.alive(made.targets[0]);
  for (std::size_t i = 1; i < flat.nodes.size(); ++i) {
    const std::string& name = flat.nodes[i]->name;
    const Entity found = there[flat.parents[i]] && !name.empty()
                             ? model_.find_child(made.targets[flat.parents[i]], {muster::hash64(name)})
                             : Entity{};
    there[i] = static_cast<bool>(found);
    made.targets.push_back(found ? found : ids[i]);
  }
  if (random_.percent(8)) made.targets.back() = somebody();
  return made;
}

}  // namespace naive

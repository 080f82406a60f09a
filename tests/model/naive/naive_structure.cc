// What the naive model does with messages that change entities.
#include <algorithm>
#include <utility>

#include "tests/model/naive/naive_kinds.h"
#include "tests/model/naive/naive_model.h"

namespace naive {

Refusal Model::apply(const Message& message, Entity target) {
  const TypeId type = message.type;
  if (type == id_of<muster::Create>) return create(target, message);
  if (type == id_of<muster::Destroy>) return destroy(target), Refusal{};
  if (type == id_of<muster::Set>) return set(target, message);
  if (type == id_of<muster::Remove>) return remove(target, as<muster::Remove>(message.payload).component);
  if (type == id_of<muster::SetField>) return set_field(target, as<muster::SetField>(message.payload), nullptr);
  if (type == id_of<muster::SetFieldIf>) {
    const auto both = as<muster::SetFieldIf>(message.payload);
    return set_field(target, both.set, both.expected.data());
  }
  if (type == id_of<muster::Reparent>) return reparent(target, as<muster::Reparent>(message.payload));
  if (type == id_of<muster::Rename>) return rename(target, as<muster::Rename>(message.payload));
  return refuse(RefusalCode::wrong_targets, target, type);
}

Refusal Model::check_rows(const RowValues& given) const {
  for (const auto& [type, value] : given) {
    if (type == name_type || type == child_of_type) return refuse(RefusalCode::kept_by_registry, {}, type);
    const auto known = types_.find(type);
    if (known == types_.end() || !known->second.component) return refuse(RefusalCode::unknown_component, {}, type);
  }
  return {};
}

Refusal Model::create(Entity e, const Message& message) {
  const TypeId type = id_of<muster::Create>;
  const auto create = as<muster::Create>(message.payload);
  const bool reserved = in_state(e, IdState::reserved);
  if (!reserved && !in_state(e, IdState::granted)) return refuse(RefusalCode::id_not_granted, e);
  const auto refused = [&](Refusal refusal) {
    if (reserved) {
      states[e.index] = IdState::free;
      release(e);
    }
    refusal.entity = e;
    return refusal;
  };
  if (create.parent && !alive(create.parent))
    return refused(refuse(RefusalCode::dead_entity, e, type, muster::hash32("parent")));
  if (create.before && (!create.parent || !alive(create.before) || find(create.before)->parent != create.parent))
    return refused(refuse(RefusalCode::before_is_no_child, e, type, muster::hash32("before")));
  Text name = create.name;
  if (name && !knows(name)) return refused(refuse(RefusalCode::bad_name, e, type, muster::hash32("name")));
  const bool clash = name && find_child(create.parent, name);
  if (clash && create.clash == muster::NameClash::refuse)
    return refused(refuse(RefusalCode::name_taken, e, type, muster::hash32("name")));
  if (const Refusal refusal = check_rows(message.rows); refusal.code != RefusalCode::none) return refused(refusal);
  if (clash) {
    name = free_name(create.parent, name);
    ++covered["name clash: suffix taken"];
  }
  Thing thing;
  thing.parent = create.parent;
  thing.depth = create.parent ? things_.at(create.parent).depth + 1 : 0;
  std::set<TypeId> types;
  for (const auto& [component, value] : message.rows) {
    thing.components[component] = stored(component, value);
    types.insert(component);
    if (types_.at(component).runtime) ++covered["runtime component: made"];
  }
  if (name) {
    thing.components[name_type] = bytes_of(muster::Name{.text = name});
    types.insert(name_type);
  }
  thing.archetype = archetype_of(types);
  states[e.index] = IdState::alive;
  put_row(e, thing);
  if (create.parent) {
    auto& siblings = things_.at(create.parent).children;
    siblings.insert(create.before ? std::ranges::find(siblings, create.before) : siblings.end(), e);
  }
  things_.emplace(e, std::move(thing));
  return {};
}

void Model::destroy(Entity top) {
  std::vector<Entity> doomed = below(top);
  std::ranges::reverse(doomed);
  if (doomed.size() > 1) ++covered["subtree destroyed"];
  for (const Entity e : doomed) {
    const Thing thing = things_.at(e);
    if (thing.parent) std::erase(things_.at(thing.parent).children, e);
    take_row(e, thing);
    things_.erase(e);
    states[e.index] = IdState::free;
    release(e);
    gone.push_back(e);
    ledger.erase(e);
  }
}

Refusal Model::set(Entity e, const Message& message) {
  Thing& thing = things_.at(e);
  if (Refusal refusal = check_rows(message.rows); refusal.code != RefusalCode::none) {
    refusal.entity = e;
    return refusal;
  }
  const auto mode = as<muster::Set>(message.payload).mode;
  for (const auto& [type, value] : message.rows) {
    const bool has = thing.components.contains(type);
    if (mode == muster::SetMode::replace && !has) return refuse(RefusalCode::missing_component, e, type);
    if (mode == muster::SetMode::add && has) return refuse(RefusalCode::component_there, e, type);
  }
  std::set<TypeId> types = archetypes[thing.archetype];
  for (const auto& [type, value] : message.rows) {
    const auto old = thing.components.find(type);
    if (old == thing.components.end() && types_.at(type).enableable)
      ++covered[types.contains(type) ? "enableable component given again" : "enableable component given first"];
    thing.components[type] = stored(type, value, old == thing.components.end() ? nullptr : &old->second);
    types.insert(type);
  }
  // A row that stays in its archetype keeps its place.
  if (const std::uint32_t to = archetype_of(types); to != thing.archetype) {
    take_row(e, thing);
    thing.archetype = to;
    put_row(e, thing);
    ++covered["row moved by Set"];
    for (const auto& [type, value] : thing.components)
      if (types_.at(type).runtime && !message.rows.contains(type)) ++covered["runtime component: moved with its row"];
  }
  return {};
}

Refusal Model::remove(Entity e, TypeId component) {
  Thing& thing = things_.at(e);
  if (component == child_of_type) return refuse(RefusalCode::kept_by_registry, e, component);
  if (!thing.components.contains(component)) {
    const auto known = types_.find(component);
    return refuse(known != types_.end() && known->second.component ? RefusalCode::missing_component
                                                                   : RefusalCode::unknown_component,
                  e, component);
  }
  if (types_.at(component).enableable) {
    thing.components.erase(component);
    ++covered["enableable component removed"];
    return {};
  }
  take_row(e, thing);
  std::set<TypeId> types = archetypes[thing.archetype];
  types.erase(component);
  thing.components.erase(component);
  thing.archetype = archetype_of(types);
  put_row(e, thing);
  return {};
}

Refusal Model::set_field(Entity e, const muster::SetField& message, const std::uint8_t* expected) {
  Thing& thing = things_.at(e);
  const auto known = types_.find(message.component);
  if (known == types_.end() || !known->second.component)
    return refuse(RefusalCode::unknown_component, e, message.component);
  if (message.component == name_type || message.component == child_of_type)
    return refuse(RefusalCode::kept_by_registry, e, message.component, message.field);
  const auto component = thing.components.find(message.component);
  if (component == thing.components.end() || known->second.tag)
    return refuse(RefusalCode::missing_component, e, message.component);
  const auto spot = known->second.fields.find(message.field);
  if (spot == known->second.fields.end())
    return refuse(RefusalCode::unknown_field, e, message.component, message.field);
  const auto [offset, bytes] = spot->second;
  if (bytes != message.bytes || bytes > message.value.size())
    return refuse(RefusalCode::wrong_size, e, message.component, message.field);
  if (expected && std::memcmp(component->second.data() + offset, expected, bytes) != 0)
    return refuse(RefusalCode::value_mismatch, e, message.component, message.field);
  Bytes changed = component->second;
  std::memcpy(changed.data() + offset, message.value.data(), bytes);
  if (known->second.good && !known->second.good(changed))
    return refuse(RefusalCode::bad_value, e, message.component, message.field);
  component->second = changed;
  ++covered[expected ? "SetFieldIf applied" : "SetField applied"];
  return {};
}

Refusal Model::reparent(Entity e, const muster::Reparent& message) {
  const TypeId type = id_of<muster::Reparent>;
  if (message.parent && !alive(message.parent))
    return refuse(RefusalCode::dead_entity, e, type, muster::hash32("parent"));
  if (message.parent && std::ranges::count(below(e), message.parent))
    return refuse(RefusalCode::cycle, e, type, muster::hash32("parent"));
  if (message.before && (message.before == e || !message.parent || !alive(message.before) ||
                         find(message.before)->parent != message.parent))
    return refuse(RefusalCode::before_is_no_child, e, type, muster::hash32("before"));
  Thing& thing = things_.at(e);
  if (const Text name = name_of(e); name && message.parent != thing.parent && find_child(message.parent, name))
    return refuse(RefusalCode::name_taken, e, type, muster::hash32("parent"));
  if (thing.parent && !message.parent && !thing.children.empty()) ++covered["middle node detached with its children"];
  if (message.before) ++covered["child put before another"];
  if (thing.parent) std::erase(things_.at(thing.parent).children, e);
  thing.parent = message.parent;
  const std::uint32_t depth = message.parent ? things_.at(message.parent).depth + 1 : 0;
  if (depth != thing.depth) {
    const std::uint32_t by = depth - thing.depth;
    for (const Entity each : below(e)) move(each, things_.at(each).depth + by);
    ++covered["subtree moved to another depth"];
  }
  if (message.parent) {
    auto& siblings = things_.at(message.parent).children;
    siblings.insert(message.before ? std::ranges::find(siblings, message.before) : siblings.end(), e);
  }
  return {};
}

Refusal Model::rename(Entity e, const muster::Rename& message) {
  const TypeId type = id_of<muster::Rename>;
  const Text old = name_of(e);
  Thing& thing = things_.at(e);
  Text name = message.name;
  if (name == old) return {};
  if (name && !knows(name)) return refuse(RefusalCode::bad_name, e, type, muster::hash32("name"));
  if (name && find_child(thing.parent, name)) {
    if (message.clash == muster::NameClash::refuse)
      return refuse(RefusalCode::name_taken, e, type, muster::hash32("name"));
    name = free_name(thing.parent, name);
    ++covered["name clash: suffix taken"];
  }
  if (!old || !name) {
    take_row(e, thing);
    std::set<TypeId> types = archetypes[thing.archetype];
    if (name)
      types.insert(name_type);
    else
      types.erase(name_type), thing.components.erase(name_type);
    thing.archetype = archetype_of(types);
    put_row(e, thing);
  }
  if (name) thing.components[name_type] = bytes_of(muster::Name{.text = name});
  return {};
}

}  // namespace naive

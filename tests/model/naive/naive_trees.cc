// What the naive model does with templates.
#include <algorithm>
#include <utility>

#include "tests/model/naive/naive_kinds.h"
#include "tests/model/naive/naive_model.h"

namespace naive {

using muster::ChangeKind;

Refusal Model::define_template(const TemplateSpec& spec) {
  if (const Refusal refusal = judge(spec, types_); refusal.code != RefusalCode::none) {
    ++covered["template refused"];
    return refusal;
  }
  const Text name = text_of(spec.name);
  if (spec.forgets) {
    if (templates_.erase(name)) ++covered["template forgotten"];
    return {};
  }
  keep_text(spec.name);
  for (const std::string& text : spec.texts) keep_text(text);
  for (const TemplateNode* node : Flat(spec).nodes) keep_text(node->name);
  ++covered[templates_.contains(name) ? "template replaced" : "template defined"];
  templates_[name] = spec;
  return {};
}

void Model::give_up(std::span<const Entity> ids) {
  for (const Entity e : ids) {
    if (!in_state(e, IdState::reserved)) continue;
    states[e.index] = IdState::free;
    release(e);
  }
}

void Model::bring(Entity e, Thing thing, Text name, Entity before) {
  thing.depth = thing.parent ? things_.at(thing.parent).depth + 1 : 0;
  if (name) thing.components[name_type] = bytes_of(muster::Name{.text = name});
  std::set<TypeId> all;
  for (const auto& [type, value] : thing.components) {
    all.insert(type);
    if (types_.at(type).runtime) ++covered["runtime component: made by a template"];
  }
  thing.archetype = archetype_of(all);
  states[e.index] = IdState::alive;
  put_row(e, thing);
  if (thing.parent) {
    auto& siblings = things_.at(thing.parent).children;
    siblings.insert(before ? std::ranges::find(siblings, before) : siblings.end(), e);
  }
  things_.emplace(e, std::move(thing));
}

Refusal Model::spawn_trees(const muster::Spawn& how, const std::vector<Entity>& ids, const RowValues& root) {
  const auto refused = [&](RefusalCode code, Entity e, FieldId field = 0, TypeId about = id_of<muster::Spawn>) {
    give_up(ids);
    return refuse(code, e, about, field);
  };
  const auto known = templates_.find(Text{how.what});
  if (known == templates_.end()) return refused(RefusalCode::unknown_template, ids[0], muster::hash32("what"));
  const TemplateSpec& spec = known->second;
  const std::size_t size = Flat(spec).nodes.size();
  if (ids.size() % size != 0) return refused(RefusalCode::wrong_targets, ids[0]);
  for (const Entity e : ids)
    if (!fresh(e)) return refused(RefusalCode::id_not_granted, e);
  std::set<Entity> seen;
  Entity twice;  // the smallest of them
  for (const Entity e : ids)
    if (!seen.insert(e).second && (!twice || e < twice)) twice = e;
  if (twice) return refused(RefusalCode::id_not_granted, twice);
  if (how.parent && !alive(how.parent)) return refused(RefusalCode::dead_entity, ids[0], muster::hash32("parent"));
  if (how.before && (!how.parent || !alive(how.before) || find(how.before)->parent != how.parent))
    return refused(RefusalCode::before_is_no_child, ids[0], muster::hash32("before"));
  if (!knows(how.name)) return refused(RefusalCode::bad_name, ids[0], muster::hash32("name"));
  if (how.name && how.clash == muster::NameClash::refuse && (ids.size() > size || find_child(how.parent, how.name)))
    return refused(RefusalCode::name_taken, ids[0], muster::hash32("name"));
  if (const Refusal refusal = check_rows(root); refusal.code != RefusalCode::none)
    return refused(refusal.code, ids[0], 0, refusal.type);
  if (ids.size() > size) ++covered["several trees spawned at once"];
  for (std::size_t from = 0; from < ids.size(); from += size)
    spawn_tree(spec, how, std::span(ids).subspan(from, size), root);
  return {};
}

void Model::spawn_tree(const TemplateSpec& spec, const muster::Spawn& how, std::span<const Entity> ids,
                       const RowValues& root) {
  const Flat flat(spec);
  ++covered["tree spawned"];
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Thing thing;
    thing.parent = i == 0 ? how.parent : ids[flat.parents[i]];
    for (const auto& [type, part] : flat.nodes[i]->components) {
      thing.components[type] = stored(type, filled(part, flat, ids));
      if (!part.refers.empty()) ++covered["reference inside a template"];
    }
    if (i == 0)
      for (const auto& [type, value] : root) {
        ++covered[thing.components.contains(type) ? "component of a template replaced by the spawn"
                                                  : "component added by the spawn"];
        thing.components[type] = stored(type, value);
      }
    const Text name = i == 0 && how.name ? free_name(how.parent, Text{how.name}) : text_of(flat.nodes[i]->name);
    bring(ids[i], std::move(thing), i == 0 && !how.name ? Text{} : name, i == 0 ? how.before : Entity{});
  }
}

Refusal Model::merge_tree(const muster::MergeTemplate& how, const std::vector<Entity>& ids,
                          std::vector<bool>& previously, std::vector<Merged>& merged) {
  const TypeId type = id_of<muster::MergeTemplate>;
  const auto refused = [&](RefusalCode code, Entity e, FieldId field = 0) {
    give_up(ids);
    return refuse(code, e, type, field);
  };
  const auto known = templates_.find(Text{how.what});
  if (known == templates_.end()) return refused(RefusalCode::unknown_template, ids[0], muster::hash32("what"));
  const Flat flat(known->second);
  if (ids.size() != flat.nodes.size()) return refused(RefusalCode::wrong_targets, ids[0]);
  if (!alive(ids[0])) return refused(RefusalCode::dead_entity, ids[0]);
  std::set<Entity> seen;
  Entity twice;
  for (const Entity e : ids)
    if (!seen.insert(e).second && (!twice || e < twice)) twice = e;
  if (twice) return refused(RefusalCode::wrong_targets, twice);
  previously[0] = true;
  for (std::size_t i = 1; i < ids.size(); ++i) {
    const std::uint32_t up = flat.parents[i];
    const Entity there = previously[up] ? find_child(ids[up], text_of(flat.nodes[i]->name)) : Entity{};
    if (there && there != ids[i]) return refused(RefusalCode::name_taken, ids[i]);
    if (!there && !fresh(ids[i])) return refused(RefusalCode::id_not_granted, ids[i]);
    previously[i] = static_cast<bool>(there);
  }
  ++covered["template merged into a tree"];
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const TemplateNode& node = *flat.nodes[i];
    if (previously[i]) {
      merge_node(node, flat, ids, ids[i], merged);
      if (i > 0) ++covered["merging: a node met an entity by its name"];
      continue;
    }
    Thing thing;
    thing.parent = ids[flat.parents[i]];
    for (const auto& [component, part] : node.components)
      thing.components[component] = stored(component, filled(part, flat, ids));
    bring(ids[i], std::move(thing), text_of(node.name), {});
    ++covered["merging: a node was missing"];
  }
  return {};
}

void Model::merge_node(const TemplateNode& node, const Flat& flat, std::span<const Entity> ids, Entity e,
                       std::vector<Merged>& merged) {
  Thing& thing = things_.at(e);
  std::set<TypeId> all = archetypes[thing.archetype];
  for (const auto& [type, part] : node.components) {
    const Bytes value = filled(part, flat, ids);
    const auto old = thing.components.find(type);
    if (old == thing.components.end()) {
      thing.components[type] = stored(type, value);
      all.insert(type);
      merged.push_back({ChangeKind::added, e, type});
      ++covered["merging: a component was missing"];
      continue;
    }
    if (types_.at(type).tag) continue;
    Bytes laid = old->second;
    for (std::size_t i = 0; i < value.size(); ++i)
      if (part.given[i]) laid[i] = value[i];
    if (laid == old->second) continue;
    old->second = laid;
    merged.push_back({ChangeKind::changed, e, type});
    ++covered["merging: a field changed"];
  }
  if (const std::uint32_t to = archetype_of(all); to != thing.archetype) {
    take_row(e, thing);
    thing.archetype = to;
    put_row(e, thing);
  }
}

// --- what everybody is told of it ---

void Model::tell_of_new(std::span<const Entity> fresh) {
  for (const Entity e : fresh) {
    const RowValues there = find(e)->components;
    for (const auto& [type, value] : there) follow(ChangeKind::added, e, type);
  }
}

void Model::tree(const Message& message, Receipt& receipt) {
  const std::vector<Entity>& ids = message.targets;
  const bool merges = message.type == id_of<muster::MergeTemplate>;
  std::vector<bool> previously(ids.size(), false);
  std::vector<Merged> merged;
  Text name;
  Refusal refusal;
  if (merges) {
    const auto how = as<muster::MergeTemplate>(message.payload);
    name = Text{how.what};
    refusal = merge_tree(how, ids, previously, merged);
  } else {
    const auto how = as<muster::Spawn>(message.payload);
    name = Text{how.what};
    refusal = spawn_trees(how, ids, message.rows);
  }
  if (refusal.code != RefusalCode::none) {
    note(refusal, receipt);
    receipt.refused += static_cast<std::uint32_t>(ids.size() - 1);
    return;
  }
  receipt.handled += static_cast<std::uint32_t>(ids.size());
  for (const Entity e : ids) handlers_at(message, e, message.payload);
  std::vector<Entity> fresh;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (!previously[i]) fresh.push_back(ids[i]);
  for (const Entity e : fresh) tell(e, id_of<muster::Activated>, bytes_of(muster::Activated{}));
  for (std::size_t i = 0; i < ids.size(); ++i)
    tell(ids[i], id_of<muster::Loaded>, bytes_of(muster::Loaded{.previously = previously[i]}));
  tell_of_new(fresh);
  for (const Merged& change : merged) follow(change.kind, change.entity, change.component);
  const TemplateSpec spec = templates_.at(name);
  const Flat flat(spec);
  for (std::size_t from = 0; from < ids.size(); from += flat.nodes.size())
    for (std::size_t i = 0; i < flat.nodes.size(); ++i)
      for (const auto& [type, part] : flat.nodes[i]->messages) {
        Message first{.to = Message::To::one, .type = type, .targets = {ids[from + i]}};
        first.payload = filled(part, flat, std::span(ids).subspan(from, flat.nodes.size()));
        first.is_table = part.table;
        Receipt uncounted;
        to_targets(first, first.targets, uncounted);
        ++covered["initial message of a template"];
      }
}

}  // namespace naive

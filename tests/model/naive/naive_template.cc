#include "tests/model/naive/naive_template.h"

#include <algorithm>
#include <cstring>

namespace naive {

Flat::Flat(const TemplateSpec& spec) {
  if (!spec.forgets) add(spec.root, 0);
}

void Flat::add(const TemplateNode& node, std::uint32_t parent) {
  const auto number = static_cast<std::uint32_t>(nodes.size());
  numbers[node.key] = number;
  nodes.push_back(&node);
  parents.push_back(parent);
  for (const TemplateNode& child : node.children) add(child, number);
}

namespace {

/// Gives every node of `from` its counterpart in `into`; those missing are added, without values.
void mirror(TemplateSpec& base, TemplateNode& into, const TemplateNode& from, std::map<unsigned, unsigned>& keys) {
  keys[from.key] = into.key;
  for (const TemplateNode& child : from.children) {
    auto known = std::ranges::find(into.children, child.name, &TemplateNode::name);
    if (child.name.empty() || known == into.children.end()) {
      TemplateNode fresh;
      fresh.key = base.next_key++;
      fresh.name = child.name;
      into.children.push_back(fresh);
      known = into.children.end() - 1;
    }
    mirror(base, *known, child, keys);
  }
}

TemplateNode* node_of(TemplateNode& node, unsigned key) {
  if (node.key == key) return &node;
  for (TemplateNode& child : node.children)
    if (TemplateNode* found = node_of(child, key)) return found;
  return nullptr;
}

void fill(TemplateSpec& base, const TemplateNode& from, const std::map<unsigned, unsigned>& keys) {
  TemplateNode& into = *node_of(base.root, keys.at(from.key));
  const auto moved = [&](TemplatePart part) {
    for (auto& [offset, key] : part.refers) key = keys.at(key);
    return part;
  };
  for (const auto& [type, part] : from.components) {
    const TemplatePart over = moved(part);
    const auto known = into.components.find(type);
    if (known == into.components.end()) {
      into.components[type] = over;
      continue;
    }
    TemplatePart& under = known->second;
    for (std::size_t i = 0; i < over.bytes.size(); ++i) {
      if (!over.given[i]) continue;
      under.bytes[i] = over.bytes[i];
      under.given[i] = true;
      under.refers.erase(i);
    }
    for (const auto& [offset, key] : over.refers)
      if (over.given[offset]) under.refers[offset] = key;
  }
  for (const auto& [type, part] : from.messages) into.messages.emplace_back(type, moved(part));
  for (const TemplateNode& child : from.children) fill(base, child, keys);
}

}  // namespace

void lay(TemplateSpec& base, const TemplateSpec& over) {
  std::map<unsigned, unsigned> keys;
  mirror(base, base.root, over.root, keys);
  fill(base, over.root, keys);
  base.texts.insert(over.texts.begin(), over.texts.end());
}

muster::Refusal judge(const TemplateSpec& spec, const Types& types) {
  constexpr TypeId define = id_of<muster::DefineTemplate>;
  const Flat flat(spec);
  bool twice = false;
  for (std::uint32_t i = 0; i < flat.nodes.size(); ++i) {
    const TemplateNode* const node = flat.nodes[i];
    for (const auto& [type, part] : node->components) {
      const auto known = types.find(type);
      if (known == types.end()) return {RefusalCode::unknown_component, {}, type, 0, i};
      const bool of_registry = type == id_of<muster::Name> || type == id_of<muster::ChildOf>;
      if (!known->second.component) return {RefusalCode::unknown_component, {}, type, 0, i};
      if (of_registry) return {RefusalCode::kept_by_registry, {}, type, 0, i};
      if (known->second.good && !known->second.good(part.bytes)) return {RefusalCode::bad_value, {}, type, 0, i};
    }
    for (const auto& [type, part] : node->messages) {
      const auto known = types.find(type);
      if (known == types.end()) return {RefusalCode::unknown_component, {}, type, 0, i};
      if (known->second.component) return {RefusalCode::bad_template, {}, type, muster::hash32("type"), i};
      if (known->second.builtin) return {RefusalCode::kept_by_registry, {}, type, 0, i};
    }
    std::set<std::string> names;
    for (const TemplateNode& child : node->children)
      twice = twice || (!child.name.empty() && !names.insert(child.name).second);
  }
  if (twice) return {RefusalCode::name_taken, {}, define, muster::hash32("name")};
  return {};
}

Bytes filled(const TemplatePart& part, const Flat& flat, std::span<const Entity> ids) {
  Bytes made = part.bytes;
  for (const auto& [offset, key] : part.refers) std::memcpy(made.data() + offset, &ids[flat.numbers.at(key)], 8);
  return made;
}

}  // namespace naive

// Messages and templates of the naive model as bytes.
#include <cstring>
#include <map>

#include "tests/model/steps/actions.h"
#include "tests/model/trial_types.h"

namespace naive {

void build(muster::BatchBuilder& builder, const Messages& messages, const muster::TypeTable& types) {
  for (const Message& message : messages) {
    const muster::TypeDescriptor& type = *types.find(message.type);
    const auto shape = muster::PayloadShape::of(type);
    const Entity target = message.targets.empty() ? Entity{} : message.targets[0];
    std::byte* at = nullptr;
    if (message.to == Message::To::later) {
      muster::BatchBuilder inner;
      build(inner, message.inner, types);
      builder.append_timed(message.due_ns, message.timer, inner.front());
    } else if (message.type == id_of<muster::InternText>) {
      builder.append_table(type.id, {}, muster::encode(muster::InternText{.text = message.payload}));
    } else if (message.defines) {
      builder.append_table(type.id, {}, muster::encode(as_message(*message.defines, types)));
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
        case Message::To::later: break;
      }
    }
    if (at) std::memcpy(at, message.payload.data(), message.payload.size());
  }
}

namespace {

muster::TemplateValue value_of(TypeId type, const TemplatePart& part, const Flat& flat,
                               const muster::TypeTable& types) {
  muster::TemplateValue made;
  made.type = type;
  if (const muster::TypeDescriptor* known = types.find(type)) made.fingerprint = known->fingerprint;
  for (const char c : part.bytes) made.value.push_back(static_cast<std::uint8_t>(c));
  for (std::uint32_t i = 0; i < part.given.size(); ++i) {
    if (!part.given[i]) continue;
    if (i > 0 && part.given[i - 1])
      ++made.given.back().bytes;
    else
      made.given.push_back({.offset = i, .bytes = 1});
  }
  for (const auto& [offset, key] : part.refers)
    made.references.push_back({.offset = static_cast<std::uint32_t>(offset), .node = flat.numbers.at(key)});
  return made;
}

void fill(muster::TemplateTree::Value& value, const TemplatePart& part, const std::map<unsigned, std::uint32_t>& keys) {
  value.given.assign(part.given.begin(), part.given.end());
  for (const auto& [offset, key] : part.refers)
    value.references.push_back({static_cast<std::uint32_t>(offset), keys.at(key)});
}

}  // namespace

muster::DefineTemplate as_message(const TemplateSpec& spec, const muster::TypeTable& types) {
  const Flat flat(spec);
  muster::DefineTemplate made;
  made.name = spec.name;
  made.texts.assign(spec.texts.begin(), spec.texts.end());
  for (std::size_t i = 0; i < flat.nodes.size(); ++i) {
    muster::TemplateNode node;
    node.parent = flat.parents[i];
    if (i > 0) node.name = flat.nodes[i]->name;
    for (const auto& [type, part] : flat.nodes[i]->components)
      node.components.push_back(value_of(type, part, flat, types));
    for (const auto& [type, part] : flat.nodes[i]->messages) node.messages.push_back(value_of(type, part, flat, types));
    made.nodes.push_back(std::move(node));
  }
  return made;
}

muster::TemplateTree as_tree(const TemplateSpec& spec, const muster::TypeTable& types) {
  muster::TemplateTree tree(spec.name);
  std::map<unsigned, std::uint32_t> keys;
  const auto shape = [&](auto&& self, const TemplateNode& from, muster::TemplateTree::Node& to) -> void {
    keys[from.key] = to.key();
    for (const TemplateNode& child : from.children) tree.add_child(to, child.name);
    for (std::size_t i = 0; i < from.children.size(); ++i) self(self, from.children[i], to.children()[i]);
  };
  shape(shape, spec.root, tree.root());
  const auto values = [&](auto&& self, const TemplateNode& from, muster::TemplateTree::Node& to) -> void {
    const auto bytes = [](const TemplatePart& part) { return std::as_bytes(std::span(part.bytes)); };
    for (const auto& [type, part] : from.components)
      fill(tree.set(to, type, types.find(type)->fingerprint, bytes(part)), part, keys);
    for (const auto& [type, part] : from.messages)
      fill(tree.add_message(to, type, types.find(type)->fingerprint, bytes(part)), part, keys);
    for (std::size_t i = 0; i < from.children.size(); ++i) self(self, from.children[i], to.children()[i]);
  };
  values(values, spec.root, tree.root());
  for (const std::string& text : spec.texts) tree.text(text);
  return tree;
}

}  // namespace naive

#include "registry/apply/template.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <tuple>

#include "messages/batch_builder.h"
#include "messages/judge/verifier.h"
#include "registry/handlers/builtin_messages.h"

namespace muster {

namespace {

constexpr TypeId define_type = TypeTraits<DefineTemplate>::id;

Refusal refuse(RefusalCode code, TypeId type = define_type, FieldId field = 0,
               std::uint32_t node = Refusal::no_node) noexcept {
  return {code, {}, type, field, node};
}

/// The name of a child, together with the numbers of its parent and of its own node.
struct Named {
  std::uint32_t parent;
  Text name;
  std::uint32_t node;
};

}  // namespace

std::expected<std::shared_ptr<const Template>, Refusal> Template::read(DefineTemplateView defined, TypesKnown& types) {
  auto made = std::make_shared<Template>();
  made->name_ = defined.name();
  if (const Refusal refusal = made->read_nodes(defined, types); refusal.code != RefusalCode::none)
    return std::unexpected(refusal);
  return made;
}

Refusal Template::read_nodes(DefineTemplateView defined, TypesKnown& types) {
  if (name_.empty()) return refuse(RefusalCode::bad_name, define_type, hash32("name"));
  const auto nodes = defined.nodes();
  const auto count = static_cast<std::uint32_t>(nodes.size());
  std::vector<Named> names;
  nodes_.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const TemplateNodeView from = nodes[i];
    Node node;
    node.parent = from.parent();
    node.name = text_of(from.name());
    if (i == 0) {
      if (node.parent != 0) return refuse(RefusalCode::bad_template, define_type, hash32("parent"), i);
      if (node.name) return refuse(RefusalCode::bad_template, define_type, hash32("name"), i);
    } else {
      // The nodes are in pre-order, so the parent is the previous node or one of its ancestors.
      std::uint32_t up = i - 1;
      while (up != node.parent && up != 0) up = nodes_[up].parent;
      if (up != node.parent) return refuse(RefusalCode::bad_template, define_type, hash32("parent"), i);
      node.depth = nodes_[up].depth + 1;
      if (node.name) names.push_back({up, node.name, i});
    }
    node.first_component = static_cast<std::uint32_t>(values_.size());
    TypeId previous = 0;
    for (const TemplateValueView component : from.components()) {
      if (Refusal refusal = read_value(component, true, count, types); refusal.code != RefusalCode::none) {
        refusal.node = i;
        return refusal;
      }
      if (component.type() <= previous)
        return refuse(RefusalCode::bad_template, component.type(), hash32("components"), i);
      previous = component.type();
    }
    node.components = static_cast<std::uint32_t>(values_.size()) - node.first_component;
    node.first_message = static_cast<std::uint32_t>(values_.size());
    for (const TemplateValueView message : from.messages())
      if (Refusal refusal = read_value(message, false, count, types); refusal.code != RefusalCode::none) {
        refusal.node = i;
        return refusal;
      }
    node.messages = static_cast<std::uint32_t>(values_.size()) - node.first_message;
    has_messages_ = has_messages_ || node.messages > 0;
    nodes_.push_back(node);
  }
  std::ranges::sort(names, [](const Named& a, const Named& b) {
    return std::tie(a.parent, a.name.hash, a.node) < std::tie(b.parent, b.name.hash, b.node);
  });
  const auto same = [](const Named& a, const Named& b) { return a.parent == b.parent && a.name == b.name; };
  if (const auto twice = std::ranges::adjacent_find(names, same); twice != names.end())
    return refuse(RefusalCode::name_taken, define_type, hash32("name"), std::next(twice)->node);
  return {};
}

Refusal Template::read_value(TemplateValueView from, bool component, std::uint32_t nodes, TypesKnown& types) {
  const TypeDescriptor* type = types.table().find(from.type());
  if (!type || (component && type->role != TypeRole::component))
    return refuse(RefusalCode::unknown_component, from.type());
  const bool message = type->role == TypeRole::message || type->role == TypeRole::table_message;
  if (!component && !message) return refuse(RefusalCode::bad_template, from.type(), hash32("type"));
  if (component ? type->id == TypeTraits<Name>::id || type->id == TypeTraits<ChildOf>::id : is_builtin(type->id))
    return refuse(RefusalCode::kept_by_registry, from.type());
  if (from.fingerprint() != type->fingerprint) return refuse(RefusalCode::other_layout, from.type());
  if (component)
    types.component(type->id);
  else
    types.route(type->id);
  const std::span<const std::byte> bytes = std::as_bytes(from.value());
  Value value;
  value.type = type->id;
  value.table = type->is_table;
  value.at = static_cast<std::uint32_t>(blocks_.size() * sizeof(Block));
  value.bytes = static_cast<std::uint32_t>(bytes.size());
  if (value.table) {
    BatchBuilder alone;
    alone.append_table(type->id, {}, bytes);
    if (!verify_batch(alone.bytes(), types.table(), {.batch_bytes_max = batch_bytes_max}))
      return refuse(RefusalCode::bad_value, type->id);
  } else if (!verify_value(bytes, *type, types.table())) {
    return refuse(RefusalCode::bad_value, type->id);
  }
  blocks_.resize(blocks_.size() + (bytes.size() + sizeof(Block) - 1) / sizeof(Block), Block{});
  if (!bytes.empty()) std::memcpy(reinterpret_cast<std::byte*>(blocks_.data()) + value.at, bytes.data(), bytes.size());
  if (type->tag) value.bytes = 0;

  value.first_span = static_cast<std::uint32_t>(spans_.size());
  for (const TemplateSpan& span : from.given()) {
    if (span.offset > bytes.size() || span.bytes > bytes.size() - span.offset)
      return refuse(RefusalCode::bad_template, type->id, hash32("given"));
    spans_.push_back(span);
  }
  value.spans = static_cast<std::uint32_t>(spans_.size()) - value.first_span;
  value.first_reference = static_cast<std::uint32_t>(references_.size());
  for (const TemplateReference& reference : from.references()) {
    if (value.table || type->tag ||
        std::ranges::find(type->entity_offsets, reference.offset) == type->entity_offsets.end() ||
        reference.node >= nodes)
      return refuse(RefusalCode::bad_template, type->id, hash32("references"));
    references_.push_back(reference);
  }
  value.references = static_cast<std::uint32_t>(references_.size()) - value.first_reference;
  values_.push_back(value);
  return {};
}

void TemplateTable::Entry::seal(const Spawn& message) {
  BatchBuilder builder;
  builder.append_shared(std::vector<Entity>(what->size()), message);
  sealed.bytes.keep(builder.bytes());
  auto* const bytes = static_cast<std::byte*>(sealed.bytes.data());
  const BatchView made(bytes);
  sealed.batch = made.bytes();
  sealed.message = bytes + (made.payload(0) - bytes);
  sealed.ids = {reinterpret_cast<Entity*>(bytes + (made.shared_targets() - bytes)), what->size()};
}

}  // namespace muster

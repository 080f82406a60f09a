#include "server/edits/refusal_text.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <ranges>

#include "messages/batch.h"
#include "messages/step_batches.h"
#include "messages/value_text.h"
#include "registry/handlers/builtin_messages.h"
#include "server/session/shown_text.h"

namespace muster {
namespace {

/// Describes the fault in a template by naming the offending field of muster.TemplateNode or
/// TemplateValue.
std::string template_text(const Refusal& refusal, const std::string& named) {
  switch (refusal.field) {
    case hash32("parent"):
      return "its parent is neither the preceding node nor above it: nodes are in pre-order, and the first has "
             "parent 0";
    case hash32("name"): return "the first node has a name, but Spawn gives it one";
    case hash32("components"): return named + " is duplicated or out of order: components must ascend by type id";
    case hash32("type"): return named + " is not a message";
    case hash32("given"): return "a given part of " + named + " lies outside its value";
    case hash32("references"):
      return "a reference of " + named + " is not at a muster.Entity field, or names a node that does not exist";
    default: return named + " is not allowed there";
  }
}

/// Returns the position in the template, or an empty string for other messages.
std::string node_text(const Refusal& refusal) {
  return refusal.node == Refusal::no_node ? std::string()
                                          : "node " + std::to_string(refusal.node) + " of the template: ";
}

/// Returns the name of the table field whose name hashes to the given value.
std::string table_field(const TypeDescriptor* type, FieldId id) {
  for (const FieldDescriptor& field : type ? std::span(type->fields) : std::span<const FieldDescriptor>())
    if (hash32(field.name) == id) return field.name;
  return {};
}

/// Returns a string such as "#5:1 (/town/tower)", or only the id if the entity is not alive.
std::string shown_entity(const EntityRegistry& registry, const ServerLimits& limits, Entity e) {
  if (!registry.alive(e)) return shown_id(e);
  Steps steps(limits.path_bytes_max);
  return shown_id(e) + " (" + shown_path(registry, e, limits.path_bytes_max, steps) + ")";
}

template <class M>
M read_payload(const BatchView& batch, std::uint32_t i) {
  M message;
  std::memcpy(&message, batch.payload(i), sizeof message);
  return message;
}

/// A refused name, and the parent under which it was requested.
struct WantedName {
  Entity parent;
  std::string_view name;
  bool operator==(const WantedName&) const = default;
};
/// Returns the name, if any, that message i of a batch of kind `each` requests for the refused
/// entity.
std::optional<WantedName> wanted_by(const EntityRegistry& registry, Entity refused, const BatchView& edit,
                                    std::uint32_t i) {
  switch (edit.type()) {
    case TypeTraits<Create>::id: {
      const auto create = read_payload<Create>(edit, i);
      return WantedName{create.parent, registry.text(create.name)};
    }
    case TypeTraits<Rename>::id:
      return WantedName{registry.parent(refused), registry.text(read_payload<Rename>(edit, i).name)};
    case TypeTraits<Reparent>::id: return WantedName{read_payload<Reparent>(edit, i).parent, registry.name(refused)};
    default: return std::nullopt;
  }
}
/// Calls f(name) for each message to the refused entity, with the name that it requests, if any.
template <class F>
void for_each_wanted(const EntityRegistry& registry, Entity refused, const BatchView& edit, F& f) {
  if (edit.type() == TypeTraits<Step>::id && edit.kind() == BatchKind::table)
    return StepBatches(table_item(edit, edit.body()).table).for_each([&](const BatchView& batch) {
      for_each_wanted(registry, refused, batch, f);
    });
  if (edit.kind() == BatchKind::shared && edit.type() == TypeTraits<Spawn>::id) {
    const auto spawn = read_payload<Spawn>(edit, 0);
    if (std::ranges::any_of(std::views::iota(0u, edit.count()),
                            [&](std::uint32_t i) { return edit.target(i) == refused; }))
      f(std::optional(WantedName{spawn.parent, registry.text(spawn.name)}));
  }
  if (edit.kind() != BatchKind::each) return;
  for (std::uint32_t i = 0; i < edit.count(); ++i)
    if (edit.target(i) == refused) f(wanted_by(registry, refused, edit, i));
}
/// Finds the name in the messages to the refused entity. It is not known which of those messages
/// was refused. Therefore, returns nothing if they contain no name or more than one.
std::optional<WantedName> wanted_name(const EntityRegistry& registry, Entity refused, const BatchView& edit) {
  std::optional<WantedName> found;
  bool is_clear = true;
  const auto look = [&](const std::optional<WantedName>& wanted) {
    is_clear = is_clear && wanted && (!found || *found == *wanted);
    found = wanted;
  };
  for_each_wanted(registry, refused, edit, look);
  return is_clear ? found : std::nullopt;
}

/// Describes a name that is already taken, and the entity that has that name.
std::string taken_text(const EntityRegistry& registry, const ServerLimits& limits, Entity refused,
                       std::span<const std::byte> edit) {
  const auto wanted = edit.empty() ? std::nullopt : wanted_name(registry, refused, BatchView(edit));
  if (!wanted || wanted->name.empty()) return "a name that is taken by a sibling";
  const Entity sibling = registry.find_child(wanted->parent, wanted->name);
  // Later messages in the batch may have destroyed or moved the entity that has the name.
  return "the name \"" + printable(wanted->name) + "\", which " +
         (sibling && sibling != refused ? shown_entity(registry, limits, sibling) : std::string("a sibling")) + " has";
}

}  // namespace

session::Fault refusal_fault(const EntityRegistry& registry, const ServerLimits& limits, const Receipt& receipt,
                             std::span<const std::byte> edit) {
  const Refusal& refusal = receipt.refusal;
  session::Fault fault;
  fault.code = session::FaultCode::refused;
  fault.reason = name(refusal.code);
  fault.entity = refusal.entity;
  fault.type = refusal.type;
  fault.sequence = receipt.sequence;
  fault.handled = receipt.handled;
  fault.unhandled = receipt.unhandled;
  fault.dead = receipt.dead;
  fault.refused = receipt.refused;

  const TypeDescriptor* type = registry.types().find(refusal.type);
  const std::string on = refusal.entity ? shown_entity(registry, limits, refusal.entity) : std::string("the world");
  const std::string named = type ? type->name : "type " + std::to_string(refusal.type);
  const FieldPlace* place = type && refusal.field != 0 ? registry.types().place(*type, refusal.field) : nullptr;
  if (place) {
    fault.field = place->path;
    if (const std::byte* value = registry.find(refusal.entity, refusal.type)) {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(value) + place->offset;
      fault.value.assign(bytes, bytes + place->size);
    }
  }
  if (refusal.node != Refusal::no_node) fault.field = "nodes[" + std::to_string(refusal.node) + "]";
  if (refusal.type == TypeTraits<DefineTemplate>::id && refusal.node == Refusal::no_node)
    fault.field = table_field(type, refusal.field);
  const std::string part = named + (fault.field.empty() ? "" : "." + fault.field) + " of " + on;
  switch (refusal.code) {
    case RefusalCode::dead_entity: fault.text = on + " is not alive"; break;
    case RefusalCode::id_not_granted: fault.text = on + " was never granted, or is already used"; break;
    case RefusalCode::unknown_component: fault.text = named + " is not a component of this world"; break;
    case RefusalCode::missing_component: fault.text = on + " has no " + named; break;
    case RefusalCode::unknown_field: fault.text = named + " has no field of id " + std::to_string(refusal.field); break;
    case RefusalCode::name_taken:
      fault.text = refusal.node == Refusal::no_node
                       ? on + " would get " + taken_text(registry, limits, refusal.entity, edit)
                       : "its name is taken by a sibling";
      break;
    case RefusalCode::bad_name: fault.text = on + " would get a name whose text the world does not know"; break;
    case RefusalCode::cycle: fault.text = on + " would become its own descendant"; break;
    case RefusalCode::value_mismatch: fault.text = part + " is not what was expected"; break;
    case RefusalCode::text_collision: fault.text = "another text has the same hash"; break;
    case RefusalCode::bad_value:
      fault.text = (refusal.node == Refusal::no_node ? part : named) +
                   " cannot have that value: a bool is 0 or 1, an " +
                   "enum has one of its values, padding is zero, and it has the size of its type";
      break;
    case RefusalCode::wrong_size:
      fault.text = part + " has " + (place ? std::to_string(place->size) : "another number of") +
                   " bytes, the message says another number or it is more than a SetField holds";
      break;
    case RefusalCode::component_there: fault.text = on + " has a " + named + " already"; break;
    case RefusalCode::kept_by_registry:
      fault.text = is_builtin(refusal.type)
                       ? named + " is a message of the registry itself, which templates cannot send"
                       : named + " can be written only by Create, Rename and Reparent";
      break;
    case RefusalCode::before_is_no_child:
      fault.text = "before is not a child of the parent that " + on + " would get";
      break;
    case RefusalCode::wrong_targets:
      fault.text = is_tree(refusal.type)
                       ? named + " has another number of targets than the template has nodes, or one of them twice"
                       : named + " cannot be sent there: it says what becomes of entities that are named one by one";
      break;
    case RefusalCode::other_layout: fault.text = named + " has a different layout in this world"; break;
    case RefusalCode::bad_template: fault.text = template_text(refusal, named); break;
    case RefusalCode::timer_chosen:
      fault.text = "the world numbers timers itself: this one has its own number, or that of a waiting timer";
      break;
    case RefusalCode::no_edit_log:
      fault.text = "this world keeps no history, so it could not take back a Step if a part of it were refused";
      break;
    case RefusalCode::not_in_step:
      fault.text = named + " cannot be part of a Step, because it cannot be taken back";
      break;
    case RefusalCode::unknown_template: fault.text = "the world has no template of that name"; break;
    case RefusalCode::none: fault.text = "refused"; break;
  }
  fault.text.insert(0, node_text(refusal));
  if (fault.refused > 1)
    fault.text += "; " + std::to_string(fault.refused) + " targets were refused; this is the first";
  return fault;
}

}  // namespace muster

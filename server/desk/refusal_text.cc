#include "server/desk/refusal_text.h"

#include "server/desk/shown_text.h"

namespace muster {

session::Fault refusal_fault(const EntityRegistry& registry, const ServerLimits& limits, const Receipt& receipt) {
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
  std::string on = refusal.entity ? shown_id(refusal.entity) : std::string("the world");
  if (registry.alive(refusal.entity)) {
    Steps steps(limits.path_bytes_max);
    on += " (" + shown_path(registry, refusal.entity, limits.path_bytes_max, steps) + ")";
  }
  const std::string named = type ? type->name : "type " + std::to_string(refusal.type);
  const FieldPlace* place = type && refusal.field != 0 ? registry.types().place(*type, refusal.field) : nullptr;
  if (place) {
    fault.field = place->path;
    if (const std::byte* value = registry.find(refusal.entity, refusal.type)) {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(value) + place->offset;
      fault.value.assign(bytes, bytes + place->size);
    }
  }
  switch (refusal.code) {
    case RefusalCode::dead_entity: fault.text = on + " is not alive"; break;
    case RefusalCode::id_not_granted: fault.text = on + " was never granted, or is used already"; break;
    case RefusalCode::unknown_component: fault.text = named + " is no component of this world"; break;
    case RefusalCode::missing_component: fault.text = on + " has no " + named; break;
    case RefusalCode::unknown_field: fault.text = named + " has no field of id " + std::to_string(refusal.field); break;
    case RefusalCode::name_taken: fault.text = on + " would get a name that a sibling has"; break;
    case RefusalCode::bad_name: fault.text = on + " would get a name whose text the world was not told"; break;
    case RefusalCode::cycle: fault.text = on + " would come below itself"; break;
    case RefusalCode::value_mismatch:
      fault.text = named + (fault.field.empty() ? "" : "." + fault.field) + " of " + on + " is not what was expected";
      break;
    case RefusalCode::text_collision: fault.text = "another text has the same hash"; break;
    case RefusalCode::bad_value:
      fault.text = named + (fault.field.empty() ? "" : "." + fault.field) + " of " + on + " cannot have that value";
      break;
    case RefusalCode::unknown_template: fault.text = "the world has no template of that name"; break;
    case RefusalCode::none: fault.text = "refused"; break;
  }
  if (fault.refused > 1)
    fault.text += "; " + std::to_string(fault.refused) + " targets were refused, this is the first";
  return fault;
}

}  // namespace muster

// What became of an input, for the host that pushed it and for the remote session that sent it.
#pragma once

#include <cstdint>

#include "schema/descriptor.h"

namespace muster {

enum class RefusalCode : std::uint8_t {
  none,
  dead_entity,        ///< the target, parent or referred entity is not alive
  id_not_granted,     ///< Create with an id that was never granted, or is used already
  unknown_component,  ///< no such component type, or the type is no component
  missing_component,  ///< SetField on a component the entity lacks
  unknown_field,
  name_taken,      ///< a sibling has that name
  bad_name,        ///< empty, or its text is unknown
  cycle,           ///< the new parent is the entity itself or below it
  value_mismatch,  ///< compare-and-set found other bytes than expected
  text_collision,  ///< two different texts with one hash
  bad_value,       ///< a value that is none of its type: a bool of 2, an unknown enum value, padding, another size
  unknown_template,
  wrong_size,       ///< SetField says another number of bytes than the field has
  component_there,  ///< Set with SetMode::add of a component that is there
  kept_by_registry,  ///< Name and ChildOf are written by Create, Rename and Reparent; a template holds no messages of Muster's own
  before_is_no_child,  ///< `before` is the entity itself, or no child of the new parent
  wrong_targets,  ///< the message cannot go there: a pass or a line of entities; a template has another number of nodes
  other_layout,   ///< DefineTemplate: a value was made for another layout of its type
  bad_template,   ///< DefineTemplate: what `field` of muster.TemplateNode or TemplateValue says cannot be
  timer_chosen,   ///< a timed message from outside that numbers itself, or whose number waits already
};
const char* name(RefusalCode code) noexcept;

struct Refusal {
  constexpr Refusal(RefusalCode what = RefusalCode::none, Entity on = {}, TypeId of = 0, FieldId in = 0,
                    std::uint32_t node_number = no_node) noexcept
      : code(what), node(node_number), entity(on), type(of), field(in) {}
  static constexpr std::uint32_t no_node = ~0u;

  RefusalCode code;
  std::uint32_t node;  ///< DefineTemplate: number of the template's node concerned; otherwise no_node
  Entity entity;
  TypeId type;  ///< of the component or message concerned
  FieldId field;
};

/// Counts the targets of this input's own message, not of what handlers pushed in turn.
struct Receipt {
  std::uint64_t sequence = 0;  ///< of the sealed input
  std::uint32_t handled = 0;   ///< targets for which a handler was called, or the registry itself acted
  std::uint32_t unhandled = 0;
  std::uint32_t dead = 0;
  std::uint32_t refused = 0;
  bool cut_short = false;  ///< the cascade met its bound; the rest is delivered at the next input
  Refusal refusal = {};    ///< the first one, where refused > 0
};

}  // namespace muster

// The result of an input, for the host that pushed it and for the remote session that sent it.
#pragma once

#include <cstdint>

#include "schema/descriptor.h"

namespace muster {

enum class RefusalCode : std::uint8_t {
  none,
  dead_entity,        ///< the target, the parent or a referenced entity is not alive
  id_not_granted,     ///< Create with an id that was never granted or is already used
  unknown_component,  ///< no such component type, or not a component
  missing_component,  ///< SetField on a component the entity lacks
  unknown_field,
  name_taken,      ///< a sibling has that name
  bad_name,        ///< empty, or its text is unknown
  cycle,           ///< the new parent is the entity itself or below it
  value_mismatch,  ///< compare-and-set found bytes other than those expected
  text_collision,  ///< two different texts with one hash
  /// Invalid for its type: a bool of 2, an unknown enum value, nonzero padding, a wrong size.
  bad_value,
  unknown_template,
  wrong_size,       ///< SetField has a size other than the field's
  component_there,  ///< Set with SetMode::add for a component that the entity has
  /// Name and ChildOf change only by Create, Rename and Reparent; templates cannot hold built-in
  /// messages.
  kept_by_registry,
  before_is_no_child,  ///< `before` is the entity itself, or not a child of the new parent
  /// The message does not allow such targets (a pass or a line of entities), or the template has a
  /// different node count.
  wrong_targets,
  other_layout,  ///< DefineTemplate: a value has a different layout of its type
  /// DefineTemplate: `field` of muster.TemplateNode or TemplateValue is invalid.
  bad_template,
  /// A timed message from outside chose its own number, or a number that is already waiting.
  timer_chosen,
};
const char* name(RefusalCode code) noexcept;

struct Refusal {
  constexpr Refusal(RefusalCode what = RefusalCode::none, Entity on = {}, TypeId of = 0, FieldId in = 0,
                    std::uint32_t node_number = no_node) noexcept
      : code(what), node(node_number), entity(on), type(of), field(in) {}
  static constexpr std::uint32_t no_node = ~0u;

  RefusalCode code;
  std::uint32_t node;  ///< DefineTemplate: number of the node concerned; otherwise no_node
  Entity entity;
  TypeId type;  ///< type of the component or message concerned
  FieldId field;
};

/// Counts the targets of this input's own message, not of messages that handlers pushed.
struct Receipt {
  std::uint64_t sequence = 0;  ///< sequence number of the sealed input
  /// Targets for which a handler was called or the registry itself acted.
  std::uint32_t handled = 0;
  std::uint32_t unhandled = 0;
  std::uint32_t dead = 0;
  std::uint32_t refused = 0;
  /// The cascade reached its limit; the rest is delivered with the next input.
  bool cut_short = false;
  Refusal refusal = {};  ///< the first one, if refused > 0
};

}  // namespace muster

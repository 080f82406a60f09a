// The result of an input, reported to the host that pushed it or the remote session that sent it.
#pragma once

#include <cstdint>

#include "schema/descriptor.h"

namespace muster {

enum class RefusalCode : std::uint8_t {
  none,
  dead_entity,        ///< the target, the parent, or a referenced entity is not alive
  id_not_granted,     ///< Create with an id that was never granted or is already in use
  unknown_component,  ///< no such component type, or not a component
  missing_component,  ///< SetField on a component that the entity does not have
  unknown_field,
  name_taken,      ///< a sibling already has that name
  bad_name,        ///< the name is empty, or its text is unknown
  cycle,           ///< the new parent is the entity itself or one of its descendants
  value_mismatch,  ///< compare-and-set found unexpected bytes
  text_collision,  ///< two different texts have the same hash
  /// The value is invalid for its type: for example, a bool with the value 2, an unknown enum
  /// value, nonzero padding, or a value of the wrong size.
  bad_value,
  unknown_template,
  wrong_size,       ///< SetField with a size that does not match the field
  component_there,  ///< Set with SetMode::add for a component that the entity already has
  /// Name and ChildOf can be changed only through Create, Rename, and Reparent. Templates cannot
  /// contain built-in messages.
  kept_by_registry,
  before_is_no_child,  ///< `before` is the entity itself, or not a child of the new parent
  /// The message does not allow targets of this kind (a pass or a line of entities), or the number
  /// of targets does not match the template's nodes.
  wrong_targets,
  other_layout,  ///< DefineTemplate: a value was written with a different layout of its type
  /// DefineTemplate: `field` of muster.TemplateNode or TemplateValue is invalid.
  bad_template,
  /// A timed message from outside the registry chose its own timer number, or a number that is
  /// already in use.
  timer_chosen,
  /// A Step that could not be taken back if one of its messages were refused: the registry has no
  /// edit log, or no session sent the Step.
  no_edit_log,
  not_in_step,  ///< the message cannot be taken back, so a Step may not contain it
};
const char* name(RefusalCode code) noexcept;

struct Refusal {
  constexpr Refusal(RefusalCode what = RefusalCode::none, Entity on = {}, TypeId of = 0, FieldId in = 0,
                    std::uint32_t node_number = no_node) noexcept
      : code(what), node(node_number), entity(on), type(of), field(in) {}
  static constexpr std::uint32_t no_node = ~0u;

  RefusalCode code;
  std::uint32_t node;  ///< DefineTemplate: number of the node that was refused; otherwise no_node
  Entity entity;
  TypeId type;  ///< type of the component or message that was refused
  FieldId field;
};

/// Counts the targets of the input's own message, not those of messages that handlers pushed.
struct Receipt {
  std::uint64_t sequence = 0;  ///< sequence number of the sealed input
  /// Number of targets for which a handler was called, or on which the registry itself acted.
  std::uint32_t handled = 0;
  std::uint32_t unhandled = 0;
  std::uint32_t dead = 0;
  std::uint32_t refused = 0;
  /// True if the cascade reached its limit. The remaining messages are delivered with the next
  /// input.
  bool cut_short = false;
  Refusal refusal = {};  ///< the first refusal, if refused > 0
};

}  // namespace muster

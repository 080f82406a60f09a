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
  bad_value,       ///< a value outside what its type allows
  unknown_template,
};
const char* name(RefusalCode code) noexcept;

struct Refusal {
  RefusalCode code = RefusalCode::none;
  Entity entity;
  TypeId type = 0;  ///< of the component or message concerned
  FieldId field = 0;
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

// Describes edits as text. Edits are built-in messages that refer to fields and components by their
// ids.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "messages/value_text.h"

namespace muster {

/// Returns the text of an edit, such as "game.Health.value = 42" for a SetField, "game.Health.value
/// = 42 if it is 40" for a SetFieldIf, or "component=game.Health" for a Remove. Returns nothing for
/// other messages, or if the field or component is unknown.
std::optional<std::string> edit_text(const TypeTable& types, TypeId message, const std::byte* value,
                                     ValueReferences& references);

/// Returns the text of a field's value, with parts separated by commas. `value` must have the
/// field's size.
std::string place_text(const TypeTable& types, const FieldName& field, std::span<const std::byte> value,
                       ValueReferences& references);

}  // namespace muster

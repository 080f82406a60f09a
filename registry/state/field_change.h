// Updates built-in messages that name a component or one of its fields to the current names.
#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>

#include "registry/state/saved_types.h"

namespace muster {

/// Converts a field's dotted path from the older layout to the newer: "slots[2].count". Empty if
/// the field was removed.
[[nodiscard]] std::string path_now(const std::string& path, const TypeDescriptor& then,
                                   const LayoutChange::Find& find_then, const TypeDescriptor& now,
                                   const LayoutChange::Find& find_now);

/// Updates the names of component and field in a message whose current type is `message` and whose
/// value is `payload`, and converts the value of a SetField or SetFieldIf. Leaves other messages
/// unchanged, as well as those that name an unknown or removed component or field. An error names
/// the component if it or the value cannot be converted.
[[nodiscard]] std::expected<void, SchemaError> convert_names(TypeId message, std::span<std::byte> payload,
                                                             SavedTypes& types);

}  // namespace muster

// Updates built-in messages that name a component or one of its fields, so that they use the
// current names.
#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>

#include "registry/state/saved_types.h"

namespace muster {

/// Converts the dotted path of a field, such as "slots[2].count", from the older layout to the
/// newer one. Returns an empty string if the field was removed.
[[nodiscard]] std::string path_now(const std::string& path, const TypeDescriptor& then,
                                   const LayoutChange::Find& find_then, const TypeDescriptor& now,
                                   const LayoutChange::Find& find_now);

/// Updates the component and field names in a message, and converts the value of a SetField or
/// SetFieldIf. `message` is the current type of the message, and `payload` is its value. Other
/// messages are not changed, and neither are those that name an unknown or removed component or
/// field. If the component or the value cannot be converted, the error names the component.
[[nodiscard]] std::expected<void, SchemaError> convert_names(TypeId message, std::span<std::byte> payload,
                                                             SavedTypes& types);

}  // namespace muster

// Messages of the registry itself that name a component or a field of one: what these are called now.
#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>

#include "registry/state/saved_types.h"

namespace muster {

/// The dotted path that a path of the older layout has in the newer: "slots[2].count". Empty where the field is gone.
[[nodiscard]] std::string path_now(const std::string& path, const TypeDescriptor& then,
                                   const LayoutChange::Find& find_then, const TypeDescriptor& now,
                                   const LayoutChange::Find& find_now);

/// Puts into one of those messages (`message`: its type as it is known now, `payload`: its value) what the component and the field are
/// called now, and the value of a SetField or SetFieldIf converted. Others stay as they are, and so do those that name what is unknown or
/// gone. The error names the component, where it or the value cannot be converted.
[[nodiscard]] std::expected<void, SchemaError> convert_names(TypeId message, std::span<std::byte> payload,
                                                             SavedTypes& types);

}  // namespace muster

// Converts saved templates whose components or messages have since changed layout.
#pragma once

#include <expected>
#include <optional>

#include "registry/state/saved_types.h"
#include "schema/muster.h"

namespace muster {

/// Returns the template with values of the current types, or no value if nothing has changed. An
/// error says what cannot be converted. Must be called only once per template: enum numbers would
/// be converted again.
[[nodiscard]] std::expected<std::optional<DefineTemplate>, SchemaError> convert_template(DefineTemplateView saved,
                                                                                         SavedTypes& types);

}  // namespace muster

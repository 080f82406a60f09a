// Converts saved templates whose components or messages have changed their layout since then.
#pragma once

#include <expected>
#include <optional>

#include "registry/state/saved_types.h"
#include "schema/muster.h"

namespace muster {

/// Returns the template with values of the current types, or no value if nothing has changed. An
/// error describes what cannot be converted. Must be called only once for each template, because
/// enum numbers would otherwise be converted twice.
[[nodiscard]] std::expected<std::optional<DefineTemplate>, SchemaError> convert_template(DefineTemplateView saved,
                                                                                         SavedTypes& types);

}  // namespace muster

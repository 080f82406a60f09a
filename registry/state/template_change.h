// A saved template whose components or messages have other layouts now.
#pragma once

#include <expected>
#include <optional>

#include "registry/state/saved_types.h"
#include "schema/muster.h"

namespace muster {

/// The template with its values as they are known now; none where nothing changed. The error says what cannot be converted. To be called
/// once: numbers of enums would change again.
[[nodiscard]] std::expected<std::optional<DefineTemplate>, SchemaError> convert_template(DefineTemplateView saved,
                                                                                         SavedTypes& types);

}  // namespace muster

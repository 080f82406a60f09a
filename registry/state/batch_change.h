// Converts batches whose types have since changed layout or name: waiting messages, and edits in a
// journal.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <vector>

#include "messages/judge/verifier.h"
#include "registry/state/saved_types.h"

namespace muster {

/// Returns the batch in the current types, aligned to 16, or no value if nothing in it has changed.
/// `batch` may be any bytes, aligned to at least 8. Payloads, components of row sets and templates
/// are converted like rows. Messages that name a component or one of its fields (SetField,
/// SetFieldIf, Remove) get the current names and converted values; one that names a removed field
/// is unchanged, and will be refused. Invalid bool and enum values are corrected and reported in
/// `mended`. An error names the type and field that cannot be converted, or says what is wrong with
/// the batch according to its old types.
[[nodiscard]] std::expected<std::optional<std::vector<std::byte>>, SchemaError> convert_batch(
    std::span<const std::byte> batch, SavedTypes& types, Mended& mended);

}  // namespace muster

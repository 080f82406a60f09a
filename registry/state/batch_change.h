// Converts batches whose types have changed their layout or name since they were saved: pending
// messages, and edits in a journal.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <vector>

#include "messages/judge/verifier.h"
#include "registry/state/saved_types.h"

namespace muster {

/// Returns the batch in the current types, aligned to 16 bytes, or no value if nothing in it has
/// changed. `batch` may contain arbitrary bytes and must be aligned to at least 8 bytes.
///
/// Payloads, components of row sets, and templates are converted in the same way as rows. Messages
/// that name a component or one of its fields (SetField, SetFieldIf, Remove) receive the current
/// names and converted values. A message that names a removed field is left unchanged and will be
/// refused. Invalid bool and enum values are corrected and reported in `mended`. An error names the
/// type and field that cannot be converted, or states what is wrong with the batch according to its
/// old types.
[[nodiscard]] std::expected<std::optional<std::vector<std::byte>>, SchemaError> convert_batch(
    std::span<const std::byte> batch, SavedTypes& types, Mended& mended);

}  // namespace muster

// Batches whose types had other layouts or names when they were saved or recorded, as those are known now: messages that wait, edits in
// a journal.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <vector>

#include "messages/judge/verifier.h"
#include "registry/state/saved_types.h"

namespace muster {

/// The batch with its types as they are known now, aligned to 16; none where nothing in it is other than it was. `batch`: any bytes,
/// aligned to 8 at least. Payloads and the components of row sets are converted like rows, templates likewise; messages that name a
/// component or one of its fields (SetField, SetFieldIf, Remove) name what it is called now, with the value converted. One that names a
/// field that is gone stays as it is, and will be refused. What in it no bool or enum of then has is put right and told.
/// The error names type and field that cannot be converted, or what is wrong with the batch by the types of then.
[[nodiscard]] std::expected<std::optional<std::vector<std::byte>>, SchemaError> convert_batch(
    std::span<const std::byte> batch, SavedTypes& types, Mended& mended);

}  // namespace muster

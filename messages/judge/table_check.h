// Checks one FlatBuffer table against its descriptor. The input may be any bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "messages/judge/verifier.h"

namespace muster {

/// Provides writable access to the checked bytes, and the list to which corrections are added. All
/// members are null if corrections are not allowed.
struct Mending {
  const std::byte* judged = nullptr;
  std::byte* same = nullptr;  ///< a writable view of the bytes of `judged`
  Mended* mended = nullptr;
  /// Returns the writable byte at `offset` in `part`.
  std::byte* at(std::span<const std::byte> part, std::size_t offset) const noexcept {
    return same + (part.data() - judged) + offset;
  }
};

/// Returns the first fault of `table`, with its offset from the table's first byte, or nothing if
/// the table is valid. `table` must be aligned to 16. Checks everything that FlatBuffers' own
/// verifier checks (offsets, alignment, vtables, lengths, terminators, required fields, depth), and
/// also bools, enums, and padding of structs. Refuses a table whose parts are shared so often that
/// the work would exceed a small multiple of the table's length. Skips slots that are not in the
/// descriptor, because a newer schema may define them. If corrections are allowed by `mending`,
/// corrects invalid field values as mend_batch() does.
[[nodiscard]] std::optional<BatchFault> check_table(std::span<const std::byte> table, const TypeDescriptor& type,
                                                    const TypeTable& types, const VerifierLimits& limits,
                                                    const Mending& mending = {});

}  // namespace muster

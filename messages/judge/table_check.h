// Judges one FlatBuffer table against its descriptor, on bytes that may be anything.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "messages/judge/verifier.h"

namespace muster {

/// Where bytes that are judged may be changed, and what is told of it; all null: nowhere.
struct Mending {
  const std::byte* judged = nullptr;
  std::byte* same = nullptr;  ///< as `judged`, for writing
  Mended* mended = nullptr;
  /// The byte at `offset` of a part of them.
  std::byte* at(std::span<const std::byte> part, std::size_t offset) const noexcept {
    return same + (part.data() - judged) + offset;
  }
};

/// The first thing wrong with `table`, with its offset from the table's first byte; nothing if it is good. `table` must be
/// aligned to 16. Checks what FlatBuffers' own verifier checks (offsets, alignment, vtables, lengths, terminators, required
/// fields, depth) and besides: bools, enums, padding of structs, and that sharing of parts does not make the
/// work exceed a small multiple of the length. Slots that the descriptor does not know are passed over: a newer schema.
/// With `mending`, values that their fields cannot have are mended, as mend_batch() says.
[[nodiscard]] std::optional<BatchFault> check_table(std::span<const std::byte> table, const TypeDescriptor& type,
                                                    const TypeTable& types, const VerifierLimits& limits,
                                                    const Mending& mending = {});

}  // namespace muster

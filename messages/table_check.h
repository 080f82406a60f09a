// Judges one FlatBuffer table against its descriptor, on bytes that may be anything.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "messages/verifier.h"

namespace muster {

/// The first thing wrong with `table`, with its offset from the table's first byte; nothing if it is good. `table` must be
/// aligned to 16. Checks what FlatBuffers' own verifier checks (offsets, alignment, vtables, lengths, terminators, required
/// fields, depth) and besides: bools, enums, padding of structs, and that sharing of parts does not make the
/// work exceed a small multiple of the length. Slots that the descriptor does not know are passed over: a newer schema.
[[nodiscard]] std::optional<BatchFault> check_table(std::span<const std::byte> table, const TypeDescriptor& type,
                                                    const TypeTable& types, const VerifierLimits& limits);

}  // namespace muster

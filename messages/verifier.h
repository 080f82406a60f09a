// The one place where foreign bytes are judged. After it, a batch is as good as one made here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>

#include "messages/batch.h"
#include "messages/type_table.h"

namespace muster {

enum class Fault : std::uint8_t {
  truncated,
  misaligned,
  oversized,
  unknown_kind,
  unknown_flag,
  unknown_type,
  wrong_role,
  wrong_size,
  wrong_count,
  wrong_offset,
  nonzero_padding,
  bad_bool,
  bad_enum,
  bad_table,
  bad_row_set,
  bad_argument,
  nested_timer,
};

/// What is wrong with a batch: the first thing found. `type` and `field` name where, if it got that far.
struct BatchFault {
  Fault fault = Fault::truncated;
  std::uint32_t offset = 0;  ///< of the offending byte in the batch
  TypeId type = 0;
  std::string field;  ///< "value" or "position.x"
  std::string text;   ///< a whole sentence for people: what was found and what was expected
};
const char* name(Fault fault) noexcept;

struct VerifierLimits {
  std::uint32_t batch_bytes_max = 16u << 20;
  std::uint32_t count_max = 1u << 20;
  std::uint32_t table_depth_max = 32;
  std::uint32_t table_tables_max = 1u << 16;
};

/// Judges one batch that occupies exactly `bytes`, which must be aligned to 16: header, counts and sizes against each other and
/// against the types; bools, enums (bit_flags: only known bits) and padding of every payload; row sets; tables by FlatBuffers' own verifier
/// against the schema; one level of `timed`. Padding that is not zero is refused, so that equal messages are equal bytes.
/// Whether an entity lives or a sender may send is not asked here. Const, thread-safe while no schema is added to `types`.
[[nodiscard]] std::expected<BatchView, BatchFault> verify_batch(std::span<const std::byte> bytes,
                                                                const TypeTable& types,
                                                                const VerifierLimits& limits = {});

/// Checks one struct value (bools, enums, padding); null if good.
[[nodiscard]] std::expected<void, BatchFault> verify_value(std::span<const std::byte> value, const TypeDescriptor& type,
                                                           const TypeTable& types);

}  // namespace muster

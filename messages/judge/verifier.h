// Verifies batches that come from outside: each must be well-formed, have a known type, and contain
// only values that its type allows. server/session/judge.h checks rights, and
// registry/apply/structure.h checks whether a batch can be applied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "messages/batch.h"
#include "messages/type_table.h"
#include "schema/table.h"

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
  nested_step,
  // Values that a client may not send (VerifierLimits::values) in an otherwise well-formed batch:
  out_of_range,  ///< a number outside its field's `range`
  not_finite,    ///< a float that is infinite or not a number
  bad_text,      ///< bytes that are not UTF-8, or include a zero byte
  not_zero,      ///< a `reserved` field, or the bytes after a SetField's value, are not zero
};

/// The first fault found in a batch. `type` and `field` are empty if the fault was found before the
/// type or field was known.
struct BatchFault {
  Fault fault = Fault::truncated;
  std::uint32_t offset = 0;  ///< offset of the faulty byte in the batch
  TypeId type = 0;
  std::string field;  ///< "value" or "position.x"
  std::string text;   ///< a sentence that gives the actual and the expected value
};
const char* name(Fault fault) noexcept;
/// Returns true for faults that are reported only if VerifierLimits::values is set.
bool is_about_a_value(Fault fault) noexcept;

struct VerifierLimits {
  std::uint32_t batch_bytes_max = 16u << 20;
  std::uint32_t count_max = 1u << 20;
  std::uint32_t table_depth_max = 32;
  std::uint32_t table_tables_max = 1u << 16;
  /// If true, also checks numbers and texts, including those inside SetField, SetFieldIf, and
  /// DefineTemplate. Floats must be finite, numbers must be within their field's `range`, texts
  /// must be UTF-8 without zero bytes, and `reserved` fields of Muster's own types must be zero.
  /// Servers set this flag for batches from clients. Clients do not set the flag, because C++
  /// handlers may produce values that violate these rules, and a client must be able to show any
  /// such value.
  bool values = false;
};
/// Limits for batches from files that this program, or a program like it, has written. The limits
/// allow every batch that the program can write.
inline constexpr VerifierLimits own_limits{.batch_bytes_max = muster::batch_bytes_max,
                                           .count_max = ~0u,
                                           .table_depth_max = TableEncoder::depth_max,
                                           .table_tables_max = ~0u};

/// Verifies one batch that occupies exactly `bytes`, which must be aligned to 16. Checks that the
/// header, counts, and sizes agree with each other and with the types. Also checks bools, enums
/// (bit_flags: only known bits) and padding of every payload, row sets, tables against the schema,
/// one nested batch of a timed batch, and all nested batches of a Step. Padding must be zero, so that equal messages have equal
/// bytes. Checks values if `limits.values` is set. Does not check whether entities are alive or
/// whether the sender has the right to send the batch. Thread-safe while no schema is being added
/// to `types`.
[[nodiscard]] std::expected<BatchView, BatchFault> verify_batch(std::span<const std::byte> bytes,
                                                                const TypeTable& types,
                                                                const VerifierLimits& limits = {});

/// Verifies a sequence of batches as verify_batch() does. If a batch has the same header as the
/// previous one, only its messages are checked. Not thread-safe.
class BatchVerifier {
 public:
  BatchVerifier();
  ~BatchVerifier();
  BatchVerifier(const BatchVerifier&) = delete;
  BatchVerifier& operator=(const BatchVerifier&) = delete;

  /// `types` and `limits` must be the same as in the previous call, and no types may have been
  /// added to `types`, unless forget() has been called in the meantime.
  [[nodiscard]] std::expected<BatchView, BatchFault> verify(std::span<const std::byte> bytes, const TypeTable& types,
                                                            const VerifierLimits& limits);
  /// Returns true if a quick check finds that the batch is valid and has the same header as the
  /// most recent batch that verify() accepted. If the function returns false, call verify(). The
  /// types and limits must be the same as in the most recent call to verify().
  bool again(std::span<const std::byte> bytes) const noexcept;
  /// Returns true if the two most recent batches had the same header, and if the earlier batch was
  /// valid and had neither a row set nor tables.
  bool repeats() const noexcept { return repeats_; }
  void forget() noexcept;

 private:
  struct Known;
  std::unique_ptr<Known> known_;
  bool repeats_ = false;
};

/// Checks the bools, enums, and padding of one struct value.
[[nodiscard]] std::expected<void, BatchFault> verify_value(std::span<const std::byte> value, const TypeDescriptor& type,
                                                           const TypeTable& types);

// --- For unverified bytes from this program's own code ---

/// An invalid value of a field, and the value that replaced it.
struct MendedValue {
  std::uint32_t offset = 0;  ///< offset of the field in bytes, from the start of the value or batch
  std::string type;          ///< full name of the struct or table
  std::string field;         ///< "team", "slots[2]"; for padding, the preceding field
  std::string found, put;    ///< the two values as numbers
};
/// Receives corrections. Counts all corrections, and lists the first `listed_max` of them.
struct Mended {
  std::size_t listed_max = 64;
  std::uint64_t count = 0;
  std::vector<MendedValue> listed = {};
  void add(MendedValue value) {
    ++count;
    if (listed.size() < listed_max) listed.push_back(std::move(value));
  }
};

/// Corrects one struct value. A bool other than 0 becomes 1, an unknown enum value becomes the
/// field's default, padding becomes 0, and bit_flags lose unknown bits. A valid value does not
/// change. `value` must have the type's size. Offsets in `mended` start at `offset`.
void mend_value(std::span<std::byte> value, const TypeDescriptor& type, const TypeTable& types, Mended& mended,
                std::size_t offset = 0);
/// Like verify_batch(), but corrects payloads, row sets, and tables as mend_value() does, instead
/// of reporting a fault. In a table, an enum without a known default is set to the enum's first
/// value. If the batch has a fault that cannot be corrected, some values may already have been
/// changed.
[[nodiscard]] std::expected<BatchView, BatchFault> mend_batch(std::span<std::byte> bytes, const TypeTable& types,
                                                              const VerifierLimits& limits, Mended& mended);

}  // namespace muster

// Verifies batches from outside: well-formed, of known types, with values that these types allow.
// server/session/judge.h checks rights, and registry/apply/structure.h whether a batch can be
// applied.
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
  // Values that a client may not send (VerifierLimits::values), in a well-formed batch:
  out_of_range,  ///< a number outside its field's `range`
  not_finite,    ///< a float that is infinite or not a number
  bad_text,      ///< bytes that are not UTF-8, or a zero byte
  not_zero,      ///< a field `reserved`, or bytes after a SetField's value
};

/// The first fault of a batch. `type` and `field` are empty if the check did not get that far.
struct BatchFault {
  Fault fault = Fault::truncated;
  std::uint32_t offset = 0;  ///< place of the wrong byte in the batch
  TypeId type = 0;
  std::string field;  ///< "value" or "position.x"
  std::string text;   ///< a sentence with the found and the expected value
};
const char* name(Fault fault) noexcept;
/// Returns true for faults that only VerifierLimits::values finds.
bool is_about_a_value(Fault fault) noexcept;

struct VerifierLimits {
  std::uint32_t batch_bytes_max = 16u << 20;
  std::uint32_t count_max = 1u << 20;
  std::uint32_t table_depth_max = 32;
  std::uint32_t table_tables_max = 1u << 16;
  /// Also checks numbers and texts, including those inside SetField, SetFieldIf and DefineTemplate.
  /// Floats must be finite, numbers within their field's `range`, texts UTF-8 without a zero byte,
  /// and fields `reserved` of Muster's own types zero. Servers set it for clients. Clients do not,
  /// because handlers in C++ may make other values, and a client must be able to show them.
  bool values = false;
};
/// Limits for batches that this program, or one like it, wrote into its own files: everything that
/// it can make.
inline constexpr VerifierLimits own_limits{.batch_bytes_max = muster::batch_bytes_max,
                                           .count_max = ~0u,
                                           .table_depth_max = TableEncoder::depth_max,
                                           .table_tables_max = ~0u};

/// Verifies one batch that occupies exactly `bytes`, which must be aligned to 16. Checks header,
/// counts and sizes against each other and against the types; bools, enums (bit_flags: only known
/// bits) and padding of every payload; row sets; tables against the schema; and one level of
/// `timed`. Padding must be zero, so that equal messages have equal bytes. Also checks values if
/// `limits.values` is set. Does not check whether entities are alive or the sender has the right to
/// send. Thread-safe while no schema is added to `types`.
[[nodiscard]] std::expected<BatchView, BatchFault> verify_batch(std::span<const std::byte> bytes,
                                                                const TypeTable& types,
                                                                const VerifierLimits& limits = {});

/// Verifies a sequence of batches as verify_batch() does. If a batch has the same header as the one
/// before, only its messages are checked. Not thread-safe.
class BatchVerifier {
 public:
  BatchVerifier();
  ~BatchVerifier();
  BatchVerifier(const BatchVerifier&) = delete;
  BatchVerifier& operator=(const BatchVerifier&) = delete;

  /// `types` and `limits` must be those of the last call, and `types` must not have grown, unless
  /// forget() was called since.
  [[nodiscard]] std::expected<BatchView, BatchFault> verify(std::span<const std::byte> bytes, const TypeTable& types,
                                                            const VerifierLimits& limits);
  /// Returns true if a quick check shows that the batch has the same header as the last one that
  /// verify() accepted, and is valid too. Otherwise call verify(). Types and limits must be the
  /// same.
  bool again(std::span<const std::byte> bytes) const noexcept;
  /// True if the last batch had the same header as the one before it, which was valid and had
  /// neither a row set nor tables.
  bool repeats() const noexcept { return repeats_; }
  void forget() noexcept;

 private:
  struct Known;
  std::unique_ptr<Known> known_;
  bool repeats_ = false;
};

/// Checks bools, enums and padding of one struct value.
[[nodiscard]] std::expected<void, BatchFault> verify_value(std::span<const std::byte> value, const TypeDescriptor& type,
                                                           const TypeTable& types);

// --- for bytes of this program's own code, which were never verified ---

/// A value that its field cannot have, and the value that replaced it.
struct MendedValue {
  std::uint32_t offset = 0;  ///< of the field, in bytes from the start of value or batch
  std::string type;          ///< full name of the struct or table
  std::string field;         ///< "team", "slots[2]"; for padding, the field before it
  std::string found, put;    ///< as numbers
};
/// Receives corrections. Counts all of them, and lists the first `listed_max`.
struct Mended {
  std::size_t listed_max = 64;
  std::uint64_t count = 0;
  std::vector<MendedValue> listed = {};
  void add(MendedValue value) {
    ++count;
    if (listed.size() < listed_max) listed.push_back(std::move(value));
  }
};

/// Corrects one struct value: a bool other than 0 becomes 1, an enum's unknown value the field's
/// default, and padding 0; bit_flags lose unknown bits. A valid value does not change. `value` must
/// have the type's size. Offsets in `mended` begin at `offset`.
void mend_value(std::span<std::byte> value, const TypeDescriptor& type, const TypeTable& types, Mended& mended,
                std::size_t offset = 0);
/// Does the same as verify_batch(), but corrects payloads, row sets and tables as mend_value()
/// does, in place of a fault. In a table, an enum without a known default gets its first value.
/// After another fault some values may already be corrected.
[[nodiscard]] std::expected<BatchView, BatchFault> mend_batch(std::span<std::byte> bytes, const TypeTable& types,
                                                              const VerifierLimits& limits, Mended& mended);

}  // namespace muster

// The one place where foreign batches are judged: well-formed, of known types, with values that these allow. Who may send one is
// server/session/judge.h's question, whether it can be applied registry/apply/structure.h's.
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
  // Of values that an outsider may not send (VerifierLimits::values); the batch is well-formed.
  out_of_range,  ///< a number outside its field's `range`
  not_finite,    ///< a float that is infinite or no number
  bad_text,      ///< bytes that are no UTF-8, or a zero byte
  not_zero,      ///< a field `reserved`, or what follows a SetField's value
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
/// Whether it is one of those that only VerifierLimits::values finds.
bool is_about_a_value(Fault fault) noexcept;

struct VerifierLimits {
  std::uint32_t batch_bytes_max = 16u << 20;
  std::uint32_t count_max = 1u << 20;
  std::uint32_t table_depth_max = 32;
  std::uint32_t table_tables_max = 1u << 16;
  /// Also what numbers and texts are: floats are finite, numbers within their field's `range`, texts UTF-8 without a zero byte,
  /// fields `reserved` of Muster's own types zero; likewise the values that SetField, SetFieldIf and DefineTemplate carry. Servers ask for
  /// this of clients. A client does not: handlers in C++ may make other values, and a client that looks at a world must see them.
  bool values = false;
};
/// Of what this program, or one like it, wrote into its own files: as much as it may make.
inline constexpr VerifierLimits own_limits{.batch_bytes_max = muster::batch_bytes_max,
                                           .count_max = ~0u,
                                           .table_depth_max = TableEncoder::depth_max,
                                           .table_tables_max = ~0u};

/// Judges one batch that occupies exactly `bytes`, which must be aligned to 16: header, counts and sizes against each other and
/// against the types; bools, enums (bit_flags: only known bits) and padding of every payload; row sets; tables by FlatBuffers' own verifier
/// against the schema; one level of `timed`. Padding that is not zero is refused, so that equal messages are equal bytes.
/// With `limits.values` what is said there, too. Whether an entity lives or a sender may send is not asked here. Const, thread-safe while no schema is added to `types`.
[[nodiscard]] std::expected<BatchView, BatchFault> verify_batch(std::span<const std::byte> bytes,
                                                                const TypeTable& types,
                                                                const VerifierLimits& limits = {});

/// Judges one batch after another as verify_batch() does. Where one begins with the header of the one before, only its messages are
/// looked at: what follows from a header is known. Not thread-safe.
class BatchVerifier {
 public:
  BatchVerifier();
  ~BatchVerifier();
  BatchVerifier(const BatchVerifier&) = delete;
  BatchVerifier& operator=(const BatchVerifier&) = delete;

  /// `types`, which knows no more types than then, and `limits` are those of the last call, unless forget() was called since.
  [[nodiscard]] std::expected<BatchView, BatchFault> verify(std::span<const std::byte> bytes, const TypeTable& types,
                                                            const VerifierLimits& limits);
  /// Whether this one begins as the last that verify() was given and found good, and is good too, as far as that is seen at a glance. False:
  /// verify() must say. With the same types and limits.
  bool again(std::span<const std::byte> bytes) const noexcept;
  /// Whether the last batch began as the one before it, which was good and has neither a row set nor tables.
  bool repeats() const noexcept { return repeats_; }
  void forget() noexcept;

 private:
  struct Known;
  std::unique_ptr<Known> known_;
  bool repeats_ = false;
};

/// Checks one struct value (bools, enums, padding); null if good.
[[nodiscard]] std::expected<void, BatchFault> verify_value(std::span<const std::byte> value, const TypeDescriptor& type,
                                                           const TypeTable& types);

// --- for bytes that this program's own code made, which nobody judged ---

/// A value that its field cannot have, and what stands in its place now.
struct MendedValue {
  std::uint32_t offset = 0;  ///< of the field in the value or the batch, in bytes
  std::string type;          ///< full name of the struct or table
  std::string field;         ///< "team", "slots[2]"; of padding: of the field before it
  std::string found, put;    ///< in figures
};
/// Receives what was mended: all of it is counted, the first `listed_max` are told one by one.
struct Mended {
  std::size_t listed_max = 64;
  std::uint64_t count = 0;
  std::vector<MendedValue> listed = {};
  void add(MendedValue value) {
    ++count;
    if (listed.size() < listed_max) listed.push_back(std::move(value));
  }
};

/// Makes one struct value obey its rules: a bool that is not 0 becomes 1, an enum's unknown value the field's default (of bit_flags
/// only the unknown bits go), padding 0. A good value stays as it is. `value` has the type's size; `mended` is told its fields' places
/// from `offset` on.
void mend_value(std::span<std::byte> value, const TypeDescriptor& type, const TypeTable& types, Mended& mended,
                std::size_t offset = 0);
/// verify_batch() for such bytes: what mend_value() mends is mended in payloads, row sets and tables, and no fault; in a table an
/// enum without a known default gets its first value. On a fault elsewhere some values may be mended already.
[[nodiscard]] std::expected<BatchView, BatchFault> mend_batch(std::span<std::byte> bytes, const TypeTable& types,
                                                              const VerifierLimits& limits, Mended& mended);

}  // namespace muster

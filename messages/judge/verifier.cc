#include "messages/judge/verifier.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "messages/judge/carried_values.h"
#include "messages/judge/fault_parts.h"
#include "messages/judge/table_check.h"
#include "messages/judge/value_limits.h"
#include "messages/judge/value_rules.h"
#include "messages/row_set.h"

namespace muster {
namespace {

using Result = std::expected<void, BatchFault>;

using detail::all_zero;
using detail::fault;
using detail::first_nonzero;
using detail::number;

/// A run of consecutive payload floats that must be finite but have no other limits.
struct Floats {
  std::uint32_t offset, count;
  FieldKind kind;
};

/// Returns true if all `count` floats are finite. Checks two at a time: adding 1 to an exponent of
/// all ones carries into the sign bit.
bool are_finite(const std::byte* at, std::uint32_t count) noexcept {
  constexpr std::uint64_t exponents = 0x7f80'0000'7f80'0000u, ones = 0x0080'0000'0080'0000u;
  std::uint64_t carried = 0;
  for (; count >= 2; count -= 2, at += 8) {
    std::uint64_t bits;
    std::memcpy(&bits, at, sizeof bits);
    carried |= (bits & exponents) + ones;
  }
  if (count == 1) {
    std::uint32_t bits;
    std::memcpy(&bits, at, sizeof bits);
    carried |= (bits & static_cast<std::uint32_t>(exponents)) + static_cast<std::uint32_t>(ones);
  }
  return (carried & 0x8000'0000'8000'0000u) == 0;
}

/// A struct nested in a payload.
struct TablePart {
  const TypeDescriptor* type;
  std::uint32_t offset;
  std::span<const ValueRule> rules;
  std::span<const ValueLimit> limits;
};

/// Checks one batch. Never reads a byte before checking that it is inside `bytes_`.
class Judge {
 public:
  Judge(std::span<const std::byte> bytes, std::size_t base, const TypeTable& types, const VerifierLimits& limits,
        Mending mending = {})
      : bytes_(bytes), base_(base), types_(types), limits_(limits), mending_(mending) {}

  Result run(bool inside_timed) {
    if (Result result = header(inside_timed); !result) return result;
    switch (h_.kind) {
      case BatchKind::each:
      case BatchKind::world:
      case BatchKind::subtree: return items();
      case BatchKind::shared: return shared();
      case BatchKind::table: return tables();
      case BatchKind::timed: return timed();
    }
    return {};
  }

  /// Checks another batch that begins with the same header as the previous one. The previous batch
  /// must have been valid and must not have contained a row set.
  Result run_again(std::span<const std::byte> bytes) {
    bytes_ = bytes;
    return h_.kind == BatchKind::shared ? shared() : items();
  }
  /// Returns true if a quick check finds that a batch suitable for run_again() is valid. The quick
  /// check supports only rows of floats and unrestricted numbers. If the function returns false,
  /// call run_again().
  bool is_good_again(std::span<const std::byte> bytes) const noexcept {
    if (!quick_) return false;
    const std::size_t items = std::size_t{h_.header_units} * 16;
    const std::byte* at = bytes.data() + items;
    for (std::uint32_t i = 0; i < h_.count; ++i, at += h_.item_bytes)
      for (const Floats& run : floats_)
        if (!are_finite(at + h_.payload_offset + run.offset, run.count)) [[unlikely]]
          return false;
    return all_zero(at, bytes.size() - static_cast<std::size_t>(at - bytes.data()));
  }
  /// Returns true if run_again() may be called after a successful run().
  bool can_run_again() const noexcept {
    return (h_.flags & batch_rows) == 0 && h_.kind != BatchKind::table && h_.kind != BatchKind::timed;
  }
  bool has_header(std::span<const std::byte> bytes) const noexcept {
    return bytes.size() == h_.bytes && std::memcmp(bytes.data(), &h_, sizeof h_) == 0 &&
           reinterpret_cast<std::uintptr_t>(bytes.data()) % batch_alignment == 0;
  }

 private:
  std::unexpected<BatchFault> bad(Fault what, std::size_t offset, std::string text, std::string field = {}) const {
    return fault(what, base_ + offset, h_.type, std::move(field), std::move(text));
  }

  Result header(bool inside_timed) {
    if (reinterpret_cast<std::uintptr_t>(bytes_.data()) % batch_alignment != 0)
      return bad(Fault::misaligned, 0, "the batch does not begin on a 16-byte boundary");
    if (bytes_.size() < sizeof h_)
      return bad(Fault::truncated, bytes_.size(),
                 "a batch has at least 32 bytes; the frame holds " + number(bytes_.size()));
    std::memcpy(&h_, bytes_.data(), sizeof h_);
    if (h_.bytes > limits_.batch_bytes_max)
      return bad(
          Fault::oversized, 0,
          "batch declares " + number(h_.bytes) + " bytes; at most " + number(limits_.batch_bytes_max) + " are allowed");
    if (h_.bytes % 16 != 0)
      return bad(Fault::misaligned, 0, "batch declares " + number(h_.bytes) + " bytes, which is not a multiple of 16");
    if (h_.bytes != bytes_.size())
      return bad(h_.bytes > bytes_.size() ? Fault::truncated : Fault::wrong_size, 0,
                 "batch declares " + number(h_.bytes) + " bytes; the frame holds " + number(bytes_.size()));
    const auto kind = static_cast<unsigned>(h_.kind);
    if (kind < 1 || kind > 6) return bad(Fault::unknown_kind, 8, "batch kind " + number(kind) + " is unknown");
    if (inside_timed && h_.kind == BatchKind::timed)
      return bad(Fault::nested_timer, 8, "a timed batch holds another timed batch");
    const unsigned known_flags = h_.kind == BatchKind::timed ? 0u
                                 : h_.kind == BatchKind::each || h_.kind == BatchKind::shared
                                     ? unsigned{batch_causes} | unsigned{batch_rows}
                                     : unsigned{batch_causes};
    if ((h_.flags & ~known_flags) != 0)
      return bad(Fault::unknown_flag, 9,
                 "batch flags are " + number(h_.flags) + "; this kind supports " + number(known_flags));
    if (h_.count == 0) return bad(Fault::wrong_count, 12, "batch declares no messages");
    if (h_.count > limits_.count_max)
      return bad(
          Fault::wrong_count, 12,
          "batch declares " + number(h_.count) + " messages; at most " + number(limits_.count_max) + " are allowed");

    type_ = types_.find(h_.type);
    if (type_ == nullptr) return bad(Fault::unknown_type, 4, "message type id " + number(h_.type) + " is unknown");
    if (h_.kind != BatchKind::timed) {
      const bool table = h_.kind == BatchKind::table;
      if (type_->role != (table ? TypeRole::table_message : TypeRole::message))
        return bad(Fault::wrong_role, 4,
                   type_->name + (table ? " is not a message table" : " is not a message struct") +
                       ", so it cannot be sent in a batch of this kind");
    }
    if (Result result = argument(); !result) return result;
    return layout();
  }

  Result argument() const {
    constexpr std::uint64_t all = subtree_ancestors | subtree_self | subtree_descendants;
    if (h_.kind == BatchKind::timed) return {};
    if (h_.kind == BatchKind::subtree || h_.kind == BatchKind::table) {
      if (h_.argument > all || (h_.argument == 0 && h_.kind == BatchKind::subtree))
        return bad(Fault::bad_argument, 24,
                   "argument " + number(h_.argument) + " is not a mask of subtree parts (1 to 7)");
    } else if (h_.argument != 0) {
      return bad(Fault::bad_argument, 24, "argument is " + number(h_.argument) + "; this kind takes none: expected 0");
    }
    return {};
  }

  /// Checks header_units, payload_offset, payload_bytes, and item_bytes, each of which is
  /// determined by kind, flags, type, and row set.
  Result layout() {
    PayloadShape shape{};
    const bool sized = h_.kind != BatchKind::table && h_.kind != BatchKind::timed;
    if (sized) {
      shape = PayloadShape::of(*type_);
      add_part(*type_, 0);
    } else {
      shape.align = 16;
    }
    if ((h_.flags & batch_rows) != 0) {
      if (Result result = row_set(shape); !result) return result;
    } else if (h_.header_units != 2) {
      return bad(Fault::wrong_size, 10,
                 "batch header declares " + number(h_.header_units) + " units of 16 bytes; without a row set it has 2");
    }
    const std::uint32_t offset = payload_offset_for(h_.kind, causes(), shape.align);
    if (h_.payload_offset != offset)
      return bad(Fault::wrong_offset, 11,
                 "payload offset is " + number(h_.payload_offset) + ", expected " + number(offset));
    if (h_.payload_bytes != shape.bytes)
      return bad(Fault::wrong_size, 16,
                 "payload of " + type_->name + " declares " + number(h_.payload_bytes) + " bytes, expected " +
                     number(shape.bytes),
                 {});
    const std::uint32_t item = !sized                         ? 0
                               : h_.kind == BatchKind::shared ? 8
                                                              : item_bytes_for(offset, shape.bytes, shape.align);
    if (h_.item_bytes != item)
      return bad(Fault::wrong_size, 20, "items declare " + number(h_.item_bytes) + " bytes, expected " + number(item));
    see_what_is_ruled();
    return {};
  }

  /// Determines the rules that apply to payloads. Most payloads contain only floats and
  /// unrestricted numbers, and can be checked without consulting the rules of each part.
  void see_what_is_ruled() {
    bool other = !gaps_.empty() || (limits_.values && carries_field(h_.type));
    for (const TablePart& part : parts_) {
      other = other || !part.rules.empty();
      for (const ValueLimit& limit : part.limits) {
        other = other || limit.reserved || limit.field->has_range;
        floats_.push_back({part.offset + limit.offset, limit.count, limit.kind});
      }
    }
    const bool wide = std::ranges::any_of(floats_, [](const Floats& run) { return run.kind != FieldKind::float32; });
    quick_ = !other && !wide && h_.kind != BatchKind::shared && !has_gaps_around_payloads();
    ruled_ = other ? Ruled::otherwise : floats_.empty() ? Ruled::not_at_all : Ruled::by_floats;
  }

  void add_part(const TypeDescriptor& type, std::uint32_t offset) {
    parts_.push_back(
        {&type, offset, types_.rules(type), limits_.values ? types_.limits(type) : std::span<const ValueLimit>()});
  }

  /// Checks the row set, and sets `shape` to the shape of the whole payload.
  Result row_set(PayloadShape& shape) {
    if (bytes_.size() < 48)
      return bad(Fault::bad_row_set, bytes_.size(),
                 "a batch with a row set has at least 48 bytes; this one has " + number(bytes_.size()));
    std::uint32_t count, zero;
    std::memcpy(&count, bytes_.data() + 32, 4);
    std::memcpy(&zero, bytes_.data() + 36, 4);
    if (count > row_set_components_max)
      return bad(Fault::bad_row_set, 32,
                 "row set declares " + number(count) + " components; at most " + number(row_set_components_max) +
                     " are allowed");
    if (zero != 0)
      return bad(Fault::nonzero_padding, 36 + first_nonzero(bytes_.data() + 36),
                 "the word after the row set's count is not zero");
    const std::uint32_t head = sizeof h_ + row_set_bytes(count);
    if (h_.header_units * 16u != head)
      return bad(Fault::bad_row_set, 10,
                 "batch header declares " + number(h_.header_units) + " units of 16 bytes; with " + number(count) +
                     " components it has " + number(head / 16));
    if (bytes_.size() < head)
      return bad(Fault::truncated, bytes_.size(),
                 "the row set of " + number(count) + " components ends at " + number(head) + "; the batch ends at " +
                     number(bytes_.size()));
    TypeId previous = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::size_t at = 40 + std::size_t{i} * sizeof(RowSetEntry);
      RowSetEntry entry;
      std::memcpy(&entry, bytes_.data() + at, sizeof entry);
      const TypeDescriptor* const component = types_.find(entry.type);
      if (component == nullptr)
        return bad(Fault::bad_row_set, at, "row set: component type id " + number(entry.type) + " is unknown");
      if (component->role != TypeRole::component)
        return bad(Fault::bad_row_set, at, "row set: " + component->name + " is not a component");
      if (i > 0 && entry.type <= previous)
        return bad(Fault::bad_row_set, at,
                   "row set: " + component->name +
                       (entry.type == previous ? " is listed twice" : " is out of order: type ids must ascend"));
      previous = entry.type;
      const std::uint32_t expected = round_up(shape.bytes, component->align);
      if (entry.offset != expected)
        return bad(Fault::bad_row_set, at + 4,
                   "row set: " + component->name + " is at " + number(entry.offset) + ", expected " + number(expected));
      if (expected > shape.bytes) gaps_.push_back({shape.bytes, expected});
      add_part(*component, expected);
      shape.bytes = expected + component->size;
      shape.align = std::max(shape.align, component->align);
    }
    if (count % 2 == 0 && !all_zero(bytes_.data() + head - 8, 8))
      return bad(Fault::nonzero_padding, head - 8 + first_nonzero(bytes_.data() + head - 8),
                 "the padding after the row set is not zero");
    return {};
  }

  /// Checks that the batch has room for exactly the `needed` bytes of its items, rounded up to a
  /// multiple of 16.
  Result body(std::uint64_t needed) const {
    const std::uint64_t whole = std::uint64_t{h_.header_units} * 16 + ((needed + 15) & ~std::uint64_t{15});
    if (whole == h_.bytes) return {};
    return bad(Fault::wrong_count, 12,
               number(h_.count) + " messages need a batch of " + number(whole) + " bytes; the batch declares " +
                   number(h_.bytes));
  }

  Result zero(std::size_t from, std::size_t to, const char* what) const {
    if (all_zero(bytes_.data() + from, to - from)) return {};
    return bad(Fault::nonzero_padding, from + first_nonzero(bytes_.data() + from), std::string(what) + " is not zero");
  }

  /// Returns the size of the part of an item that precedes the payload: the target and the cause.
  std::uint32_t item_head() const noexcept { return (h_.kind == BatchKind::world ? 0u : 8u) + (causes() ? 8u : 0u); }
  bool has_gaps_around_payloads() const noexcept {
    return item_head() < h_.payload_offset || std::size_t{h_.payload_offset} + h_.payload_bytes < h_.item_bytes;
  }

  bool has_good_floats(const std::byte* payload) const noexcept {
    for (const Floats& run : floats_)
      if (run.kind == FieldKind::float32 ? !are_finite(payload + run.offset, run.count)
                                         : first_not_finite(run.kind, payload + run.offset, run.count) != run.count)
        return false;
    return true;
  }

  Result payload(std::size_t at) const {
    for (const auto& [from, to] : gaps_)
      if (!all_zero(bytes_.data() + at + from, to - from))
        return zero(at + from, at + to, "the padding between two components");
    for (const TablePart& part : parts_) {
      const std::byte* const value = bytes_.data() + at + part.offset;
      const std::size_t offset = base_ + at + part.offset;
      if (const ValueRule* rule = first_broken(part.rules, value)) [[unlikely]] {
        if (!mending_.mended) return broken(*rule, value, offset, *part.type);
        mend_value({mending_.at(bytes_, at + part.offset), part.type->size}, *part.type, types_, *mending_.mended,
                   offset);
      }
      if (Result result = check_limits(part.limits, {value, part.type->size}, 0, offset, *part.type, types_); !result)
        return result;
    }
    if (limits_.values && carries_field(h_.type)) return check_carried_field(bytes_.subspan(at), base_ + at, types_);
    return {};
  }

  Result items() const {
    const std::size_t begin = std::size_t{h_.header_units} * 16;
    const std::uint64_t used = std::uint64_t{h_.count} * h_.item_bytes;
    if (Result result = body(used); !result) return result;
    const std::size_t head = item_head();
    const std::size_t payload_end = std::size_t{h_.payload_offset} + h_.payload_bytes;
    const bool before = head < h_.payload_offset, behind = payload_end < h_.item_bytes;
    if (ruled_ != Ruled::not_at_all || before || behind)
      for (std::uint32_t i = 0; i < h_.count; ++i) {
        const std::size_t at = begin + std::size_t{i} * h_.item_bytes;
        if (before)
          if (Result result = zero(at + head, at + h_.payload_offset, "the padding before a payload"); !result)
            return result;
        if (ruled_ == Ruled::otherwise ||
            (ruled_ == Ruled::by_floats && !has_good_floats(bytes_.data() + at + h_.payload_offset)))
          if (Result result = payload(at + h_.payload_offset); !result) return result;
        if (behind)
          if (Result result = zero(at + payload_end, at + h_.item_bytes, "the padding after a payload"); !result)
            return result;
      }
    if (begin + used == bytes_.size()) return {};
    return zero(begin + used, bytes_.size(), "the padding after the last item");
  }

  Result shared() const {
    const std::size_t begin = std::size_t{h_.header_units} * 16;
    const std::size_t payload_at = begin + h_.payload_offset;
    const std::size_t payload_end = payload_at + h_.payload_bytes;
    const std::size_t targets = payload_at + round_up(h_.payload_bytes, 16);
    if (Result result = body(targets - begin + std::uint64_t{h_.count} * 8); !result) return result;
    if (causes())
      if (Result result = zero(begin + 8, begin + 16, "the padding after the cause"); !result) return result;
    if (Result result = payload(payload_at); !result) return result;
    if (Result result = zero(payload_end, targets, "the padding after the payload"); !result) return result;
    return zero(targets + std::size_t{h_.count} * 8, bytes_.size(), "the padding after the last target");
  }

  Result tables() const {
    const std::size_t head = h_.payload_offset;
    std::size_t at = sizeof h_;
    for (std::uint32_t i = 0; i < h_.count; ++i) {
      if (bytes_.size() - at < head)
        return bad(Fault::truncated, at,
                   "table " + number(i) + " of " + number(h_.count) + " begins at " + number(at) +
                       "; the batch ends at " + number(bytes_.size()));
      std::uint32_t length;
      std::memcpy(&length, bytes_.data() + at + 8, 4);
      if (Result result = zero(at + 12, at + 16, "the word after a table's length"); !result) return result;
      if (causes())
        if (Result result = zero(at + 24, at + 32, "the padding after the cause"); !result) return result;
      const std::size_t data = at + head;
      if (length > bytes_.size() - data)
        return bad(Fault::truncated, at + 8,
                   "table " + number(i) + " declares " + number(length) + " bytes; " + number(bytes_.size() - data) +
                       " are left in the batch");
      if (auto problem = check_table(bytes_.subspan(data, length), *type_, types_, limits_, mending_))
        return bad(problem->fault, data + problem->offset, std::move(problem->text), std::move(problem->field));
      if (limits_.values && carries_template(h_.type))
        if (Result result = check_carried_template(bytes_.subspan(data, length), base_ + data, types_, limits_);
            !result)
          return result;
      if (h_.type == TypeTraits<Step>::id)
        if (Result result = step(data, length); !result) return result;
      at = data + ((std::size_t{length} + 15) & ~std::size_t{15});
      if (Result result = zero(data + length, at, "the padding after a table"); !result) return result;
    }
    if (at != bytes_.size())
      return bad(Fault::wrong_count, 12,
                 number(h_.count) + " tables need a batch of " + number(at) + " bytes; the batch declares " +
                     number(h_.bytes));
    return {};
  }

  /// Checks the batches in the Step at `data`, which check_table() has accepted.
  Result step(std::size_t data, std::size_t length) const {
    const auto found = std::as_bytes(StepView::from(bytes_.subspan(data, length)).batches());
    const auto begin = static_cast<std::size_t>(found.data() - bytes_.data());
    if (found.empty()) return bad(Fault::wrong_count, data, "a Step holds no batches", "batches");
    // A copy, because batches are aligned to 16 bytes, and the table aligns them to 4.
    std::vector<std::byte> copy(found.begin(), found.end());
    const Mending mending{mending_.mended ? copy.data() : nullptr, copy.data(), mending_.mended};
    std::size_t at = 0;
    for (std::uint32_t i = 0; at < copy.size(); ++i) {
      const auto where = [&] { return "batch " + number(i) + " of the Step, at byte " + number(at) + ": "; };
      const std::span<const std::byte> left = std::span<const std::byte>(copy).subspan(at);
      BatchHeader header{.bytes = 0};
      std::memcpy(&header, left.data(), std::min(left.size(), sizeof header));
      if (header.type == h_.type && left.size() >= sizeof header)
        return bad(Fault::nested_step, begin + at + 4, where() + "a Step holds another Step", "batches");
      if (header.kind == BatchKind::timed)
        return bad(Fault::nested_timer, begin + at + 8, where() + "a Step holds a timed batch", "batches");
      const std::size_t bytes = std::min<std::size_t>(left.size(), std::max<std::uint32_t>(header.bytes, 1));
      if (Result result = Judge(left.first(bytes), base_ + begin + at, types_, limits_, mending).run(false); !result) {
        result.error().text.insert(0, where());
        return result;
      }
      at += bytes;
    }
    if (mending_.mended) std::memcpy(mending_.at(bytes_, begin), copy.data(), copy.size());
    return {};
  }

  Result timed() const {
    if (h_.count != 1)
      return bad(Fault::wrong_count, 12, "a timed batch holds one batch; this one declares " + number(h_.count));
    constexpr std::size_t inner_at = sizeof(BatchHeader) + 16;
    if (bytes_.size() < inner_at + sizeof(BatchHeader))
      return bad(Fault::truncated, bytes_.size(),
                 "a timed batch has at least 80 bytes; this one has " + number(bytes_.size()));
    if (Result result = zero(40, 48, "the word after the timer's id"); !result) return result;
    Judge inner(bytes_.subspan(inner_at), base_ + inner_at, types_, limits_, mending_);
    if (Result result = inner.run(true); !result) return result;
    if (inner.h_.type != h_.type)
      return bad(Fault::wrong_role, 4, "a timed batch of " + type_->name + " holds a batch of " + inner.type_->name);
    return {};
  }

  bool causes() const noexcept { return (h_.flags & batch_causes) != 0; }

  struct Gap {
    std::uint32_t from, to;
  };

  std::span<const std::byte> bytes_;
  std::size_t base_;
  const TypeTable& types_;
  const VerifierLimits limits_;
  const Mending mending_;
  BatchHeader h_;
  const TypeDescriptor* type_ = nullptr;
  std::vector<TablePart> parts_;
  std::vector<Gap> gaps_;
  std::vector<Floats> floats_;
  bool quick_ = false;  // True if is_good_again() may be used.
  // The kind of checks that payload contents require.
  enum class Ruled : std::uint8_t { not_at_all, by_floats, otherwise } ruled_ = Ruled::otherwise;
};

}  // namespace

const char* name(Fault fault) noexcept {
  switch (fault) {
    case Fault::truncated: return "truncated";
    case Fault::misaligned: return "misaligned";
    case Fault::oversized: return "oversized";
    case Fault::unknown_kind: return "unknown_kind";
    case Fault::unknown_flag: return "unknown_flag";
    case Fault::unknown_type: return "unknown_type";
    case Fault::wrong_role: return "wrong_role";
    case Fault::wrong_size: return "wrong_size";
    case Fault::wrong_count: return "wrong_count";
    case Fault::wrong_offset: return "wrong_offset";
    case Fault::nonzero_padding: return "nonzero_padding";
    case Fault::bad_bool: return "bad_bool";
    case Fault::bad_enum: return "bad_enum";
    case Fault::bad_table: return "bad_table";
    case Fault::bad_row_set: return "bad_row_set";
    case Fault::bad_argument: return "bad_argument";
    case Fault::nested_timer: return "nested_timer";
    case Fault::nested_step: return "nested_step";
    case Fault::out_of_range: return "out_of_range";
    case Fault::not_finite: return "not_finite";
    case Fault::bad_text: return "bad_text";
    case Fault::not_zero: return "not_zero";
  }
  return "unknown";
}

bool is_about_a_value(Fault fault) noexcept { return fault >= Fault::out_of_range; }

std::expected<BatchView, BatchFault> verify_batch(std::span<const std::byte> bytes, const TypeTable& types,
                                                  const VerifierLimits& limits) {
  if (Result result = Judge(bytes, 0, types, limits).run(false); !result)
    return std::unexpected(std::move(result.error()));
  return BatchView(bytes);
}

struct BatchVerifier::Known {
  Known(std::span<const std::byte> bytes, const TypeTable& types, const VerifierLimits& limits)
      : judge(bytes, 0, types, limits) {}
  Judge judge;
};

BatchVerifier::BatchVerifier() = default;
BatchVerifier::~BatchVerifier() = default;

std::expected<BatchView, BatchFault> BatchVerifier::verify(std::span<const std::byte> bytes, const TypeTable& types,
                                                           const VerifierLimits& limits) {
  repeats_ = known_ && known_->judge.has_header(bytes);
  if (repeats_) {
    if (Result result = known_->judge.run_again(bytes); !result) [[unlikely]]
      return std::unexpected(std::move(result.error()));
    return BatchView(bytes);
  }
  known_.reset();
  auto judged = std::make_unique<Known>(bytes, types, limits);
  if (Result result = judged->judge.run(false); !result) return std::unexpected(std::move(result.error()));
  if (judged->judge.can_run_again()) known_ = std::move(judged);
  return BatchView(bytes);
}

bool BatchVerifier::again(std::span<const std::byte> bytes) const noexcept {
  return known_ && known_->judge.has_header(bytes) && known_->judge.is_good_again(bytes);
}

void BatchVerifier::forget() noexcept { known_.reset(); }

std::expected<void, BatchFault> verify_value(std::span<const std::byte> value, const TypeDescriptor& type,
                                             const TypeTable& types) {
  if (value.size() != type.size)
    return fault(Fault::wrong_size, 0, type.id, {},
                 "a value of " + type.name + " has " + number(type.size) + " bytes, not " + number(value.size()));
  if (const ValueRule* rule = first_broken(types.rules(type), value.data()))
    return broken(*rule, value.data(), 0, type);
  return {};
}

void mend_value(std::span<std::byte> value, const TypeDescriptor& type, const TypeTable& types, Mended& mended,
                std::size_t offset) {
  const std::span<const ValueRule> rules = types.rules(type);
  if (!first_broken(rules, value.data())) [[likely]]
    return;
  for (const ValueRule& rule : rules) mend(rule, value.data(), offset, type, mended);
}

std::expected<BatchView, BatchFault> mend_batch(std::span<std::byte> bytes, const TypeTable& types,
                                                const VerifierLimits& limits, Mended& mended) {
  const std::uint64_t before = mended.count;
  if (Result result = Judge(bytes, 0, types, limits, {bytes.data(), bytes.data(), &mended}).run(false); !result)
    return std::unexpected(std::move(result.error()));
  // Tables may share parts, so check that each corrected part is still valid in all tables that
  // share it.
  if (mended.count != before) return verify_batch(bytes, types, limits);
  return BatchView(bytes);
}

}  // namespace muster

#include "messages/judge/value_limits.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "messages/judge/fault_parts.h"
#include "messages/number_kinds.h"
#include "messages/value_text.h"
#include "schema/kinds.h"

namespace muster {
namespace {

using detail::all_zero;

/// Returns the index of the first of `count` floats whose exponent bits are all set (infinity or
/// NaN), or `count` if there is none.
template <class Bits, Bits exponent>
std::size_t first_with_exponent(const std::byte* at, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, at + i * sizeof bits, sizeof bits);
    if ((bits & exponent) == exponent) [[unlikely]]
      return i;
  }
  return count;
}

std::string number_text(FieldKind kind, const std::byte* at) {
  return with_number(
      kind, at, [] { return std::string(); },
      [](auto value) {
        char buffer[40];
        return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
      });
}

/// Returns the index of the first of the `count` elements at `at` that violates the limit, or
/// `count` if there is none.
std::size_t first_beyond(const ValueLimit& limit, const std::byte* at, std::size_t count) noexcept {
  const std::size_t size = scalar_bytes(limit.kind);
  if (!limit.reserved && !limit.field->has_range) return first_not_finite(limit.kind, at, count);
  for (std::size_t i = 0; i < count; ++i)
    if (limit.reserved ? !all_zero(at + i * size, size)
                       : number_fault(*limit.field, limit.kind, at + i * size).has_value())
      return i;
  return count;
}

BatchFault beyond(const ValueLimit& limit, const std::byte* at, std::size_t place, std::size_t offset,
                  const TypeDescriptor& type, const TypeTable& types) {
  const std::vector<Leaf> all = leaves(types, type);
  const auto leaf = std::ranges::find(all, place, &Leaf::offset);
  const FieldDescriptor& field = leaf == all.end() ? *limit.field : *leaf->field;
  const std::string path = leaf == all.end() ? field.name : leaf->path;
  const Fault fault =
      limit.reserved ? Fault::not_zero : number_fault(field, limit.kind, at).value_or(Fault::out_of_range);
  const std::string text = limit.reserved ? "is " + number_text(limit.kind, at) + "; it is reserved and must be 0"
                                          : number_fault_text(types, field, limit.kind, at);
  return {fault, static_cast<std::uint32_t>(offset + place), type.id, path, type.name + "." + path + " " + text};
}

}  // namespace

std::optional<Fault> number_fault(const FieldDescriptor& field, FieldKind kind, const std::byte* at) noexcept {
  return with_number(
      kind, at, [] { return std::optional<Fault>(); },
      [&]<class T>(T value) -> std::optional<Fault> {
        if constexpr (std::is_floating_point_v<T>)
          if (!std::isfinite(value)) return Fault::not_finite;
        if (!field.has_range) return std::nullopt;
        const auto as_held = [](double bound) {
          return std::is_same_v<T, float> ? static_cast<double>(static_cast<float>(bound)) : bound;
        };
        const auto held = static_cast<double>(value);
        if (held < as_held(field.range_min) || held > as_held(field.range_max)) return Fault::out_of_range;
        return std::nullopt;
      });
}

std::string number_fault_text(const TypeTable& types, const FieldDescriptor& field, FieldKind kind,
                              const std::byte* at) {
  return "is " + number_text(kind, at) + "; expected " +
         (field.has_range ? expected_text(types, field) : "a finite number");
}

std::size_t first_not_finite(FieldKind kind, const std::byte* at, std::size_t count) noexcept {
  if (kind == FieldKind::float32) return first_with_exponent<std::uint32_t, 0x7f80'0000u>(at, count);
  if (kind == FieldKind::float64) return first_with_exponent<std::uint64_t, 0x7ff0'0000'0000'0000u>(at, count);
  return count;
}

std::expected<void, BatchFault> check_limits(std::span<const ValueLimit> limits, std::span<const std::byte> part,
                                             std::size_t begin, std::size_t offset, const TypeDescriptor& type,
                                             const TypeTable& types) {
  const std::size_t end = begin + part.size();
  for (const ValueLimit& limit : limits) {
    const std::size_t size = scalar_bytes(limit.kind), limit_end = limit.offset + limit.count * size;
    const std::size_t from = std::max<std::size_t>(limit.offset, begin), to = std::min(limit_end, end);
    if (from >= to) continue;
    const std::byte* const at = part.data() + (from - begin);
    const std::size_t count = (to - from) / size;
    if (const std::size_t i = first_beyond(limit, at, count); i < count) [[unlikely]]
      return std::unexpected(beyond(limit, at + i * size, from + i * size, offset, type, types));
  }
  return {};
}

}  // namespace muster

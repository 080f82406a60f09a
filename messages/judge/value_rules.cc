#include "messages/judge/value_rules.h"

#include <algorithm>
#include <cstring>

#include "messages/judge/fault_parts.h"

namespace muster {
namespace {

using detail::all_zero;
using detail::fault;
using detail::first_nonzero;
using detail::number;

std::int64_t read_integer(const std::byte* at, std::uint32_t size, bool is_signed) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, at, size);
  const unsigned unused = 64 - 8 * size;
  return is_signed ? static_cast<std::int64_t>(value << unused) >> unused : static_cast<std::int64_t>(value);
}

bool is_value_of(const ValueRule& rule, std::int64_t value) noexcept {
  if (rule.kind == ValueRule::Kind::flags) return (static_cast<std::uint64_t>(value) & ~rule.mask) == 0;
  if (!rule.gaps) return value >= rule.min && value <= rule.max;
  return std::ranges::find(rule.enumeration->values, value, &EnumValue::value) != rule.enumeration->values.end();
}

bool obeys(const ValueRule& rule, const std::byte* value) noexcept {
  const std::byte* at = value + rule.offset;
  switch (rule.kind) {
    case ValueRule::Kind::zero: return all_zero(at, rule.count);
    case ValueRule::Kind::boolean:
      for (std::uint32_t i = 0; i < rule.count; ++i)
        if (at[i] > std::byte{1}) return false;
      return true;
    case ValueRule::Kind::enumerated:
    case ValueRule::Kind::flags:
      for (std::uint32_t i = 0; i < rule.count; ++i)
        if (!is_value_of(rule, read_integer(at + std::size_t{i} * rule.size, rule.size, rule.is_signed))) return false;
      return true;
  }
  return false;
}

std::string integer_text(std::int64_t value, bool is_signed) {
  return is_signed ? std::to_string(value) : number(static_cast<std::uint64_t>(value));
}

/// Returns the value that replaces the invalid value `found` of an enum field. Flags lose their
/// unknown bits. Other enums get `wanted`, or their first value if `wanted` is not one of their
/// values.
std::int64_t good_value(const ValueRule& rule, std::int64_t found, std::int64_t wanted) noexcept {
  if (rule.kind == ValueRule::Kind::flags)
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(found) & rule.mask);
  return is_value_of(rule, wanted) || rule.enumeration->values.empty() ? wanted
                                                                       : rule.enumeration->values.front().value;
}

}  // namespace

const ValueRule* first_broken(std::span<const ValueRule> rules, const std::byte* value) noexcept {
  for (const ValueRule& rule : rules)
    if (!obeys(rule, value)) [[unlikely]]
      return &rule;
  return nullptr;
}

std::unexpected<BatchFault> broken(const ValueRule& rule, const std::byte* value, std::size_t offset,
                                   const TypeDescriptor& type) {
  const std::byte* const at = value + rule.offset;
  offset += rule.offset;
  if (rule.kind == ValueRule::Kind::zero) {
    const std::size_t byte = first_nonzero(at);
    return fault(Fault::nonzero_padding, offset + byte, type.id, rule.path,
                 type.name + ": the padding after " + rule.path + " is " + number(std::to_integer<unsigned>(at[byte])) +
                     ", expected 0");
  }
  for (std::uint32_t i = 0;; ++i) {
    const std::string path = rule.count > 1 ? rule.path + "[" + number(i) + "]" : rule.path;
    if (rule.kind == ValueRule::Kind::boolean) {
      if (at[i] > std::byte{1})
        return fault(Fault::bad_bool, offset + i, type.id, path,
                     type.name + "." + path + " is " + number(std::to_integer<unsigned>(at[i])) + "; a bool is 0 or 1");
      continue;
    }
    const std::int64_t found = read_integer(at + std::size_t{i} * rule.size, rule.size, rule.is_signed);
    if (is_value_of(rule, found)) continue;
    const std::string text = rule.is_signed ? std::to_string(found) : number(static_cast<std::uint64_t>(found));
    return fault(
        Fault::bad_enum, offset + std::size_t{i} * rule.size, type.id, path,
        type.name + "." + path + " is " + text +
            (rule.kind == ValueRule::Kind::flags ? ", which has bits that are not in " : ", which is not a value of ") +
            rule.enumeration->name);
  }
}

void mend(const ValueRule& rule, std::byte* value, std::size_t offset, const TypeDescriptor& type, Mended& mended) {
  std::byte* const at = value + rule.offset;
  const auto told = [&](std::size_t byte, std::string field, std::string found, std::string put) {
    mended.add({static_cast<std::uint32_t>(offset + rule.offset + byte), type.name, std::move(field), std::move(found),
                std::move(put)});
  };
  if (rule.kind == ValueRule::Kind::zero) {
    if (all_zero(at, rule.count)) return;
    const std::size_t byte = first_nonzero(at);
    told(byte, rule.path, number(std::to_integer<unsigned>(at[byte])), "0");
    std::memset(at, 0, rule.count);
    return;
  }
  for (std::uint32_t i = 0; i < rule.count; ++i) {
    const auto path = [&] { return rule.count > 1 ? rule.path + "[" + number(i) + "]" : rule.path; };
    if (rule.kind == ValueRule::Kind::boolean) {
      if (at[i] <= std::byte{1}) continue;
      told(i, path(), number(std::to_integer<unsigned>(at[i])), "1");
      at[i] = std::byte{1};
      continue;
    }
    const std::size_t byte = std::size_t{i} * rule.size;
    const std::int64_t found = read_integer(at + byte, rule.size, rule.is_signed);
    if (is_value_of(rule, found)) continue;
    const std::int64_t put = good_value(
        rule, found, read_integer(type.default_bytes.data() + rule.offset + byte, rule.size, rule.is_signed));
    told(byte, path(), integer_text(found, rule.is_signed), integer_text(put, rule.is_signed));
    std::memcpy(at + byte, &put, rule.size);
  }
}

}  // namespace muster

#include "messages/judge/carried_values.h"

#include <cstring>
#include <string>
#include <vector>

#include "messages/judge/table_check.h"
#include "messages/judge/value_limits.h"

namespace muster {
namespace {

using Result = std::expected<void, BatchFault>;

/// A block of memory aligned for a FlatBuffer.
struct alignas(16) Block {
  std::byte bytes[16];
};

Result check_value(const TypeDescriptor& type, std::span<const std::byte> value, const TypeTable& types,
                   const VerifierLimits& limits) {
  if (!type.is_table) {
    if (value.size() != type.size) return {};
    return check_limits(types.limits(type), value, 0, 0, type, types);
  }
  std::vector<Block> aligned((value.size() + sizeof(Block) - 1) / sizeof(Block));
  if (!value.empty()) std::memcpy(aligned.data(), value.data(), value.size());
  auto fault = check_table(std::as_bytes(std::span(aligned)).first(value.size()), type, types, limits);
  if (!fault || !is_about_a_value(fault->fault)) return {};
  fault->type = type.id;
  return std::unexpected(std::move(*fault));
}

}  // namespace

Result check_carried_field(std::span<const std::byte> payload, std::size_t offset, const TypeTable& types) {
  SetField set;
  std::memcpy(&set, payload.data(), sizeof set);
  const TypeDescriptor* const type = types.find(set.component);
  if (!type || type->role != TypeRole::component || set.bytes > set.value.size()) return {};
  const FieldPlace* const place = types.place(*type, set.field);
  if (!place || place->size != set.bytes) return {};
  const auto value = std::as_bytes(std::span(set.value));
  const std::size_t at = offset + offsetof(SetField, value);
  for (std::size_t i = set.bytes; i < value.size(); ++i)
    if (value[i] != std::byte{})
      return std::unexpected(
          BatchFault{Fault::not_zero, static_cast<std::uint32_t>(at + i), TypeTraits<SetField>::id, "value",
                     "muster.SetField.value: byte " + std::to_string(i) + " is " +
                         std::to_string(std::to_integer<unsigned>(value[i])) + ": " + type->name + "." + place->path +
                         " has " + std::to_string(set.bytes) + " bytes, so the rest must be 0"});
  Result good = check_limits(types.limits(*type), value.first(set.bytes), place->offset, 0, *type, types);
  if (!good) good.error().offset = static_cast<std::uint32_t>(at + good.error().offset - place->offset);
  return good;
}

Result check_carried_template(std::span<const std::byte> table, std::size_t offset, const TypeTable& types,
                              const VerifierLimits& limits) {
  const auto defined = DefineTemplateView::from(table);
  std::size_t left = 1024 + 4 * table.size();
  std::uint32_t number = 0;
  for (const TemplateNodeView node : defined.nodes()) {
    const auto where = [&] {
      return "node " + std::to_string(number) +
             (node.name().empty() ? std::string() : " (\"" + std::string(node.name()) + "\")") + " of the template: ";
    };
    for (const auto& values : {node.components(), node.messages()})
      for (const TemplateValueView value : values) {
        const auto bytes = std::as_bytes(value.value());
        if (bytes.size() > left)
          return std::unexpected(BatchFault{Fault::bad_table, static_cast<std::uint32_t>(offset),
                                            TypeTraits<DefineTemplate>::id, "nodes",
                                            where() + "its values are shared too many times to check"});
        left -= bytes.size();
        const TypeDescriptor* const type = types.find(value.type());
        if (!type) continue;
        if (Result good = check_value(*type, bytes, types, limits); !good) {
          good.error().offset = static_cast<std::uint32_t>(offset);
          good.error().text = where() + good.error().text;
          return good;
        }
      }
    ++number;
  }
  return {};
}

}  // namespace muster

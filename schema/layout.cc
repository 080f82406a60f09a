#include "schema/layout.h"

#include "schema/hex.h"

namespace muster::schema_detail {

const char* kind_name(FieldKind kind) noexcept {
  switch (kind) {
    case FieldKind::boolean: return "boolean";
    case FieldKind::int8: return "int8";
    case FieldKind::uint8: return "uint8";
    case FieldKind::int16: return "int16";
    case FieldKind::uint16: return "uint16";
    case FieldKind::int32: return "int32";
    case FieldKind::uint32: return "uint32";
    case FieldKind::int64: return "int64";
    case FieldKind::uint64: return "uint64";
    case FieldKind::float32: return "float32";
    case FieldKind::float64: return "float64";
    case FieldKind::entity: return "entity";
    case FieldKind::text: return "text";
    case FieldKind::structure: return "structure";
    case FieldKind::string: return "string";
    case FieldKind::vector: return "vector";
    case FieldKind::table: return "table";
  }
  return "";
}

std::optional<LayoutFault> check_layout(const TypeDescriptor& type,
                                        const std::function<std::uint32_t(TypeId)>& align_of) {
  std::uint32_t end = 0;
  for (const FieldDescriptor& field : type.fields) {
    const std::uint32_t align = field.type != 0 ? align_of(field.type) : field.size;
    if (align > type.align || field.offset % align != 0) return LayoutFault{field.name, "is misaligned"};
    if (field.offset < end) return LayoutFault{field.name, "overlaps the field before it"};
    const std::uint64_t field_end = field.offset + std::uint64_t{field.size} * field.count;
    if (field_end > type.size) return LayoutFault{field.name, "lies outside the struct"};
    end = static_cast<std::uint32_t>(field_end);
  }
  if (type.size % type.align != 0) return LayoutFault{"", "size is not a multiple of its alignment"};
  if (type.size - end >= type.align) return LayoutFault{"", "has more padding than its alignment explains"};
  return {};
}

void list_references(TypeDescriptor& type, const FindType& find) {
  for (const FieldDescriptor& field : type.fields) {
    if (field.kind != FieldKind::entity && field.kind != FieldKind::text && field.kind != FieldKind::structure)
      continue;
    for (std::uint32_t i = 0; i < field.count; ++i) {
      const std::uint32_t at = field.offset + i * field.size;
      if (field.kind == FieldKind::entity) type.entity_offsets.push_back(at);
      if (field.kind == FieldKind::text) type.text_offsets.push_back(at);
      if (field.kind == FieldKind::structure) {
        const TypeDescriptor& inner = find(field.type);
        for (const std::uint32_t offset : inner.entity_offsets) type.entity_offsets.push_back(at + offset);
        for (const std::uint32_t offset : inner.text_offsets) type.text_offsets.push_back(at + offset);
      }
    }
  }
}

std::uint64_t layout_fingerprint(const TypeDescriptor& type, const FindType& find) {
  const auto nested = [&](const FieldDescriptor& field, FieldKind kind) -> std::string {
    if (kind == FieldKind::table) return " " + find(field.type).name;
    if (kind != FieldKind::structure) return "";
    return " " + hex(find(field.type).fingerprint);
  };
  std::string text = type.is_table ? std::string("table\n")
                                   : "struct " + std::to_string(type.size) + " " + std::to_string(type.align) +
                                         (type.enableable ? " enableable" : "") + "\n";
  for (const FieldDescriptor& field : type.fields) {
    text += std::to_string(type.is_table ? field.slot : field.offset) + " " + kind_name(field.kind) + " ";
    if (field.kind == FieldKind::vector) text += std::string(kind_name(field.element)) + " ";
    if (!type.is_table) text += std::to_string(field.count) + " ";
    text += field.name + nested(field, field.kind == FieldKind::vector ? field.element : field.kind) + "\n";
  }
  return hash64(text);
}

}  // namespace muster::schema_detail

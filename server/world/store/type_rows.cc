#include "server/world/store/type_rows.h"

#include "schema/hex.h"

namespace muster {
namespace {

const char* role_name(TypeRole role) noexcept {
  switch (role) {
    case TypeRole::plain: return "plain";
    case TypeRole::component: return "component";
    case TypeRole::message: return "message";
    case TypeRole::table_message: return "table message";
  }
  return "?";
}

const char* kind_name(FieldKind kind) noexcept {
  switch (kind) {
    case FieldKind::boolean: return "bool";
    case FieldKind::int8: return "byte";
    case FieldKind::uint8: return "ubyte";
    case FieldKind::int16: return "short";
    case FieldKind::uint16: return "ushort";
    case FieldKind::int32: return "int";
    case FieldKind::uint32: return "uint";
    case FieldKind::int64: return "long";
    case FieldKind::uint64: return "ulong";
    case FieldKind::float32: return "float";
    case FieldKind::float64: return "double";
    case FieldKind::entity: return "entity";
    case FieldKind::text: return "text";
    case FieldKind::structure: return "struct";
    case FieldKind::string: return "string";
    case FieldKind::vector: return "vector";
    case FieldKind::table: return "table";
  }
  return "?";
}

/// Returns a string such as "value:float @0, slots:game.Slot[4] @8", which uses the syntax of
/// schema files and gives each field's offset in the struct.
std::string fields_text(const TypeDescriptor& type, std::span<const TypeDescriptor* const> types) {
  std::string text;
  for (const FieldDescriptor& field : type.fields) {
    if (!text.empty()) text += ", ";
    text += field.name + ':';
    std::string word = field.enumeration != nullptr ? field.enumeration->name : kind_name(field.kind);
    if (field.type != 0)
      for (const TypeDescriptor* other : types)
        if (other->id == field.type) word = other->name;
    text += field.kind == FieldKind::vector ? '[' + word + ']' : word;
    if (field.is_array) text += '[' + std::to_string(field.count) + ']';
    if (!type.is_table) text += " @" + std::to_string(field.offset);
  }
  return text;
}

}  // namespace

std::expected<void, WorldError> write_types(Database& database, std::span<const TypeDescriptor* const> types,
                                            std::uint64_t fingerprint, FileMeta& meta) {
  constexpr const char* doing = "writing the types";
  if (meta.types == hex(fingerprint)) return {};
  meta.types = hex(fingerprint);
  if (auto emptied = database.run("DELETE FROM types", doing); !emptied) return emptied;
  auto statement = database.prepare(
      "INSERT INTO types(id, name, role, bytes, fingerprint, fields) VALUES(?1, ?2, ?3, ?4, ?5, ?6)", doing);
  if (!statement) return std::unexpected(std::move(statement.error()));
  for (const TypeDescriptor* type : types) {
    const std::string layout = hex(type->fingerprint), fields = fields_text(*type, types);
    if (!statement->bind(1, std::uint64_t{type->id})
             .bind(2, std::string_view(type->name))
             .bind(3, std::string_view(role_name(type->role)))
             .bind(4, std::uint64_t{type->size})
             .bind(5, std::string_view(layout))
             .bind(6, std::string_view(fields))
             .run())
      return std::unexpected(database.error(doing));
  }
  return {};
}

}  // namespace muster

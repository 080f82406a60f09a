// Formats values as text for display and as JSON.
#include <charconv>
#include <cstring>

#include "messages/number_kinds.h"
#include "messages/value_text.h"
#include "schema/kinds.h"

namespace muster {
namespace {

/// Calls f with the leaf's number in its own C++ type, or with its bool. For leaves of other kinds,
/// calls f with a std::uint64_t.
template <class F>
auto with_leaf(FieldKind kind, const std::byte* at, F&& f) {
  const auto otherwise = [&] {
    return kind == FieldKind::boolean ? f(*at != std::byte{0}) : f(read_number<std::uint64_t>(at));
  };
  return with_number(kind, at, otherwise, f);
}

/// Returns the name of an enum's value, or the names of flags joined by "|". A value that has no
/// name in the schema is shown as a number.
std::string enum_text(const EnumDescriptor& type, std::int64_t value) {
  for (const EnumValue& v : type.values)
    if (v.value == value) return v.name;
  if (!type.bit_flags) return integer_text(type.underlying, value);
  std::string text;
  for (const EnumValue& v : type.values)
    if (v.value != 0 && (value & v.value) == v.value) {
      text += (text.empty() ? "" : "|") + v.name;
      value &= ~v.value;
    }
  if (value != 0 || text.empty()) text += (text.empty() ? "" : "|") + integer_text(type.underlying, value);
  return text;
}

std::int64_t integer(const Leaf& leaf, const std::byte* at) {
  return with_leaf(leaf.field->kind, at, [](auto number) { return static_cast<std::int64_t>(number); });
}

void collect(const TypeTable& types, const FieldDescriptor& field, std::uint32_t offset, std::uint32_t count,
             bool indexed, const std::string& path, std::vector<Leaf>& out);

void collect(const TypeTable& types, const TypeDescriptor& type, std::uint32_t base, const std::string& prefix,
             std::vector<Leaf>& out) {
  for (const FieldDescriptor& field : type.fields)
    collect(types, field, base + field.offset, field.count, field.is_array, prefix + field.name, out);
}

void collect(const TypeTable& types, const FieldDescriptor& field, std::uint32_t offset, std::uint32_t count,
             bool indexed, const std::string& path, std::vector<Leaf>& out) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string element = indexed ? path + '[' + std::to_string(i) + ']' : path;
    const std::uint32_t at = offset + i * field.size;
    if (const TypeDescriptor* nested = field.kind == FieldKind::structure ? types.find(field.type) : nullptr)
      collect(types, *nested, at, element + '.', out);
    else
      out.push_back({element, &field, at});
  }
}

std::size_t element_bytes(const TypeTable& types, const FieldDescriptor& field) {
  if (field.element == FieldKind::structure) return types.find(field.type)->size;
  return scalar_bytes(field.element);
}

/// Structs of up to four leaves, and arrays of plain values, are shown on one line.
bool is_one_line(const TypeTable& types, const FieldDescriptor& field) {
  if (field.kind != FieldKind::structure) return true;
  if (field.is_array) return false;
  std::vector<Leaf> inside;
  collect(types, *types.find(field.type), 0, "", inside);
  return inside.size() <= 4;
}

void add_lines(const TypeTable& types, const TypeDescriptor& type, std::uint32_t base, const std::string& prefix,
               const std::byte* value, ValueReferences& references, std::vector<FieldLine>& out) {
  for (const FieldDescriptor& field : type.fields) {
    const std::string path = prefix + field.name;
    if (!is_one_line(types, field)) {
      for (std::uint32_t i = 0; i < field.count; ++i)
        add_lines(types, *types.find(field.type), base + field.offset + i * field.size,
                  path + (field.is_array ? '[' + std::to_string(i) + "]." : "."), value, references, out);
      continue;
    }
    std::vector<Leaf> parts;
    collect(types, field, base + field.offset, field.count, false, path, parts);
    std::string text;
    for (const Leaf& part : parts) {
      if (!text.empty()) text += ", ";
      text += leaf_text(part, value, references);
    }
    out.push_back({path, std::move(text), field.unit});
  }
}

void write_leaf(JsonWriter& out, const Leaf& leaf, const std::byte* at, ValueReferences& references) {
  const FieldDescriptor& field = *leaf.field;
  if (field.enumeration) {
    out.value(enum_text(*field.enumeration, integer(leaf, at)));
  } else if (field.kind == FieldKind::entity) {
    Entity entity;
    std::memcpy(&entity, at, sizeof entity);
    if (entity)
      out.value(id_text(entity));
    else
      out.null();
  } else if (field.kind == FieldKind::text) {
    Text text;
    std::memcpy(&text, at, sizeof text);
    if (text)
      out.value(references.text(text));
    else
      out.null();
  } else {
    with_leaf(field.kind, at, [&](auto number) { out.value(number); });
  }
}

}  // namespace

std::string id_text(Entity entity) {
  return entity ? std::to_string(entity.index) + ':' + std::to_string(entity.generation) : "nil";
}

std::vector<Leaf> leaves(const TypeTable& types, const TypeDescriptor& type) {
  std::vector<Leaf> out;
  collect(types, type, 0, "", out);
  return out;
}

std::vector<Leaf> leaves(const TypeTable& types, const FieldPlace& place, const std::string& path) {
  std::vector<Leaf> out;
  collect(types, *place.field, place.offset, place.count, place.count > 1, path, out);
  return out;
}

std::string leaf_text(const Leaf& leaf, const std::byte* value, ValueReferences& references) {
  const std::byte* at = value + leaf.offset;
  const FieldDescriptor& field = *leaf.field;
  if (field.enumeration) return enum_text(*field.enumeration, integer(leaf, at));
  if (field.kind == FieldKind::entity) {
    Entity entity;
    std::memcpy(&entity, at, sizeof entity);
    return id_text(entity);
  }
  JsonWriter out;
  if (field.kind == FieldKind::text) {
    Text text;
    std::memcpy(&text, at, sizeof text);
    return text ? out.value(references.text(text)).text() : "\"\"";
  }
  if (field.kind == FieldKind::float32 || field.kind == FieldKind::float64) {
    return with_leaf(field.kind, at, [](auto number) {
      if constexpr (std::is_floating_point_v<decltype(number)>) {
        char buffer[40];
        return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
      } else {
        return std::string();
      }
    });
  }
  return with_leaf(field.kind, at, [&](auto number) { return out.value(number).text(); });
}

std::vector<FieldLine> field_lines(const TypeTable& types, const TypeDescriptor& type, const std::byte* value,
                                   ValueReferences& references) {
  std::vector<FieldLine> out;
  if (!type.tag) add_lines(types, type, 0, "", value, references, out);
  return out;
}

std::string value_line(const TypeTable& types, const TypeDescriptor& type, const std::byte* value,
                       ValueReferences& references) {
  std::string text;
  for (const FieldLine& line : field_lines(types, type, value, references))
    text += (text.empty() ? "" : " ") + line.path + '=' + line.value;
  return text;
}

void write_json(JsonWriter& out, const TypeTable& types, const TypeDescriptor& type, const std::byte* value,
                ValueReferences& references) {
  out.open_object();
  for (const FieldDescriptor& field : type.fields) {
    if (type.tag) break;
    out.key(field.name);
    if (field.is_array) out.open_array();
    for (std::uint32_t i = 0; i < field.count; ++i) {
      const std::byte* at = value + field.offset + std::size_t{i} * field.size;
      if (const TypeDescriptor* nested = field.kind == FieldKind::structure ? types.find(field.type) : nullptr)
        write_json(out, types, *nested, at, references);
      else
        write_leaf(out, Leaf{"", &field, 0}, at, references);
    }
    if (field.is_array) out.close_array();
  }
  out.close_object();
}

namespace {

void write_scalar_or_struct(JsonWriter& out, const TypeTable& types, const FieldDescriptor& field, FieldKind kind,
                            const std::byte* at, ValueReferences& references) {
  if (kind == FieldKind::structure) return write_json(out, types, *types.find(field.type), at, references);
  FieldDescriptor one = field;
  one.kind = kind;
  write_leaf(out, Leaf{"", &one, 0}, at, references);
}

void write_vector(JsonWriter& out, const TypeTable& types, const FieldDescriptor& field, const std::byte* vector,
                  ValueReferences& references) {
  const auto count = TableReader::read<std::uint32_t>(vector);
  const std::byte* first = vector + 4;
  out.open_array();
  for (std::size_t i = 0; i < count; ++i) {
    if (field.element == FieldKind::string)
      out.value(TableReader::string_at(TableReader::follow(first + 4 * i)));
    else if (field.element == FieldKind::table)
      write_json(out, types, *types.find(field.type), TableReader(TableReader::follow(first + 4 * i)), references);
    else
      write_scalar_or_struct(out, types, field, field.element, first + i * element_bytes(types, field), references);
  }
  out.close_array();
}

}  // namespace

void write_json(JsonWriter& out, const TypeTable& types, const TypeDescriptor& type, TableReader table,
                ValueReferences& references) {
  out.open_object();
  for (const FieldDescriptor& field : type.fields) {
    const std::byte* at = table.field(field.slot);
    if (at == nullptr) continue;
    out.key(field.name);
    if (field.kind == FieldKind::string)
      out.value(TableReader::string_at(TableReader::follow(at)));
    else if (field.kind == FieldKind::table)
      write_json(out, types, *types.find(field.type), TableReader(TableReader::follow(at)), references);
    else if (field.kind == FieldKind::vector)
      write_vector(out, types, field, TableReader::follow(at), references);
    else
      write_scalar_or_struct(out, types, field, field.kind, at, references);
  }
  out.close_object();
}

}  // namespace muster

#include "schema/load.h"

#include <flatbuffers/reflection.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "schema/attributes.h"
#include "schema/defaults.h"
#include "schema/kinds.h"
#include "schema/layout.h"

namespace muster {

std::string SchemaError::text() const {
  std::string place = type;
  if (!field.empty()) place += (place.empty() ? "" : ".") + field;
  return place.empty() ? what : place + ": " + what;
}

namespace {

using schema_detail::fill_default;

constexpr std::uint32_t struct_bytes_max = 65535;  // FlatBuffers stores the offsets in a struct in
                                                   // 16 bits
constexpr std::uint32_t struct_depth_max = 32;
constexpr std::size_t all_struct_bytes_max = 64u << 20;  // limit on the total size of all structs
                                                         // in a schema, far above any sensible
                                                         // value
constexpr std::size_t types_max = 1u << 16;
constexpr std::size_t name_bytes_max = 255;

FieldKind scalar_kind(reflection::BaseType type) {
  switch (type) {
    case reflection::Bool: return FieldKind::boolean;
    case reflection::Byte: return FieldKind::int8;
    case reflection::UByte: return FieldKind::uint8;
    case reflection::Short: return FieldKind::int16;
    case reflection::UShort: return FieldKind::uint16;
    case reflection::Int: return FieldKind::int32;
    case reflection::UInt: return FieldKind::uint32;
    case reflection::Long: return FieldKind::int64;
    case reflection::ULong: return FieldKind::uint64;
    case reflection::Float: return FieldKind::float32;
    default: return FieldKind::float64;
  }
}
/// reflection::BaseType has no fixed underlying type, so an arbitrary number must be checked before
/// it is converted to a BaseType.
reflection::BaseType base_type(const reflection::Type& type, flatbuffers::voffset_t slot) {
  const auto raw = reinterpret_cast<const flatbuffers::Table&>(type).GetField<std::int8_t>(slot, 0);
  return raw >= reflection::None && raw < reflection::MaxBaseType ? static_cast<reflection::BaseType>(raw)
                                                                  : reflection::None;
}
reflection::BaseType base_of(const reflection::Type& type) { return base_type(type, reflection::Type::VT_BASE_TYPE); }
reflection::BaseType element_of(const reflection::Type& type) { return base_type(type, reflection::Type::VT_ELEMENT); }

bool is_scalar(reflection::BaseType type) { return type >= reflection::Bool && type <= reflection::Double; }
bool is_integer(reflection::BaseType type) { return type >= reflection::Byte && type <= reflection::ULong; }

bool is_name(std::string_view text, bool dots) {
  if (text.empty() || text.size() > name_bytes_max) return false;
  bool start = true;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (start ? !letter : !(letter || (c >= '0' && c <= '9') || (dots && c == '.'))) return false;
    start = c == '.';
  }
  return !start;
}

std::string documentation(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* lines) {
  std::string text;
  if (lines == nullptr) return text;
  for (const flatbuffers::String* line : *lines) {
    std::string_view view = line->string_view();
    if (view.starts_with(' ')) view.remove_prefix(1);
    if (!text.empty() || line != lines->Get(0)) text += '\n';
    text += view;
  }
  return text;
}

std::string string_of(const flatbuffers::String* text) { return text ? text->str() : std::string(); }

/// Converts reflection tables to descriptors. A verifier has checked their structure, but their
/// contents are untrusted.
class Loader {
 public:
  explicit Loader(const reflection::Schema& source) : source_(source) {}

  std::expected<Schema, SchemaError> load() {
    if (!load_enums() || !declare_types()) return std::unexpected(std::move(error_));
    for (std::uint32_t i = 0; i < schema_.types.size(); ++i)
      if (!schema_.types[i].is_table && !complete_struct(i, 0)) return std::unexpected(std::move(error_));
    for (std::uint32_t i = 0; i < schema_.types.size(); ++i)
      if (schema_.types[i].is_table && !complete_table(i)) return std::unexpected(std::move(error_));
    return std::move(schema_);
  }

 private:
  enum class Progress : std::uint8_t { declared, open, complete };

  bool fail(std::string_view type, std::string_view field, std::string what) {
    error_ = {std::string(type), std::string(field), std::move(what)};
    return false;
  }

  bool load_enums() {
    if (source_.enums()->size() > types_max) return fail("", "", "more than 65536 enums");
    for (const reflection::Enum* from : *source_.enums()) {
      EnumDescriptor& to = schema_.enums.emplace_back();
      to.name = from->name()->str();
      if (!is_name(to.name, true)) return fail("", "", "an enum's name is not an identifier");
      to.doc = documentation(from->documentation());
      to.file = string_of(from->declaration_file());
      if (from->is_union()) continue;  // any field of a union type is refused later
      if (!is_integer(base_of(*from->underlying_type()))) return fail(to.name, "", "underlying type is not an integer");
      to.underlying = scalar_kind(base_of(*from->underlying_type()));
      if (auto flags = schema_detail::read_enum_attributes(from->attributes()))
        to.bit_flags = *flags;
      else
        return fail(to.name, "", flags.error());
      for (const reflection::EnumVal* value : *from->values()) {
        to.values.push_back({value->name()->str(), value->value(), documentation(value->documentation())});
        if (!is_name(to.values.back().name, false)) return fail(to.name, "", "a value's name is not an identifier");
      }
    }
    return true;
  }

  bool declare_types() {
    if (source_.objects()->size() > types_max) return fail("", "", "more than 65536 types");
    for (const reflection::Object* from : *source_.objects()) {
      TypeDescriptor& to = schema_.types.emplace_back();
      to.name = from->name()->str();
      if (!is_name(to.name, true)) return fail("", "", "a type's name is not an identifier");
      to.id = hash32(to.name);
      to.is_table = !from->is_struct();
      to.align = 16;
      to.doc = documentation(from->documentation());
      to.file = string_of(from->declaration_file());
      const auto [other, fresh] = by_id_.emplace(to.id, static_cast<std::uint32_t>(schema_.types.size() - 1));
      if (!fresh && schema_.types[other->second].name == to.name) return fail(to.name, "", "declared twice");
      if (!fresh)
        return fail(to.name, "",
                    "has the same type id as " + schema_.types[other->second].name +
                        " (their names have one hash); rename one of them");
      if (to.id == 0) return fail(to.name, "", "its name has the hash 0, which is not a valid type id; rename it");
      if (auto done = schema_detail::read_type_attributes(from->attributes(), to); !done)
        return fail(to.name, "", done.error());
    }
    progress_.resize(schema_.types.size());
    return check_presence_ids() && read_questions();
  }
  bool read_questions() {
    for (std::uint32_t i = 0; i < schema_.types.size(); ++i) {
      const TypeDescriptor& type = schema_.types[i];
      const auto read = schema_detail::read_question_attributes(object(i).attributes(), type);
      if (!read) return fail(type.name, "", read.error());
      if (!*read) continue;
      const std::string& answer = (*read)->answer;
      // The attribute names the answer either relative to the question's own namespace or by its
      // full name.
      const TypeDescriptor* answered = type_called(type.name.substr(0, type.name.rfind('.') + 1) + answer);
      if (answered == nullptr) answered = type_called(answer);
      if (answered == nullptr) return fail(type.name, "", "its answer '" + answer + "' is not in the schema");
      if (answered->role != TypeRole::message && answered->role != TypeRole::table_message)
        return fail(type.name, "", "its answer " + answered->name + " is not a message");
      schema_.questions.push_back({type.id, answered->id, (*read)->several, (*read)->cost});
    }
    return true;
  }
  bool check_presence_ids() {
    std::unordered_map<TypeId, const TypeDescriptor*> enableable;
    for (const TypeDescriptor& type : schema_.types) {
      if (!type.enableable) continue;
      const TypeId id = presence_id(type);
      const auto [other, fresh] = enableable.emplace(id, &type);
      const auto taken = by_id_.find(id);
      if (!fresh || taken != by_id_.end())
        return fail(type.name, "",
                    "is enableable, and who has it would be kept under an id of " +
                        (fresh ? schema_.types[taken->second].name : other->second->name) + "; rename one of them");
    }
    return true;
  }

  /// Returns the type with this full name, or null if there is none.
  const TypeDescriptor* type_called(const std::string& name) const {
    const auto at = by_id_.find(hash32(name));
    return at != by_id_.end() && schema_.types[at->second].name == name ? &schema_.types[at->second] : nullptr;
  }
  const TypeDescriptor& type_of(TypeId id) const { return schema_.types[by_id_.at(id)]; }
  const reflection::Object& object(std::uint32_t index) const { return *source_.objects()->Get(index); }

  /// Reads the kind, enumeration, and nested type of a field. For an array or vector, reads those
  /// of its elements.
  bool read_kind(const TypeDescriptor& type, FieldDescriptor& field, reflection::BaseType base, std::int32_t index,
                 FieldKind& kind) {
    if (is_scalar(base)) {
      kind = scalar_kind(base);
      field.size = scalar_bytes(kind);
      if (index < 0) return true;
      if (!is_integer(base) || static_cast<std::uint32_t>(index) >= schema_.enums.size())
        return fail(type.name, field.name, "its enum is not in the schema");
      field.enumeration = &schema_.enums[static_cast<std::uint32_t>(index)];
      if (source_.enums()->Get(static_cast<std::uint32_t>(index))->is_union() || field.enumeration->underlying != kind)
        return fail(type.name, field.name, "its enum has another underlying type");
      return true;
    }
    if (base != reflection::Obj)
      return fail(type.name, field.name,
                  base == reflection::Union || base == reflection::UType ? "unions are not supported"
                                                                         : "has a type that is not supported");
    if (index < 0 || static_cast<std::uint32_t>(index) >= schema_.types.size())
      return fail(type.name, field.name, "its type is not in the schema");
    const auto at = static_cast<std::uint32_t>(index);
    const TypeDescriptor& inner = schema_.types[at];
    field.type = inner.id;
    if (inner.is_table) {
      kind = FieldKind::table;
      return true;
    }
    kind = FieldKind::structure;
    const reflection::Object& from = object(at);
    if (inner.name == "muster.Entity") {
      if (from.bytesize() != 8 || from.minalign() != 8)
        return fail(inner.name, "", "is not the Entity of schema/muster.fbs (8 bytes, aligned to 8)");
      kind = FieldKind::entity;
    }
    if (from.bytesize() <= 0 || from.bytesize() > static_cast<std::int32_t>(struct_bytes_max))
      return fail(inner.name, "", "size " + std::to_string(from.bytesize()) + " is outside 1..65535 bytes");
    field.size = static_cast<std::uint32_t>(from.bytesize());
    return true;
  }

  bool read_common(const TypeDescriptor& type, const reflection::Field& from, FieldDescriptor& field) {
    field.name = from.name()->str();
    if (!is_name(field.name, false)) return fail(type.name, "", "a field's name is not an identifier");
    field.doc = documentation(from.documentation());
    return true;
  }

  bool complete_struct(std::uint32_t index, std::uint32_t depth) {
    TypeDescriptor& type = schema_.types[index];
    if (progress_[index] == Progress::complete) return true;
    if (progress_[index] == Progress::open) return fail(type.name, "", "contains itself");
    if (depth > struct_depth_max) return fail(type.name, "", "structs are nested more than 32 deep");
    progress_[index] = Progress::open;

    const reflection::Object& from = object(index);
    if (from.minalign() > 16)
      return fail(type.name, "", "alignment " + std::to_string(from.minalign()) + " is over 16");
    if (from.minalign() < 1 || (from.minalign() & (from.minalign() - 1)) != 0)
      return fail(type.name, "", "alignment " + std::to_string(from.minalign()) + " is not a power of two");
    if (from.bytesize() <= 0 || from.bytesize() > static_cast<std::int32_t>(struct_bytes_max))
      return fail(type.name, "", "size " + std::to_string(from.bytesize()) + " is outside 1..65535 bytes");
    type.size = static_cast<std::uint32_t>(from.bytesize());
    type.align = static_cast<std::uint32_t>(from.minalign());
    all_struct_bytes_ += type.size;
    if (all_struct_bytes_ > all_struct_bytes_max)
      return fail("", "", "the structs of the schema are over 64 MiB in all");
    if (from.fields()->size() == 0) return fail(type.name, "", "a struct needs a field");

    for (const reflection::Field* field : *from.fields())
      if (!read_struct_field(type, *field, depth)) return false;
    std::ranges::sort(type.fields, {}, &FieldDescriptor::offset);
    if (auto fault = schema_detail::check_layout(type, [this](TypeId id) { return type_of(id).align; }))
      return fail(type.name, fault->field, fault->what);

    type.default_bytes.resize(type.size);
    const auto find = [this](TypeId id) -> const TypeDescriptor& { return type_of(id); };
    for (const FieldDescriptor& field : type.fields) {
      const auto bytes = std::span(type.default_bytes).subspan(field.offset, std::size_t{field.size} * field.count);
      if (auto done = fill_default(field, find, bytes); !done) return fail(type.name, field.name, done.error());
    }
    schema_detail::list_references(type, find);
    type.fingerprint = schema_detail::layout_fingerprint(type, find);
    progress_[index] = Progress::complete;
    return true;
  }

  bool read_struct_field(TypeDescriptor& type, const reflection::Field& from, std::uint32_t depth) {
    FieldDescriptor& field = type.fields.emplace_back();
    if (!read_common(type, from, field)) return false;
    const reflection::Type& declared = *from.type();
    reflection::BaseType base = base_of(declared);
    if (base == reflection::Array) {
      field.is_array = true;
      field.count = declared.fixed_length();
      base = element_of(declared);
      if (field.count == 0) return fail(type.name, field.name, "an array needs a length");
    }
    if (base == reflection::String || base == reflection::Vector)
      return fail(type.name, field.name,
                  std::string("a struct cannot hold a ") + (base == reflection::String ? "string" : "vector") +
                      "; make it a table, or use ulong (text) for a text");
    if (!read_kind(type, field, base, declared.index(), field.kind)) return false;
    if (field.kind == FieldKind::table)
      return fail(type.name, field.name, "a struct cannot hold a table (" + type_of(field.type).name + ")");
    if (field.type != 0 && !complete_struct(by_id_.at(field.type), depth + 1)) return false;
    field.offset = from.offset();
    if (auto done = schema_detail::read_field_attributes(from.attributes(), false, field); !done)
      return fail(type.name, field.name, done.error());
    return true;
  }

  bool complete_table(std::uint32_t index) {
    TypeDescriptor& type = schema_.types[index];
    const auto features = reinterpret_cast<const flatbuffers::Table&>(source_).GetField<std::uint64_t>(
        reflection::Schema::VT_ADVANCED_FEATURES, 0);
    if ((features & reflection::DefaultVectorsAndStrings) != 0)
      return fail(type.name, "", "a binary schema does not keep defaults of strings and vectors; leave them out");
    for (const reflection::Field* field : *object(index).fields())
      if (!field->deprecated() && !read_table_field(type, *field)) return false;
    std::ranges::sort(type.fields, {}, &FieldDescriptor::slot);
    for (std::size_t i = 1; i < type.fields.size(); ++i)
      if (type.fields[i].slot == type.fields[i - 1].slot)
        return fail(type.name, type.fields[i].name, "shares its place with " + type.fields[i - 1].name);
    type.fingerprint =
        schema_detail::layout_fingerprint(type, [this](TypeId id) -> const TypeDescriptor& { return type_of(id); });
    progress_[index] = Progress::complete;
    return true;
  }

  bool read_table_field(TypeDescriptor& type, const reflection::Field& from) {
    FieldDescriptor& field = type.fields.emplace_back();
    if (!read_common(type, from, field)) return false;
    const reflection::Type& declared = *from.type();
    const reflection::BaseType base = base_of(declared);
    if (base == reflection::String) {
      field.kind = FieldKind::string;
    } else if (base == reflection::Vector) {
      field.kind = FieldKind::vector;
      if (element_of(declared) == reflection::String)
        field.element = FieldKind::string;
      else if (!read_kind(type, field, element_of(declared), declared.index(), field.element))
        return false;
    } else if (!read_kind(type, field, base, declared.index(), field.kind)) {
      return false;
    }
    field.slot = from.offset();
    if (field.slot < 4 || field.slot % 2 != 0) return fail(type.name, field.name, "has no place in the table");
    field.required = from.required();
    field.optional = from.optional() && is_scalar(base);
    if (auto done = schema_detail::read_field_attributes(from.attributes(), true, field); !done)
      return fail(type.name, field.name, done.error());
    if (is_scalar(base) && !field.optional) {
      auto text = schema_detail::table_default(field, from.default_integer(), from.default_real());
      if (!text) return fail(type.name, field.name, text.error());
      field.default_text = std::move(*text);
    }
    return true;
  }

  const reflection::Schema& source_;
  Schema schema_;
  SchemaError error_;
  std::unordered_map<TypeId, std::uint32_t> by_id_;
  std::vector<Progress> progress_;
  std::size_t all_struct_bytes_ = 0;
};

}  // namespace

std::expected<Schema, SchemaError> load_schema(std::span<const std::byte> bfbs) {
  // The verifier assumes that the buffer is aligned and long enough to contain an identifier.
  constexpr std::size_t alignment = 16;
  std::unique_ptr<std::byte[]> copy;
  const std::byte* data = bfbs.data();
  if (reinterpret_cast<std::uintptr_t>(data) % alignment != 0 && !bfbs.empty()) {
    copy = std::make_unique_for_overwrite<std::byte[]>(bfbs.size());  // the allocated memory is
                                                                      // aligned to 16 bytes
    std::memcpy(copy.get(), data, bfbs.size());
    data = copy.get();
  }
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(data);
  if (bfbs.size() < 16 || !reflection::SchemaBufferHasIdentifier(bytes))
    return std::unexpected(SchemaError{"", "", "this is not a binary schema (.bfbs)"});
  flatbuffers::Verifier verifier(bytes, bfbs.size(), 64, 1u << 18);
  if (!reflection::VerifySchemaBuffer(verifier))
    return std::unexpected(SchemaError{"", "", "this binary schema (.bfbs) is damaged or cut off"});
  return Loader(*reflection::GetSchema(bytes)).load();
}

}  // namespace muster

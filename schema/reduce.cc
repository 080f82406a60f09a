#include "schema/reduce.h"

#include <flatbuffers/reflection.h>

#include <cstdint>

namespace muster {
namespace {

using flatbuffers::Offset;
using flatbuffers::String;
using flatbuffers::Vector;

constexpr std::int32_t left_out = -1;

/// Copies the types to keep, and renumbers the types that fields refer to.
class Reduction {
 public:
  explicit Reduction(const reflection::Schema& from, const std::set<std::string>& files_without_comments = {})
      : from_(from), files_without_comments_(files_without_comments) {
    objects_.assign(from.objects()->size(), left_out);
    enums_.assign(from.enums()->size(), left_out);
  }
  void keep(std::uint32_t object) {
    if (objects_[object] != left_out) return;
    objects_[object] = 0;
    for (const reflection::Field* field : *from_.objects()->Get(object)->fields()) {
      const reflection::Type& type = *field->type();
      if (type.index() < 0) continue;
      const auto index = static_cast<std::uint32_t>(type.index());
      if (holds_object(type))
        keep(index);
      else
        enums_[index] = 0;
    }
  }
  void keep_all() {
    objects_.assign(objects_.size(), 0);
    enums_.assign(enums_.size(), 0);
  }
  std::vector<std::byte> made() {
    renumber(objects_);
    renumber(enums_);
    std::vector<Offset<reflection::Object>> objects;
    std::vector<Offset<reflection::Enum>> enums;
    for (std::uint32_t i = 0; i < objects_.size(); ++i)
      if (objects_[i] != left_out) objects.push_back(copy(*from_.objects()->Get(i)));
    for (std::uint32_t i = 0; i < enums_.size(); ++i)
      if (enums_[i] != left_out) enums.push_back(copy(*from_.enums()->Get(i)));
    const auto all_objects = to_.CreateVector(objects);
    const auto all_enums = to_.CreateVector(enums);
    const auto ident = copy(from_.file_ident()), ext = copy(from_.file_ext());
    reflection::FinishSchemaBuffer(to_, reflection::CreateSchema(to_, all_objects, all_enums, ident, ext));
    const auto* bytes = reinterpret_cast<const std::byte*>(to_.GetBufferPointer());
    return {bytes, bytes + to_.GetSize()};
  }

 private:
  static bool holds_object(const reflection::Type& type) {
    return type.base_type() == reflection::Obj || type.element() == reflection::Obj;
  }
  static void renumber(std::vector<std::int32_t>& all) {
    std::int32_t next = 0;
    for (std::int32_t& number : all)
      if (number != left_out) number = next++;
  }
  Offset<String> copy(const String* text) { return text ? to_.CreateString(text) : Offset<String>(); }
  Offset<Vector<Offset<String>>> copy(const Vector<Offset<String>>* lines) {
    if (!lines) return {};
    std::vector<Offset<String>> made;
    for (const String* line : *lines) made.push_back(copy(line));
    return to_.CreateVector(made);
  }
  /// Returns null if the comments on the types of this file must be dropped.
  Offset<Vector<Offset<String>>> copy_comment(const Vector<Offset<String>>* lines, const String* file) {
    if (file && files_without_comments_.contains(file->str())) return {};
    return copy(lines);
  }
  Offset<Vector<Offset<reflection::KeyValue>>> copy(const Vector<Offset<reflection::KeyValue>>* attributes) {
    if (!attributes) return {};
    std::vector<Offset<reflection::KeyValue>> made;
    for (const reflection::KeyValue* one : *attributes) {
      const auto key = copy(one->key()), value = copy(one->value());
      made.push_back(reflection::CreateKeyValue(to_, key, value));
    }
    return to_.CreateVector(made);
  }
  Offset<reflection::Type> copy(const reflection::Type* type) {
    if (!type) return {};
    std::int32_t index = type->index();
    if (index >= 0) index = (holds_object(*type) ? objects_ : enums_)[static_cast<std::uint32_t>(index)];
    return reflection::CreateType(to_, type->base_type(), type->element(), index, type->fixed_length(),
                                  type->base_size(), type->element_size());
  }
  Offset<reflection::Enum> copy(const reflection::Enum& from) {
    std::vector<Offset<reflection::EnumVal>> values;
    for (const reflection::EnumVal* value : *from.values()) {
      const auto name = copy(value->name());
      const auto type = copy(value->union_type());
      const auto doc = copy_comment(value->documentation(), from.declaration_file());
      values.push_back(reflection::CreateEnumVal(to_, name, value->value(), type, doc));
    }
    const auto name = copy(from.name());
    const auto all = to_.CreateVector(values);
    const auto type = copy(from.underlying_type());
    const auto attributes = copy(from.attributes());
    const auto doc = copy_comment(from.documentation(), from.declaration_file());
    const auto file = copy(from.declaration_file());
    return reflection::CreateEnum(to_, name, all, from.is_union(), type, attributes, doc, file);
  }
  Offset<reflection::Object> copy(const reflection::Object& from) {
    std::vector<Offset<reflection::Field>> fields;
    for (const reflection::Field* field : *from.fields()) {
      const auto name = copy(field->name());
      const auto type = copy(field->type());
      const auto attributes = copy(field->attributes());
      const auto doc = copy_comment(field->documentation(), from.declaration_file());
      fields.push_back(reflection::CreateField(to_, name, type, field->id(), field->offset(), field->default_integer(),
                                               field->default_real(), field->deprecated(), field->required(),
                                               field->key(), attributes, doc, field->optional(), field->padding()));
    }
    const auto name = copy(from.name());
    const auto all = to_.CreateVector(fields);
    const auto attributes = copy(from.attributes());
    const auto doc = copy_comment(from.documentation(), from.declaration_file());
    const auto file = copy(from.declaration_file());
    return reflection::CreateObject(to_, name, all, from.is_struct(), from.minalign(), from.bytesize(), attributes, doc,
                                    file);
  }

  const reflection::Schema& from_;
  const std::set<std::string> files_without_comments_;
  std::vector<std::int32_t> objects_, enums_;  // the kept types' indices in the reduced schema
  flatbuffers::FlatBufferBuilder to_;
};

}  // namespace

std::vector<std::byte> reduce_schema(std::span<const std::byte> bfbs, const std::set<std::string>& names) {
  const reflection::Schema& schema = *reflection::GetSchema(bfbs.data());
  Reduction reduction(schema);
  for (std::uint32_t i = 0; i < schema.objects()->size(); ++i)
    if (names.contains(schema.objects()->Get(i)->name()->str())) reduction.keep(i);
  return reduction.made();
}

std::vector<std::byte> drop_comments(std::span<const std::byte> bfbs, const std::set<std::string>& files) {
  Reduction reduction(*reflection::GetSchema(bfbs.data()), files);
  reduction.keep_all();
  return reduction.made();
}

}  // namespace muster

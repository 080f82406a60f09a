#include "registry/storage/runtime_schema.h"

#include <flatbuffers/reflection.h>

namespace muster {

std::vector<std::byte> tag_schema(std::string_view full_name) {
  flatbuffers::FlatBufferBuilder builder;
  const auto text = [&](std::string_view s) { return builder.CreateString(s.data(), s.size()); };
  // One string per statement, because compilers evaluate arguments in different orders.
  const auto attribute = [&](std::string_view key) {
    const auto name = text(key);
    const auto value = text("");
    return reflection::CreateKeyValue(builder, name, value);
  };
  const auto type = reflection::CreateType(builder, reflection::UByte);
  const std::vector<flatbuffers::Offset<reflection::Field>> fields{
      reflection::CreateField(builder, text("reserved"), type, 0, 0)};
  const auto component = attribute("component");
  const auto tag = attribute("tag");
  const std::vector<flatbuffers::Offset<reflection::KeyValue>> attributes{component, tag};
  const std::vector<flatbuffers::Offset<flatbuffers::String>> lines{
      text(" In the process that registers it, a C++ value; everywhere else only whether it is there.")};
  const auto all_fields = builder.CreateVector(fields);
  const auto all_attributes = builder.CreateVector(attributes);
  const auto all_lines = builder.CreateVector(lines);
  const std::vector<flatbuffers::Offset<reflection::Object>> objects{
      reflection::CreateObject(builder, text(full_name), all_fields, true, 1, 1, all_attributes, all_lines)};
  const std::vector<flatbuffers::Offset<reflection::Enum>> enums;
  const auto all_objects = builder.CreateVector(objects);
  const auto all_enums = builder.CreateVector(enums);
  reflection::FinishSchemaBuffer(builder, reflection::CreateSchema(builder, all_objects, all_enums));
  const auto* begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {begin, begin + builder.GetSize()};
}

}  // namespace muster

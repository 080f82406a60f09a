#include "schema/schemac/high_defaults.h"

#include <flatbuffers/reflection.h>

#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

namespace muster::schemac {
namespace {

/// Defaults by field name, as text taken from flatc's JSON.
using Defaults = std::map<std::string, std::string, std::less<>>;

bool may_be_lost(const reflection::Field& field) {
  return field.type()->base_type() == reflection::ULong && field.default_integer() == 0 && !field.optional() &&
         !field.deprecated();
}

/// Runs flatc to print an empty table with its defaults.
std::expected<Defaults, FlatcFailure> ask_defaults(const std::string& table, const std::string& flatc,
                                                   const std::vector<std::string>& include_folders,
                                                   const std::string& source) {
  // u32 root | u16 bytes of the vtable, u16 bytes of the table | i32 back to the vtable | padding
  constexpr unsigned char empty_table[16] = {8, 0, 0, 0, 4, 0, 4, 0, 4};
  const auto fail = [&](const std::string& what) {
    return std::unexpected(FlatcFailure{false, "cannot ask flatc for the defaults of " + table + ": " + what, {}});
  };
  const ScratchFolder scratch;
  if (scratch.path().empty()) return fail("no scratch folder");
  const std::string binary = scratch.path() + "/defaults.bin";
  if (auto done = write_file(binary, empty_table, sizeof empty_table); !done) return fail(done.error());
  if (auto done = call_flatc(flatc, include_folders,
                             {"--json", "--strict-json", "--defaults-json", "--raw-binary", "--root-type", table, "-o",
                              scratch.path(), source, "--", binary});
      !done)
    return fail(done.error().what);  // the schema cannot be at fault, because flatc has already
                                     // compiled it
  const auto bytes = read_file(scratch.path() + "/defaults.json");
  if (!bytes) return fail(bytes.error());
  // Each default has its own line:   "reach": 18446744073709551615,
  Defaults defaults;
  std::string_view rest(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t name = line.find('"'), colon = line.find("\": ");
    if (name == line.npos || colon == line.npos || colon <= name) continue;
    std::string_view value = line.substr(colon + 3);
    while (!value.empty() && (value.back() == ',' || value.back() == ' ' || value.back() == '\r'))
      value.remove_suffix(1);
    defaults.emplace(line.substr(name + 1, colon - name - 1), value);
  }
  return defaults;
}

/// Parses a number, or the quoted names of an enum's values. Flags may have several names.
std::optional<std::uint64_t> number_of(std::string_view text, const reflection::Enum* enumeration) {
  std::uint64_t number = 0;
  if (!text.starts_with('"')) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
  }
  if (text.size() < 2 || !text.ends_with('"') || !enumeration) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(name.size() + 1, text.size()));
    const reflection::EnumVal* found = nullptr;
    for (const reflection::EnumVal* value : *enumeration->values())
      if (value->name()->string_view() == name) found = value;
    if (!found) return std::nullopt;
    number |= static_cast<std::uint64_t>(found->value());
  }
  return number;
}

/// Returns a copy of the field with a different default, in its own buffer.
flatbuffers::DetachedBuffer field_with(const reflection::Field& from, std::uint64_t value) {
  flatbuffers::FlatBufferBuilder to;
  const auto text = [&](const flatbuffers::String* string) {
    return string ? to.CreateString(string) : flatbuffers::Offset<flatbuffers::String>();
  };
  std::vector<flatbuffers::Offset<reflection::KeyValue>> attributes;
  if (from.attributes())
    for (const reflection::KeyValue* each : *from.attributes()) {
      const auto key = text(each->key()), content = text(each->value());
      attributes.push_back(reflection::CreateKeyValue(to, key, content));
    }
  std::vector<flatbuffers::Offset<flatbuffers::String>> lines;
  if (from.documentation())
    for (const flatbuffers::String* line : *from.documentation()) lines.push_back(text(line));
  const auto name = text(from.name());
  const auto type = reflection::CreateType(to, from.type()->base_type(), from.type()->element(), from.type()->index(),
                                           from.type()->fixed_length());
  const auto kept_attributes = from.attributes() ? to.CreateVector(attributes) : 0;
  const auto kept_lines = from.documentation() ? to.CreateVector(lines) : 0;
  to.Finish(reflection::CreateField(to, name, type, from.id(), from.offset(), static_cast<std::int64_t>(value),
                                    from.default_real(), from.deprecated(), from.required(), from.key(),
                                    kept_attributes, kept_lines, from.optional(), from.padding()));
  return to.Release();
}

/// Appends the field to the schema's bytes, and makes the link at `link` point to it. The field is
/// appended at the end because links can only point forward.
void replace(std::vector<std::byte>& bfbs, std::size_t link, const flatbuffers::DetachedBuffer& field) {
  constexpr std::size_t alignment = 16;
  const std::size_t begin = (bfbs.size() + alignment - 1) / alignment * alignment;
  bfbs.resize(begin + field.size());
  std::memcpy(bfbs.data() + begin, field.data(), field.size());
  const std::size_t table = begin + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(field.data());
  flatbuffers::WriteScalar(bfbs.data() + link, static_cast<flatbuffers::uoffset_t>(table - link));
}

struct Found {
  std::size_t link;  ///< position of the field in the vector of the table's fields
  std::uint64_t value;
  const reflection::Field* field;
};

}  // namespace

std::expected<void, FlatcFailure> put_high_defaults(std::vector<std::byte>& bfbs, const std::string& flatc,
                                                    const std::vector<std::string>& include_folders,
                                                    const std::string& source) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(bfbs.data());
  flatbuffers::Verifier verifier(bytes, bfbs.size(), 64, 1u << 18);
  if (bfbs.size() < 16 || !reflection::VerifySchemaBuffer(verifier))
    return {};  // the schema loader will report the error
  const reflection::Schema& schema = *reflection::GetSchema(bytes);
  std::vector<Found> found;
  for (const reflection::Object* object : *schema.objects()) {
    if (object->is_struct()) continue;
    std::optional<Defaults> defaults;
    for (flatbuffers::uoffset_t i = 0; i < object->fields()->size(); ++i) {
      const reflection::Field& field = *object->fields()->Get(i);
      if (!may_be_lost(field)) continue;
      if (!defaults) {
        auto asked = ask_defaults(object->name()->str(), flatc, include_folders, source);
        if (!asked) return std::unexpected(std::move(asked.error()));
        defaults = std::move(*asked);
      }
      const auto text = defaults->find(field.name()->string_view());
      const std::int32_t index = field.type()->index();
      const std::optional<std::uint64_t> value =
          text == defaults->end()
              ? std::nullopt
              : number_of(text->second,
                          index >= 0 ? schema.enums()->Get(static_cast<flatbuffers::uoffset_t>(index)) : nullptr);
      if (!value)
        return std::unexpected(FlatcFailure{
            false, object->name()->str() + "." + field.name()->str() + ": flatc does not say what its default is", {}});
      if (*value == 0) continue;
      const std::uint8_t* const link = object->fields()->Data() + i * sizeof(flatbuffers::uoffset_t);
      found.push_back({static_cast<std::size_t>(link - bytes), *value, &field});
    }
  }
  std::vector<flatbuffers::DetachedBuffer> fields;  // create all fields first, because replace()
                                                    // moves the data from which they are created
  for (const Found& each : found) fields.push_back(field_with(*each.field, each.value));
  for (std::size_t i = 0; i < found.size(); ++i) replace(bfbs, found[i].link, fields[i]);
  return {};
}

}  // namespace muster::schemac

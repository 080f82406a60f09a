#include "schema/attributes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "schema/attribute_text.h"
#include "schema/kinds.h"
#include "schema/quoted.h"

namespace muster::schema_detail {
namespace {

/// Attributes built into FlatBuffers. The .bfbs contains them if flatc was run with
/// --bfbs-builtins. Muster ignores them.
constexpr std::array<std::string_view, 28> flatbuffers_attributes = {"bit_flags",
                                                                     "cpp_ptr_type",
                                                                     "cpp_ptr_type_get",
                                                                     "cpp_str_flex_ctor",
                                                                     "cpp_str_type",
                                                                     "cpp_type",
                                                                     "csharp_partial",
                                                                     "deprecated",
                                                                     "flexbuffer",
                                                                     "force_align",
                                                                     "hash",
                                                                     "id",
                                                                     "idempotent",
                                                                     "key",
                                                                     "native_custom_alloc",
                                                                     "native_default",
                                                                     "native_inline",
                                                                     "native_type",
                                                                     "native_type_pack_name",
                                                                     "nested_flatbuffer",
                                                                     "original_order",
                                                                     "private",
                                                                     "required",
                                                                     "shared",
                                                                     "streaming",
                                                                     "offset64",
                                                                     "vector64",
                                                                     "rust_derive"};

bool is_flatbuffers_attribute(std::string_view name) {
  return std::ranges::find(flatbuffers_attributes, name) != flatbuffers_attributes.end();
}
bool is_type_attribute(std::string_view name) {
  return name == "component" || name == "message" || name == "tag" || name == "remote" || name == "journal" ||
         name == "enableable" || name == "see" || name == "answer" || name == "cost";
}
bool is_field_attribute(std::string_view name) {
  return name == "default" || name == "unit" || name == "range" || name == "color" || name == "text" || name == "asset";
}
bool is_number(FieldKind kind) { return kind >= FieldKind::int8 && kind <= FieldKind::float64; }

bool parse_double(std::string_view text, double& value) {
  text = trimmed(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

bool is_identifier(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; });
}

template <class Each>
std::expected<void, std::string> for_each_attribute(const AttributeVector* attributes, Each&& each) {
  if (attributes == nullptr) return {};
  for (const reflection::KeyValue* attribute : *attributes) {
    const std::string_view name = attribute->key()->string_view();
    if (is_flatbuffers_attribute(name)) continue;
    const std::string_view value = attribute->value() ? attribute->value()->string_view() : std::string_view();
    if (auto done = each(name, value); !done) return done;
  }
  return {};
}

std::expected<void, std::string> read_range(std::string_view value, FieldDescriptor& field) {
  if (!is_number(field.kind) || field.enumeration != nullptr)
    return fail("attribute 'range' needs a field that is a number");
  const std::size_t comma = value.find(',');
  if (comma == std::string_view::npos || !parse_double(value.substr(0, comma), field.range_min) ||
      !parse_double(value.substr(comma + 1), field.range_max))
    return fail("range " + quoted(value) + " is not two numbers, as in \"0, 100\"");
  if (field.range_min > field.range_max)
    return fail("range " + quoted(value) + " has its lower bound above its upper one");
  field.has_range = true;
  return {};
}

}  // namespace

std::expected<void, std::string> read_type_attributes(const AttributeVector* attributes, TypeDescriptor& type) {
  bool component = false, message = false, remote = false, journal = false, see = false;
  const auto each = [&](std::string_view name, std::string_view value) -> std::expected<void, std::string> {
    if (name == "component") {
      component = true;
    } else if (name == "message") {
      message = true;
    } else if (name == "tag") {
      type.tag = component = true;
    } else if (name == "enableable") {
      type.enableable = true;
    } else if (name == "remote") {
      const auto right = right_named(value);
      if (!right) return fail("remote " + quoted(value) + " is none of none, view, edit, control, admin");
      type.remote = *right;
      remote = true;
    } else if (name == "see") {
      const auto right = right_named(value);
      if (!right || *right == RemoteRight::none)
        return fail("see " + quoted(value) + " is none of view, edit, control, admin");
      type.see = *right;
      see = true;
    } else if (name == "journal") {
      constexpr std::string_view policies[] = {"always", "latest", "never"};
      const auto at = std::ranges::find(policies, value);
      if (at == std::end(policies)) return fail("journal " + quoted(value) + " is none of always, latest, never");
      type.journal = static_cast<JournalPolicy>(at - std::begin(policies));
      journal = true;
    } else if (name == "was") {
      if (!is_identifier(value)) return fail("was " + quoted(value) + " is not a type's full name");
      type.was = value;
    } else if (name == "answer" || name == "cost") {
      // read_question_attributes() reads these attributes.
    } else if (is_field_attribute(name)) {
      return fail("attribute " + quoted(name) + " belongs to a field, not to a type");
    } else {
      return fail("unknown attribute " + quoted(name));
    }
    return {};
  };
  if (auto done = for_each_attribute(attributes, each); !done) return done;

  if (component && message) return fail("a type cannot be both component and message");
  if (component && type.is_table) return fail("a component must be a struct, not a table");
  if ((remote || see || journal) && !component && !message)
    return fail(std::string("attribute '") +
                (remote ? "remote"
                 : see  ? "see"
                        : "journal") +
                "' needs a component or a message");
  if (type.enableable && !component) return fail("attribute 'enableable' needs a component");
  if (component) type.role = TypeRole::component;
  if (message) type.role = type.is_table ? TypeRole::table_message : TypeRole::message;
  return {};
}

std::expected<std::optional<QuestionAttributes>, std::string> read_question_attributes(
    const AttributeVector* attributes, const TypeDescriptor& type) {
  QuestionAttributes read;
  bool cost = false;
  const auto each = [&](std::string_view name, std::string_view value) -> std::expected<void, std::string> {
    if (name == "answer") {
      read.several = value.starts_with('[') && value.ends_with(']');
      read.answer = read.several ? value.substr(1, value.size() - 2) : value;
      if (!is_identifier(read.answer))
        return fail("answer " + quoted(value) + " is not a message's name, as in \"Children\" or \"[Templates]\"");
    } else if (name == "cost") {
      constexpr QuestionCost costs[] = {QuestionCost::door, QuestionCost::once, QuestionCost::slices,
                                        QuestionCost::seldom};
      const auto at = std::ranges::find(costs, value, cost_name);
      if (at == std::end(costs)) return fail("cost " + quoted(value) + " is none of door, once, slices, seldom");
      read.cost = *at;
      cost = true;
    }
    return {};
  };
  if (auto done = for_each_attribute(attributes, each); !done) return std::unexpected(done.error());
  if (read.answer.empty() && !cost) return std::nullopt;
  if (read.answer.empty()) return fail("attribute 'cost' requires 'answer'");
  if (!cost) return fail("attribute 'answer' requires 'cost'");
  if (!type.name.starts_with("muster.session."))
    return fail("attribute 'answer' is for the questions of muster.session, which the server answers");
  if (type.role != TypeRole::message && type.role != TypeRole::table_message)
    return fail("attribute 'answer' needs a message");
  if (type.remote == RemoteRight::none) return fail("a question needs a right to ask it, not remote \"none\"");
  return read;
}

std::expected<void, std::string> read_field_attributes(const AttributeVector* attributes, bool in_table,
                                                       FieldDescriptor& field) {
  FieldKind& scalar = field.kind == FieldKind::vector ? field.element : field.kind;
  bool has_default = false;
  const auto each = [&](std::string_view name, std::string_view value) -> std::expected<void, std::string> {
    if (name == "default") {
      if (in_table) return fail("attribute 'default' is for structs; a table's field has its default after '='");
      if (field.kind == FieldKind::entity) return fail("a field of type muster.Entity has no default but nil");
      field.default_text = value;
      has_default = true;
    } else if (name == "unit") {
      field.unit = value;
    } else if (name == "range") {
      return read_range(value, field);
    } else if (name == "color") {
      if (scalar != FieldKind::structure && !is_number(scalar))
        return fail("attribute 'color' needs a number or a struct of numbers");
      field.color = true;
    } else if (name == "text") {
      if (scalar != FieldKind::uint64 || field.enumeration != nullptr)
        return fail("attribute 'text' needs a field of type ulong");
      scalar = FieldKind::text;
    } else if (name == "asset") {
      field.asset = true;
    } else if (name == "was") {
      if (!is_identifier(value)) return fail("was " + quoted(value) + " is not a field's name");
      field.was = value;
    } else if (is_type_attribute(name)) {
      return fail("attribute " + quoted(name) + " belongs to a type, not to a field");
    } else {
      return fail("unknown attribute " + quoted(name));
    }
    return {};
  };
  if (auto done = for_each_attribute(attributes, each); !done) return done;
  if (field.asset && scalar != FieldKind::text) return fail("attribute 'asset' requires 'text'");
  if (has_default && field.kind == FieldKind::text && field.is_array)
    return fail("an array of texts has no default but empty");
  if (field.has_range && field.kind == FieldKind::text) return fail("attribute 'range' needs a field that is a number");
  return {};
}

std::expected<bool, std::string> read_enum_attributes(const AttributeVector* attributes) {
  bool flags = false;
  const auto each = [](std::string_view name, std::string_view) -> std::expected<void, std::string> {
    if (is_type_attribute(name) || is_field_attribute(name) || name == "was")
      return fail("attribute " + quoted(name) + " does not belong to an enum");
    return fail("unknown attribute " + quoted(name));
  };
  if (auto done = for_each_attribute(attributes, each); !done) return std::unexpected(done.error());
  if (attributes)
    for (const reflection::KeyValue* attribute : *attributes) flags |= attribute->key()->string_view() == "bit_flags";
  return flags;
}

}  // namespace muster::schema_detail

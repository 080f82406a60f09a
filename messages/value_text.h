// Converts values to text and back using only descriptors, so that a client, console, or inspector
// can handle types that are not compiled into the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messages/json_writer.h"
#include "messages/type_table.h"
#include "schema/quoted.h"
#include "schema/table.h"

namespace muster {

/// Explains why a string cannot be parsed as a value, in a sentence that lists the valid forms.
struct ValueError {
  enum class Kind : std::uint8_t {
    malformed,          ///< the string is not a valid value of the field's type
    unknown_name,       ///< there is no type or field of that name
    unknown_reference,  ///< no entity or several entities match, or a text could not be interned
  };
  Kind kind = Kind::malformed;
  std::string text;
};
template <class T>
using ValueResult = std::expected<T, ValueError>;

/// Resolves the entities and texts to which values refer. The caller implements this class.
class ValueReferences {
 public:
  virtual ~ValueReferences() = default;
  /// Finds an entity by path, name, or id.
  virtual ValueResult<Entity> find_entity(std::string_view text) = 0;
  /// Adds a text to the world.
  virtual ValueResult<Text> intern(std::string_view text) = 0;
  /// Returns the content of a text. If the content is unknown, returns "#" followed by the text's
  /// number.
  virtual std::string text(Text text) = 0;
};

/// Formats an id as index and generation ("12:1"), or as "nil".
std::string id_text(Entity entity);
/// Parses an id. Returns false if `text` does not have the form of an id.
bool parse_id(std::string_view text, Entity& entity);

// ---- names --------------------------------------------------------------------------------------

/// Finds a component by its full name or by the last part of its name. The error suggests the most
/// similar name, or lists the matches of an ambiguous name.
ValueResult<const TypeDescriptor*> find_component(const TypeTable& types, std::string_view name);
/// Finds a world message, which may be a struct or a table, by its full name or by the last part of
/// its name. Does not find session messages.
ValueResult<const TypeDescriptor*> find_message(const TypeTable& types, std::string_view name);

struct FieldName {
  const TypeDescriptor* component = nullptr;
  std::string path;  ///< path inside the component: "position.x"
  FieldPlace place;
};
/// Finds a field by a name such as "Health.value", "game.Health.value" or "Transform.position.x".
ValueResult<FieldName> find_field(const TypeTable& types, std::string_view name);

/// Returns the name in `known` that is most similar to `name`, or an empty string if none is
/// similar.
std::string nearest_name(std::string_view name, std::span<const std::string_view> known);

// ---- values to text -----------------------------------------------------------------------------

/// A place in a value that contains a single number, flag, enum value, entity, or text.
struct Leaf {
  std::string path;  ///< path from the outermost type: "position.x"
  const FieldDescriptor* field = nullptr;
  std::uint32_t offset = 0;
};
/// Returns all leaves of a type, ordered by offset.
std::vector<Leaf> leaves(const TypeTable& types, const TypeDescriptor& type);
/// Returns all leaves of a part of a type.
std::vector<Leaf> leaves(const TypeTable& types, const FieldPlace& place, const std::string& path);

/// Returns the text of one leaf, for example 1.5, true, point, 12:1 or "a text".
std::string leaf_text(const Leaf& leaf, const std::byte* value, ValueReferences& references);

/// One line of a displayed value: a field, or a small struct or array in the form that parse_place
/// accepts.
struct FieldLine {
  std::string path, value;
  std::string unit;  ///< for display; may be empty
};
std::vector<FieldLine> field_lines(const TypeTable& types, const TypeDescriptor& type, const std::byte* value,
                                   ValueReferences& references);
/// Returns a value on one line, for example "amount=5 from=12:1".
std::string value_line(const TypeTable& types, const TypeDescriptor& type, const std::byte* value,
                       ValueReferences& references);

/// Writes a value as an object with one member per field.
void write_json(JsonWriter& out, const TypeTable& types, const TypeDescriptor& type, const std::byte* value,
                ValueReferences& references);
/// Writes a verified table as an object, omitting absent fields.
void write_json(JsonWriter& out, const TypeTable& types, const TypeDescriptor& type, TableReader table,
                ValueReferences& references);

// ---- text to values -----------------------------------------------------------------------------

/// Parses `text` and writes the result to `place` in a value of `type`. `text` must have one part
/// per leaf, separated by commas. A part for a text leaf may be enclosed in double quotes. After an
/// error, some leaves may already have been written.
ValueResult<void> parse_place(const TypeTable& types, const TypeDescriptor& type, const FieldPlace& place,
                              const std::string& path, std::string_view text, std::span<std::byte> value,
                              ValueReferences& references);

/// A list of field names with their new values as strings.
using FieldTexts = std::vector<std::pair<std::string, std::string>>;
/// Splits "amount=5" at the first "=".
ValueResult<std::pair<std::string, std::string>> parse_assignment(std::string_view text);

/// Starts with a copy of `from`, or with the type's default if `from` is empty, and applies the
/// assignments to the copy.
ValueResult<std::vector<std::byte>> parse_struct(const TypeTable& types, const TypeDescriptor& type,
                                                 const FieldTexts& assignments, ValueReferences& references,
                                                 std::span<const std::byte> from = {});
/// Creates a table from assignments. Its fields may be strings, numbers, structs, and vectors of
/// numbers or strings.
ValueResult<std::vector<std::byte>> parse_table(const TypeTable& types, const TypeDescriptor& type,
                                                const FieldTexts& assignments, ValueReferences& references);

/// Describes the values that a field accepts, for example "a number from 0 to 100 (hp)", "one of
/// red, blue" or "x, y, z".
std::string expected_text(const TypeTable& types, const FieldDescriptor& field);

}  // namespace muster

// Values as people write and read them, through descriptors alone: what a client, a console or an inspector shows of types
// it was never compiled with.
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
#include "schema/table.h"

namespace muster {

/// Why a text means nothing here, as a sentence that says what would fit.
struct ValueError {
  enum class Kind : std::uint8_t {
    malformed,          ///< no value of that type, or of the wrong form
    unknown_name,       ///< no such type or field
    unknown_reference,  ///< no such entity, or several; or a text that could not be made known
  };
  Kind kind = Kind::malformed;
  std::string text;
};
template <class T>
using ValueResult = std::expected<T, ValueError>;

/// What values refer to and do not hold themselves.
class ValueReferences {
 public:
  virtual ~ValueReferences() = default;
  /// The entity that a path, a name or an id means.
  virtual ValueResult<Entity> find_entity(std::string_view text) = 0;
  /// Makes the world know a text.
  virtual ValueResult<Text> intern(std::string_view text) = 0;
  /// The bytes of a text; "#" and its number where nobody told them.
  virtual std::string text(Text text) = 0;
};

/// "12:1", index and generation; "nil".
std::string id_text(Entity entity);
/// True, and the id, where the text has the form of one.
bool parse_id(std::string_view text, Entity& entity);
/// The text with control characters as \x1b, so that a foreign name cannot steer a terminal.
std::string printable(std::string_view text);

// ---- names ---------------------------------------------------------------------------------------------------------

/// By full name or its last part. The error suggests the nearest name, or lists those that fit an ambiguous one.
ValueResult<const TypeDescriptor*> find_component(const TypeTable& types, std::string_view name);
/// A message of the world, likewise; tables are found, messages of sessions are not.
ValueResult<const TypeDescriptor*> find_message(const TypeTable& types, std::string_view name);

struct FieldName {
  const TypeDescriptor* component = nullptr;
  std::string path;  ///< inside the component: "position.x"
  FieldPlace place;
};
/// "Health.value", "game.Health.value", "Transform.position.x".
ValueResult<FieldName> find_field(const TypeTable& types, std::string_view name);

/// The one of `known` that is nearest to `name` as people mistype; empty where none is near.
std::string nearest_name(std::string_view name, std::span<const std::string_view> known);

// ---- out -----------------------------------------------------------------------------------------------------------

/// A place in a value that holds one number, flag, enum, entity or text.
struct Leaf {
  std::string path;  ///< from the outermost type: "position.x"
  const FieldDescriptor* field = nullptr;
  std::uint32_t offset = 0;
};
/// All of them, in order of offset.
std::vector<Leaf> leaves(const TypeTable& types, const TypeDescriptor& type);
/// Of a part of it.
std::vector<Leaf> leaves(const TypeTable& types, const FieldPlace& place, const std::string& path);

/// One leaf: 1.5, true, point, 12:1, "a text".
std::string leaf_text(const Leaf& leaf, const std::byte* value, ValueReferences& references);

/// A value as one line per field; small structs and arrays share a line, as parse_place reads them.
struct FieldLine {
  std::string path, value;
  std::string unit;  ///< for people, may be empty
};
std::vector<FieldLine> field_lines(const TypeTable& types, const TypeDescriptor& type, const std::byte* value,
                                   ValueReferences& references);
/// The same on one line: "amount=5 from=12:1".
std::string value_line(const TypeTable& types, const TypeDescriptor& type, const std::byte* value,
                       ValueReferences& references);

/// An object with a member per field.
void write_json(JsonWriter& out, const TypeTable& types, const TypeDescriptor& type, const std::byte* value,
                ValueReferences& references);
/// Of a table that was verified. Fields it does not hold are left out.
void write_json(JsonWriter& out, const TypeTable& types, const TypeDescriptor& type, TableReader table,
                ValueReferences& references);

// ---- in ------------------------------------------------------------------------------------------------------------

/// Reads `text` into the place, which lies in a whole value of `type`: one part per leaf, separated by commas; a text
/// may be in double quotes. On an error the value is half written.
ValueResult<void> parse_place(const TypeTable& types, const TypeDescriptor& type, const FieldPlace& place,
                              const std::string& path, std::string_view text, std::span<std::byte> value,
                              ValueReferences& references);

/// A field and what it is given.
using FieldTexts = std::vector<std::pair<std::string, std::string>>;
/// "amount=5": the parts left and right of the first "=".
ValueResult<std::pair<std::string, std::string>> parse_assignment(std::string_view text);

/// A value with its defaults, or with what `from` holds where that is not empty, then changed by the assignments.
ValueResult<std::vector<std::byte>> parse_struct(const TypeTable& types, const TypeDescriptor& type,
                                                 const FieldTexts& assignments, ValueReferences& references,
                                                 std::span<const std::byte> from = {});
/// A table: strings, numbers, structs, and vectors of numbers or strings.
ValueResult<std::vector<std::byte>> parse_table(const TypeTable& types, const TypeDescriptor& type,
                                                const FieldTexts& assignments, ValueReferences& references);

/// "a number from 0 to 100 (hp)", "one of red, blue", "x, y, z": what a field takes.
std::string expected_text(const TypeTable& types, const FieldDescriptor& field);

}  // namespace muster

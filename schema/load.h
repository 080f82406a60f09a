// Reads a binary schema (.bfbs, made by flatc --schema) into descriptors. schemac, the running
// registry and the tools share this reader, so they all agree on layouts, defaults and attributes.
#pragma once

#include <cstddef>
#include <deque>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "schema/descriptor.h"
#include "schema/question.h"

namespace muster {

/// Describes what is wrong with a schema, and where. Strings that do not apply are empty.
struct SchemaError {
  std::string type;  ///< full name
  std::string field;
  std::string what;          ///< "default 120 is outside the range 0..100"
  std::string text() const;  ///< "game.Health.value: default 120 is outside the range 0..100"
};

/// The descriptors of one binary schema. Owns them. Pointers to its elements stay valid as long as
/// it lives, even if it is moved.
struct Schema {
  std::deque<TypeDescriptor> types;           ///< by name
  std::deque<EnumDescriptor> enums;           ///< by name
  std::vector<QuestionDescriptor> questions;  ///< by name
};

/// Verifies the bytes, and creates descriptors of all structs and tables in them. Checks all rules
/// for messages and components: known attributes, defaults that parse and are in range, components
/// and POD messages that are structs, no duplicate type ids. Fails with the first error found.
/// Never crashes, whatever the bytes are.
[[nodiscard]] std::expected<Schema, SchemaError> load_schema(std::span<const std::byte> bfbs);

}  // namespace muster

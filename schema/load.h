// Reads a binary schema (.bfbs, created by flatc --schema) into descriptors. schemac, the running
// registry, and the tools share this reader, so they always agree on layouts, defaults, and
// attributes.
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

/// Describes an error in a schema and its location. Strings that do not apply are empty.
struct SchemaError {
  std::string type;  ///< full name
  std::string field;
  std::string what;          ///< "default 120 is outside the range 0..100"
  std::string text() const;  ///< "game.Health.value: default 120 is outside the range 0..100"
};

/// Owns the descriptors of one binary schema. Pointers to the descriptors stay valid for the life
/// of the object, even if it is moved.
struct Schema {
  std::deque<TypeDescriptor> types;           ///< sorted by name
  std::deque<EnumDescriptor> enums;           ///< sorted by name
  std::vector<QuestionDescriptor> questions;  ///< sorted by name
};

/// Verifies the bytes and creates descriptors of all structs and tables in them. Checks all rules
/// for messages and components: attributes are known, defaults can be parsed and are in range,
/// components and POD messages are structs, and type ids are unique. Fails with the first error
/// found. Never crashes, regardless of the bytes.
[[nodiscard]] std::expected<Schema, SchemaError> load_schema(std::span<const std::byte> bfbs);

}  // namespace muster

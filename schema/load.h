// Reads a binary schema (.bfbs, made by flatc --schema) into descriptors. The one reader that schemac, the running
// registry and the tools share, so that all agree on layout, defaults and attributes.
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

/// What is wrong with a schema, and where. Empty strings where a part does not apply.
struct SchemaError {
  std::string type;  ///< full name
  std::string field;
  std::string what;          ///< "default 120 is outside the range 0..100"
  std::string text() const;  ///< "game.Health.value: default 120 is outside the range 0..100"
};

/// The descriptors of one binary schema. Owns them; pointers to its elements stay valid as long as it lives, moves included.
struct Schema {
  std::deque<TypeDescriptor> types;           ///< by name
  std::deque<EnumDescriptor> enums;           ///< by name
  std::vector<QuestionDescriptor> questions;  ///< by name
};

/// Verifies the bytes and makes descriptors of all structs and tables in them. Checks everything a message or component
/// must obey: known attributes, defaults that parse and lie in range, components and POD messages that are structs, no type
/// id twice. Fails with the first error found; never crashes, whatever the bytes.
[[nodiscard]] std::expected<Schema, SchemaError> load_schema(std::span<const std::byte> bfbs);

}  // namespace muster

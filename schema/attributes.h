// Defines the names of the schema attributes, where each one is permitted, and what its value
// means. Internal to schema/.
#pragma once

#include <flatbuffers/reflection.h>

#include <expected>
#include <optional>
#include <string>

#include "schema/descriptor.h"
#include "schema/question.h"

namespace muster::schema_detail {

using AttributeVector = flatbuffers::Vector<flatbuffers::Offset<reflection::KeyValue>>;

/// Reads the attributes of a struct or table into `type`: role, tag, remote, see, journal, and was.
/// An error is a sentence that does not include the type's name.
[[nodiscard]] std::expected<void, std::string> read_type_attributes(const AttributeVector* attributes,
                                                                    TypeDescriptor& type);

/// The attributes `answer` and `cost` of a question.
struct QuestionAttributes {
  std::string answer;  ///< the answer as written in the schema: "Children", "muster.InternText"
  bool several = false;
  QuestionCost cost = QuestionCost::once;
};

/// Reads `answer` and `cost`. Returns nothing if the type has neither. Must be called after
/// read_type_attributes(), because it uses the results stored in `type`. An error is a sentence
/// that does not include the type's name.
[[nodiscard]] std::expected<std::optional<QuestionAttributes>, std::string> read_question_attributes(
    const AttributeVector* attributes, const TypeDescriptor& type);

/// Reads the attributes of a field whose kind, count, and enumeration are known. Changes the kind
/// of a uint64 marked (text) to text. Stores the value of `default` as a string without checking
/// it. An error is a sentence that does not include the names of the type and field.
[[nodiscard]] std::expected<void, std::string> read_field_attributes(const AttributeVector* attributes, bool in_table,
                                                                     FieldDescriptor& field);

/// Returns true if the enum is declared bit_flags.
[[nodiscard]] std::expected<bool, std::string> read_enum_attributes(const AttributeVector* attributes);

}  // namespace muster::schema_detail

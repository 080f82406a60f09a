// Holds the state shared by the writers of structs and tables: the schema, and the text written so
// far.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schema/load.h"
#include "schema/schemac/names.h"

namespace muster::schemac {

class Output {
 public:
  explicit Output(const Schema& schema) : schema_(schema) {}

  const Schema& schema() const { return schema_; }
  const TypeDescriptor& type(TypeId id) const {
    for (const TypeDescriptor& type : schema_.types)
      if (type.id == id) return type;
    std::abort();  // the loader rejects schemas that refer to unknown types
  }

  /// Opens the namespace of the code that follows ("game::battle"; empty for none), and closes the
  /// previous one.
  void enter(const std::string& space) {
    if (space == space_) return;
    leave();
    if (!space.empty()) text_ += "namespace " + space + " {\n\n";
    space_ = space;
  }
  void leave() {
    if (!space_.empty()) text_ += (text_.ends_with("\n\n") ? "" : "\n") + ("}  // namespace " + space_) + "\n\n";
    space_.clear();
  }
  const std::string& space() const { return space_; }

  Output& operator<<(std::string_view text) {
    text_ += text;
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  const Schema& schema_;
  std::string text_;
  std::string space_;
};

/// `native` is the existing C++ enum that the schema names for this enum, or an empty string.
void write_enum(Output& out, const EnumDescriptor& type, std::string_view native);
void write_struct(Output& out, const TypeDescriptor& type);
/// Writes two classes for each table: one that holds the table, and one that reads the table in
/// place.
void write_tables(Output& out, const std::vector<const TypeDescriptor*>& tables);
/// Writes the TypeTraits of a type. `schema_array` is the name of the array that contains the
/// binary schema.
void write_traits(Output& out, const TypeDescriptor& type, std::string_view schema_array);

/// Writes the QuestionTraits of a question.
void write_question_traits(Output& out, const QuestionDescriptor& question);

/// Returns the C++ names of the type's fields. All names are distinct.
std::vector<std::string> field_names(const TypeDescriptor& type, std::initializer_list<std::string_view> taken = {});
/// Returns the role as the name of the enumerator, such as "table_message".
const char* role_name(TypeRole role);
/// Formats a number in hexadecimal, such as "0x0000002a".
std::string hex(std::uint64_t value, int digits);
/// Returns a field's documentation, including its unit and range.
std::string field_text(const FieldDescriptor& field);
/// Returns the documentation comment of a field, including its unit and range, indented by two
/// spaces.
std::string field_doc(const FieldDescriptor& field);

}  // namespace muster::schemac

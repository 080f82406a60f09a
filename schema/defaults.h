// Determines the default values of structs by converting the text of a `default` attribute to
// bytes. Internal to schema/.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <span>
#include <string>

#include "schema/descriptor.h"

namespace muster::schema_detail {

/// Finds the descriptor of a nested struct. The descriptor must be complete, including its
/// defaults.
using FindType = std::function<const TypeDescriptor&(TypeId)>;

/// Fills one field with its default, or with the defaults of the structs that it contains. The
/// field has size * count bytes, which must initially be zero. Also checks enums and ranges, even
/// for implicit zeros. On failure, the error is a human-readable sentence.
[[nodiscard]] std::expected<void, std::string> fill_default(const FieldDescriptor& field, const FindType& find,
                                                            std::span<std::byte> bytes);

/// Returns the default of a table's scalar field as text: an enum value's name, a number, or an
/// empty string for zero. Checks the default against the enum and range.
[[nodiscard]] std::expected<std::string, std::string> table_default(const FieldDescriptor& field, std::int64_t integer,
                                                                    double real);

/// Formats the range of a field for error messages, for example "0..100".
std::string range_text(const FieldDescriptor& field);
/// Returns the shortest string that reads back as the same number.
std::string number_text(double value);
std::string number_text(float value);

}  // namespace muster::schema_detail

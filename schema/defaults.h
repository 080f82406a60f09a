// Default values of structs: converts the text of a `default` attribute to bytes. Internal to
// schema/.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <span>
#include <string>

#include "schema/descriptor.h"

namespace muster::schema_detail {

/// Finds the descriptor of a nested struct. The descriptor is complete, including its defaults.
using FindType = std::function<const TypeDescriptor&(TypeId)>;

/// Fills the size * count bytes of one field, which must be zero, with its default, or with the
/// defaults of the structs it contains. Also checks enums and ranges, even for implicit zeros. The
/// error is a sentence.
[[nodiscard]] std::expected<void, std::string> fill_default(const FieldDescriptor& field, const FindType& find,
                                                            std::span<std::byte> bytes);

/// Returns the default of a table's scalar as text: an enum value's name or a number, or an empty
/// text for zero. Checks it against the enum and range.
[[nodiscard]] std::expected<std::string, std::string> table_default(const FieldDescriptor& field, std::int64_t integer,
                                                                    double real);

/// Returns a range as shown in errors, for example "0..100".
std::string range_text(const FieldDescriptor& field);
/// Returns the shortest text that reads back as the same number.
std::string number_text(double value);
std::string number_text(float value);

}  // namespace muster::schema_detail

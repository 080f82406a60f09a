// Default values of structs: the text of a `default` attribute becomes bytes. Internal to schema/.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <span>
#include <string>

#include "schema/descriptor.h"

namespace muster::schema_detail {

/// Finds the descriptor of a nested struct, which is complete (its own defaults included).
using FindType = std::function<const TypeDescriptor&(TypeId)>;

/// Fills the bytes of one field (size * count of them, zero on entry): with its default, where it has one, else with
/// those of the structs in it. Checks enums and ranges, also of values that were not written. The error is a sentence.
[[nodiscard]] std::expected<void, std::string> fill_default(const FieldDescriptor& field, const FindType& find,
                                                            std::span<std::byte> bytes);

/// The default of a table's scalar as text, empty for zero: an enum value's name, or a number. Checks it against enum
/// and range.
[[nodiscard]] std::expected<std::string, std::string> table_default(const FieldDescriptor& field, std::int64_t integer,
                                                                    double real);

/// "0..100": a range as errors name it.
std::string range_text(const FieldDescriptor& field);
/// A number in its shortest form that reads back the same.
std::string number_text(double value);
std::string number_text(float value);

}  // namespace muster::schema_detail

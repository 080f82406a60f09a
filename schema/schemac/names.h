// Converts the names and values of a schema to C++.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/descriptor.h"

namespace muster::schemac {

/// Returns the identifier, with an underscore appended if C++ reserves it, or if it is a macro
/// ("class_", "NAN_").
std::string cpp_name(std::string_view identifier);
/// Returns the C++ names of the members of one class or enum. All names are distinct, and none of
/// them is in `taken`. Names that need no underscore are kept.
std::vector<std::string> unique_names(const std::vector<std::string_view>& identifiers,
                                      const std::vector<std::string>& taken = {});
/// Returns the C++ names of the enum's values.
std::vector<std::string> value_names(const EnumDescriptor& type);
/// These two functions return the two parts of a full name. For "game.battle.Damage", they are
/// "game::battle" and "Damage".
std::string cpp_namespace(std::string_view full_name);
std::string cpp_last_name(std::string_view full_name);
/// Returns the name qualified from the global namespace, such as "::game::battle::Damage".
std::string cpp_absolute_name(std::string_view full_name);
/// Returns the type's name as used in the namespace `inside`: unqualified if the type is in that
/// namespace, otherwise qualified from the global namespace.
std::string cpp_type_name(std::string_view full_name, std::string_view inside);

/// Returns the type's name as used in functions that are written for the type's own namespace:
/// qualified if it is the name of one of their parameters or variables.
std::string cpp_name_in_function(std::string_view full_name);

/// Returns the C++ type of a scalar, an entity, or a text, such as "std::int32_t" or
/// "muster::Entity".
std::string cpp_scalar(FieldKind kind, std::string_view inside);
/// Returns the C++ element type of a struct's field: an enum, a scalar, or a struct. `type_name` is
/// the full name of the nested struct.
std::string cpp_element(FieldKind kind, const EnumDescriptor* enumeration, std::string_view type_name,
                        std::string_view inside);

/// Reads a scalar value from bytes and returns it as an initializer: "0", "1.5f", "Team::red".
std::string cpp_literal(FieldKind kind, const EnumDescriptor* enumeration, const std::byte* value,
                        std::string_view inside);

/// Returns the bytes as string literals of about 100 columns, one per line, each line preceded by
/// `indent`.
std::string byte_literal(std::span<const std::byte> bytes, std::string_view indent);

/// Returns `text` as a documentation comment, each line preceded by `indent` and "/// ".
std::string doc_comment(std::string_view text, std::string_view indent);

/// Returns the name of a schema file without its folder and ".fbs": "muster" for
/// "//../schema/muster.fbs".
std::string stem_of(std::string_view file);

/// Limit on the number of schema files that are read to find a place.
constexpr std::size_t schema_files_max = 1000;

}  // namespace muster::schemac

// How names and values of a schema are spelled in C++.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/descriptor.h"

namespace muster::schemac {

/// The identifier itself, or with an underscore behind it where C++ keeps the name for itself
/// ("class_").
std::string cpp_name(std::string_view identifier);
/// "game.battle.Damage" -> "game::battle" and "Damage".
std::string cpp_namespace(std::string_view full_name);
std::string cpp_last_name(std::string_view full_name);
/// "::game::battle::Damage".
std::string cpp_absolute_name(std::string_view full_name);
/// Returns the type's name for code in the namespace `inside`: short in its own namespace,
/// otherwise qualified.
std::string cpp_type_name(std::string_view full_name, std::string_view inside);

/// "std::int32_t", "float"; of scalars, muster::Entity and muster::Text.
std::string cpp_scalar(FieldKind kind, std::string_view inside);
/// The element type of a struct's field: an enum, a scalar, a struct. `type_name` is the nested
/// struct's full name.
std::string cpp_element(FieldKind kind, const EnumDescriptor* enumeration, std::string_view type_name,
                        std::string_view inside);

/// A scalar value read from bytes, as an initializer: "0", "1.5f", "Team::red".
std::string cpp_literal(FieldKind kind, const EnumDescriptor* enumeration, const std::byte* value,
                        std::string_view inside);

/// The bytes as string literals of at most ~100 columns, one per line, each line led by `indent`.
std::string byte_literal(std::span<const std::byte> bytes, std::string_view indent);

/// `text` as a documentation comment, one line each, led by `indent` and "/// ".
std::string doc_comment(std::string_view text, std::string_view indent);

}  // namespace muster::schemac

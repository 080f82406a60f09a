// The attributes of schemas: their names, permitted places, and the meaning of their values.
// Internal to schema/.
#pragma once

#include <flatbuffers/reflection.h>

#include <expected>
#include <string>

#include "schema/descriptor.h"

namespace muster::schema_detail {

using AttributeVector = flatbuffers::Vector<flatbuffers::Offset<reflection::KeyValue>>;

/// Reads the attributes of a struct or table into role, tag, remote, journal and was. The error is
/// the sentence only.
[[nodiscard]] std::expected<void, std::string> read_type_attributes(const AttributeVector* attributes,
                                                                    TypeDescriptor& type);

/// Reads the attributes of a field whose kind, count and enumeration are known. A uint64 marked
/// (text) becomes a text. `default` is stored as text and is checked later.
[[nodiscard]] std::expected<void, std::string> read_field_attributes(const AttributeVector* attributes, bool in_table,
                                                                     FieldDescriptor& field);

/// Returns true if an enum is bit_flags.
[[nodiscard]] std::expected<bool, std::string> read_enum_attributes(const AttributeVector* attributes);

}  // namespace muster::schema_detail

// Checks the positions of a type's fields, finds the references in the type, and computes the
// type's fingerprint. Internal to schema/.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "schema/defaults.h"
#include "schema/descriptor.h"

namespace muster::schema_detail {

struct LayoutFault {
  std::string field, what;
};

/// Checks that the fields of a struct, sorted by offset, are aligned, lie inside the struct, and do
/// not overlap. Returns nothing if they are valid.
std::optional<LayoutFault> check_layout(const TypeDescriptor& type,
                                        const std::function<std::uint32_t(TypeId)>& align_of);

/// Fills entity_offsets and text_offsets in ascending order, including the offsets in nested
/// structs and array elements.
void list_references(TypeDescriptor& type, const FindType& find);

/// Returns hash64 of the canonical layout text, which has one line per field, ordered by offset or
/// slot:
///
///     struct 16 4            size, alignment              table
///     struct 16 4 enableable   for an enableable component
///     0 float32 1 x          offset, kind, count, name    4 string text       slot, kind, name
///     4 structure 2 slots 8c736521a6e1d3f0                6 vector structure path 8c736521a6e1d3f0
///
/// A nested struct is identified by its fingerprint, and a nested table is identified by its name.
/// The text does not include the type's own name, enum values, or anything else that does not
/// affect the byte layout.
std::uint64_t layout_fingerprint(const TypeDescriptor& type, const FindType& find);

const char* kind_name(FieldKind kind) noexcept;

}  // namespace muster::schema_detail

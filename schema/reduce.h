// Extracts part of a binary schema. Used for saved state in which other types have changed.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace muster {

/// Returns a binary schema that contains the types of `bfbs` listed in `names`, and all structs,
/// tables, and enums that they use. load_schema must have accepted `bfbs`.
[[nodiscard]] std::vector<std::byte> reduce_schema(std::span<const std::byte> bfbs, const std::set<std::string>& names);

}  // namespace muster

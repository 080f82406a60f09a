// Extracts a part of a binary schema, for state whose other types have changed.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace muster {

/// Returns a binary schema with the types of `bfbs` in `names`, and the structs, tables and enums
/// inside them. load_schema must have accepted `bfbs`.
[[nodiscard]] std::vector<std::byte> reduce_schema(std::span<const std::byte> bfbs, const std::set<std::string>& names);

}  // namespace muster

// Parts of a binary schema: for state whose other types have changed since.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace muster {

/// A binary schema that declares those types of `bfbs` which are named, and what they hold: structs, tables and enums. The bytes must have
/// been accepted by load_schema.
[[nodiscard]] std::vector<std::byte> reduce_schema(std::span<const std::byte> bfbs, const std::set<std::string>& names);

}  // namespace muster

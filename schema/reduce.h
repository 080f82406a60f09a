// Creates copies of a binary schema that omit some of its types or comments.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace muster {

/// Returns a binary schema that contains the types of `bfbs` listed in `names`, and all structs,
/// tables and enums that they use. load_schema must have accepted `bfbs`. Used to read saved state
/// if other types have changed since it was saved.
[[nodiscard]] std::vector<std::byte> reduce_schema(std::span<const std::byte> bfbs, const std::set<std::string>& names);

/// Returns a binary schema that contains everything in `bfbs` except the comments on the types that
/// `files` declare ("//game.fbs"). load_schema must have accepted `bfbs`.
[[nodiscard]] std::vector<std::byte> drop_comments(std::span<const std::byte> bfbs, const std::set<std::string>& files);

}  // namespace muster

// Copies of a binary schema that contain less: only some of its types, or fewer comments.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace muster {

/// Returns a binary schema that contains the types of `bfbs` listed in `names`, and all structs,
/// tables and enums that they use. load_schema must have accepted `bfbs`. Used for saved state in
/// which other types have changed.
[[nodiscard]] std::vector<std::byte> reduce_schema(std::span<const std::byte> bfbs, const std::set<std::string>& names);

/// Returns a binary schema that contains everything in `bfbs` except the comments on the types that
/// `files` declare ("//game.fbs"). load_schema must have accepted `bfbs`.
[[nodiscard]] std::vector<std::byte> drop_comments(std::span<const std::byte> bfbs, const std::set<std::string>& files);

}  // namespace muster

// Reads a schema that was named on the command line. A .bfbs file is read directly, and a .fbs file
// is compiled by flatc first.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <vector>

namespace muster {

/// Returns the binary schema. Included .fbs files are searched for in the directory of the file
/// itself, in `include_folders`, and in the directory of Muster's installed schemas. On failure,
/// the error is a human-readable message that begins with the path. If flatc is missing, the
/// message explains how to create a .bfbs file.
[[nodiscard]] std::expected<std::vector<std::byte>, std::string> read_schema_file(
    const std::string& path, const std::vector<std::string>& include_folders);

}  // namespace muster

// Reads a schema that was given on the command line: a .bfbs file directly, and a .fbs file by
// running flatc.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <vector>

namespace muster {

/// Returns the binary schema. Included .fbs files are searched for in the directory of the file
/// itself, in `include_folders`, and in the directory of Muster's installed schemas. The error is a
/// sentence that begins with the path. If flatc is missing, the error explains how to create a
/// .bfbs file.
[[nodiscard]] std::expected<std::vector<std::byte>, std::string> read_schema_file(
    const std::string& path, const std::vector<std::string>& include_folders);

}  // namespace muster

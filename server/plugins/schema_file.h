// Reads a schema given on the command line: a .bfbs directly, a .fbs through flatc.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <vector>

namespace muster {

/// Returns the binary schema. Included .fbs files are searched for in the file's own directory, in
/// `include_folders`, and in the directory of Muster's installed schemas. The error is a sentence
/// that begins with the path. If flatc is missing, it explains how to make a .bfbs.
[[nodiscard]] std::expected<std::vector<std::byte>, std::string> read_schema_file(
    const std::string& path, const std::vector<std::string>& include_folders);

}  // namespace muster

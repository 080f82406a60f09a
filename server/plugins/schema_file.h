// A schema given on the command line: .bfbs as it is, .fbs through flatc.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <vector>

namespace muster {

/// The binary schema. `include_folders` are for .fbs files that include others; the file's own folder and the one
/// where Muster's schemas are installed are looked into anyway. The error is a sentence that begins with the path, and
/// says how to make a .bfbs where flatc is missing.
[[nodiscard]] std::expected<std::vector<std::byte>, std::string> read_schema_file(
    const std::string& path, const std::vector<std::string>& include_folders);

}  // namespace muster

// Where a file lies if symbolic links lead to it.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace muster {

/// Returns the absolute path of the file if symbolic links lead to it; otherwise `path` as it is,
/// also if there is no such file. A world's companion files lie beside the file itself, so servers
/// and clients (real_path in client/ts/node.ts) must agree. Any thread.
[[nodiscard]] inline std::string real_path(const std::string& path) {
  std::error_code failure;
  const auto real = std::filesystem::canonical(path, failure);
  if (failure) return path;
  const auto given = std::filesystem::absolute(path, failure).lexically_normal();
  return failure || real == given ? path : real.string();
}

}  // namespace muster

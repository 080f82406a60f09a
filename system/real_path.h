// Resolves the symbolic links that lead to a file.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace muster {

/// If `path` leads to an existing file through symbolic links, returns the file's absolute path
/// without links. Otherwise, returns `path` unchanged. A world's companion files are located next
/// to the actual world file, so servers and clients (see real_path in client/ts/node.ts) must
/// resolve paths in the same way. May be called from any thread.
[[nodiscard]] inline std::string real_path(const std::string& path) {
  std::error_code failure;
  const auto real = std::filesystem::canonical(path, failure);
  if (failure) return path;
  const auto given = std::filesystem::absolute(path, failure).lexically_normal();
  return failure || real == given ? path : real.string();
}

}  // namespace muster

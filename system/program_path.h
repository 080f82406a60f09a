// Finds programs that belong to this one.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace muster {

/// Returns the path of the program `name`. Searches this program's folder and, in a build tree, the
/// relative path `built`. If the program is in neither place, returns just `name`, which causes a
/// search of the PATH.
[[nodiscard]] inline std::string program_path(const std::string& name, const std::string& built) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path : {here / name, here / built})
    if (!here.empty() && ::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, error)) return path.string();
  return name;
}

}  // namespace muster

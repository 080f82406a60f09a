#include "client/cli/programs.h"

#include <unistd.h>

#include <filesystem>

namespace muster::cli {

namespace fs = std::filesystem;

std::string program(const std::string& name, const std::string& built) {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path : {here / name, here / built})
    if (!here.empty() && ::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, error)) return path.string();
  return name;
}

}  // namespace muster::cli

#include "client/cli/programs.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "client/cli/commands.h"
#include "client/cli/failure.h"

namespace muster::cli {

namespace fs = std::filesystem;

std::string program(const std::string& name, const std::string& built) {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path : {here / name, here / built})
    if (!here.empty() && ::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, error)) return path.string();
  return name;
}

void run_on_file(const Common& common, const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {program("muster-file", "../../server/file_program/muster-file")};
  all.insert(all.end(), arguments.begin(), arguments.end());
  if (common.json) all.emplace_back("--json");
  std::vector<char*> argv;
  for (std::string& each : all) argv.push_back(each.data());
  argv.push_back(nullptr);
  std::fflush(stdout);
  ::execvp(argv.front(), argv.data());
  fail(Exit::unreachable, "cannot start muster-file, which is neither beside this program nor on the PATH: " +
                              std::string(std::strerror(errno)));
}

}  // namespace muster::cli

// `muster verify`, `muster backup`, and `muster journal` run a separate program, because only that
// program can read world files.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/programs.h"

namespace muster::cli {

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

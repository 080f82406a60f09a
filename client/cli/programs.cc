#include "client/cli/programs.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

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

namespace {

/// Replaces this process.
[[noreturn]] void become(const std::string& name, const std::string& built, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program(name, built));
  std::vector<char*> argv;
  for (std::string& each : arguments) argv.push_back(each.data());
  argv.push_back(nullptr);
  std::fflush(stdout);
  ::execvp(argv.front(), argv.data());
  fail(Exit::unreachable, "cannot start " + name + ", which is neither beside this program nor on the PATH: " +
                              std::string(std::strerror(errno)));
}

}  // namespace

void run_on_file(const Common& common, const std::vector<std::string>& arguments) {
  std::vector<std::string> all = arguments;
  if (common.json) all.emplace_back("--json");
  become("muster-file", "../../server/file_program/muster-file", std::move(all));
}

void replay(const Common& common, const FileReplay& order) {
  std::vector<std::string> all = {order.file, "--replay"};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) all.insert(all.end(), {option, value});
  };
  for (const std::string& plugin : order.plugins) add("--plugin", plugin);
  for (const std::string& schema : order.schemas) add("--schema", schema);
  add("--to", order.to_tick);
  add("--workers", order.workers);
  add("--slice", order.slice);
  add("--hashes", order.hashes);
  if (order.check) all.emplace_back("--check");
  if (order.any_build) all.emplace_back("--any-build");
  if (common.json) all.emplace_back("--json");
  become("muster-server", "../../server/muster-server", std::move(all));
}

}  // namespace muster::cli

// Commands that other Muster programs carry out.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "system/program_path.h"

namespace muster::cli {

namespace fs = std::filesystem;

namespace {

/// Returns the folder of the Python client: that of the build, or the installed one.
std::string python_client() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& folder : {here / "../python", here / MUSTER_DATA_FROM_PROGRAMS "/client-python"})
    if (!here.empty() && fs::exists(folder / "muster/mcp/__main__.py", error))
      return folder.lexically_normal().string();
  fail(Exit::unreachable, "the Python client, which contains this command, is not installed beside this program");
}

/// Replaces this process by the program that is the first of `all`. `shown` names it in an error.
[[noreturn]] void run_instead(std::vector<std::string> all, const std::string& shown) {
  std::vector<char*> argv;
  for (std::string& each : all) argv.push_back(each.data());
  argv.push_back(nullptr);
  std::fflush(stdout);
  ::execvp(argv.front(), argv.data());
  fail(Exit::unreachable, "cannot start " + shown + ": " + std::string(std::strerror(errno)));
}

/// Replaces this process by another Muster program.
[[noreturn]] void become(const std::string& name, const std::string& built, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program_path(name, built));
  run_instead(std::move(arguments), name + ", which is neither beside this program nor on the PATH");
}

}  // namespace

void run_on_file(const Common& common, const std::vector<std::string>& arguments) {
  std::vector<std::string> all = arguments;
  if (common.json) all.emplace_back("--json");
  become("muster-file", "../../server/file_program/muster-file", std::move(all));
}

bool is_slice_file(const std::string& path) {
  constexpr std::string_view magic = "MUSTERSL";
  std::array<char, magic.size()> head{};
  // Opening a FIFO would wait for a writer.
  if (std::error_code ignored; !std::filesystem::is_regular_file(path, ignored)) return false;
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (!file) return false;
  const std::size_t read = std::fread(head.data(), 1, head.size(), file);
  std::fclose(file);
  return std::string_view(head.data(), read) == magic;
}

void import_slice(const Common& common, const Import& asked) {
  if (!asked.under.empty() || !asked.name.empty())
    fail(Exit::usage, asked.file + " is a whole world: --under and --name are for models");
  if (asked.world.empty() || !common.where.connect.empty() || !common.where.world.empty())
    fail(Exit::usage,
         asked.file + " is a whole world: name the file to create, as in muster import " + asked.file + " town.muster");
  run_on_file(common, {"import", asked.file, asked.world});
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

void serve_agent(const Common& common, const std::string& name) {
  // -I keeps modules of the current folder out.
  std::vector<std::string> all = {"python3",
                                  "-I",
                                  "-c",
                                  "import sys; sys.path.insert(0, sys.argv.pop(1)); "
                                  "from muster.mcp.__main__ import main; sys.exit(main())",
                                  python_client(),
                                  "--name",
                                  name,
                                  "--timeout",
                                  std::to_string(common.where.seconds_max)};
  if (!common.where.world.empty()) all.insert(all.end(), {"--world", common.where.world});
  if (!common.where.connect.empty()) all.insert(all.end(), {"--connect", common.where.connect});
  // The environment is less visible to others than the arguments are.
  if (!common.where.token.empty()) ::setenv("MUSTER_TOKEN", common.where.token.c_str(), 1);
  run_instead(std::move(all), "python3");
}

}  // namespace muster::cli

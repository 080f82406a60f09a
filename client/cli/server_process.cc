#include "client/cli/server_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#include "client/cli/failure.h"
#include "client/cli/programs.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace muster::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

}  // namespace

ServerProcess::ServerProcess(const Where& where, const std::string& world, const std::vector<std::string>& arguments) {
  std::string folder = (fs::temp_directory_path() / "muster-XXXXXX").string();
  if (!::mkdtemp(folder.data()))
    fail(Exit::unreachable, "cannot make a folder like " + folder + ": " + std::strerror(errno));
  folder_ = folder;
  const std::string server = program("muster-server", "../../server/muster-server");
  std::vector<std::string> all = {server, world, "--listen", "", "--unix", folder + "/socket", "--quiet"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& each : all) argv.push_back(each.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const std::string log = folder + "/log";
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, 2, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int error = ::posix_spawnp(&pid_, server.c_str(), &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    pid_ = -1;
    fs::remove_all(folder_);
    fail(Exit::unreachable, "cannot start muster-server, which is neither beside this program nor on the PATH: " +
                                std::string(std::strerror(error)));
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(where.seconds_max);
  while (!is_served(world)) {
    if (ended() >= 0) {
      const std::string why = said();
      fs::remove_all(folder_);
      fail(Exit::bad_file, why.empty() ? "muster-server ended at once" : why);
    }
    if (std::chrono::steady_clock::now() > until) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      fs::remove_all(folder_);
      fail(Exit::unreachable, "muster-server did not open " + world + " in time");
    }
    std::this_thread::sleep_for(5ms);
  }
}

ServerProcess::~ServerProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  std::error_code error;
  fs::remove_all(folder_, error);
}

void ServerProcess::stop() {
  ::kill(pid_, SIGTERM);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const std::string why = said();
  fail(Exit::bad_file, why.empty() ? "muster-server did not end well" : why);
}

int ServerProcess::ended() {
  int status = 0;
  if (pid_ <= 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return pid_ <= 0 ? 0 : -1;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/// The last error that it logged, or the last line of what it wrote to stderr.
std::string ServerProcess::said() {
  std::ifstream log(folder_ + "/log");
  std::string last, error;
  for (std::string line; std::getline(log, line);) {
    if (line.empty()) continue;
    last = line;
    // "01:02:03.456 error what is wrong": the log's own words are of no interest here. More lines may belong to it.
    constexpr std::string_view mark = " error ";
    constexpr std::size_t time = 12;
    const bool is_logged =
        line.size() > time && line[2] == ':' && line[5] == ':' && line[8] == '.' && line[time] == ' ';
    if (!is_logged) {
      if (!error.empty()) error += '\n' + line;
    } else {
      error = line.compare(time, mark.size(), mark) == 0 ? line.substr(time + mark.size()) : std::string();
    }
  }
  return error.empty() ? last : error;
}

}  // namespace muster::cli

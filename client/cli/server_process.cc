#include "client/cli/server_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "client/cli/failure.h"
#include "client/cli/interrupt.h"
#include "system/program_path.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Starts the program with /dev/null as its stdin and stdout and `log` as its stderr. Returns the
/// process id, or the negative error number.
pid_t start(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> argv;
  for (const std::string& each : command) argv.push_back(const_cast<char*>(each.c_str()));
  argv.push_back(nullptr);
  int ends[2];  // a pipe that transmits the error if exec fails; a successful exec closes it
  if (::pipe2(ends, O_CLOEXEC) != 0) return -errno;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto take = [](const char* path, int flags, int as) {
      const int opened = ::open(path, flags | O_CLOEXEC, 0600);
      return opened >= 0 && ::dup2(opened, as) == as;
    };
    if (::prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && ::getppid() == parent && ::setpgid(0, 0) == 0 &&
        take("/dev/null", O_RDONLY, 0) && take("/dev/null", O_WRONLY, 1) &&
        take(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 2))
      ::execvp(argv[0], argv.data());
    const int error = errno;
    (void)!::write(ends[1], &error, sizeof error);
    ::_exit(127);
  }
  int error = child < 0 ? errno : 0;
  ::close(ends[1]);
  if (child > 0) {
    while (::read(ends[0], &error, sizeof error) < 0 && errno == EINTR) {
    }
    if (error != 0) ::waitpid(child, nullptr, 0);
  }
  ::close(ends[0]);
  return error != 0 ? -error : child;
}

}  // namespace

std::vector<std::string> server_arguments(const ServerChoice& choice) {
  std::vector<std::string> made;
  for (const std::string& schema : choice.schemas) {
    if (!fs::exists(schema)) fail(Exit::bad_file, "there is no schema file " + schema);
    made.insert(made.end(), {"--schema", schema});
  }
  for (const std::string& folder : choice.include_folders) made.insert(made.end(), {"-I", folder});
  for (const std::string& plugin : choice.plugins) {
    if (!fs::exists(plugin)) fail(Exit::bad_file, "there is no plugin " + plugin);
    made.insert(made.end(), {"--plugin", plugin});
  }
  return made;
}

ServerProcess::ServerProcess(const Where& where, const std::string& world, const std::vector<std::string>& arguments) {
  const char* const wanted = std::getenv("TMPDIR");
  std::string folder = (fs::path(wanted && *wanted ? wanted : "/tmp") / "muster-XXXXXX").string();
  if (!::mkdtemp(folder.data()))
    fail(Exit::unreachable, "cannot make a folder " + folder + " for the server's socket: " + std::strerror(errno) +
                                (wanted && *wanted ? "; TMPDIR names another place" : ""));
  folder_ = folder;
  const std::string server = program_path("muster-server", "../../server/muster-server");
  std::vector<std::string> all = {server, world, "--listen", "", "--unix", folder + "/socket", "--quiet"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  pid_ = start(all, folder + "/log");
  if (pid_ < 0) {
    const int error = -std::exchange(pid_, -1);
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
    if (interrupt_signal() != 0) {
      ::kill(pid_, SIGTERM);
      ::waitpid(pid_, nullptr, 0);
      fs::remove_all(folder_);
      fail_of_interrupt("interrupted");
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

/// Returns the last error in the server's log, or the last line that the server wrote to stderr.
std::string ServerProcess::said() {
  std::ifstream log(folder_ + "/log");
  std::string last, error;
  for (std::string line; std::getline(log, line);) {
    if (line.empty()) continue;
    last = line;
    // Remove the prefix of a log line, as in "01:02:03.456 error what is wrong". The message may
    // continue on the following lines.
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

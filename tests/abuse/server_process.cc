#include "tests/abuse/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "client/cpp/address_file.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace muster::abuse {

namespace {

using namespace std::chrono_literals;
constexpr auto patience = 120s;  // of a machine that does much else

std::string text_of(const std::string& path) {
  std::stringstream text;
  if (std::filesystem::is_fifo(path)) return "its log is not read here";
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

ServerProcess::ServerProcess(const std::string& program, const std::string& world,
                             const std::vector<std::string>& arguments, const std::string& log) {
  std::vector<std::string> all = {program, world, "--unix", world + ".socket"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& each : all) argv.push_back(each.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, 2, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int error = ::posix_spawn(&pid_, program.c_str(), &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw std::runtime_error("cannot start " + program);
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    const auto at = read_address_file(world);
    if (at && at->pid == pid_) {
      address_ = at->best();
      tcp_address_ = at->address;
      token_ = at->token;
      return;
    }
    if (!running()) throw std::runtime_error("the server ended at once: " + text_of(log));
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error("the server does not start");
    std::this_thread::sleep_for(10ms);
  }
}

ServerProcess::~ServerProcess() {
  if (!running()) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

bool ServerProcess::running() {
  if (pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

std::uint64_t ServerProcess::memory_bytes() const {
  if (pid_ <= 0) return 0;
  std::ifstream pages("/proc/" + std::to_string(pid_) + "/statm");
  std::uint64_t all = 0, resident = 0;
  pages >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

int ServerProcess::stop() {
  if (running()) {
    ::kill(pid_, SIGTERM);
    const auto until = std::chrono::steady_clock::now() + patience;
    while (running()) {
      if (std::chrono::steady_clock::now() > until) return -1;
      std::this_thread::sleep_for(10ms);
    }
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 1000 + WTERMSIG(status_);
}

}  // namespace muster::abuse

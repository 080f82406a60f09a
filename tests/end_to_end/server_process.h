// A muster-server of this build as a process of its own, which its test ends in the middle of whatever it does.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/cpp/address_file.h"
#include "client/cpp/client.h"
#include "tests/support/folder.h"

namespace muster::test {

template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text);
  return std::move(*result);
}

/// Its words are in WORLD.log, each start's behind those of the one before; it listens on WORLD.socket alone. Killed where it is left.
class ServerProcess {
 public:
  /// `plugin_told`: what MUSTER_TEST_PLUGIN says to its plugins; null: nothing.
  ServerProcess(std::string world, const std::vector<std::string>& more, const char* plugin_told = nullptr)
      : world_(std::move(world)) {
    std::vector<std::string> arguments{MUSTER_SERVER,      world_,    "--schema", GAME_BFBS, "--listen", "", "--unix",
                                       world_ + ".socket", "--quiet", "--page",   "none"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    const std::string log = world_ + ".log";
    pid_ = ::fork();
    if (pid_ != 0) return;
    const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(fd, STDERR_FILENO);
    if (plugin_told) ::setenv("MUSTER_TEST_PLUGIN", plugin_told, 1);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  ~ServerProcess() { kill(); }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  /// A session with every right, once it serves.
  Client client() {
    using std::chrono::steady_clock;
    for (const auto until = steady_clock::now() + std::chrono::seconds(60); steady_clock::now() < until;) {
      const auto found = read_address_file(world_);
      if (found && found->pid == pid_)
        return value_of(Client::connect(
            {.address = found->best(), .token = found->token, .name = "test", .time_max = std::chrono::seconds(60)}));
      if (::waitpid(pid_, nullptr, WNOHANG) != 0) {
        pid_ = 0;
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    throw std::runtime_error("muster-server does not serve: " + read_file(world_ + ".log"));
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    (void)wait();
  }
  /// Until it ends by itself: as waitpid says how.
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return status;
  }
  /// It ends by itself of an abort, before it serves or after.
  bool aborts() {
    const int status = wait();
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  }

 private:
  const std::string world_;
  pid_t pid_ = 0;
};

}  // namespace muster::test

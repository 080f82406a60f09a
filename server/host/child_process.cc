#include "server/host/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace muster::hosting {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// A longer line is cut into several.
constexpr std::size_t line_bytes_max = 4096;

/// Becomes the program, between fork and exec, where only async-signal-safe functions may be
/// called.
[[noreturn]] void become(char* const* arguments, int input, int output) {
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Signals from the terminal are for the host, which ends its children in its own way.
  ::setpgid(0, 0);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execvp(arguments[0], arguments);
  const char* const why = std::strerror(errno);
  (void)!::write(STDERR_FILENO, why, std::strlen(why));
  ::_exit(127);
}

}  // namespace

std::string ProcessEnd::text() const {
  if (signal == 0) return "exit code " + std::to_string(code);
  const char* const name = ::sigdescr_np(signal);
  return "signal " + std::to_string(signal) + (name ? " (" + std::string(name) + ")" : "");
}

struct ChildProcess::Impl : std::enable_shared_from_this<ChildProcess::Impl> {
  Impl(asio::io_context& io, pid_t the_process, int ending, int input, int output, Events the_events)
      : process(the_process), exit(io, ending), lines(io, output), lifeline(io, input), events(std::move(the_events)) {}

  void begin() {
    exit.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](error_code error) {
      if (error) return;
      int status = 0;
      if (::waitpid(self->process, &status, 0) < 0) status = 0;
      self->end = {WIFEXITED(status) ? WEXITSTATUS(status) : 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
      self->has_ended = true;
      // A program that the child started may still hold the pipe open.
      self->lines.non_blocking(true);
      self->lines.cancel();
    });
    read_on();
  }

  void read_on() {
    lines.async_read_some(asio::buffer(room), [self = shared_from_this()](error_code error, std::size_t bytes) {
      self->took(bytes);
      if (!error) return self->read_on();
      if (!self->has_ended) return self->wait_for_end();
      error_code none;
      while (const std::size_t more = self->lines.read_some(asio::buffer(self->room), none)) self->took(more);
      self->finish();
    });
  }

  /// The child has closed its output, but has not ended.
  void wait_for_end() {
    exit.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](error_code error) {
      if (!error) self->finish();
    });
  }

  void took(std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
      if (room[i] == '\n' || line.size() >= line_bytes_max) tell();
      if (room[i] != '\n') line += room[i];
    }
  }
  void tell() {
    if (events.line && !line.empty()) events.line(line);
    line.clear();
  }

  void finish() {
    tell();
    events.line = nullptr;
    if (const auto ended = std::exchange(events.ended, nullptr)) ended(end);
  }

  const pid_t process;
  asio::posix::stream_descriptor exit, lines;  // readable when the process has ended; its output
  asio::posix::stream_descriptor lifeline;     // its input, to which nothing is written
  Events events;
  std::array<char, 4096> room;
  std::string line;
  ProcessEnd end;
  bool has_ended = false;
};

ChildProcess::ChildProcess(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

ChildProcess::~ChildProcess() {
  impl_->events = {};
  error_code ignored;
  impl_->exit.close(ignored);
  impl_->lines.close(ignored);
  impl_->lifeline.close(ignored);
}

pid_t ChildProcess::process() const noexcept { return impl_->process; }

void ChildProcess::send(int signal) {
  // Before waitpid, the number cannot belong to another process.
  if (!impl_->has_ended) ::kill(impl_->process, signal);
}

std::expected<std::unique_ptr<ChildProcess>, std::string> ChildProcess::start(asio::io_context& io,
                                                                              const std::vector<std::string>& arguments,
                                                                              Events events) {
  const auto fault = [&](const char* what) {
    return std::unexpected("cannot start " + arguments.front() + ": " + what + ": " + std::strerror(errno));
  };
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  int input[2], output[2];
  if (::pipe2(input, O_CLOEXEC) != 0) return fault("a pipe");
  if (::pipe2(output, O_CLOEXEC) != 0) {
    const auto failed = fault("a pipe");
    ::close(input[0]);
    ::close(input[1]);
    return failed;
  }
  const pid_t process = ::fork();
  if (process == 0) become(pointers.data(), input[0], output[1]);
  const int ending = process > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, process, 0)) : -1;
  const int error = errno;
  ::close(input[0]);
  ::close(output[1]);
  errno = error;
  if (ending < 0) {
    const auto failed = fault("a process");
    ::close(input[1]);
    ::close(output[0]);
    if (process > 0) {
      ::kill(process, SIGKILL);
      ::waitpid(process, nullptr, 0);
    }
    return failed;
  }
  auto impl = std::make_shared<Impl>(io, process, ending, input[1], output[0], std::move(events));
  impl->begin();
  return std::unique_ptr<ChildProcess>(new ChildProcess(std::move(impl)));
}

ProcessFigures figures_of_process(pid_t process) {
  ProcessFigures figures;
  const auto read = [&](const char* name, auto&& take) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/%s", static_cast<int>(process), name);
    if (std::FILE* const file = std::fopen(path, "re")) {
      take(file);
      std::fclose(file);
    }
  };
  read("statm", [&](std::FILE* file) {
    unsigned long long all = 0, resident = 0;
    if (std::fscanf(file, "%llu %llu", &all, &resident) == 2)
      figures.memory_bytes = resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  });
  read("stat", [&](std::FILE* file) {
    char text[1024] = {};
    const std::size_t bytes = std::fread(text, 1, sizeof text - 1, file);
    // The program's name, in brackets, may contain anything.
    const char* const after = bytes > 0 ? std::strrchr(text, ')') : nullptr;
    unsigned long long user = 0, system = 0;
    if (after && std::sscanf(after, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) == 2)
      figures.processor_ns = (user + system) * (1'000'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
  });
  return figures;
}

}  // namespace muster::hosting

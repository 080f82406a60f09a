// Runs another program as a child process, and reads the lines that it logs.
#pragma once

#include <sys/types.h>

#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace muster::hosting {

/// How a process ended.
struct ProcessEnd {
  int code = 0;    ///< exit code, if `signal` is 0
  int signal = 0;  ///< the signal that ended the process
  bool is_clean() const noexcept { return code == 0 && signal == 0; }
  std::string text() const;  ///< "exit code 5" or "signal 11 (Segmentation fault)"
};

/// Must be used only on the thread that runs `io`. The child's standard input is a pipe that ends
/// when this process ends, even if it is killed. The death signal of Linux would not do: it is sent
/// once for each thread of this process, and a second SIGTERM keeps a server from saving.
class ChildProcess {
 public:
  struct Events {
    /// Called with each line that the child writes to stdout or stderr.
    std::function<void(const std::string&)> line;
    /// Called once, after the last line. May destroy the ChildProcess.
    std::function<void(const ProcessEnd&)> ended;
  };

  /// Starts the program `arguments[0]`. On failure, the error is a sentence.
  [[nodiscard]] static std::expected<std::unique_ptr<ChildProcess>, std::string> start(
      boost::asio::io_context& io, const std::vector<std::string>& arguments, Events events);
  /// Drops the events of a child that still runs, and ends its standard input.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t process() const noexcept;
  void send(int signal);

 private:
  struct Impl;
  explicit ChildProcess(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // shared with pending operations
};

/// Returns the resident memory and the processor time of a process, or zeros if it does not exist.
struct ProcessFigures {
  std::uint64_t memory_bytes = 0, processor_ns = 0;
};
ProcessFigures figures_of_process(pid_t process);

}  // namespace muster::hosting

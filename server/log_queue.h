// Writes the log of muster-server to stderr or to a file without blocking the threads that log. If
// stderr is not read, or if the file cannot be written, lines are dropped and counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "server/program/line_queue.h"

namespace muster {

/// Thread-safe. See LineQueue.
class LogQueue {
 public:
  /// Limit on the size of the lines that wait.
  static constexpr std::size_t bytes_max = 256u << 10;

  /// Becomes the sink of spdlog's default logger, which gets this name.
  explicit LogQueue(const std::string& name);
  ~LogQueue();
  LogQueue(const LogQueue&) = delete;
  LogQueue& operator=(const LogQueue&) = delete;

  /// Further lines go to this file, or to stderr if the path is empty. Returns an error as a
  /// sentence; nothing has changed then.
  [[nodiscard]] std::string set_path(const std::string& path);
  /// Opens the current file again.
  [[nodiscard]] std::string reopen();
  /// Returns true if lines go to a file.
  bool writes_file() const;
  std::uint64_t lost() const noexcept;
  /// See LineQueue::drain.
  [[nodiscard]] bool drain(std::chrono::nanoseconds time) const;

 private:
  struct State;
  class Sink;

  // Shared with the sink, which outlives this object.
  const std::shared_ptr<State> state_;
};

}  // namespace muster

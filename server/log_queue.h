// Writes the log of muster-server to stderr without blocking the threads that log. If stderr is not
// read, lines are dropped and counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace muster {

/// Thread-safe. Lines wait in a queue of limited size for a thread that writes them. After a line
/// was lost, further ones are lost until the thread has written the whole queue, and a line that
/// gives the number of lost lines.
class LogQueue {
 public:
  /// Limit on the size of the lines that wait.
  static constexpr std::size_t bytes_max = 256u << 10;

  /// Becomes the sink of spdlog's default logger, which gets this name.
  explicit LogQueue(const std::string& name);
  ~LogQueue();
  LogQueue(const LogQueue&) = delete;
  LogQueue& operator=(const LogQueue&) = delete;

  std::uint64_t lost() const noexcept;
  /// Waits until all lines are written, but not longer than `time`. Returns false if some are not.
  /// If stderr is not read, the thread then still waits for it, and only _exit ends the process.
  [[nodiscard]] bool drain(std::chrono::nanoseconds time) const;

 private:
  struct State;
  class Sink;
  static void write_lines(State& state);

  // Shared with the sink and the thread, which outlive this object.
  const std::shared_ptr<State> state_;
};

}  // namespace muster

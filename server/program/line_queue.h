// Writes lines to stderr or to a file without blocking the threads that produce them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace muster {

/// Thread-safe. Lines wait in a queue of limited size for a thread that writes them. After a line
/// did not fit, further ones are lost until the thread has written the whole queue. A line that
/// cannot be written is lost as well. Before the next line that can be written, the thread writes a
/// line that gives the number of lost lines.
class LineQueue {
 public:
  /// Returns the line about `lost` lines. `error` is the value of errno if they could not be
  /// written, or 0 if the queue was full.
  using LostLine = std::function<std::string(std::uint64_t lost, int error)>;
  /// Called on the queue's thread, with a sentence, if the file cannot be opened or begins to fail.
  using Trouble = std::function<void(const std::string&)>;

  /// `bytes_max` limits the size of the lines that wait. Until set_path() is called, lines go to
  /// stderr if `to_stderr` is true, and are dropped without being counted otherwise.
  LineQueue(bool to_stderr, std::size_t bytes_max, LostLine lost_line, Trouble trouble = {});
  ~LineQueue();
  LineQueue(const LineQueue&) = delete;
  LineQueue& operator=(const LineQueue&) = delete;

  /// Opens the file for appending, and creates it with mode 0600 if it does not exist. Further
  /// lines go there. An empty path has the meaning that it has before the first call. After an
  /// error, which is returned as a sentence, nothing has changed.
  [[nodiscard]] std::string set_path(const std::string& path);
  /// Opens the current file again, for example after another program has renamed it.
  [[nodiscard]] std::string reopen();

  /// Returns the path of the current file, or an empty string.
  std::string path() const;

  /// Adds a line, which must end with a newline.
  void put(std::string line);
  std::uint64_t lost() const noexcept;
  /// Returns false if lines are dropped because there is no file.
  bool writes() const noexcept;
  /// Waits until all lines are written, but not longer than `time`. Returns false if some are not.
  /// The thread then still waits for the reader of its lines, and only _exit ends the process.
  [[nodiscard]] bool drain(std::chrono::nanoseconds time) const;

 private:
  struct State;
  static void write_lines(State& state);

  const std::shared_ptr<State> state_;  // shared with the thread, which outlives this object
};

}  // namespace muster

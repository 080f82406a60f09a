// The game's own log: lines that handlers write for the people who make the game. A handler that
// takes a Log& writes them. Lines are no input: they are in no journal, no save and no hash, and
// change nothing. The newest ones are kept in memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "registry/handlers/at_work.h"
#include "schema/muster.h"
#include "system/mutex.h"

namespace muster {

struct Handler;
struct RunContext;

enum class LogLevel : std::uint8_t { info, warning, error };

/// A line of the game's log.
struct LogLine {
  std::uint64_t number = 0;       ///< counts the lines that were kept, from 1
  std::uint64_t sequence = 0;     ///< of the input that was being handled
  std::uint64_t clock_ns = 0;     ///< time of the registry's clock
  std::uint64_t lost_before = 0;  ///< lines that were lost before this one, of the same handler
  LogLevel level = LogLevel::info;
  Entity about = {};         ///< the entity that the handler named, or nil
  std::string handler = {};  ///< name of the handler; empty if it has none
  std::string text = {};     ///< UTF-8 without control characters
};

/// The newest lines of a registry's log. Handlers write through a Log. May be read on any thread.
///
/// A line is lost if its handler has written lines_per_second lines in the current second, which
/// begins with the first of them. Handlers with the same name share this limit.
class GameLog {
 public:
  static constexpr std::size_t lines_max = 1024;      ///< kept lines
  static constexpr std::size_t text_bytes_max = 512;  ///< longer texts are cut, and end with "…"
  static constexpr std::size_t name_bytes_max = 255;  ///< longer names of handlers are cut
  static constexpr std::uint32_t lines_per_second = 100;
  /// Number of handlers with a limit of their own. Later ones share one limit.
  static constexpr std::size_t writers_max = 256;

  /// Reads the sequence and the clock of a registry, which must outlive this object.
  GameLog(const Shown<std::uint64_t>& sequence, const std::uint64_t& now_ns) noexcept
      : sequence_(sequence), now_ns_(now_ns) {}
  GameLog(const GameLog&) = delete;
  GameLog& operator=(const GameLog&) = delete;

  /// Returns the number of the newest line, or 0 if there is none.
  std::uint64_t last() const noexcept { return last_.load(std::memory_order_acquire); }
  /// Returns the number of lines that were lost.
  std::uint64_t lost() const;
  /// Returns the kept lines after the line with this number, oldest first, at most `limit`.
  std::vector<LogLine> after(std::uint64_t number, std::size_t limit = lines_max) const;
  /// Sets the clock by which seconds are counted, in ns; null is the system's. Intended for tests.
  void set_clock(std::function<std::uint64_t()> clock);

  /// While an object of this class exists, lines are dropped and not counted, because the inputs
  /// that are being handled were handled before. May be nested.
  class Muted {
   public:
    explicit Muted(GameLog& log) noexcept : log_(log) { ++log_.muted_; }
    ~Muted() { --log_.muted_; }
    Muted(const Muted&) = delete;
    Muted& operator=(const Muted&) = delete;

   private:
    GameLog& log_;
  };

 private:
  friend class Log;
  friend class QuietInputs;
  /// What handlers of one name have written.
  struct Writer {
    std::atomic<std::uint64_t> lost = 0;
    std::uint64_t lost_told = 0;  // lines that later lines have told to be lost
    std::uint64_t since_ns = 0;   // begin of the current second
    std::uint32_t lines = 0;      // lines in the current second
  };
  /// Keeps the line, or returns the writer that has written too many.
  Writer* keep(const Handler* handler, LogLevel level, std::string_view text, Entity about);
  Writer& writer_of(std::string_view name) MUSTER_REQUIRES(mutex_);

  const Shown<std::uint64_t>& sequence_;
  const std::uint64_t& now_ns_;
  std::uint32_t muted_ = 0;  // changes only between inputs
  std::atomic<std::uint64_t> last_ = 0;
  mutable Mutex mutex_;
  std::vector<LogLine> lines_ MUSTER_GUARDED_BY(mutex_);  // line n is at (n - 1) % lines_max
  // Writers keep their places.
  std::unordered_map<std::string, Writer> writers_ MUSTER_GUARDED_BY(mutex_);
  Writer others_ MUSTER_GUARDED_BY(mutex_);  // shared by those that are too many
  std::function<std::uint64_t()> clock_ MUSTER_GUARDED_BY(mutex_);
};

/// A handler parameter, `Log& log`, which is valid until the handler returns. Calls never fail and
/// never wait for a reader. A line that is lost (see GameLog) is counted. Lines are not written
/// while inputs are done again (QuietInputs, RegistryHost::replay), so each appears once.
///
/// Handlers of one message that write lines are called message by message, so lines are in the
/// order of the calls. Only in a pass that is spread over workers, lines are in any order.
class Log {
 public:
  /// Writes a line. `about` is the entity that it concerns, usually the handler's own.
  void info(std::string_view text, Entity about = {}) { write(LogLevel::info, text, about); }
  void warning(std::string_view text, Entity about = {}) { write(LogLevel::warning, text, about); }
  void error(std::string_view text, Entity about = {}) { write(LogLevel::error, text, about); }
  void write(LogLevel level, std::string_view text, Entity about = {});

  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

 private:
  friend class EntityRegistry;
  friend class ParallelPass;
  explicit Log(GameLog& lines) noexcept : lines_(lines) {}
  const Handler* running() const noexcept;

  GameLog& lines_;
  // Where the handler that is being called is shown; null for the Log of a worker.
  const RunContext* context_ = nullptr;
  const Shown<Inside>* inside_ = nullptr;
  // The handler whose lines are lost for the rest of this input.
  const Handler* full_ = nullptr;
  std::uint64_t full_at_ = 0;
  GameLog::Writer* full_writer_ = nullptr;
};

}  // namespace muster

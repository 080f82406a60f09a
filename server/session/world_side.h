// What a desk needs of the world that it serves and of the program around it: the server's, or a test's.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/plugins/reloaded_plugin.h"
#include "server/world/saving/durability.h"
#include "server/world/time/pacer.h"
#include "server/world/time/work_time.h"

namespace muster {

/// What never changes while a desk stands.
struct WorldFacts {
  std::uint64_t epoch = 0;  ///< see World::epoch; 0: the desk draws one
  double hz = 0;            ///< ticks per second at speed 1; 0: none
  std::string world;        ///< the world's name
  std::string program;      ///< the server's name and version
  Durability durability = Durability::checkpoint;
  std::chrono::nanoseconds autosave{0};  ///< how long after a save the next automatic one comes; 0: never
  bool watch_thread =
      false;  ///< watches have a thread of their own; otherwise the world's thread sends them after each flush
};

/// Outlives the desk. The calls have defaults for a world that is never saved, has no clock that can be set, and
/// has no plugins.
class WorldSide {
 public:
  using Saved = std::expected<void, std::string>;

  WorldSide() = default;
  virtual ~WorldSide() = default;
  WorldSide(const WorldSide&) = delete;
  WorldSide& operator=(const WorldSide&) = delete;

  // --- any thread

  virtual const WorldFacts& facts() const noexcept = 0;
  /// Makes the world flush soon.
  virtual void wake() = 0;
  /// Returns the last input that survives a crash.
  virtual std::uint64_t durable_sequence() const { return 0; }
  /// Returns the last input that is part of the saved state.
  virtual std::uint64_t saved_sequence() const { return durable_sequence(); }
  /// Returns the processor time that the world's thread has used.
  virtual std::uint64_t processor_ns() const { return 0; }
  /// Returns a sentence that says what holds up the world's thread; empty if nothing does.
  virtual std::string hang() const { return {}; }

  // --- world thread

  /// Wakes the world after that time.
  virtual void wake_in(std::chrono::nanoseconds) {}
  /// Writes one line to the server's log.
  virtual void warn(const std::string&) {}
  /// Begins a save of the present state. `then` is called between two inputs when the state is on the disk or the
  /// save failed, perhaps before this returns. False: another save is under way; the world flushes when it is over.
  virtual bool begin_save(const std::function<void(Saved)>& then) {
    then({});
    return true;
  }
  /// Returns why nothing more becomes durable, so that no edit is taken; null if all is well.
  virtual const std::string* recording_error() const { return nullptr; }
  /// Returns why the last automatic save failed; null if it did not.
  virtual const std::string* save_error() const { return nullptr; }
  /// Returns the size of the journal since the last save.
  virtual std::uint64_t journal_bytes() const { return 0; }
  /// Returns a sentence that says that the file or its journal grows too large; empty if it does not.
  virtual std::string size_warning() const { return {}; }
  /// Returns how the world's clock runs; nothing if it cannot be set.
  virtual std::optional<Pace> pace() const { return std::nullopt; }
  virtual std::expected<void, PaceFault> set_pace(const Pace&) { return {}; }
  /// Returns the last tick that was made.
  virtual std::uint64_t tick() const { return 0; }
  /// Returns the durations of ticks; null if they are not measured.
  virtual const TimeCounts* tick_times() const { return nullptr; }
  /// Returns name and build of each plugin.
  virtual std::vector<std::string> plugins() const { return {}; }
  /// Loads a plugin again, or all of them if `which` is empty. The error is a sentence.
  virtual std::expected<std::vector<ReloadedPlugin>, std::string> reload(std::string_view) {
    return std::unexpected(std::string("this server has no plugins"));
  }
};

/// The sentence, or nothing for null.
inline std::string text_of(const std::string* error) { return error ? *error : std::string(); }

}  // namespace muster

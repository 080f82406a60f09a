// Hashes of what each tick changed, one line per tick, to find out in which tick two runs diverged.
//
//   TickHashLog log(world.registry(), "town.hashes");
//   while (const auto frame = world.next_frame()) {
//     log.made_tick(frame.tick);
//     ...
//   }
//
//   4711 9424 game.Count=93ab5f0c1d2e3f40 game.Position=0c55...
//
// The numbers are those of the tick and of its Advance input. Each component whose columns were
// changed since the line before has one hash: by handlers of the Update of the tick before, by
// inputs after it, and by timers that were due in this Advance. `muster replay --hashes` compares
// the lines, and so does any tool for texts.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "registry/entity_registry.h"
#include "server/world/saving/write_queue.h"
#include "server/world/store/world_error.h"

namespace muster {

struct TickHash {
  std::uint64_t tick = 0, sequence = 0;
  std::map<std::string, std::uint64_t> columns = {};  ///< by the name of the component
  /// Returns a value by which hashes are in order.
  std::pair<std::uint64_t, std::uint64_t> place() const noexcept { return {sequence, tick}; }
};

/// Returns a hash for each component whose columns were changed after the version `since`. It
/// depends on the places of rows and on their values.
std::map<std::string, std::uint64_t> hash_changed_columns(const EntityRegistry& registry, std::uint64_t since);

/// Used on the registry's thread, except that another thread writes. The tick hashes the columns
/// itself: that takes half as long as copying them for another thread.
class TickHashLog {
 public:
  /// Creates the file, or appends to it. Throws WorldError if it cannot be opened.
  TickHashLog(EntityRegistry& registry, std::string path);
  /// Writes the last lines.
  ~TickHashLog();
  TickHashLog(const TickHashLog&) = delete;
  TickHashLog& operator=(const TickHashLog&) = delete;

  /// Must be called after each tick's Advance, with the number of the tick (Frame::tick). The line
  /// is written with the first tick that is a tenth of a second later, or at the end.
  void made_tick(std::uint64_t tick);

 private:
  /// Passes the lines on to the other thread.
  void pass_on();
  void write(std::string_view lines) noexcept;

  EntityRegistry& registry_;
  std::uint64_t since_;
  std::string lines_;
  std::chrono::steady_clock::time_point passed_on_;
  int file_;
  WriteQueue queue_;  // destroyed first
};

/// Reads the lines of a log of which the input is between `first` and `last`, in the order of the
/// file. The error names the line that is wrong. A line that was cut at the end of the file is left
/// out.
[[nodiscard]] std::expected<std::vector<TickHash>, WorldError> read_tick_hashes(const std::string& path,
                                                                                std::uint64_t first = 0,
                                                                                std::uint64_t last = ~std::uint64_t{0});
/// Returns the hashes in ascending order. If inputs were lost in a crash, the log has other hashes
/// for the same numbers; the last ones are those of the file.
std::vector<TickHash> newest_hashes(std::vector<TickHash> all);

}  // namespace muster

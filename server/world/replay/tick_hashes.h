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

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "server/world/file/world_error.h"
#include "server/world/saving/write_queue.h"
#include "system/mutex.h"

namespace muster {

struct TickHash {
  std::uint64_t tick = 0, sequence = 0;
  std::map<std::string, std::uint64_t> columns;  ///< by the name of the component
};

/// Copies of the columns that were changed after a version, which any thread can hash.
class ChangedColumns {
 public:
  ChangedColumns() = default;
  ChangedColumns(const EntityRegistry& registry, std::uint64_t since) { copy(registry, since); }
  /// Replaces the copies, and keeps the memory.
  void copy(const EntityRegistry& registry, std::uint64_t since);
  std::size_t bytes() const noexcept { return bytes_.size(); }
  /// Returns a hash for each component. It depends on the places of rows and on their values.
  std::map<std::string, std::uint64_t> hash() const;

 private:
  struct Column {
    std::size_t name, offset, size;
    std::uint64_t place;
  };
  std::vector<std::string> names_;
  std::vector<Column> columns_;
  std::vector<std::byte> bytes_;
};

/// Used on the registry's thread, except that another thread hashes and writes.
class TickHashLog {
 public:
  /// Creates the file, or appends to it. Throws WorldError if it cannot be opened. `waiting_max`
  /// limits the memory for copies that wait for the other thread. If it is exceeded, a tick has no
  /// line.
  TickHashLog(EntityRegistry& registry, std::string path, std::size_t waiting_max = std::size_t{64} << 20);
  /// Finishes all lines.
  ~TickHashLog();
  TickHashLog(const TickHashLog&) = delete;
  TickHashLog& operator=(const TickHashLog&) = delete;

  /// Must be called after each tick's Advance, with the number of the tick (Frame::tick).
  void made_tick(std::uint64_t tick);
  /// Returns the number of ticks without a line.
  std::uint64_t left_out() const noexcept { return left_out_; }

 private:
  void write(const TickHash& line) noexcept;
  ChangedColumns spare();

  EntityRegistry& registry_;
  std::uint64_t since_, left_out_ = 0;
  int file_;
  Mutex mutex_;
  std::vector<ChangedColumns> spare_ MUSTER_GUARDED_BY(mutex_);  // whose memory is used again
  WriteQueue queue_;                                             // destroyed first
};

/// Reads the lines of a log. The error names the line that is wrong. A line that was cut at the end
/// of the file is left out.
[[nodiscard]] std::expected<std::vector<TickHash>, WorldError> read_tick_hashes(const std::string& path);

}  // namespace muster

// Compares a replay with what the world itself had: hashes of its ticks, and states that it saved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/world/replay/replay.h"

namespace muster {

/// Used on the thread of the registry that replays. Counts in the report what it compares, and adds
/// what differs. All arguments must outlive it.
class RecordedRun {
 public:
  /// `hashes` replace those of the slice, unless there are none.
  RecordedRun(const Slice& slice, const std::vector<TickHash>& hashes, EntityRegistry& registry, ReplayReport& report);

  /// Compares the changes since the last tick with the recorded ones. Must be called when the
  /// Advance of each tick has been done and ReplayReport::tick is set.
  void compare_hashes();
  /// Compares the state with the one that the world had after the same input, if that is recorded.
  /// Must be called between all inputs, and at the end.
  void compare_state();
  /// States are not compared from now on, because they were recorded with other types.
  void types_differ() noexcept { types_differ_ = true; }
  /// Counts what was recorded for the inputs that were replayed.
  void finish();

 private:
  using Columns = std::map<std::string, std::uint64_t>;
  /// Notes each component whose hashes differ, with the handlers that write it.
  void note_columns(const Columns& recorded, const Columns& made, ComparedWith with);
  void note(SyncDifference found, ComparedWith with);

  const Slice& slice_;
  const std::vector<TickHash> hashes_;
  EntityRegistry& registry_;
  ReplayReport& report_;
  std::size_t next_hash_ = 0, next_state_ = 0;
  std::uint64_t hashed_since_ = 0;  // version
  bool types_differ_ = false;
};

}  // namespace muster

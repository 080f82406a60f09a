// Describes the run of a world (World::play).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster {

/// Describes the level to which a run will return.
struct Run {
  std::uint64_t sequence = 0;  ///< sequence number of the last input in the level
  std::uint64_t tick = 0;      ///< the level's tick
};

/// The result of World::keep.
struct KeepReport {
  bool marked = false;         ///< true if the edits will be applied when the run ends
  std::uint64_t sequence = 0;  ///< of the input that applied or marked the edits
  std::uint32_t messages = 0;  ///< number of messages that were applied
  std::uint32_t created = 0;   ///< number of entities that received an id of the level
  std::uint32_t nil_references = 0;  ///< references to entities that were not kept
  std::vector<std::string> skipped = {};  ///< a sentence for each edit that could not be kept
};

}  // namespace muster

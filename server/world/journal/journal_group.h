// A group of the journal: inputs that come to the disk together. No SQLite, no files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace muster {

struct JournalGroup {
  std::uint64_t id = 0;  ///< 1, 2, 3 ... over the world's life; given when it is written
  /// Sequences of its inputs, without a gap to the group before. A group without an input has last = first - 1.
  std::uint64_t first = 0, last = 0;
  std::uint64_t first_tick = 0, last_tick = 0;
  std::uint64_t epoch = 0;              ///< drawn at random at each start
  std::uint64_t types = 0;              ///< fingerprint of the registry's types when the group began
  std::string code = {};                ///< code identity of what ran; the same for the whole group
  std::vector<std::byte> records = {};  ///< what was recorded, one record after another
};

/// What reading the journal found.
struct JournalReport {
  std::uint64_t groups = 0, inputs = 0;  ///< whole ones, after the checkpoint
  std::uint64_t bytes = 0;               ///< of their records
};

}  // namespace muster

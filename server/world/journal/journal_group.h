// Defines a group of the journal, which is a series of inputs that are written to disk together.
// Does not depend on SQLite or on files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace muster {

struct JournalGroup {
  /// Numbered 1, 2, 3, ... over the world's lifetime; set when the group is written.
  std::uint64_t id = 0;

  /// Sequence numbers of the group's first and last input. The first input directly follows the
  /// last input of the previous group. If the group has no inputs, last = first - 1.
  std::uint64_t first = 0, last = 0;
  std::uint64_t first_tick = 0, last_tick = 0;
  std::uint64_t epoch = 0;  ///< random number drawn each time the world is opened

  /// Fingerprint of the registry's types at the start of the group.
  std::uint64_t types = 0;
  std::string code = {};                ///< identity of the code that handled the whole group
  std::vector<std::byte> records = {};  ///< the records in order
};

/// A summary of a journal that has been read.
struct JournalReport {
  std::uint64_t groups = 0, inputs = 0;  ///< numbers of groups and inputs after the checkpoint
  std::uint64_t bytes = 0;               ///< total size of those groups' records, in bytes
};

}  // namespace muster

// Supplies slices of worlds for download (server/world/replay/slice.h).
#pragma once

#include <cstdint>
#include <string>

#include "server/web/http_answer.h"

namespace muster {

struct SliceLimits {
  /// Limit on the size of a slice, which is held in memory while it is made.
  static constexpr std::uint64_t bytes_max = std::uint64_t{128} << 20;
  /// A slice begins at a save that is at least this old, as far as the file keeps it.
  static constexpr int seconds_min = 60;
};

/// Returns an answer that contains a slice of the world file at `path`, or says why there is none.
/// A process may have the world open. `hashes` is a file that TickHashLog writes, whose hashes are
/// added if it can be read, or empty. Waits for the disk. May be called on any thread.
HttpAnswer slice_answer(const std::string& path, const std::string& hashes = {});

}  // namespace muster

// What is known of the rows in a world file without reading them: enough to write only what changed.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "server/world/checksum.h"

namespace muster {

struct KeptRow {
  std::int64_t id = 0;  ///< rowid in `state`
  std::uint64_t version = 0, checkpoint = 0;
  std::uint64_t checksum = 0;
  std::uint64_t length = 0;
  /// The version at which this process last gave the row; versions of an earlier process mean nothing to this one, so
  /// a row that was read from the file has none until it was compared or written.
  std::uint64_t given_version = 0;
  bool given = false;
  std::uint64_t seen = 0;  ///< number of the save that had the row last
};

struct StateKeyHash {
  std::size_t operator()(const StateKey& key) const noexcept {
    const std::uint64_t mixed =
        (key.key ^ (std::uint64_t{key.column} << 32) ^ static_cast<std::uint64_t>(key.section)) * 0x9e3779b97f4a7c15ull;
    return mixed ^ (mixed >> 29);
  }
};

using KeptRows = std::unordered_map<StateKey, KeptRow, StateKeyHash>;

}  // namespace muster

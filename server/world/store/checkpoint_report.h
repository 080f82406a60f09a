// Defines types that are used to open and save a world, wherever it is stored.
#pragma once

#include <cstdint>

namespace muster {

enum class OpenMode : std::uint8_t {
  open_or_create,
  open_existing,  ///< fails if the file does not exist
  create_new,     ///< fails if the file exists, and leaves it unchanged
};

/// How a world is opened, wherever it is stored.
struct StoreOptions {
  OpenMode mode = OpenMode::open_or_create;
  std::uint64_t merge_bytes = 16u << 20;  ///< see WorldOptions::merge_bytes
  /// Limit on the size of the rows and groups that are kept for Store::load_past(), where 0 means
  /// that none are kept. Beyond it, the oldest are dropped. The rows of one checkpoint may exceed
  /// it.
  std::uint64_t past_bytes = 0;
};

struct CheckpointReport {
  /// Number of the checkpoint; a world's first checkpoint has number 1.
  std::uint64_t checkpoint = 0;
  std::uint64_t sequence = 0;  ///< sequence number of the last input in the checkpoint
  std::uint64_t rows = 0;      ///< number of rows in the file
  std::uint64_t rows_written = 0, rows_removed = 0, bytes_written = 0;
};

}  // namespace muster

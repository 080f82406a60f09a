// Defines types that are used to open and save a world. They do not depend on SQLite or on the file
// format.
#pragma once

#include <cstdint>

namespace muster {

enum class OpenMode : std::uint8_t {
  open_or_create,
  open_existing,  ///< fails if the file does not exist
  create_new,     ///< fails if the file exists, and leaves it unchanged
};

struct CheckpointReport {
  /// Number of the checkpoint; a world's first checkpoint has number 1.
  std::uint64_t checkpoint = 0;
  std::uint64_t sequence = 0;  ///< sequence number of the last input in the checkpoint
  std::uint64_t rows = 0;      ///< number of rows in the file
  std::uint64_t rows_written = 0, rows_removed = 0, bytes_written = 0;
};

}  // namespace muster

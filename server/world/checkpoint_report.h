// Types for opening and saving a world that need neither SQLite nor files.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

enum class OpenMode : std::uint8_t {
  open_or_create,
  open_existing,  ///< a missing file is an error
  create_new,     ///< an existing file is an error, and does not change
};

struct CheckpointReport {
  std::uint64_t checkpoint = 0;  ///< its number; 1 is a world's first
  std::uint64_t sequence = 0;    ///< of the last input in it
  std::uint64_t rows = 0;        ///< in the file
  std::uint64_t rows_written = 0, rows_removed = 0, bytes_written = 0;
  /// Path of the copy of the original file, if this checkpoint converted a file of format 1;
  /// otherwise empty.
  std::string original = {};
};

}  // namespace muster

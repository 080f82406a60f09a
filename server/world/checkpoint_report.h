// What opening and saving a world say to its user: no SQLite, no files.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

enum class OpenMode : std::uint8_t {
  open_or_create,
  open_existing,  ///< missing is an error, and nothing is created
  create_new,     ///< a file that is there is an error, and is left alone
};

struct CheckpointReport {
  std::uint64_t checkpoint = 0;  ///< its number; 1 is a world's first
  std::uint64_t sequence = 0;    ///< of the last input that it contains
  std::uint64_t rows = 0;        ///< in the file
  std::uint64_t rows_written = 0, rows_removed = 0, bytes_written = 0;
  /// Where this checkpoint took a file of format 1 over: the path of the copy of the file as it was. Else empty.
  std::string original = {};
};

}  // namespace muster

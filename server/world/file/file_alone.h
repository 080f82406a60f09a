// Reads a world file without its -wal.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

/// The contents of a world file without its -wal.
struct FileAlone {
  std::string world;           ///< empty if the file is unreadable
  std::uint64_t sequence = 0;  ///< sequence of the last input in the state
  std::uint64_t checkpoint = 0;
  std::uint64_t group = 0;  ///< number of the last group in the journal or the state
};
/// Reads the file without its -wal and without taking a lock. No process may be merging into the
/// file during the call. After a partial merge, the file may contain anything. If `whole` is set,
/// the function reads the whole file and accepts the file only if it is consistent.
FileAlone read_alone(const std::string& path, const std::string& shown, bool whole);

}  // namespace muster

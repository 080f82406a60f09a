// Why a world could not be opened, saved or read. One type: thrown by World's constructor and by World::commit, a value
// everywhere else.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace muster {

enum class WorldErrorCode : std::uint8_t {
  missing,      ///< no such file, and the caller wanted one
  exists,       ///< there is a file, and the caller wanted none
  in_use,       ///< another process (or another World of this one) has it open, or another program is writing to it
  not_a_world,  ///< something else is at that path
  newer,        ///< written by a later version of the file format
  damaged,      ///< cut off, overwritten, or a part of it lost
  denied,       ///< the file or its directory may not be read or written
  disk_full,
  io,            ///< the disk reports an error
  incompatible,  ///< the file is whole, but the registry refuses its state: another layout of a type, for example
  setup,         ///< the host's options or its install function failed
  stopped,  ///< the world stands before an input at which processes died, and writes nothing; or it does not stand before the one to be left out
  too_large,  ///< one row is beyond what a database row holds
  displaced,  ///< while it was open, the file or its -wal was moved, deleted, replaced or written over; nothing more is written
  left_behind,  ///< there is no file, but there are companions of one that was there
};
const char* name(WorldErrorCode code) noexcept;

/// what() is one sentence that begins with the path as it was given: "level1.muster: in use by process 4711".
class WorldError : public std::runtime_error {
 public:
  WorldError(WorldErrorCode code, std::string path, std::string detail);
  WorldErrorCode code() const noexcept { return code_; }
  const std::string& path() const noexcept { return path_; }
  const std::string& detail() const noexcept { return detail_; }  ///< the sentence without the path

 private:
  WorldErrorCode code_;
  std::string path_;
  std::string detail_;
};

}  // namespace muster

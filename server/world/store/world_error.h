// Defines the error type for opening, saving, and reading a world. World's constructor and
// World::save() throw it; other functions return it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace muster {

enum class WorldErrorCode : std::uint8_t {
  missing,      ///< the file does not exist, but the caller requires it
  exists,       ///< the file exists, but the caller requires a new one
  in_use,       ///< the file is open in another process or World, or is being written to
  not_a_world,  ///< the path names a file of another kind
  newer,        ///< the file has a later format
  older,        ///< the file has a format that is no longer read
  damaged,      ///< the file is truncated, overwritten, or partly lost
  denied,       ///< permission is denied for the file or its directory
  disk_full,
  io,            ///< the disk reported an error
  incompatible,  ///< the registry refuses the file's state, for example because of a type's layout
  setup,         ///< the host's options or its install function failed
  /// The world is stopped before an input, or is not stopped before the input to leave out.
  stopped,
  too_large,    ///< a row exceeds the database's limit
  displaced,    ///< the open file or its -wal was moved, deleted, replaced, or overwritten
  left_behind,  ///< the file is missing, but its companion files exist
};
const char* name(WorldErrorCode code) noexcept;

/// what() returns a message that begins with the given path, for example "level1.muster: in use by
/// process 4711".
class WorldError : public std::runtime_error {
 public:
  WorldError(WorldErrorCode code, std::string path, std::string detail);
  WorldErrorCode code() const noexcept { return code_; }
  const std::string& path() const noexcept { return path_; }
  const std::string& detail() const noexcept { return detail_; }  ///< the message without the path

 private:
  WorldErrorCode code_;
  std::string path_;
  std::string detail_;
};

}  // namespace muster

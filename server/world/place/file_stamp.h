// Identity and time of the last write of a file, from the system, without reading it.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

/// Identifies a file, and distinguishes it from a copy. Inode numbers are reused after a file is
/// deleted; the time of birth distinguishes such files if the file system records it.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;  ///< inode 0: no file
  std::uint64_t born_ns = 0;            ///< since 1970; 0: the file system does not say
  explicit operator bool() const noexcept { return inode != 0; }
  bool is(const FileIdentity& other) const noexcept {
    return inode == other.inode && device == other.device &&
           (born_ns == other.born_ns || born_ns == 0 || other.born_ns == 0);
  }
};
FileIdentity identity_of(const std::string& path) noexcept;
FileIdentity identity_of(int descriptor) noexcept;

struct FileStamp {
  std::uint64_t device = 0, inode = 0;  ///< inode 0: no file, or none that may be looked at
  /// Errno if the system did not let us look; 0 if there is no file.
  int error = 0;
  std::uint64_t bytes = 0;
  std::int64_t written_ns = 0;
  bool is_same_file(const FileStamp& other) const noexcept { return inode == other.inode && device == other.device; }
  /// Returns true also after a change of mode, owner or names.
  bool is_unwritten_since(const FileStamp& other) const noexcept {
    return bytes == other.bytes && written_ns == other.written_ns;
  }
};
/// Does not follow a link in the last part of the path, which is another file.
FileStamp stamp_of(const std::string& path) noexcept;
/// Follows links.
FileStamp stamp_behind(const std::string& path) noexcept;
FileStamp stamp_of(int descriptor) noexcept;

/// Returns true if this process has the file open, except as `except`, and if the system does not
/// tell.
bool has_open(const FileStamp& file, int except);

}  // namespace muster

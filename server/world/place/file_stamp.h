// What the system says of a file, without reading it: which one it is, and when it was last written.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

/// Tells one file from another, also from a copy. An inode's number is given again when its file has gone; the time of birth tells
/// those two apart on file systems that know it.
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
  int error = 0;                        ///< errno if the system did not let us look; 0 if there is no file
  std::uint64_t bytes = 0;
  std::int64_t written_ns = 0;
  bool is_same_file(const FileStamp& other) const noexcept { return inode == other.inode && device == other.device; }
  /// Also after a change of its mode, its owner or its names.
  bool is_unwritten_since(const FileStamp& other) const noexcept {
    return bytes == other.bytes && written_ns == other.written_ns;
  }
};
/// Does not follow a link in the last place: that is another file.
FileStamp stamp_of(const std::string& path) noexcept;
/// Follows links.
FileStamp stamp_behind(const std::string& path) noexcept;
FileStamp stamp_of(int descriptor) noexcept;

/// Whether this process has the file open, but for `except`. True if the system does not tell.
bool has_open(const FileStamp& file, int except);

}  // namespace muster

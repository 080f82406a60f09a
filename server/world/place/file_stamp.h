// Obtains a file's identity and the time of its last write from the system, without reading the
// file.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

/// Identifies a file and distinguishes it from a copy. An inode number may be reused after a file
/// is deleted; the birth time, if the file system records it, distinguishes the two files.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;  ///< inode 0 means that there is no file
  std::uint64_t born_ns = 0;            ///< birth time in ns since 1970, or 0 if not recorded
  explicit operator bool() const noexcept { return inode != 0; }
  bool is(const FileIdentity& other) const noexcept {
    return inode == other.inode && device == other.device &&
           (born_ns == other.born_ns || born_ns == 0 || other.born_ns == 0);
  }
};
FileIdentity identity_of(const std::string& path) noexcept;
FileIdentity identity_of(int descriptor) noexcept;

struct FileStamp {
  /// An inode of 0 means that the file does not exist or that access was denied.
  std::uint64_t device = 0, inode = 0;

  /// The errno value if the system denied access, or 0 if the file does not exist.
  int error = 0;
  std::uint64_t bytes = 0;
  std::int64_t written_ns = 0;
  bool is_same_file(const FileStamp& other) const noexcept { return inode == other.inode && device == other.device; }
  /// Returns true if the file has not been written to since `other`. Changes to its mode, owner, or
  /// names do not matter.
  bool is_unwritten_since(const FileStamp& other) const noexcept {
    return bytes == other.bytes && written_ns == other.written_ns;
  }
};
/// Returns the stamp of the file at a path. Does not follow a symbolic link in the last component
/// of the path; such a link counts as a different file.
FileStamp stamp_of(const std::string& path) noexcept;
/// Like stamp_of(), but follows symbolic links.
FileStamp stamp_behind(const std::string& path) noexcept;
FileStamp stamp_of(int descriptor) noexcept;

/// Returns true if this process has the file open on a descriptor other than `except`, or if the
/// system does not report open descriptors.
bool has_open(const FileStamp& file, int except);

}  // namespace muster

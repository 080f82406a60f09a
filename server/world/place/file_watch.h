// Checks that an open world file is still at its path and that no other program has written to it,
// so that the next process finds everything that was reported durable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/world/place/file_stamp.h"
#include "server/world/place/wal_content.h"

namespace muster {

/// Records the state of the file and its -wal after the owner's most recent write. Must be used by
/// only one thread at a time, except for members marked otherwise. The returned strings describe
/// how a file has changed; an empty string means that the file is unchanged.
class FileWatch {
 public:
  /// `descriptor` refers to the world file and must stay open. `given` is the absolute path
  /// supplied by the user; it resolves to `path`, possibly through symbolic links.
  FileWatch(std::string path, std::string given, int descriptor)
      : path_(std::move(path)), given_(std::move(given)), descriptor_(descriptor) {}
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  /// Must be called after SQLite has read the file at the path and has therefore opened its -wal.
  [[nodiscard]] std::string begin();

  struct Seen {
    /// Describes which of the file and its -wal was removed or replaced. Empty if both are in
    /// place.
    std::string gone;
    std::string hidden;  ///< the reason why the system denied access, or empty

    /// True if another program has written to the file or its -wal. Only reading the content shows
    /// whether the change matters.
    bool file_differs = false, wal_differs = false;
    bool is_as_left() const noexcept { return gone.empty() && hidden.empty() && !file_differs && !wal_differs; }
  };
  /// Checks the file and its -wal without reading any content. `merging` is true if the owner is
  /// currently writing to the file.
  Seen look(bool merging) const;

  /// Must be called after each commit by the owner. `frames` is the number of frames in the -wal
  /// after the commit. Checks that the new frames follow the earlier ones. Sets `file_differs` in
  /// the same way as look().
  [[nodiscard]] std::string committed(std::uint64_t frames, bool& file_differs);
  /// Reads the whole -wal. If the -wal has only grown, records its new state and returns true.
  [[nodiscard]] bool wal_only_grew();
  /// Records the state of the current -wal, regardless of its contents.
  void take_wal();
  /// Records the state of the file as described by `stamp`.
  void take_file(const FileStamp& stamp) noexcept { file_ = stamp; }
  /// May be called on any thread, but not during take_file().
  const FileStamp& file() const noexcept { return file_; }
  /// Returns the salts of the -wal. If the -wal is empty, returns no salts, because SQLite may draw
  /// new salts in that case.
  WalSalts salts() const noexcept { return end_.frames > 0 ? end_.salts : WalSalts{}; }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string know_wal();
  std::string gone_now(FileStamp& file, FileStamp& wal, std::string& hidden) const;
  /// Returns the end of a -wal with `frames` frames, or nothing if earlier frames have disappeared.
  std::optional<WalEnd> new_end(std::uint64_t frames);

  const std::string path_, given_, wal_path_ = path_ + "-wal", shm_path_ = path_ + "-shm";
  const int descriptor_;
  FileStamp file_, wal_;
  // If the -shm is missing, this program and others do not see each other's writes.
  FileStamp shm_;
  int wal_descriptor_ = -1;  // -1 if there is no -wal yet
  WalEnd end_;
  std::vector<unsigned char> buffer_;  // for reading frames
};

/// Checks that a world file has a header and that its length matches the header. Returns a
/// description of the fault, or an empty string if there is none.
std::string wrong_length(const std::string& path, int descriptor);

}  // namespace muster

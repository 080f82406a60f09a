// Whether a world that is open still lies where it was opened, and nobody else wrote to it: what its owner tells to be durable has to be
// found there by whoever opens it next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/world/place/file_stamp.h"
#include "server/world/place/wal_content.h"

namespace muster {

/// Knows the file and its -wal as the owner's last write left them. One thread at a time, but for what is said of others. A text that is
/// returned says what happened to which file; empty: nothing did.
class FileWatch {
 public:
  /// `descriptor` is the world file, which the caller keeps open. `given` is how its user names it:
  /// an absolute path that leads to `path`, perhaps over links.
  FileWatch(std::string path, std::string given, int descriptor)
      : path_(std::move(path)), given_(std::move(given)), descriptor_(descriptor) {}
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  /// To be called once SQLite has read the file at the path, and so has opened its -wal.
  [[nodiscard]] std::string begin();

  struct Seen {
    std::string gone;    ///< one of them is not there any more, or another one is; empty: they are there
    std::string hidden;  ///< the system does not let us look, and says why; empty: it does
    bool file_differs = false, wal_differs = false;  ///< somebody wrote to it: its content says whether that matters
    bool is_as_left() const noexcept { return gone.empty() && hidden.empty() && !file_differs && !wal_differs; }
  };
  /// Reads no content. `merging`: the owner is writing to the file itself.
  Seen look(bool merging) const;

  /// A commit of the owner's left so many frames in the -wal: they are there, behind those that were. `file_differs` is set as by look().
  [[nodiscard]] std::string committed(std::uint64_t frames, bool& file_differs);
  /// The -wal is read whole. True: it has what it had, perhaps with more behind it, and is known as it is now.
  [[nodiscard]] bool wal_only_grew();
  /// The -wal is known as it is now: nothing in it is needed.
  void take_wal();
  /// The file is known as it was when `stamp` was taken.
  void take_file(const FileStamp& stamp) noexcept { file_ = stamp; }
  /// Any thread, while none is in take_file().
  const FileStamp& file() const noexcept { return file_; }
  /// None: the -wal has nothing, and SQLite may draw other ones for what comes.
  WalSalts salts() const noexcept { return end_.frames > 0 ? end_.salts : WalSalts{}; }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string know_wal();
  std::string gone_now(FileStamp& file, FileStamp& wal, std::string& hidden) const;
  /// Of a -wal that has so many frames; none: what was there is not there any more.
  std::optional<WalEnd> new_end(std::uint64_t frames);

  const std::string path_, given_, wal_path_ = path_ + "-wal", shm_path_ = path_ + "-shm";
  const int descriptor_;
  FileStamp file_, wal_;
  FileStamp shm_;            // without it other programs and this one do not see each other's writes
  int wal_descriptor_ = -1;  // -1: there is no -wal yet
  WalEnd end_;
  std::vector<unsigned char> buffer_;  // for frames that are read
};

/// Whether a world file is as long as its header says, and has one. Empty: it is; else what is wrong with it.
std::string wrong_length(const std::string& path, int descriptor);

}  // namespace muster

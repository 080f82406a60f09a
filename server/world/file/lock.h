// Ensures that each world has one owner by locking a file next to it. The system releases the lock
// when the owner ends. The lock file also records which files belong together and what was durable.
//
//   level1.muster-lock, text, kept after use:
//     muster-lock 1
//     process 0000004711                           0 if the last owner shut down cleanly
//     world 0123456789abcdef0123456789abcdef       `world` of the meta table, or 32 zeros
//     checkpoint 00000000000000000012              the last checkpoint that was reported durable
//     group 00000000000000000345                   the last journal group that was; absent in lock files of format 1
//     file DEVICE INODE BORN                       the world file: three numbers of 20 digits (place/file_stamp.h)
//     lock DEVICE INODE BORN                       this lock file; in a copied folder, neither line matches
//     wal 0123456789 0123456789                    salts of the -wal (place/wal_content.h); 0 and 0 if the owner left no -wal
//
// Lock files of earlier versions lack the last three lines. The lines `world` to `group` reveal a
// file that is older than what was reported durable, because its -wal was lost or truncated. The
// lines after them reveal a -wal that belongs to another file.
//
// A file may be reachable through several paths (a mount, a new name), each with its own lock file.
// Therefore the world file itself is also locked, at a byte far beyond those that SQLite locks, and
// a file with several hard links is refused.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "server/world/file/world_error.h"
#include "server/world/place/file_stamp.h"
#include "server/world/place/wal_content.h"

namespace muster {

/// The contents of the lock file, except for its holder.
struct LockMark {
  std::string world;  ///< 32 hexadecimal digits, or empty
  std::uint64_t checkpoint = 0;
  std::uint64_t group = 0;
  FileIdentity file = {}, lock = {};  ///< empty if not recorded
  WalSalts wal = {};
};

/// The lock, held from a successful take() until destruction. Movable. May be used on any thread,
/// by one thread at a time.
class WorldLock {
 public:
  /// Takes the lock of the world at `path` without waiting. The in_use error names the process that
  /// holds the lock. Errors show the path as `shown`. A forked child shares the lock until it calls
  /// exec or ends.
  [[nodiscard]] static std::expected<WorldLock, WorldError> take(const std::string& path, const std::string& shown);

  /// Locks the existing world file. Call it again if another file takes its place. Fails with
  /// in_use if the file is locked under another path or has several names. Call it before SQLite
  /// opens the file, because a process that closes any descriptor of a file loses SQLite's locks on
  /// it.
  [[nodiscard]] std::expected<void, WorldError> hold(const std::string& path, const std::string& shown);

  WorldLock(WorldLock&& other) noexcept;
  WorldLock& operator=(WorldLock&&) = delete;
  ~WorldLock();

  bool is_held() const noexcept { return fd_ >= 0; }
  /// Returns true if `path` names the file that hold() locked. Any thread, but not during hold().
  bool is_of(const std::string& path) const noexcept;
  const LockMark& mark() const noexcept { return mark_; }
  /// Returns true if the lock file is the original, not a copy of it.
  bool is_original() const noexcept { return mark_.lock && mark_.lock.is(identity_of(fd_)); }
  FileIdentity file() const noexcept { return identity_of(file_); }
  int descriptor() const noexcept { return file_; }  ///< descriptor of the world file, or -1 before

  ///< it exists

  /// Records what is durable and which -wal contains it, without syncing. After a power cut, the
  /// mark may be older than the file but never newer.
  void set_mark(const std::string& world, std::uint64_t checkpoint, std::uint64_t group, WalSalts wal) noexcept;
  /// Syncs the recorded marks to the disk. Any thread.
  void sync() const noexcept;
  /// Records the current -wal, or that there is none. A later -wal either continues this one or
  /// gets new salts from SQLite.
  void note_wal(WalSalts wal) noexcept;
  /// Removes the lock file when the lock is released. Used if there is no world file.
  void remove_at_end() noexcept { remove_at_end_ = true; }

 private:
  WorldLock(int fd, std::string lock_path) : fd_(fd), lock_path_(std::move(lock_path)) {}
  void note_files() noexcept;
  void write(std::int64_t process) const noexcept;
  void read() noexcept;

  int fd_ = -1;
  int file_ = -1;  // the world file, or -1 before it exists
  std::string lock_path_;
  std::int64_t found_process_ = 0;  // value from the lock file; restored unless a mark was set
  bool is_marked_ = false;
  LockMark mark_;
  bool remove_at_end_ = false;
};

}  // namespace muster

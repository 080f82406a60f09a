// One owner per world: a lock on a file beside it, which the system takes back when the owner ends, however it ends. The file also
// says which files belong together, and what was durable.
//
//   level1.muster-lock, text, kept after use:
//     muster-lock 1
//     process 0000004711                           0: none, the last owner left in good order
//     world 0123456789abcdef0123456789abcdef       `world` of the meta table, or 32 zeros
//     checkpoint 00000000000000000012              the last checkpoint that was reported durable
//     group 00000000000000000345                   the last group of the journal that was; lock files of format 1 lack the line
//     file DEVICE INODE BORN                       the world file: three numbers of 20 digits (place/file_stamp.h)
//     lock DEVICE INODE BORN                       this file: both differ from what is said here in a copy of the folder
//     wal 0123456789 0123456789                    salts of the -wal (place/wal_content.h); 0 and 0: the owner left none
//
// Lock files of earlier versions lack the last three lines. `world` to `group` find out a file that is older than what was told to
// be durable: a -wal that was lost or cut off. The others find out a -wal that belongs to another file.
//
// A file can be reached by several paths (a mount, a new name), each with a lock file of its own. So the world file itself
// is locked too, at a byte far beyond those that SQLite locks; and a file of several names (hard links) is refused.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "server/world/place/file_stamp.h"
#include "server/world/place/wal_content.h"
#include "server/world/world_error.h"

namespace muster {

/// What the lock file says besides its holder.
struct LockMark {
  std::string world;  ///< 32 hexadecimal digits; empty if none was written
  std::uint64_t checkpoint = 0;
  std::uint64_t group = 0;
  FileIdentity file = {}, lock = {};  ///< none: not noted
  WalSalts wal = {};
};

/// Held from a successful take to its destruction. Movable; any thread, one at a time.
class WorldLock {
 public:
  /// Takes the lock of the world at `path` without waiting. in_use names the process that holds it; `shown` is the path
  /// in the error. A child made by fork shares the lock until it execs or ends.
  [[nodiscard]] static std::expected<WorldLock, WorldError> take(const std::string& path, const std::string& shown);

  /// Locks the world file itself, which exists; again with another one in its place. in_use where it is held under
  /// another path or has several names. To be called before SQLite opens the file: a process that closes any descriptor of
  /// a file loses SQLite's locks on it.
  [[nodiscard]] std::expected<void, WorldError> hold(const std::string& path, const std::string& shown);

  WorldLock(WorldLock&& other) noexcept;
  WorldLock& operator=(WorldLock&&) = delete;
  ~WorldLock();

  bool is_held() const noexcept { return fd_ >= 0; }
  /// Whether `path` names the file that hold() locked. Any thread, while none is in hold().
  bool is_of(const std::string& path) const noexcept;
  const LockMark& mark() const noexcept { return mark_; }
  /// Whether the lock file is the one that its mark was made for, not a copy of it.
  bool is_original() const noexcept { return mark_.lock && mark_.lock.is(identity_of(fd_)); }
  FileIdentity file() const noexcept { return identity_of(file_); }
  int descriptor() const noexcept { return file_; }  ///< of the world file, -1 while it is still to be created
  /// Notes what is durable, and which -wal has it. Not synced: after a power cut the mark may be older, never newer, than the file.
  void set_mark(const std::string& world, std::uint64_t checkpoint, std::uint64_t group, WalSalts wal) noexcept;
  /// What was noted is on the disk when it returns. Any thread.
  void sync() const noexcept;
  /// The -wal is this one now, or there is none: one that comes later begins behind it, or with salts that SQLite draws.
  void note_wal(WalSalts wal) noexcept;
  /// Removes the lock file when the lock is given back: nothing is there that it belongs to.
  void remove_at_end() noexcept { remove_at_end_ = true; }

 private:
  WorldLock(int fd, std::string lock_path) : fd_(fd), lock_path_(std::move(lock_path)) {}
  void note_files() noexcept;
  void write(std::int64_t process) const noexcept;
  void read() noexcept;

  int fd_ = -1;
  int file_ = -1;  // the world file; -1 while it is still to be created
  std::string lock_path_;
  std::int64_t found_process_ = 0;  // what the file said when it was taken; it says so again unless a mark was set
  bool is_marked_ = false;
  LockMark mark_;
  bool remove_at_end_ = false;
};

}  // namespace muster

#include "server/world/file/lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "system/open_file.h"
#include "system/standard_descriptors.h"

namespace muster {
namespace {

constexpr const char* layout =
    "muster-lock 1\nprocess %010" PRId64 "\nworld %32.32s\ncheckpoint %020" PRIu64 "\ngroup %020" PRIu64
    "\nfile %020" PRIu64 " %020" PRIu64 " %020" PRIu64 "\nlock %020" PRIu64 " %020" PRIu64 " %020" PRIu64
    "\nwal %010" PRIu32 " %010" PRIu32 "\n";
constexpr off_t locked_byte = off_t{1} << 62;  // SQLite's locks begin at offset 2^30
constexpr const char* no_world = "00000000000000000000000000000000";

struct Content {
  std::int64_t process = 0;
  LockMark mark;
};

std::optional<Content> read_content(int fd) noexcept {
  char text[512];
  const ssize_t length = ::pread(fd, text, sizeof text - 1, 0);
  if (length <= 0) return std::nullopt;
  text[length] = 0;
  Content content;
  LockMark& mark = content.mark;
  LockMark rest;
  char world[33] = {};
  const int found = std::sscanf(
      text,
      "muster-lock 1\nprocess %" SCNd64 "\nworld %32[0-9a-f]\ncheckpoint %" SCNu64 "\ngroup %" SCNu64 "\nfile %" SCNu64
      " %" SCNu64 " %" SCNu64 "\nlock %" SCNu64 " %" SCNu64 " %" SCNu64 "\nwal %" SCNu32 " %" SCNu32,
      &content.process, world, &mark.checkpoint, &mark.group, &rest.file.device, &rest.file.inode, &rest.file.born_ns,
      &rest.lock.device, &rest.lock.inode, &rest.lock.born_ns, &rest.wal.first, &rest.wal.second);
  if (found < 3) return std::nullopt;
  if (found == 12) {
    mark.file = rest.file;
    mark.lock = rest.lock;
    mark.wal = rest.wal;
  }
  if (std::strcmp(world, no_world) != 0) mark.world = world;
  return content;
}

/// Returns the id of the process that holds the lock. The owner writes its process id immediately
/// after taking the lock. Until then, the file contains either no process id or the id of a process
/// that has ended.
std::int64_t holder(int fd) noexcept {
  for (int attempt = 0; attempt < 50; ++attempt) {
    if (const auto content = read_content(fd);
        content && content->process > 0 && (::kill(static_cast<pid_t>(content->process), 0) == 0 || errno == EPERM))
      return content->process;
    const timespec pause{0, 2'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return 0;
}

/// If a read lock is all that prevents `wanted`, returns a description of it. Muster takes no read
/// locks, so the lock is another program's.
std::string reader_of(int fd, struct flock wanted) {
  wanted.l_pid = 0;
  if (::fcntl(fd, F_OFD_GETLK, &wanted) != 0 || wanted.l_type != F_RDLCK) return {};
  return "another program" + (wanted.l_pid > 0 ? " (process " + std::to_string(wanted.l_pid) + ")" : std::string()) +
         " holds a read lock";
}

bool same_file(int fd, const std::string& path) noexcept {
  struct stat open_file{}, named_file{};
  return ::fstat(fd, &open_file) == 0 && ::stat(path.c_str(), &named_file) == 0 &&
         open_file.st_ino == named_file.st_ino && open_file.st_dev == named_file.st_dev;
}

}  // namespace

std::expected<WorldLock, WorldError> WorldLock::take(const std::string& path, const std::string& shown) {
  const std::string lock_path = path + "-lock";
  for (int attempt = 0;; ++attempt) {
    // Those who may read the world may see whether it is open.
    struct stat world{};
    const mode_t mode = ::stat(path.c_str(), &world) == 0 ? world.st_mode & 0666 : 0600;
    const int fd = open_file(lock_path.c_str(), O_RDWR | O_CREAT, mode);
    if (fd < 0)
      return std::unexpected(WorldError(errno == ENOSPC ? WorldErrorCode::disk_full : WorldErrorCode::denied, shown,
                                        "its lock file " + lock_path + " cannot be opened: " +
                                            (errno == ELOOP    ? "it is a symbolic link"
                                             : errno == EINVAL ? "it is not a regular file"
                                                               : std::strerror(errno))));
    WorldLock lock(fd, lock_path);
    struct flock whole{};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (::fcntl(fd, F_OFD_SETLK, &whole) != 0) {
      const int error = errno;
      const bool is_held = error == EAGAIN || error == EACCES;
      if (const std::string reader = is_held ? reader_of(fd, whole) : std::string(); !reader.empty()) {
        ::close(std::exchange(lock.fd_, -1));
        return std::unexpected(WorldError(WorldErrorCode::in_use, shown,
                                          reader + " of " + lock_path + ". End that program, or remove " + lock_path +
                                              " after making sure that nothing has the world open"));
      }
      const std::int64_t process = is_held ? holder(fd) : 0;
      ::close(std::exchange(lock.fd_, -1));
      if (error != EAGAIN && error != EACCES)
        return std::unexpected(
            WorldError(WorldErrorCode::io, shown, "cannot be locked: " + std::string(std::strerror(error))));
      return std::unexpected(WorldError(
          WorldErrorCode::in_use, shown,
          process != 0 ? "in use by process " + std::to_string(process) : std::string("in use by another process")));
    }
    // A previous owner may have removed the file after we opened it but before we locked it. In
    // that case, our lock has no effect.
    if (!same_file(fd, lock_path) && attempt < 100) {
      ::close(std::exchange(lock.fd_, -1));
      continue;
    }
    lock.read();
    lock.write(::getpid());
    return lock;
  }
}

std::expected<void, WorldError> WorldLock::hold(const std::string& path, const std::string& shown) {
  const auto fail = [&](WorldErrorCode code, const std::string& what) {
    return std::unexpected(WorldError(code, shown, what));
  };
  const auto failed = [&] {
    return fail(WorldErrorCode::io, "cannot be locked: " + std::string(std::strerror(errno)));
  };
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return failed();
  // SQLite would use a separate -wal for each name, so processes that use different names would not
  // see each other's writes.
  if (file.st_nlink > 1)
    return fail(WorldErrorCode::in_use, "the file has " + std::to_string(file.st_nlink) +
                                            " names (hard links), of which another may be in use; a world has one");
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  if (occupy_standard_descriptors() != 0) return failed();
  file_ = open_file(path.c_str(), O_RDWR);
  if (file_ < 0) return failed();
  struct flock byte{};
  byte.l_type = F_WRLCK;
  byte.l_whence = SEEK_SET;
  byte.l_start = locked_byte;
  byte.l_len = 1;
  if (::fcntl(file_, F_OFD_SETLK, &byte) == 0) return {};
  if (errno != EAGAIN && errno != EACCES) return failed();
  if (const std::string reader = reader_of(file_, byte); !reader.empty())
    return fail(WorldErrorCode::in_use, reader + " of the file. End that program");
  return fail(WorldErrorCode::in_use, "in use by another process under another path");
}

bool WorldLock::is_of(const std::string& path) const noexcept { return file_ >= 0 && same_file(file_, path); }

WorldLock::WorldLock(WorldLock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      file_(std::exchange(other.file_, -1)),
      lock_path_(std::move(other.lock_path_)),
      found_process_(other.found_process_),
      is_marked_(other.is_marked_),
      mark_(std::move(other.mark_)),
      remove_at_end_(other.remove_at_end_) {}

WorldLock::~WorldLock() {
  if (file_ >= 0) ::close(file_);
  if (fd_ < 0) return;
  if (remove_at_end_)
    ::unlink(lock_path_.c_str());
  else
    write(is_marked_ ? 0 : found_process_);
  ::close(fd_);
}

void WorldLock::set_mark(const std::string& world, std::uint64_t checkpoint, std::uint64_t group,
                         WalSalts wal) noexcept {
  if (!is_marked_ || !mark_.file) note_files();
  is_marked_ = true;
  mark_.world = world;
  mark_.checkpoint = checkpoint;
  mark_.group = group;
  mark_.wal = wal;
  write(::getpid());
}

void WorldLock::sync() const noexcept {
  // If the sync fails, the mark may be outdated after a power failure. The next process then
  // refuses the -wal, and the error explains how to continue.
  (void)::fdatasync(fd_);
}

void WorldLock::note_wal(WalSalts wal) noexcept {
  if (mark_.wal == wal) return;
  note_files();
  mark_.wal = wal;
  write(::getpid());
}

void WorldLock::note_files() noexcept {
  mark_.file = identity_of(file_);
  mark_.lock = identity_of(fd_);
}

void WorldLock::read() noexcept {
  if (auto content = read_content(fd_)) {
    mark_ = std::move(content->mark);
    found_process_ = content->process;
  }
}

void WorldLock::write(std::int64_t process) const noexcept {
  char text[512];
  const LockMark& mark = mark_;
  const int length =
      std::snprintf(text, sizeof text, layout, process, mark.world.size() == 32 ? mark.world.c_str() : no_world,
                    mark.checkpoint, mark.group, mark.file.device, mark.file.inode, mark.file.born_ns, mark.lock.device,
                    mark.lock.inode, mark.lock.born_ns, mark.wal.first, mark.wal.second);
  // If the mark cannot be written, the only consequence is that the check that uses the mark is not
  // performed. The text has a fixed length, so it completely overwrites the previous text.
  if (::pwrite(fd_, text, static_cast<std::size_t>(length), 0) != length) return;
}

}  // namespace muster

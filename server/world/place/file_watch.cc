#include "server/world/place/file_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "system/open_file.h"

namespace muster {
namespace {

std::string moved(const std::string& path) { return path + " was moved or deleted"; }
std::string replaced(const std::string& path) { return "another file was put in the place of " + path; }

}  // namespace

FileWatch::~FileWatch() {
  if (wal_descriptor_ >= 0) ::close(wal_descriptor_);
}

std::string FileWatch::begin() {
  file_ = stamp_of(descriptor_);
  const FileStamp there = stamp_of(path_);
  if (there.inode == 0) return moved(path_);
  // SQLite opened the path separately, so check that it opened the same file.
  if (!there.is_same_file(file_) || !has_open(file_, descriptor_)) return replaced(path_);
  if (std::string wrong = know_wal(); !wrong.empty()) return wrong;
  if (wal_descriptor_ >= 0) end_ = read_wal(wal_descriptor_).value_or(WalEnd{});
  return {};
}

std::string FileWatch::know_wal() {
  const std::string& path = wal_path_;
  const int descriptor = open_file(path.c_str(), O_RDONLY);
  if (descriptor < 0) return {};  // in other journal modes, there is no -wal until the first write
  wal_ = stamp_of(descriptor);
  if (!has_open(wal_, descriptor)) {
    ::close(descriptor);
    return replaced(path);
  }
  wal_descriptor_ = descriptor;
  shm_ = stamp_of(shm_path_);
  return {};
}

std::string FileWatch::gone_now(FileStamp& file, FileStamp& wal, std::string& hidden) const {
  const auto look = [&](const std::string& path, const FileStamp& there, const FileStamp& known) -> std::string {
    if (there.error != 0) {
      hidden = path + " cannot be looked at: " + std::strerror(there.error);
      return {};
    }
    if (there.inode == 0) return moved(path);
    return there.is_same_file(known) ? std::string() : replaced(path);
  };
  file = stamp_of(path_);
  if (std::string gone = look(path_, file, file_); !gone.empty()) return gone;
  if (given_ != path_) {
    const FileStamp there = stamp_behind(given_);
    if (there.error == 0 && !there.is_same_file(file_)) return given_ + " no longer leads to " + path_;
  }
  if (wal_descriptor_ < 0) return {};
  wal = stamp_of(wal_path_);
  if (std::string gone = look(wal_path_, wal, wal_); !gone.empty()) return gone;
  return shm_.inode == 0 ? std::string() : look(shm_path_, stamp_of(shm_path_), shm_);
}

FileWatch::Seen FileWatch::look(bool merging) const {
  FileStamp file, wal;
  Seen seen;
  seen.gone = gone_now(file, wal, seen.hidden);
  seen.file_differs = !merging && !file.is_unwritten_since(file_);
  seen.wal_differs = wal_descriptor_ >= 0 && !wal.is_unwritten_since(wal_);
  return seen;
}

std::string FileWatch::committed(std::uint64_t frames, bool& file_differs) {
  if (wal_descriptor_ < 0)
    if (std::string wrong = know_wal(); !wrong.empty()) return wrong;
  FileStamp file, wal;
  // Get the stamps before reading any content, so that the next check notices writes made after
  // this one.
  std::string hidden;
  if (std::string gone = gone_now(file, wal, hidden); !gone.empty()) return gone;
  // The file is temporarily inaccessible, but it was already checked before the commit began.
  if (!hidden.empty()) return {};
  if (wal_descriptor_ < 0) return moved(wal_path_);
  file_differs = !file.is_unwritten_since(file_);
  if (frames == 0) return {};  // nothing was written
  const auto end = new_end(frames);
  if (!end || wal.bytes < end->bytes()) return path_ + "-wal was cut off or written over";
  end_ = *end;
  wal_ = wal;
  return {};
}

std::optional<WalEnd> FileWatch::new_end(std::uint64_t frames) {
  if (end_.frames > 0 && frames >= end_.frames) {
    // Reread the last known frame. If the -wal was truncated in the meantime, it has a hole at that
    // position.
    WalEnd last = end_;
    --last.frames;
    last.checksum[0] = end_.before[0];
    last.checksum[1] = end_.before[1];
    if (read_wal_frames(wal_descriptor_, last, 1, buffer_))
      if (const auto end = read_wal_end(wal_descriptor_, end_, frames)) return end;
  }
  // This commit may have restarted the -wal.
  const auto header = read_wal_header(wal_descriptor_);
  if (!header || (end_.frames > 0 && !header->salts.follows(end_.salts))) return std::nullopt;
  return read_wal_end(wal_descriptor_, *header, frames);
}

bool FileWatch::wal_only_grew() {
  const FileStamp wal = stamp_of(wal_descriptor_);
  const auto end = read_wal(wal_descriptor_, &end_);
  if (!end || end->frames < end_.frames) return false;
  // Bytes after the end may come from a failed commit by the owner. They will be overwritten.
  wal_ = wal;
  return true;
}

void FileWatch::take_wal() {
  wal_ = stamp_of(wal_descriptor_);
  end_ = read_wal_header(wal_descriptor_).value_or(WalEnd{});
}

std::string wrong_length(const std::string& path, int descriptor) {
  unsigned char header[100];
  if (::pread(descriptor, header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) ||
      std::memcmp(header, "SQLite format 3", 16) != 0)
    return path + " was cut off or written over";
  const auto number = [&](std::size_t at) {
    return std::uint64_t{header[at]} << 24 | std::uint64_t{header[at + 1]} << 16 | std::uint64_t{header[at + 2]} << 8 |
           header[at + 3];
  };
  // The page count is valid only if it was written together with the change counter.
  const std::uint64_t page = std::uint64_t{header[16]} << 8 | header[17];
  const std::uint64_t bytes = number(24) == number(92) ? number(28) * (page == 1 ? 65536 : page) : 0;
  if (stamp_of(descriptor).bytes < bytes) return path + " was cut off";
  return {};
}

}  // namespace muster

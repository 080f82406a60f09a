// Both names of each function are defined here, so neither may stand for the other.
#undef _FILE_OFFSET_BITS
#include "tests/support/power_log.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>

#include "tests/support/folder.h"

namespace muster::test {
namespace {

std::atomic<PowerLog*> current = nullptr;

/// What statx says of files that a log knows or made, by the system's device and inode.
class Identities {
 public:
  std::uint64_t of(const struct stat& file) {
    const std::lock_guard lock(mutex_);
    const auto [at, fresh] = all_.try_emplace({file.st_dev, file.st_ino}, last_ + 1);
    last_ += fresh ? 1 : 0;
    return at->second;
  }
  std::uint64_t draw(const struct stat& file) {
    const std::lock_guard lock(mutex_);
    return all_[{file.st_dev, file.st_ino}] = ++last_;
  }
  void give(const std::string& path, std::uint64_t identity) {
    struct stat file{};
    const std::lock_guard lock(mutex_);
    if (::stat(path.c_str(), &file) == 0) all_[{file.st_dev, file.st_ino}] = identity;
  }
  void show(struct statx& file) {
    const std::lock_guard lock(mutex_);
    const auto at = all_.find({makedev(file.stx_dev_major, file.stx_dev_minor), file.stx_ino});
    if (at == all_.end()) return;
    file.stx_ino = at->second;
    file.stx_btime = {.tv_sec = static_cast<std::int64_t>(at->second), .tv_nsec = 0, .__reserved = 0};
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<dev_t, ino_t>, std::uint64_t> all_;
  std::uint64_t last_ = 1'000'000'000;
};
Identities identities;

void write_at(std::string& to, std::int64_t offset, std::string_view bytes) {
  const std::size_t begin = static_cast<std::size_t>(offset), end = begin + bytes.size();
  if (to.size() < end) to.resize(end);
  to.replace(begin, bytes.size(), bytes);
}

void put_into(std::string& to, const PowerLog::Event& event) {
  const auto size = static_cast<std::size_t>(event.at);
  if (event.kind == PowerLog::Kind::write) write_at(to, event.at, event.bytes);
  if (event.kind == PowerLog::Kind::size) to.resize(size);
  if (event.kind == PowerLog::Kind::grow) to.resize(std::max(to.size(), size));
}

bool changes_a_file(const PowerLog::Event& event) {
  return event.kind == PowerLog::Kind::write || event.kind == PowerLog::Kind::size ||
         event.kind == PowerLog::Kind::grow;
}

/// What a disk does with what it was not asked to sync.
enum class Way { loses, keeps, keeps_the_first, keeps_some, tears };

Way draw_way(std::mt19937_64& random) { return static_cast<Way>(random() % 5); }

/// Applies what is left of unsynced events to one file.
class Leftovers {
 public:
  Leftovers(std::mt19937_64& random, Way way, std::size_t sector, std::size_t first_lost, unsigned tenths)
      : random_(random), way_(way), sector_(sector), first_lost_(first_lost), tenths_(tenths) {}

  void take(std::string& to, const PowerLog::Event& event, std::size_t number) {
    switch (way_) {
      case Way::loses: return;
      case Way::keeps: return put_into(to, event);
      case Way::keeps_the_first:
        if (number < first_lost_) put_into(to, event);
        if (number == first_lost_) tear(to, event, true);
        return;
      case Way::keeps_some:
        if (is_lucky()) put_into(to, event);
        return;
      case Way::tears: return tear(to, event, false);
    }
  }

 private:
  bool is_lucky() { return random_() % 10 < tenths_; }
  /// Sector by sector, as they lie on the disk.
  void tear(std::string& to, const PowerLog::Event& event, bool in_order) {
    if (event.kind != PowerLog::Kind::write) {
      if (is_lucky()) put_into(to, event);
      return;
    }
    for (std::size_t done = 0; done < event.bytes.size();) {
      const std::size_t at = static_cast<std::size_t>(event.at) + done;
      const std::size_t length = std::min(sector_ - at % sector_, event.bytes.size() - done);
      const bool lucky = is_lucky();
      if (lucky) write_at(to, static_cast<std::int64_t>(at), std::string_view(event.bytes).substr(done, length));
      if (!lucky && in_order) return;
      done += length;
    }
    // A disk may know the file's new length, and have nothing there.
    if (is_lucky()) to.resize(std::max(to.size(), static_cast<std::size_t>(event.at) + event.bytes.size()));
  }

  std::mt19937_64& random_;
  const Way way_;
  const std::size_t sector_, first_lost_;
  const unsigned tenths_;
};

void rename_in(std::map<std::string, std::size_t>& names, const PowerLog::Event& event) {
  if (!event.taken_away.empty()) names.erase(event.taken_away);
  if (!event.name.empty()) names[event.name] = event.file;
}

}  // namespace

PowerLog::PowerLog(std::string folder, Options options) : folder_(std::move(folder)), options_(options) {
  begin();
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    struct stat file{};
    if (::stat(entry.path().c_str(), &file) != 0) throw std::runtime_error("no file: " + entry.path().string());
    const auto [at, fresh] = by_inode_.try_emplace(file.st_ino, files_.size());
    const std::string name = entry.path().filename().string();
    if (fresh) files_.push_back({name, read_file(entry.path()), identities.of(file)});
    names_before_[name] = at->second;
  }
  current = this;
}

PowerLog::PowerLog(const PowerLog& before, std::size_t events, std::string folder, Options options)
    : folder_(std::move(folder)),
      options_(options),
      events_(before.events_.begin(), before.events_.begin() + static_cast<std::ptrdiff_t>(events)),
      files_(before.files_),
      names_before_(before.names_before_) {
  begin();
  for (const auto& [name, file] : names_behind(events)) {
    struct stat found{};
    if (::stat((folder_ + "/" + name).c_str(), &found) != 0) throw std::runtime_error("no file: " + name);
    by_inode_[found.st_ino] = file;
  }
  current = this;
}

void PowerLog::begin() {
  struct stat here{};
  if (::stat(folder_.c_str(), &here) != 0) throw std::runtime_error("no folder: " + folder_);
  device_ = here.st_dev;
  if (current.load() != nullptr) throw std::logic_error("one power log at a time");
}

PowerLog::~PowerLog() { end(); }

void PowerLog::end() noexcept {
  PowerLog* self = this;
  current.compare_exchange_strong(self, nullptr);
}

bool PowerLog::is_here(std::string_view path) const noexcept {
  return path.size() > folder_.size() + 1 && path.starts_with(folder_) && path[folder_.size()] == '/';
}

bool PowerLog::find(int fd, std::size_t& file) const {
  struct stat found{};
  if (::fstat(fd, &found) != 0 || !S_ISREG(found.st_mode) || found.st_dev != device_) return false;
  const auto at = by_inode_.find(found.st_ino);
  if (at == by_inode_.end()) return false;
  file = at->second;
  return true;
}

bool PowerLog::is_folder(int fd) const {
  struct stat open_one{}, named_one{};
  return ::fstat(fd, &open_one) == 0 && S_ISDIR(open_one.st_mode) && ::stat(folder_.c_str(), &named_one) == 0 &&
         open_one.st_ino == named_one.st_ino && open_one.st_dev == named_one.st_dev;
}

void PowerLog::opened(int fd, std::string_view path, bool is_new, bool is_cut) {
  struct stat found{};
  if (::fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) return;
  if (is_new) {
    by_inode_[found.st_ino] = files_.size();
    files_.push_back({name_of(path), {}, identities.draw(found)});
    add({.kind = Kind::name, .file = files_.size() - 1, .name = name_of(path)});
  } else if (is_cut) {
    if (std::size_t file = 0; find(fd, file)) add({.kind = Kind::size, .file = file});
  }
}

void PowerLog::add(Event event) {
  look_at_mappings();
  events_.push_back(std::move(event));
}

void PowerLog::mapped(const void* at, std::size_t length, std::size_t file) {
  // Nothing in an index of a -wal outlives the processes that have it open.
  if (files_[file].first_name.ends_with("-shm")) return;
  mappings_.push_back({static_cast<const volatile unsigned char*>(at), length, file, {}});
  std::string& seen = mappings_.back().seen;
  for (std::size_t i = 0; i < length; ++i) seen += static_cast<char>(mappings_.back().at[i]);
}

void PowerLog::unmapped(const void* at) {
  look_at_mappings();
  std::erase_if(mappings_, [&](const Mapping& each) { return each.at == at; });
}

void PowerLog::look_at_mappings() {
  constexpr std::size_t part = 512;
  for (Mapping& each : mappings_)
    for (std::size_t begin = 0; begin < each.length; begin += part) {
      std::string now;
      for (std::size_t i = begin; i < std::min(begin + part, each.length); ++i) now += static_cast<char>(each.at[i]);
      if (each.seen.compare(begin, now.size(), now) == 0) continue;
      each.seen.replace(begin, now.size(), now);
      events_.push_back(
          {.kind = Kind::write, .file = each.file, .at = static_cast<std::int64_t>(begin), .bytes = std::move(now)});
    }
}

int PowerLog::sync(int fd) {
  std::size_t file = 0, began = 0;
  bool directory = false;
  {
    const std::lock_guard lock(mutex);
    directory = is_folder(fd);
    if (!directory && !find(fd, file)) return static_cast<int>(::syscall(SYS_fsync, fd));
    add({.kind = directory ? Kind::directory_sync : Kind::sync, .file = file});
    began = events_.size() - 1;
  }
  if (options_.slow_syncs) std::this_thread::sleep_for(std::chrono::microseconds(began * 7919 % 200));
  const std::lock_guard lock(mutex);
  if (directory ? options_.directory_syncs : options_.file_syncs)
    add({.kind = directory ? Kind::directory_synced : Kind::synced,
         .file = file,
         .at = static_cast<std::int64_t>(began)});
  return 0;
}

std::size_t PowerLog::events() {
  const std::lock_guard lock(mutex);
  look_at_mappings();
  return events_.size();
}

std::vector<std::size_t> PowerLog::turning_points() {
  const std::lock_guard lock(mutex);
  std::vector<std::size_t> points;
  for (std::size_t i = 0; i < events_.size(); ++i)
    if (!changes_a_file(events_[i])) points.push_back(i + 1);
  return points;
}

void PowerLog::cut(std::size_t count, std::uint64_t seed, const std::string& to) {
  const std::lock_guard lock(mutex);
  std::mt19937_64 random(seed);
  std::vector<std::size_t> synced(files_.size(), 0);
  std::size_t directory_synced = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Event& event = events_[i];
    const auto through = static_cast<std::size_t>(event.at);
    if (event.kind == Kind::synced) synced[event.file] = std::max(synced[event.file], through);
    if (event.kind == Kind::directory_synced) directory_synced = std::max(directory_synced, through);
  }

  // Names: a disk keeps them in their order, or does not.
  std::map<std::string, std::size_t> names = names_before_;
  const Way names_way = draw_way(random);
  const std::size_t names_lost = directory_synced + random() % (count - directory_synced + 1);
  for (std::size_t i = 0; i < count; ++i) {
    if (events_[i].kind != Kind::name) continue;
    const bool kept = i < directory_synced || names_way == Way::keeps ||
                      (names_way == Way::keeps_the_first && i < names_lost) ||
                      (names_way >= Way::keeps_some && random() % 2 == 0);
    if (kept) rename_in(names, events_[i]);
  }

  // Contents: all files in one way, or each in its own.
  const bool each_its_own = random() % 2 == 0;
  const Way way = draw_way(random);
  const std::size_t sector = random() % 2 == 0 ? 512 : 4096;
  const std::size_t first_lost = random() % (count + 1);
  const auto tenths = static_cast<unsigned>(random() % 9 + 1);
  std::map<std::size_t, std::string> contents;
  for (std::size_t file = 0; file < files_.size(); ++file) {
    std::string& content = contents[file] = files_[file].before;
    Leftovers left(random, each_its_own ? draw_way(random) : way, sector,
                   each_its_own ? random() % (count + 1) : first_lost, tenths);
    for (std::size_t i = 0; i < count; ++i) {
      if (events_[i].file != file || !changes_a_file(events_[i])) continue;
      if (i < synced[file])
        put_into(content, events_[i]);
      else
        left.take(content, events_[i], i);
    }
  }
  put(names, contents, random, to);
}

std::map<std::string, std::size_t> PowerLog::names_behind(std::size_t events) const {
  std::map<std::string, std::size_t> names = names_before_;
  for (std::size_t i = 0; i < events; ++i)
    if (events_[i].kind == Kind::name) rename_in(names, events_[i]);
  return names;
}

void PowerLog::copy(std::size_t events, const std::string& to) {
  const std::lock_guard lock(mutex);
  std::mt19937_64 random(1);
  std::map<std::size_t, std::string> contents;
  for (std::size_t file = 0; file < files_.size(); ++file) contents[file] = files_[file].before;
  for (std::size_t i = 0; i < events; ++i)
    if (changes_a_file(events_[i])) put_into(contents[events_[i].file], events_[i]);
  put(names_behind(events), contents, random, to);
}

void PowerLog::put(const std::map<std::string, std::size_t>& names, const std::map<std::size_t, std::string>& contents,
                   std::mt19937_64& random, const std::string& to) const {
  std::map<std::size_t, std::string> written;  // a file of two names is one file
  for (const auto& [name, file] : names) {
    const std::string path = to + "/" + name;
    if (const auto at = written.find(file); at != written.end()) {
      std::filesystem::create_hard_link(at->second, path);
      continue;
    }
    std::string content = contents.at(file);
    if (name.ends_with("-shm"))
      for (char& c : content) c = static_cast<char>(random());
    write_file(path, content);
    identities.give(path, files_[file].identity);
    written[file] = path;
  }
}

std::string PowerLog::text(std::size_t events, std::size_t lines) {
  static constexpr const char* kinds[] = {"write",  "size", "grow",           "sync",
                                          "synced", "name", "directory sync", "directory synced"};
  const std::lock_guard lock(mutex);
  std::string all;
  for (std::size_t i = events - std::min(events, lines); i < events; ++i) {
    const Event& event = events_[i];
    all += std::to_string(i) + " " + kinds[static_cast<int>(event.kind)];
    if (event.kind < Kind::name) all += " " + std::to_string(event.file) + "=" + files_[event.file].first_name;
    if (event.kind != Kind::name) all += " at " + std::to_string(event.at);
    if (event.kind == Kind::write) all += ", " + std::to_string(event.bytes.size()) + " bytes";
    if (event.kind == Kind::name) all += " +" + event.name + "=" + std::to_string(event.file) + " -" + event.taken_away;
    all += "\n";
  }
  return all;
}

}  // namespace muster::test

using muster::test::current;
using muster::test::identities;
using muster::test::PowerLog;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): in the place of the system's
extern "C" {

static int open_here(const char* path, int flags, mode_t mode) {
  const auto open_it = [&] { return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode)); };
  PowerLog* const log = current;
  if (log == nullptr || !log->is_here(path)) return open_it();
  const std::lock_guard lock(log->mutex);
  struct stat found{};
  const bool is_new = ::lstat(path, &found) != 0;
  const int fd = open_it();
  if (fd >= 0) log->opened(fd, path, is_new, (flags & O_TRUNC) != 0);
  return fd;
}
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) ? va_arg(more, mode_t) : 0;
  va_end(more);
  return open_here(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) ? va_arg(more, mode_t) : 0;
  va_end(more);
  return open_here(path, flags, mode);
}

int statx(int folder, const char* path, int flags, unsigned mask, struct statx* found) noexcept {
  const auto done = static_cast<int>(::syscall(SYS_statx, folder, path, flags, mask, found));
  if (done == 0) identities.show(*found);
  return done;
}

static ssize_t write_here(int fd, const void* from, std::size_t bytes, off_t offset, bool moves) {
  const auto write_it = [&] {
    return moves ? ::syscall(SYS_write, fd, from, bytes) : ::syscall(SYS_pwrite64, fd, from, bytes, offset);
  };
  PowerLog* const log = current;
  if (log == nullptr) return write_it();
  const std::lock_guard lock(log->mutex);
  std::size_t file = 0;
  if (!log->find(fd, file)) return write_it();
  if (moves) offset = ::lseek(fd, 0, SEEK_CUR);
  const ssize_t done = write_it();
  if (done > 0)
    log->add({.kind = PowerLog::Kind::write,
              .file = file,
              .at = offset,
              .bytes = std::string(static_cast<const char*>(from), static_cast<std::size_t>(done))});
  return done;
}
ssize_t write(int fd, const void* from, std::size_t bytes) { return write_here(fd, from, bytes, 0, true); }
ssize_t pwrite(int fd, const void* from, std::size_t bytes, off_t at) { return write_here(fd, from, bytes, at, false); }
ssize_t pwrite64(int fd, const void* from, std::size_t bytes, off_t at) {
  return write_here(fd, from, bytes, at, false);
}

static int resize_here(int fd, off_t size) {
  const auto resize_it = [&] { return static_cast<int>(::syscall(SYS_ftruncate, fd, size)); };
  PowerLog* const log = current;
  if (log == nullptr) return resize_it();
  const std::lock_guard lock(log->mutex);
  std::size_t file = 0;
  const int done = resize_it();
  if (done == 0 && log->find(fd, file)) log->add({.kind = PowerLog::Kind::size, .file = file, .at = size});
  return done;
}
int ftruncate(int fd, off_t size) noexcept { return resize_here(fd, size); }
int ftruncate64(int fd, off_t size) noexcept { return resize_here(fd, size); }

int posix_fallocate(int fd, off_t begin, off_t length) {
  PowerLog* const log = current;
  std::optional<std::lock_guard<std::recursive_mutex>> lock;
  if (log != nullptr) lock.emplace(log->mutex);
  if (::syscall(SYS_fallocate, fd, 0, begin, length) != 0) return errno;
  std::size_t file = 0;
  if (log != nullptr && log->find(fd, file))
    log->add({.kind = PowerLog::Kind::grow, .file = file, .at = begin + length});
  return 0;
}

int fsync(int fd) {
  PowerLog* const log = current;
  return log != nullptr ? log->sync(fd) : static_cast<int>(::syscall(SYS_fsync, fd));
}
int fdatasync(int fd) {
  PowerLog* const log = current;
  return log != nullptr ? log->sync(fd) : static_cast<int>(::syscall(SYS_fdatasync, fd));
}

int unlink(const char* path) noexcept {
  const auto unlink_it = [&] { return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0)); };
  PowerLog* const log = current;
  if (log == nullptr || !log->is_here(path)) return unlink_it();
  const std::lock_guard lock(log->mutex);
  const int done = unlink_it();
  if (done == 0) log->add({.kind = PowerLog::Kind::name, .taken_away = log->name_of(path)});
  return done;
}

/// `renames`: the old name goes.
static int name_here(const char* from, const char* to, bool renames) {
  PowerLog* const log = current;
  std::optional<std::lock_guard<std::recursive_mutex>> lock;
  std::size_t file = 0;
  bool noted = false;
  if (log != nullptr && log->is_here(from) && log->is_here(to)) {
    lock.emplace(log->mutex);
    const int fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, from, O_RDONLY | O_CLOEXEC, 0));
    noted = fd >= 0 && log->find(fd, file);
    if (fd >= 0) ::syscall(SYS_close, fd);
  }
  const auto done = static_cast<int>(renames ? ::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0)
                                             : ::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
  if (done == 0 && noted)
    log->add({.kind = PowerLog::Kind::name,
              .file = file,
              .name = log->name_of(to),
              .taken_away = renames ? log->name_of(from) : std::string()});
  return done;
}
int rename(const char* from, const char* to) noexcept { return name_here(from, to, true); }
int link(const char* from, const char* to) noexcept { return name_here(from, to, false); }

static void* map_here(void* where, std::size_t length, int protection, int flags, int fd, off_t offset) {
  PowerLog* const log = current;
  void* const at =
      reinterpret_cast<void*>(::syscall(SYS_mmap, where, length, protection, flags, fd, offset));  // NOLINT
  if (log == nullptr || at == MAP_FAILED || fd < 0 || !(protection & PROT_WRITE) || !(flags & MAP_SHARED)) return at;
  const std::lock_guard lock(log->mutex);
  if (std::size_t file = 0; offset == 0 && log->find(fd, file)) log->mapped(at, length, file);
  return at;
}
void* mmap(void* where, std::size_t length, int protection, int flags, int fd, off_t offset) noexcept {
  return map_here(where, length, protection, flags, fd, offset);
}
void* mmap64(void* where, std::size_t length, int protection, int flags, int fd, off_t offset) noexcept {
  return map_here(where, length, protection, flags, fd, offset);
}
int munmap(void* at, std::size_t length) noexcept {
  if (PowerLog* const log = current) {
    const std::lock_guard lock(log->mutex);
    log->unmapped(at);
  }
  return static_cast<int>(::syscall(SYS_munmap, at, length));
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)

#include "tests/support/faulty_disk.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>

namespace muster::test {

struct FaultyDisk::Vfs : sqlite3_vfs {
  sqlite3_vfs* base = nullptr;
  FaultyDisk* disk = nullptr;
};

namespace {

struct File : sqlite3_file {
  FaultyDisk* disk;
  FaultyDisk::Content* content;  // null where nothing is remembered
  sqlite3_file* base() noexcept { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

File* file(sqlite3_file* f) noexcept { return static_cast<File*>(f); }
sqlite3_file* base(sqlite3_file* f) noexcept { return file(f)->base(); }

int write(sqlite3_file* f, const void* data, int bytes, sqlite3_int64 offset) {
  File* self = file(f);
  const std::lock_guard lock(self->disk->mutex);
  if (!self->disk->allow()) return SQLITE_IOERR_WRITE;
  sqlite3_int64 size = 0;
  if (const int bad = base(f)->pMethods->xFileSize(base(f), &size); bad != SQLITE_OK) return bad;
  if (!self->disk->grow(std::max<sqlite3_int64>(0, offset + bytes - size))) return SQLITE_FULL;
  if (self->content != nullptr) {
    const auto* from = static_cast<const std::byte*>(data);
    self->content->unsynced.push_back({offset, std::vector<std::byte>(from, from + bytes)});
  }
  return base(f)->pMethods->xWrite(base(f), data, bytes, offset);
}

int truncate(sqlite3_file* f, sqlite3_int64 size) {
  File* self = file(f);
  const std::lock_guard lock(self->disk->mutex);
  if (!self->disk->allow()) return SQLITE_IOERR_TRUNCATE;
  if (self->content != nullptr) self->content->unsynced.push_back({size, {}, true});
  return base(f)->pMethods->xTruncate(base(f), size);
}

std::vector<std::byte> read_whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto* from = reinterpret_cast<const std::byte*>(text.data());
  return {from, from + text.size()};
}

void apply(std::vector<std::byte>& to, std::int64_t offset, const std::byte* bytes, std::size_t length) {
  const auto end = static_cast<std::size_t>(offset) + length;
  if (to.size() < end) to.resize(end);
  std::copy_n(bytes, length, to.begin() + offset);
}

void put_back(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (path.size() > 4 && path.ends_with("-wal")) ::unlink((path.substr(0, path.size() - 4) + "-shm").c_str());
}

int sync(sqlite3_file* f, int flags) {
  File* self = file(f);
  if (!self->disk->allow_sync()) return SQLITE_IOERR_FSYNC;
  if (self->disk->before_sync) self->disk->before_sync();
  const std::lock_guard lock(self->disk->mutex);
  if (self->content != nullptr) {
    auto& [durable, unsynced] = *self->content;
    for (const FaultyDisk::Write& one : unsynced)
      if (one.truncation)
        durable.resize(std::min(durable.size(), static_cast<std::size_t>(one.offset)));
      else
        apply(durable, one.offset, one.bytes.data(), one.bytes.size());
    unsynced.clear();
  }
  // Nothing is asked of the real disk: these tests cut no real power.
  (void)flags;
  return SQLITE_OK;
}

int close(sqlite3_file* f) { return base(f)->pMethods->xClose(base(f)); }
int read(sqlite3_file* f, void* to, int n, sqlite3_int64 at) { return base(f)->pMethods->xRead(base(f), to, n, at); }
int size(sqlite3_file* f, sqlite3_int64* out) { return base(f)->pMethods->xFileSize(base(f), out); }
int lock(sqlite3_file* f, int level) { return base(f)->pMethods->xLock(base(f), level); }
int unlock(sqlite3_file* f, int level) { return base(f)->pMethods->xUnlock(base(f), level); }
int reserved(sqlite3_file* f, int* out) { return base(f)->pMethods->xCheckReservedLock(base(f), out); }
int control(sqlite3_file* f, int op, void* arg) { return base(f)->pMethods->xFileControl(base(f), op, arg); }
int sector(sqlite3_file* f) { return base(f)->pMethods->xSectorSize(base(f)); }
int character(sqlite3_file*) { return 0; }  // promises nothing: neither atomic writes nor powersafe overwrite
int shm_map(sqlite3_file* f, int page, int bytes, int extend, void volatile** out) {
  return base(f)->pMethods->xShmMap(base(f), page, bytes, extend, out);
}
int shm_lock(sqlite3_file* f, int offset, int n, int flags) {
  return base(f)->pMethods->xShmLock(base(f), offset, n, flags);
}
void shm_barrier(sqlite3_file* f) { base(f)->pMethods->xShmBarrier(base(f)); }
int shm_unmap(sqlite3_file* f, int remove) { return base(f)->pMethods->xShmUnmap(base(f), remove); }

const sqlite3_io_methods methods = {2,        close,       read,      write,   truncate, sync,      size,
                                    lock,     unlock,      reserved,  control, sector,   character, shm_map,
                                    shm_lock, shm_barrier, shm_unmap, nullptr, nullptr};

}  // namespace

FaultyDisk::FaultyDisk(std::string name) : name_(std::move(name)), vfs_(std::make_unique<Vfs>()) {
  sqlite3_vfs* system = sqlite3_vfs_find(nullptr);
  static_cast<sqlite3_vfs&>(*vfs_) = *system;
  vfs_->base = system;
  vfs_->disk = this;
  vfs_->zName = name_.c_str();
  vfs_->pNext = nullptr;
  vfs_->szOsFile = static_cast<int>(sizeof(File)) + system->szOsFile;
  vfs_->xOpen = [](sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* f, int flags, int* out) {
    auto* self = static_cast<Vfs*>(vfs);
    f->pMethods = nullptr;
    File* opened = file(f);
    opened->disk = self->disk;
    opened->content = nullptr;
    opened->base()->pMethods = nullptr;
    const int result = self->base->xOpen(self->base, path, opened->base(), flags, out);
    if (result != SQLITE_OK) return result;
    if (self->disk->remember && path != nullptr) {
      const std::lock_guard lock(self->disk->mutex);
      const auto [at, fresh] = self->disk->files.try_emplace(path);
      if (fresh) at->second.durable = read_whole(path);
      opened->content = &at->second;
    }
    f->pMethods = &methods;
    return SQLITE_OK;
  };
  vfs_->xDelete = [](sqlite3_vfs* vfs, const char* path, int sync_directory) {
    auto* self = static_cast<Vfs*>(vfs);
    const std::lock_guard lock(self->disk->mutex);
    if (!self->disk->allow()) return SQLITE_IOERR_DELETE;
    self->disk->files.erase(path);
    return self->base->xDelete(self->base, path, sync_directory);
  };
  sqlite3_vfs_register(vfs_.get(), 0);
}

FaultyDisk::~FaultyDisk() { sqlite3_vfs_unregister(vfs_.get()); }

bool FaultyDisk::allow() noexcept {
  ++operations;
  for (std::int64_t left = operations_left; left >= 0;) {
    if (left == 0) {
      ++refusals;
      return false;
    }
    if (operations_left.compare_exchange_weak(left, left - 1)) break;
  }
  return true;
}

bool FaultyDisk::grow(std::int64_t bytes) noexcept {
  if (free_bytes < 0 || bytes == 0) return true;
  if (bytes > free_bytes) {
    ++refusals;
    return false;
  }
  free_bytes -= bytes;
  return true;
}

void FaultyDisk::cut_power(std::mt19937_64& random) {
  constexpr std::size_t sector_bytes = 512;
  for (auto& [path, content] : files) {
    std::vector<std::byte> left = content.durable;
    // Three ways for a disk to lose: nothing unsynced is there, a prefix is, or any sectors in any order are.
    const auto way = random() % 3;
    const std::size_t prefix = content.unsynced.empty() ? 0 : random() % (content.unsynced.size() + 1);
    for (std::size_t i = 0; i < content.unsynced.size(); ++i) {
      const Write& one = content.unsynced[i];
      if (way == 0 || (way == 1 && i >= prefix)) break;
      if (one.truncation) {
        if (way == 1 || random() % 2) left.resize(std::min(left.size(), static_cast<std::size_t>(one.offset)));
        continue;
      }
      for (std::size_t at = 0; at < one.bytes.size(); at += sector_bytes)
        if (way == 1 || random() % 2)
          apply(left, one.offset + static_cast<std::int64_t>(at), one.bytes.data() + at,
                std::min(sector_bytes, one.bytes.size() - at));
    }
    put_back(path, left);
  }
  files.clear();
  operations_left = -1;
}

void FaultyDisk::cut_power(const std::function<bool(std::size_t number, std::size_t of)>& survives) {
  for (auto& [path, content] : files) {
    std::vector<std::byte> left = content.durable;
    for (std::size_t i = 0; i < content.unsynced.size(); ++i) {
      const Write& one = content.unsynced[i];
      if (!survives(i, content.unsynced.size())) continue;
      if (one.truncation)
        left.resize(std::min(left.size(), static_cast<std::size_t>(one.offset)));
      else
        apply(left, one.offset, one.bytes.data(), one.bytes.size());
    }
    put_back(path, left);
  }
  files.clear();
  operations_left = -1;
}

}  // namespace muster::test

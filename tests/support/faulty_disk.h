// A disk that fails on command: an SQLite VFS over the system's own, for tests of what a full disk, a failing one or a
// power cut leaves of a world file.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace muster::test {

/// Registered under `name` while it lives. One at a time is driven by one thread, but for its operations, which any may ask for.
class FaultyDisk {
 public:
  explicit FaultyDisk(std::string name);
  ~FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;
  const std::string& name() const noexcept { return name_; }

  /// Files may grow by this many bytes together; after that every growing write is "disk full". Negative: no limit.
  /// Any thread sets it.
  std::atomic<std::int64_t> free_bytes = -1;
  /// Counts down with every write, sync and truncation; at 0 that one and all later ones fail. Negative: never.
  /// Any thread sets it.
  std::atomic<std::int64_t> operations_left = -1;
  std::atomic<bool> syncs_fail = false;       ///< every sync does, and nothing else
  std::atomic<std::uint64_t> operations = 0;  ///< writes, syncs and truncations so far
  std::atomic<std::uint64_t> refusals = 0;    ///< operations that were made to fail
  /// Called before each sync that does not fail, by the thread that syncs, which it holds up: a slow disk. May be null; set before files
  /// are opened.
  std::function<void()> before_sync = {};

  /// The power goes: of what was written to each file since its last sync a random part survives, by sectors of 512
  /// bytes. All connections over this disk must be closed (after operations_left reached 0, so that they wrote nothing).
  void cut_power(std::mt19937_64& random);
  /// The same, and of the writes since then those survive, whole, of which `survives` says so: of the one with this number, from 0, of so many.
  void cut_power(const std::function<bool(std::size_t number, std::size_t of)>& survives);

  struct Write {
    std::int64_t offset;
    std::vector<std::byte> bytes;  // empty: truncation to `offset`
    bool truncation = false;
  };
  struct Content {
    std::vector<std::byte> durable;
    std::vector<Write> unsynced;
  };
  /// For the VFS functions.
  bool allow() noexcept;
  bool grow(std::int64_t bytes) noexcept;
  bool allow_sync() noexcept { return allow() && !syncs_fail; }
  std::mutex mutex;  ///< of what follows, and of what the files themselves hold
  std::map<std::string, Content> files;
  bool remember = false;  ///< keep contents for cut_power; set before files are opened

 private:
  std::string name_;
  struct Vfs;
  std::unique_ptr<Vfs> vfs_;
};

}  // namespace muster::test

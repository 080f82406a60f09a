// Logs results that differ, and writes a slice of their inputs next to the world, as
// WORLD-differs.slice.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "registry/moments/synctest.h"
#include "server/world/replay/replay.h"

namespace muster {

/// Returns the path of the slice: WORLD-differs.slice.
std::string differing_slice(const std::string& world);
/// Writes a slice of a world that may be open to the new file differing_slice(), which only its
/// owner may read, and logs that. It contains the inputs from `before` on, or those after the
/// newest save if `before` is 0, and the hashes in the file `hashes`, if that is not empty. Returns
/// false if inputs up to `through` are not in the file yet, which is not logged. An existing file
/// is never replaced. The log says that a replay showed the difference only if `is_replayed` is
/// true.
bool write_differing_slice(const std::string& world, const std::string& hashes, std::uint64_t before,
                           std::uint64_t through, bool is_replayed);

/// Logs differences of a running world, each value of each handler once, and writes a slice for the
/// first one. note() is called on the world thread; another thread writes.
class Differences {
 public:
  /// `hashes` is the file of a TickHashLog, or empty.
  Differences(std::string world, std::string hashes) : world_(std::move(world)), hashes_(std::move(hashes)) {}
  ~Differences() { finish(); }
  Differences(const Differences&) = delete;
  Differences& operator=(const Differences&) = delete;

  void note(const SyncDifference& found, std::uint64_t tick);
  bool any() const noexcept { return !seen_.empty(); }
  /// Writes the slice if that has not been done yet. Called when the world was saved for the last
  /// time.
  void finish();

 private:
  void write_soon(std::uint64_t before, std::uint64_t through);

  const std::string world_, hashes_;
  std::set<std::string> seen_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;  // writes the slice
};

/// Does the inputs in the journal of a world file again before the world is opened, as its recovery
/// will, and compares the results: with each other if `options.check` is true, and with the hashes
/// in the file `hashes`, if there is one. Logs what differs, and writes a slice. Returns true if
/// something differs. If the file cannot be read, that is left to the opening of the world. Does
/// nothing if a process died while it handled an input.
bool check_recovery(const std::string& world, const ReplayInstall& install, ReplayOptions options,
                    const std::string& hashes);

}  // namespace muster

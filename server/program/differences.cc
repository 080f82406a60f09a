#include "server/program/differences.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/world/replay/slice_copy.h"
#include "system/open_file.h"
#include "system/real_path.h"

namespace muster {
namespace {

constexpr std::uint64_t differing_bytes_max = std::uint64_t{256} << 20;

/// Returns true if the last process that had the world died while it handled an input, or if an
/// earlier one did. WORLD-work says so (server/world/journal/work_mark.h): its values at 48 and 120
/// are the numbers of these inputs.
bool died_at_an_input(const std::string& world) {
  const int file = open_file((real_path(world) + "-work").c_str(), O_RDONLY);
  if (file < 0) return false;
  std::uint64_t in_work = 0, suspect = 0;
  const bool died = (::pread(file, &in_work, sizeof in_work, 48) == sizeof in_work && in_work != 0) ||
                    (::pread(file, &suspect, sizeof suspect, 120) == sizeof suspect && suspect != 0);
  ::close(file);
  return died;
}

}  // namespace

std::string differing_slice(const std::string& world) { return world + "-differs.slice"; }

bool write_differing_slice(const std::string& world, const std::string& hashes, std::uint64_t before,
                           std::uint64_t through, bool is_replayed) {
  const std::string path = differing_slice(world);
  auto slice = slice_of_copy(world, {.before = before, .bytes_max = differing_bytes_max});
  if (!slice) {
    spdlog::warn("no slice of these inputs is written: {}", slice.error().what());
    return true;
  }
  if (slice->last_sequence() < through) return false;
  if (before != 0 && slice->sequence >= before) {
    spdlog::warn(
        "{}: no slice of these inputs is written, because a save contains them already; start with "
        "--autosave 0",
        world);
    return true;
  }
  if (!hashes.empty()) (void)add_hashes(*slice, hashes);
  const auto written = write_slice(path, *slice);
  if (written)
    spdlog::warn("the new file {} has these inputs{}: muster replay {} --check", path,
                 is_replayed ? ", of which a replay showed the difference" : "; whether they show it again says", path);
  else
    spdlog::warn("no slice of these inputs is written: {}", written.error().what());
  return true;
}

void Differences::note(const SyncDifference& found, std::uint64_t tick) {
  const std::string value = found.handler + ' ' + found.message + ' ' + found.component + ' ' + found.field;
  constexpr std::size_t logged_max = 100;
  const bool is_first = seen_.empty();
  if (seen_.size() >= logged_max || !seen_.insert(value).second) return;
  spdlog::error("{}: tick {}: {}", world_, tick, found.text());
  if (is_first) write_soon(found.first_sequence, found.last_sequence);
}

void Differences::write_soon(std::uint64_t before, std::uint64_t through) {
  thread_ = std::thread([this, before, through] {
    // The inputs are on disk soon, and at the latest with the last save. Each attempt reads the
    // whole file.
    constexpr std::chrono::seconds pause_max(60);
    for (std::chrono::milliseconds pause(500);; pause = std::min<std::chrono::milliseconds>(2 * pause, pause_max)) {
      bool is_last = false;
      {
        std::unique_lock lock(mutex_);
        is_last = changed_.wait_for(lock, pause, [&] { return ends_; });
      }
      if (write_differing_slice(world_, hashes_, before, through, false) || is_last) return;
    }
  });
}

void Differences::finish() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

bool check_recovery(const std::string& world, const ReplayInstall& install, ReplayOptions options,
                    const std::string& hashes) {
  // Such an input would end this process, too, and the world's recovery would not stop before it.
  if (died_at_an_input(world)) {
    spdlog::warn("{}: the journal is not checked, because a process died while it handled an input", world);
    return false;
  }
  const auto slice = read_slice_or_world(world);
  if (!slice || slice->groups.empty()) return false;
  if (!hashes.empty())
    if (auto read = read_tick_hashes(hashes)) options.hashes = std::move(*read);
  if (!options.check && options.hashes.empty()) return false;
  const auto report = replay(world, *slice, install, options);
  if (!report) {
    spdlog::info("the journal was not checked: {}", report.error().what());
    return false;
  }
  if (report->differences.empty()) {
    const ReplayReport& done = *report;
    if (!done.compared_anything()) {
      spdlog::warn("{}: {} inputs of the journal were done again, and nothing could be compared", world, done.inputs);
      return false;
    }
    spdlog::info(
        "{}: {} inputs of the journal were done again: no difference among {} that were done twice, {} in a second "
        "registry, and the recorded hashes of {} ticks",
        world, done.inputs, done.twice.inputs, done.second.inputs, done.hashes);
    return false;
  }
  for (const ReplayDifference& each : report->differences)
    spdlog::error("{}: recovery differs: {}", world, each.text());
  (void)write_differing_slice(world, hashes, 0, 0, true);
  return true;
}

}  // namespace muster

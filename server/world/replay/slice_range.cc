// Chooses the checkpoint at which a slice begins, and reads what follows it. Saves empty the
// journal, so the present checkpoint is often newer than what went wrong. Earlier checkpoints are
// kept for World::restore, and so are the inputs after them.
#include <algorithm>
#include <chrono>
#include <utility>

#include "server/world/replay/slice.h"
#include "server/world/replay/slice_source.h"
#include "server/world/store/store.h"

namespace muster {
namespace {

/// Collects the parts of a slice, up to a limit.
class SliceParts {
 public:
  explicit SliceParts(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}
  /// Returns true if there is room for so many bytes more.
  bool has_room(std::uint64_t bytes) noexcept {
    bytes_ += bytes;
    return bytes_ <= bytes_max_;
  }
  bool is_full() const noexcept { return bytes_ > bytes_max_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  const std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;
};

std::vector<std::byte> bytes_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

Store::Read rows_into(std::vector<Slice::Row>& rows, SliceParts& parts) {
  return [&rows, &parts](StateSource& source) -> std::expected<void, StateError> {
    for (auto section = static_cast<std::uint16_t>(StateSection::registry);
         section <= static_cast<std::uint16_t>(StateSection::manager_parts); ++section)
      source.rows(static_cast<StateSection>(section), [&](const StateKey& key, std::span<const std::byte> bytes) {
        if (parts.has_room(bytes.size())) rows.push_back({.key = key, .bytes = bytes_of(bytes)});
      });
    return {};
  };
}

Store::TakeGroup groups_into(std::vector<JournalGroup>& groups, SliceParts& parts) {
  return [&groups, &parts](const JournalGroup& group) -> std::expected<bool, std::string> {
    if (parts.has_room(group.records.size())) groups.push_back(group);
    return !parts.is_full();
  };
}

bool is_too_new(const FilePoint& point, const SliceRange& range) {
  const std::int64_t latest = seconds_of(utc_now()) - range.age.count();
  return (range.age.count() > 0 && seconds_of(point.saved) > latest) ||
         (range.before != 0 && point.sequence >= range.before) || point.tick > range.to_tick;
}

/// Returns true if all groups are of one build in one epoch, and so are those after them.
bool are_alike(const std::vector<JournalGroup>& groups, const std::vector<JournalGroup>& later) {
  const JournalGroup* const last = later.empty() ? groups.empty() ? nullptr : &groups.back() : &later.back();
  return std::ranges::all_of(
      groups, [&](const JournalGroup& group) { return group.epoch == last->epoch && group.code == last->code; });
}
/// Returns true if the groups lead from one checkpoint to the next. A run, or a return to a past
/// state, begins a new epoch, and an input that was not recorded leaves a gap.
bool leads(const FilePoint& from, const std::vector<JournalGroup>& groups, const FilePoint& to) {
  if (from.alone) return false;
  if (groups.empty()) return from.sequence == to.sequence && from.digest == to.digest;
  return groups.front().first == from.sequence + 1 && groups.back().last == to.sequence;
}

/// Replaces the beginning of the slice by an earlier checkpoint, if the range demands that.
std::expected<void, WorldError> begin_earlier(Slice& slice, Store& file, const SliceRange& range,
                                              const SliceParts& present) {
  auto all = file.past();
  if (!all) return std::unexpected(std::move(all.error()));
  const bool is_one_epoch = are_alike(slice.groups, {});
  std::size_t start = all->size() - 1;
  std::uint64_t bytes = present.bytes();
  std::vector<JournalGroup> earlier;
  while (is_one_epoch && start > 0 && is_too_new((*all)[start].point, range)) {
    const FilePast& from = (*all)[start - 1];
    SliceParts parts(range.bytes_max - bytes);
    std::vector<JournalGroup> between;
    // A past that cannot be read does not prevent a slice of the present.
    if (!file.past_journal(from, groups_into(between, parts)) || parts.is_full()) break;
    if (!leads(from.point, between, (*all)[start].point)) break;
    if (!are_alike(between, slice.groups.empty() ? earlier : slice.groups)) break;
    bytes += parts.bytes();
    std::ranges::move(earlier, std::back_inserter(between));
    earlier = std::move(between);
    --start;
  }
  if (start == all->size() - 1) return {};
  const FilePoint& point = (*all)[start].point;
  // The state of the present checkpoint is one that the world itself had.
  SliceSource saved(slice);
  if (auto state = recorded_state(saved, slice.sequence, slice.tick)) slice.states.push_back(std::move(*state));
  std::vector<Slice::Row> rows;
  SliceParts parts(range.bytes_max);
  if (auto loaded = file.load_past((*all)[start], rows_into(rows, parts)); !loaded) return loaded;
  for (const std::vector<JournalGroup>* const groups : {&earlier, &slice.groups})
    for (const JournalGroup& group : *groups) (void)parts.has_room(group.records.size());
  if (parts.is_full()) {
    slice.states.clear();
    return {};
  }
  std::ranges::move(slice.groups, std::back_inserter(earlier));
  slice.groups = std::move(earlier);
  slice.rows = std::move(rows);
  slice.steps.clear();
  slice.run_steps.clear();
  slice.in_run = false;
  slice.saved = point.saved;
  slice.sequence = point.sequence;
  slice.tick = point.tick;
  return {};
}

}  // namespace

std::expected<Slice, WorldError> slice_of(Store& file, const SliceRange& range) {
  if (file.is_older())
    return std::unexpected(WorldError(WorldErrorCode::older, file.path(),
                                      "of file format " + std::to_string(file.format()) +
                                          ", of which no slice can be made; the next save converts it"));
  const FileMeta& meta = file.meta();
  Slice slice{.world = meta.world,
              .product = meta.product,
              .saved = meta.saved,
              .code = meta.code,
              .sequence = meta.sequence,
              .tick = meta.tick,
              .in_run = meta.level.has_value(),
              .rows = {},
              .steps = {},
              .run_steps = {},
              .groups = {},
              .states = {},
              .hashes = {}};
  SliceParts parts(range.bytes_max);
  if (auto loaded = file.load(rows_into(slice.rows, parts)); !loaded) return std::unexpected(std::move(loaded.error()));
  const std::optional<RunSteps>& of_run = meta.run_steps;
  auto read = file.steps([&](std::uint64_t number, std::span<const std::byte> bytes) {
    const bool run = of_run && number >= of_run->first && (of_run->last == 0 || number <= of_run->last);
    if (run && !slice.in_run) return;  // of the last run, which has ended
    if (parts.has_room(bytes.size()))
      (run ? slice.run_steps : slice.steps).push_back({.number = number, .bytes = bytes_of(bytes)});
  });
  if (!read) return std::unexpected(std::move(read.error()));
  auto journal = file.journal(groups_into(slice.groups, parts));
  if (!journal) return std::unexpected(std::move(journal.error()));
  if (parts.is_full())
    return std::unexpected(
        WorldError(WorldErrorCode::too_large, file.path(),
                   "a slice of it exceeds the limit of " + std::to_string(range.bytes_max) + " bytes"));
  if (is_too_new(meta.as_point(), range))
    if (auto begun = begin_earlier(slice, file, range, parts); !begun) return std::unexpected(std::move(begun.error()));
  std::erase_if(slice.groups, [&](const JournalGroup& group) { return group.first_tick > range.to_tick; });
  std::erase_if(slice.states, [&](const RecordedState& state) {
    return state.sequence <= slice.sequence || state.sequence > slice.last_sequence();
  });
  return slice;
}

std::expected<void, WorldError> add_hashes(Slice& slice, const std::string& path) {
  auto read = read_tick_hashes(path, slice.sequence + 1, slice.last_sequence());
  if (!read) return std::unexpected(std::move(read.error()));
  slice.hashes = newest_hashes(std::move(*read));
  return {};
}

}  // namespace muster

// Keeps past checkpoints and the groups after them, so that a world can return to an earlier state.
// docs/file-format.md describes which rows belong to a past checkpoint.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "server/world/rows/format.h"
#include "server/world/store/row_store.h"

namespace muster {
namespace {

constexpr const char* reading_past = "reading past checkpoints";
constexpr std::size_t points_max = 512;
constexpr std::int64_t seconds_min = 60;  // between two points
// The points divide the time and the bytes that are kept into at least this many parts.
constexpr std::uint64_t parts_min = 64;

}  // namespace

bool RowStore::becomes_past(const CheckpointStamp& stamp) const {
  if (is_fresh_ || meta_.past.empty() || stamp.level == LevelAct::replace) return true;
  if (meta_.level) return true;  // it is the level itself
  const std::uint64_t since = past_groups_.empty() ? 0 : past_groups_.back();
  if (since >= past_bytes_ / parts_min) return true;
  const std::int64_t now = seconds_of(meta_.saved);
  const std::int64_t kept_for = now - seconds_of(meta_.past.front().saved);
  return now - seconds_of(meta_.past.back().saved) >= std::max(seconds_min, kept_for / std::int64_t{parts_min});
}

std::vector<FilePoint> RowStore::next_past(const CheckpointStamp& stamp) const {
  if (past_bytes_ == 0 || is_new()) return {};
  std::vector<FilePoint> past = meta_.past;
  // Checkpoints of a run are not kept.
  const bool is_of_run = meta_.level && meta_.checkpoint != meta_.level->checkpoint;
  if (!is_of_run && becomes_past(stamp)) past.push_back(meta_.as_point());
  std::uint64_t bytes = std::accumulate(past_groups_.begin(), past_groups_.end(), std::uint64_t{0});
  for (const auto& [checkpoint, rows] : past_rows_) bytes += rows.bytes;
  std::size_t dropped = 0;
  // During a run, the newest past checkpoint is the level.
  const std::size_t kept_min = meta_.level ? 1 : 0;
  while (past.size() - dropped > kept_min && (bytes > past_bytes_ || past.size() - dropped > points_max)) {
    const std::uint64_t next = dropped + 1 < past.size() ? past[dropped + 1].checkpoint : meta_.checkpoint;
    const std::uint64_t before = past[dropped].checkpoint;
    for (auto at = past_rows_.upper_bound(before); at != past_rows_.end() && at->first <= next; ++at)
      bytes -= at->second.bytes;
    if (dropped < past_groups_.size()) bytes -= past_groups_[dropped];
    ++dropped;
  }
  past.erase(past.begin(), past.begin() + static_cast<std::ptrdiff_t>(dropped));
  return past;
}

std::uint64_t RowStore::kept_rows(const CheckpointStamp& stamp, const std::vector<FilePoint>& past) const noexcept {
  return std::max(kept_level(stamp), past.empty() ? 0 : past.back().checkpoint);
}

std::expected<void, WorldError> RowStore::measure_past() {
  past_groups_.assign(meta_.past.size(), 0);
  new_groups_.clear();
  if (past_bytes_ == 0) return {};
  auto statement = tables()->prepare("SELECT id, length(records) FROM journal ORDER BY id", reading_past);
  if (!statement) return std::unexpected(std::move(statement.error()));
  SqlStep step;
  while ((step = statement->step()) == SqlStep::row) {
    const std::uint64_t group = statement->integer(0), bytes = statement->integer(1);
    if (group > meta_.group) {
      new_groups_.emplace_back(group, bytes);
      continue;
    }
    const auto next = std::ranges::lower_bound(meta_.past, group, {}, &FilePoint::group);
    if (next != meta_.past.begin()) past_groups_[static_cast<std::size_t>(next - meta_.past.begin()) - 1] += bytes;
  }
  if (step == SqlStep::error) return std::unexpected(tables()->error(reading_past));
  return {};
}

void RowStore::count_past(const std::vector<FilePoint>& before, const JournalEnd& contained) {
  std::vector<std::uint64_t> bytes;
  for (const FilePoint& point : meta_.past) {
    const auto known = std::ranges::lower_bound(before, point.checkpoint, {}, &FilePoint::checkpoint);
    const auto at = static_cast<std::size_t>(known - before.begin());
    // A point that is not known is the previous checkpoint.
    bytes.push_back(known != before.end() && at < past_groups_.size() ? past_groups_[at] : 0);
  }
  past_groups_ = std::move(bytes);
  const auto end =
      std::ranges::upper_bound(new_groups_, contained.group, {}, &std::pair<std::uint64_t, std::uint64_t>::first);
  for (auto at = new_groups_.begin(); at != end; ++at)
    if (!past_groups_.empty()) past_groups_.back() += at->second;
  new_groups_.erase(new_groups_.begin(), end);
}

std::expected<std::vector<FilePast>, WorldError> RowStore::past() {
  if (!tables() || is_new()) return std::vector<FilePast>();
  if (auto begun = tables()->run("BEGIN", reading_past); !begun) return std::unexpected(std::move(begun.error()));
  const Transaction transaction(*tables());
  auto statement = tables()->prepare("SELECT max(last_tick) FROM journal WHERE id > ?1 AND id <= ?2", reading_past);
  if (!statement) return std::unexpected(std::move(statement.error()));
  std::vector<FilePoint> points = meta_.past;
  points.push_back(meta_.as_point());
  points.back().alone = false;
  std::vector<FilePast> all;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::uint64_t last = points[i].alone         ? points[i].group
                               : i + 1 < points.size() ? points[i + 1].group
                                                       : journal_.end().group;
    statement->reset();
    if (statement->bind(1, points[i].group).bind(2, last).step() != SqlStep::row)
      return std::unexpected(tables()->error(reading_past));
    const std::uint64_t tick = statement->is_null(0) ? 0 : statement->integer(0);
    all.push_back({.point = points[i], .last_tick = std::max(tick, points[i].tick), .last_group = last});
  }
  return all;
}

std::expected<void, WorldError> RowStore::load_past(const FilePast& past, const Read& read) {
  return read_past(meta_.of_point(past.point), "checkpoint " + std::to_string(past.point.checkpoint), read);
}

std::expected<void, WorldError> RowStore::past_journal(const FilePast& past, const FileJournal::Take& take) {
  if (auto begun = tables()->run("BEGIN", reading_past); !begun) return begun;
  const Transaction transaction(*tables());
  FileJournal journal;
  if (auto read = journal.read(*tables(), meta_.of_point(past.point), shown_, take, past.last_group); !read)
    return std::unexpected(std::move(read.error()));
  return {};
}

std::expected<void, WorldError> RowStore::check_past() {
  auto all = past();
  if (!all) return std::unexpected(std::move(all.error()));
  if (all->size() < 2) return {};
  auto statement = tables()->prepare(
      "SELECT section, key, column_, checkpoint, checksum, bytes FROM state WHERE checkpoint <= ?1", reading_past);
  if (!statement) return std::unexpected(std::move(statement.error()));
  statement->bind(1, meta_.checkpoint);
  SqlStep step;
  while ((step = statement->step()) == SqlStep::row) {
    const StateKey key{static_cast<StateSection>(statement->integer(0)), statement->integer(1),
                       static_cast<std::uint32_t>(statement->integer(2))};
    const bool removed = statement->is_null(5);
    const RowStamp stamp = RowStamp::of(key, statement->integer(3), removed);
    if (row_checksum(stamp, removed ? std::span<const std::byte>() : statement->blob(5)) != statement->integer(4))
      return std::unexpected(error(WorldErrorCode::damaged, "damaged: " + world_format::place(key) + " of checkpoint " +
                                                                std::to_string(statement->integer(3)) +
                                                                ": the checksum is wrong"));
  }
  if (step == SqlStep::error) return std::unexpected(tables()->error(reading_past));
  for (const FilePast& each : *all)
    if (auto read = past_journal(each, {}); !read) return read;
  return {};
}

}  // namespace muster

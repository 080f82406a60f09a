// Writes checkpoints, either in a single transaction or in steps that keep the current rows valid.
#include <utility>

#include "server/world/rows/format.h"
#include "server/world/store/row_store.h"
#include "server/world/store/type_rows.h"

namespace muster {
namespace {

constexpr const char* writing_checkpoint = "writing a checkpoint";

/// Decides when a step has done enough work. Reads the clock only occasionally, because processing
/// a row usually takes almost no time.
class Limit {
 public:
  explicit Limit(const SaveSlice& slice) : slice_(slice) {}
  bool reached(std::uint64_t bytes) {
    if (bytes >= slice_.bytes || (bytes >= slice_.bytes_min && slice_.hurries && slice_.hurries())) return true;
    return ++asked_ % 64 == 0 && is_late();
  }
  /// Must be called after each removed row. Removing a row costs about as much as writing 200
  /// bytes, or more if the row is large. Every step removes at least `removals_min` rows, even if
  /// the step should end early; otherwise, garbage would accumulate faster than it is removed.
  bool reached_by_removing() {
    if (++removed_ * 200 >= slice_.bytes) return true;
    return removed_ >= removals_min && ((slice_.hurries && slice_.hurries()) || is_late());
  }

 private:
  static constexpr std::uint64_t removals_min = 4;
  bool is_late() const { return std::chrono::steady_clock::now() - begun_ >= slice_.time; }

  const SaveSlice& slice_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::uint64_t asked_ = 0, removed_ = 0;
};

/// Converts a file of format 2. Must be called inside the transaction of the checkpoint that
/// converts it.
std::expected<void, WorldError> make_format_3(Database& database) {
  const std::string sql =
      std::string(world_format::tables.back().sql) + "; PRAGMA user_version=" + std::to_string(world_format::version);
  return database.run(sql.c_str(), "converting the file to format 3");
}

}  // namespace

std::expected<CheckpointReport, WorldError> RowStore::save(const CheckpointStamp& stamp, const Save& save) {
  if (!tables())
    if (auto created = create(); !created) return std::unexpected(std::move(created.error()));
  give_up_save();
  return save_whole(stamp, save, journal_.end());
}

std::expected<CheckpointReport, WorldError> RowStore::save_whole(const CheckpointStamp& stamp, const Save& save,
                                                                 const JournalEnd& contained) {
  if (auto begun = begin_writing(writing_checkpoint); !begun) return std::unexpected(std::move(begun.error()));
  auto report = write(stamp, save, contained);
  if (!report) return report;
  wrote(Merges::at_once);
  return report;
}

StateCopy RowStore::preserve(const Save& save, std::uint64_t saved, std::uint64_t preserved_bytes_max,
                             std::optional<StateCopy>& used) const {
  const KeptRows* const known = rows_known_ ? &rows_ : nullptr;
  StateCopy copied = used ? StateCopy(known, saved, std::move(*used)) : StateCopy(known, saved, preserved_bytes_max);
  used.reset();
  copied.expect(meta_.rows);
  save(copied);
  return copied;
}

std::expected<std::optional<CheckpointReport>, WorldError> RowStore::save(const CheckpointStamp& stamp,
                                                                          const StateCopy& copied) {
  if (!tables())
    if (auto created = create(); !created) return std::unexpected(std::move(created.error()));
  give_up_save();
  return save_copy(stamp, copied, journal_.end());
}

std::expected<std::optional<CheckpointReport>, WorldError> RowStore::save_copy(const CheckpointStamp& stamp,
                                                                               const StateCopy& copied,
                                                                               const JournalEnd& contained) {
  struct Stale {};
  const auto give = [&](StateSink& sink) {
    if (!copied.give(sink)) throw Stale{};
  };
  try {
    return save_whole(stamp, give, contained);
  } catch (const Stale&) {
    return std::nullopt;
  }
}

std::expected<std::size_t, WorldError> RowStore::remove_left_over(const std::function<bool()>& enough) {
  constexpr const char* removing = "removing rows of the past";
  if (left_over_.empty()) return 0;
  auto statement = tables()->prepare("DELETE FROM state WHERE id = ?1", removing);
  if (!statement) return std::unexpected(std::move(statement.error()));
  std::size_t count = 0;
  for (bool more = true; more && count < left_over_.size(); more = !enough())
    if (!statement->bind(1, static_cast<std::uint64_t>(left_over_[count++])).run())
      return std::unexpected(tables()->error(removing));
  return count;
}

std::expected<void, WorldError> RowStore::remove_some_past(const std::function<bool()>& enough) {
  auto count = remove_left_over(enough);
  if (!count) return std::unexpected(std::move(count.error()));
  std::uint64_t group = 0;
  if (*count == left_over_.size()) {
    auto first_left = journal_.remove_past(*tables(), journal_.past_last(), enough);
    if (!first_left) return std::unexpected(std::move(first_left.error()));
    group = *first_left;
  }
  if (auto committed = commit(writing_checkpoint); !committed) return std::unexpected(std::move(committed.error()));
  left_over_.erase(left_over_.begin(), left_over_.begin() + static_cast<std::ptrdiff_t>(*count));
  if (group != 0) journal_.past_removed(group);
  return settle();
}

FileMeta RowStore::next_meta(const CheckpointStamp& stamp, const std::vector<FilePoint>& past) const {
  FileMeta meta = meta_;
  meta.past = past;
  ++meta.checkpoint;
  meta.product = "muster " + std::string(world_format::product);
  meta.saved = utc_now();
  meta.code = stamp.code;
  meta.sequence = stamp.sequence;
  meta.tick = stamp.tick;
  return meta;
}

std::expected<CheckpointReport, WorldError> RowStore::write(const CheckpointStamp& stamp, const Save& save,
                                                            const JournalEnd& contained) {
  const Transaction transaction(*tables());
  // Another program may have written to the file with SQL. In that case, the row versions on record
  // are meaningless, so write all rows.
  const auto foreign = is_foreign();
  if (!foreign) return std::unexpected(foreign.error());
  if (*foreign) {
    rows_.clear();
    digest_ = {};
    left_over_.clear();
    past_rows_.clear();
    history_.forget();
    const std::string empty = "DELETE FROM state WHERE checkpoint > " + std::to_string(kept_level(stamp));
    if (auto emptied = tables()->run(empty.c_str(), writing_checkpoint); !emptied)
      return std::unexpected(std::move(emptied.error()));
    if (kept_level(stamp) != 0)
      if (auto known = know_level(); !known) return std::unexpected(std::move(known.error()));
  }
  if (is_older())
    if (auto made = make_format_3(*tables()); !made) return std::unexpected(std::move(made.error()));
  const auto all = [] { return false; };
  const bool had_nothing_to_remove = left_over_.empty();
  if (auto removed = remove_left_over(all); !removed) return std::unexpected(std::move(removed.error()));
  const std::vector<FilePoint> past = *foreign ? std::vector<FilePoint>() : next_past(stamp);
  FileMeta meta = next_meta(stamp, past);
  FileSink sink(*tables(), rows_, digest_, meta.checkpoint, ++saves_, Replacing::in_place, kept_rows(stamp, past),
                shown_);
  save(sink);
  for (const FileSink::Row& row : sink.vanished()) sink.remove(row);
  if (auto good = sink.good(); !good) return std::unexpected(std::move(good.error()));
  if (had_nothing_to_remove && !*foreign && !is_older() && is_unchanged(stamp, sink, contained)) {
    sink.committed();
    return unchanged();
  }
  const std::uint64_t past_group = FileMeta::past_group(past, contained.group);
  const auto first_left = journal_.remove_past(*tables(), past_group, all);
  if (!first_left) return std::unexpected(first_left.error());
  if (journal_given_up_) {
    const std::string rest = "DELETE FROM journal WHERE id > " + std::to_string(contained.group);
    if (auto removed = tables()->run(rest.c_str(), writing_checkpoint); !removed)
      return std::unexpected(std::move(removed.error()));
  }
  auto report = make_current(stamp, sink, std::move(meta), contained);
  if (!report) return report;
  journal_given_up_ = false;
  journal_.past_removed(*first_left);
  format_ = world_format::version;
  rows_known_ = true;
  return report;
}

bool RowStore::is_unchanged(const CheckpointStamp& stamp, const FileSink& sink, const JournalEnd& contained) const {
  return stamp.only_if_changed && meta_.checkpoint > 0 && stamp.sequence == meta_.sequence &&
         stamp.tick == meta_.tick && stamp.level == LevelAct::none && contained.group == meta_.group &&
         !journal_.has_past() && stamp.steps.empty() && sink.counts().rows_written == 0 &&
         sink.counts().rows_removed == 0;
}

CheckpointReport RowStore::unchanged() const {
  return {.checkpoint = meta_.checkpoint, .sequence = meta_.sequence, .rows = meta_.rows};
}

std::expected<CheckpointReport, WorldError> RowStore::make_current(const CheckpointStamp& stamp, FileSink& sink,
                                                                   FileMeta meta, const JournalEnd& contained) {
  tables()->stop_comparing();
  if (auto good = sink.good(); !good) return std::unexpected(std::move(good.error()));
  meta.rows = sink.digest().rows;
  meta.digest = sink.digest().text();
  meta.group = contained.group;
  meta.chain = contained.checksum;
  if (stamp.level == LevelAct::drop) meta.level.reset();
  if (stamp.level == LevelAct::keep)
    meta.level = {.checkpoint = meta.checkpoint,
                  .sequence = meta.sequence,
                  .tick = meta.tick,
                  .rows = meta.rows,
                  .digest = meta.digest};
  meta.requests = stamp.requests;
  if (stamp.run_steps) meta.run_steps = stamp.run_steps;
  if (auto types = write_types(*tables(), stamp.types, stamp.types_fingerprint, meta); !types)
    return std::unexpected(std::move(types.error()));
  if (auto written = history_.write(*tables(), stamp.steps, meta); !written)
    return std::unexpected(std::move(written.error()));
  if (auto written = write_meta(*tables(), meta); !written) return std::unexpected(std::move(written.error()));
  if (auto committed = commit(writing_checkpoint); !committed) return std::unexpected(std::move(committed.error()));
  sink.committed();
  tables()->forget_pages();
  history_.committed();
  digest_ = sink.digest();
  const std::vector<FilePoint> past_before = std::exchange(meta_, std::move(meta)).past;
  if (!sink.past().empty()) past_rows_[meta_.checkpoint].add(sink.past());
  left_over_.clear();
  // The rows of dropped checkpoints lie below the other rows, so they must be removed first.
  const std::vector<std::uint64_t> kept = meta_.kept_checkpoints();
  take_unneeded(past_rows_, kept.empty() ? 0 : kept.front(), left_over_);
  const std::vector<std::int64_t> replaced = sink.replaced();
  left_over_.insert(left_over_.end(), replaced.begin(), replaced.end());
  is_fresh_ = stamp.level == LevelAct::drop || stamp.level == LevelAct::replace ||
              (journal_.end().group == contained.group && journal_.end().last != meta_.sequence);
  count_past(past_before, contained);
  journal_.saved(contained, meta_.past_group(), meta_.sequence);
  if (auto settled = settle(); !settled) return std::unexpected(std::move(settled.error()));
  set_mark(journal_.end().group);
  const SinkCounts& counts = sink.counts();
  return CheckpointReport{.checkpoint = meta_.checkpoint,
                          .sequence = meta_.sequence,
                          .rows = meta_.rows,
                          .rows_written = counts.rows_written,
                          .rows_removed = counts.rows_removed,
                          .bytes_written = counts.bytes_written};
}

void RowStore::begin_save(const CheckpointStamp& stamp, const StateCopy& copied) {
  give_up_save();
  begun_.emplace(Begun{.stamp = &stamp, .copied = &copied, .contained = journal_.end()});
}

void RowStore::give_up_save() {
  if (!begun_) return;
  if (begun_->sink) {
    // The next checkpoint will have the same number, so these rows must be removed before it writes
    // its own.
    const std::vector<std::int64_t> inserted = begun_->sink->inserted();
    left_over_.insert(left_over_.end(), inserted.begin(), inserted.end());
  }
  if (tables()) tables()->stop_comparing();
  begun_.reset();
}

std::expected<SaveStep, WorldError> RowStore::step_save(const SaveSlice& slice) {
  if (!begun_) return std::unexpected(error(WorldErrorCode::setup, "no checkpoint was begun"));
  using State = SaveStep::State;
  if (tables() && rows_known_ && !is_older()) {
    auto step = step_beside(slice);
    if (!step || step->state != State::more) give_up_save();
    return step;
  }
  // There is no previous checkpoint to preserve, or the file must be converted, so write all rows
  // at once.
  if (!tables())
    if (auto created = create(); !created) {
      begun_.reset();
      return std::unexpected(std::move(created.error()));
    }
  const Begun begun = std::move(*begun_);
  begun_.reset();
  auto report = save_copy(*begun.stamp, *begun.copied, begun.contained);
  if (!report) return std::unexpected(std::move(report.error()));
  if (!*report) return SaveStep{.state = State::stale};
  return SaveStep{.state = State::done, .report = std::move(**report)};
}

std::expected<SaveStep, WorldError> RowStore::step_beside(const SaveSlice& slice) {
  using State = SaveStep::State;
  if (auto begun = begin_writing(writing_checkpoint); !begun) return std::unexpected(std::move(begun.error()));
  const Transaction transaction(*tables());
  const auto foreign = is_foreign();
  if (!foreign) return std::unexpected(foreign.error());
  if (*foreign) return SaveStep{.state = State::stale};
  const auto end_step = [&]() -> std::expected<SaveStep, WorldError> {
    tables()->stop_comparing();
    if (auto committed = commit(writing_checkpoint); !committed) return std::unexpected(std::move(committed.error()));
    if (auto settled = settle(); !settled) return std::unexpected(std::move(settled.error()));
    wrote(slice.merges);
    return SaveStep{};
  };

  Begun& now = *begun_;
  if (!now.sink) {
    // Remove the rows that an earlier, unfinished checkpoint left, because they have the same
    // checkpoint number.
    if (!left_over_.empty() || journal_.has_past()) {
      Limit limit(slice);
      if (auto removed = remove_some_past([&] { return limit.reached_by_removing(); }); !removed)
        return std::unexpected(std::move(removed.error()));
      wrote(slice.merges);
      return SaveStep{};
    }
    now.past = next_past(*now.stamp);
    now.sink.emplace(*tables(), rows_, digest_, meta_.checkpoint + 1, ++saves_, Replacing::beside,
                     kept_rows(*now.stamp, now.past), shown_);
  }
  FileSink& sink = *now.sink;
  const std::uint64_t before = sink.counts().bytes_written;
  const auto written = [&] { return sink.counts().bytes_written - before; };
  Limit limit(slice);
  const auto enough = [&] { return limit.reached(written()); };
  if (now.given < now.copied->size()) {
    if (!now.copied->give(sink, now.given, enough)) return SaveStep{.state = State::stale};
  }
  if (now.given == now.copied->size() && !now.vanished) now.vanished = sink.vanished();
  if (now.vanished)
    for (bool more = true; more && now.removed < now.vanished->size(); more = !limit.reached_by_removing())
      sink.remove((*now.vanished)[now.removed++]);
  if (auto good = sink.good(); !good) return std::unexpected(std::move(good.error()));
  if (!now.vanished || now.removed < now.vanished->size()) return end_step();
  if (is_unchanged(*now.stamp, sink, now.contained)) {
    sink.committed();
    return SaveStep{.state = State::done, .report = unchanged()};
  }
  auto report = make_current(*now.stamp, sink, next_meta(*now.stamp, now.past), now.contained);
  if (!report) return std::unexpected(std::move(report.error()));
  now.sink.reset();
  wrote(slice.merges);
  return SaveStep{.state = State::done, .report = std::move(*report)};
}

std::expected<bool, WorldError> RowStore::remove_past(const SaveSlice& slice) {
  if (!tables() || !rows_known_ || begun_ || !(journal_.has_past() || !left_over_.empty())) return false;
  if (auto begun = begin_writing(writing_checkpoint); !begun) return std::unexpected(std::move(begun.error()));
  const Transaction transaction(*tables());
  const auto foreign = is_foreign();
  if (!foreign) return std::unexpected(foreign.error());
  if (*foreign) return false;
  Limit limit(slice);
  if (auto removed = remove_some_past([&] { return limit.reached_by_removing(); }); !removed)
    return std::unexpected(std::move(removed.error()));
  wrote(slice.merges);
  return journal_.has_past() || !left_over_.empty();
}

}  // namespace muster

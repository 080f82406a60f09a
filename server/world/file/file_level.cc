// The level of a run, which is a past checkpoint whose rows are kept. docs/file-format.md describes
// which rows belong to it.
#include <algorithm>
#include <optional>
#include <utility>

#include "server/world/file/file_source.h"
#include "server/world/file/world_file.h"
#include "server/world/rows/format.h"

namespace muster {
namespace {

constexpr const char* reading_level = "reading the level";

}  // namespace

std::expected<void, WorldError> WorldFile::load_level(const Read& read) {
  return read_past(meta_.of_level(), "the level", read);
}

void WorldFile::give_up_journal() noexcept {
  journal_given_up_ = true;
  unread_wal_ = false;
  journal_.give_up();
  alone_.group = std::min(alone_.group, journal_.end().group);
}

std::expected<void, WorldError> WorldFile::read_past(const FileMeta& meta, const std::string& what, const Read& read) {
  if (auto begun = database_->run("BEGIN", ("reading " + what).c_str()); !begun) return begun;
  const Transaction transaction(*database_);
  KeptRows rows;
  FileSource source(*database_, meta, rows, shown_);
  const std::expected<void, StateError> taken = read(source);
  if (auto whole = source.finish(); !whole) return whole;
  if (!taken)
    return std::unexpected(
        error(WorldErrorCode::incompatible,
              what + " is refused: " + world_format::place(taken.error().at) + ": " + taken.error().what));
  return {};
}

std::expected<void, WorldError> WorldFile::know_level() {
  auto statement = database_->prepare(
      "SELECT id, section, key, column_, checkpoint, checksum, length(bytes) FROM state "
      "ORDER BY section, key, column_, checkpoint DESC",
      reading_level);
  if (!statement) return std::unexpected(std::move(statement.error()));
  std::optional<StateKey> last;
  std::vector<std::int64_t> removals;
  SqlStep step;
  while ((step = statement->step()) == SqlStep::row) {
    const StateKey key{static_cast<StateSection>(statement->integer(1)), statement->integer(2),
                       static_cast<std::uint32_t>(statement->integer(3))};
    if (std::exchange(last, key) == key) {
      // Other kept checkpoints are not kept any longer.
      (statement->is_null(6) ? removals : left_over_).push_back(static_cast<std::int64_t>(statement->integer(0)));
      continue;
    }
    if (statement->is_null(6)) continue;
    const KeptRow kept{.id = static_cast<std::int64_t>(statement->integer(0)),
                       .checkpoint = statement->integer(4),
                       .checksum = statement->integer(5),
                       .length = statement->integer(6)};
    rows_.put(key, kept);
    digest_.add(RowStamp::of(key, kept.checkpoint), kept.checksum, kept.length);
  }
  if (step == SqlStep::error) return std::unexpected(database_->error(reading_level));
  left_over_.insert(left_over_.end(), removals.begin(), removals.end());
  return {};
}

}  // namespace muster

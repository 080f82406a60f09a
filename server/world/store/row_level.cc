// The level of a run, which is a past checkpoint whose rows are kept. docs/file-format.md describes
// which rows belong to it.
#include <algorithm>
#include <optional>
#include <utility>

#include "server/world/rows/format.h"
#include "server/world/store/file_source.h"
#include "server/world/store/row_store.h"

namespace muster {
namespace {

constexpr const char* reading_level = "reading the level";

}  // namespace

std::expected<void, WorldError> RowStore::load_level(const Read& read) {
  return read_past(meta_.of_level(), "the level", read);
}

std::expected<void, WorldError> RowStore::read_past(const FileMeta& meta, const std::string& what, const Read& read) {
  if (auto begun = tables()->run("BEGIN", ("reading " + what).c_str()); !begun) return begun;
  const Transaction transaction(*tables());
  KeptRows rows;
  FileSource source(*tables(), meta, rows, shown_);
  const std::expected<void, StateError> taken = read(source);
  if (auto whole = source.finish(); !whole) return whole;
  if (!taken)
    return std::unexpected(
        error(WorldErrorCode::incompatible,
              what + " is refused: " + world_format::place(taken.error().at) + ": " + taken.error().what));
  return {};
}

std::expected<void, WorldError> RowStore::know_level() {
  auto statement = tables()->prepare(
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
  if (step == SqlStep::error) return std::unexpected(tables()->error(reading_level));
  left_over_.insert(left_over_.end(), removals.begin(), removals.end());
  return {};
}

}  // namespace muster

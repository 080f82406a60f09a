#include "server/world/store/file_source.h"

#include <algorithm>
#include <utility>

#include "schema/hex.h"
#include "server/world/rows/format.h"

namespace muster {
namespace {

constexpr const char* reading_rows = "reading the state";

}  // namespace

void FileSource::fail(WorldErrorCode code, std::string detail) {
  if (!error_) error_.emplace(code, shown_, std::move(detail));
}

std::span<const std::byte> FileSource::aligned(std::span<const std::byte> bytes) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % 16 == 0) return bytes;
  buffer_.assign(bytes.begin(), bytes.end());  // operator new aligns to 16 bytes
  return buffer_;
}

void FileSource::rows(StateSection section,
                      const std::function<void(const StateKey&, std::span<const std::byte>)>& take) {
  if (error_) return;
  StateDigest digest;
  const std::string columns = "SELECT id, key, column_, checkpoint, checksum, bytes, length(bytes) FROM state ";
  const std::string order = " ORDER BY key, column_, checkpoint DESC";
  // Keys are unsigned but SQL integers are signed, so keys with the highest bit set are read
  // second.
  for (const char* half : {"WHERE section = ?1 AND key >= 0", "WHERE section = ?1 AND key < 0"}) {
    auto statement = database_.prepare((columns + half + order).c_str(), reading_rows);
    if (!statement) {
      error_ = std::move(statement.error());
      return;
    }
    statement->bind(1, static_cast<std::uint64_t>(section));
    if (!read(*statement, section, digest, take)) return;
  }
  digests_[section] = digest;
}

bool FileSource::read(Statement& statement, StateSection section, StateDigest& digest,
                      const std::function<void(const StateKey&, std::span<const std::byte>)>& take) {
  std::optional<StateKey> last;  // the key whose newest row has been found
  // The level's row of that key has been found, or its absence
  bool level_found = false;
  std::uint64_t newer = 0;  // the checkpoint of the key's previous row, which is newer
  // The key's rows without bytes. They are needed as long as there are rows below them.
  struct Removal {
    std::int64_t id;
    std::uint64_t checkpoint;
    bool covers = false;
  };
  std::vector<Removal> removals;
  const auto end_key = [&] {
    for (const Removal& each : removals) (each.covers ? past_[each.checkpoint].removals : removals_).push_back(each.id);
    removals.clear();
  };
  // A row is part of each kept checkpoint from its own one to the one that replaced it.
  const auto is_kept = [&](std::uint64_t checkpoint) {
    const auto first = std::ranges::lower_bound(kept_, checkpoint);
    return first != kept_.end() && *first < newer;
  };
  SqlStep step;
  while ((step = statement.step()) == SqlStep::row) {
    const StateKey key{section, statement.integer(1), static_cast<std::uint32_t>(statement.integer(2))};
    const std::uint64_t checkpoint = statement.integer(3);
    const auto damaged = [&](const std::string& what) {
      fail(WorldErrorCode::damaged, "damaged: " + world_format::place(key) + ": " + what);
      return false;
    };
    for (int column = 0; column < 5; ++column)
      if (!statement.is_integer(column)) return damaged("a value that must be a number is none");
    const bool removal = statement.is_null(5);
    if (statement.integer(2) > 0xffffffffu || (!removal && !statement.is_blob(5)))
      return damaged("the row is not made like one");
    const auto id = static_cast<std::int64_t>(statement.integer(0));
    const bool is_newest = checkpoint <= meta_.checkpoint && last != key;
    if (is_newest) {
      if (last && key < *last) return damaged("the row is not in the order of keys");
      end_key();
      last = key;
      level_found = false;
    }
    const bool is_of_level =
        meta_.level && checkpoint <= meta_.level->checkpoint && last == key && !std::exchange(level_found, true);
    const bool is_past = !is_newest && last == key && checkpoint <= meta_.checkpoint;
    if (is_past && !removal && is_kept(checkpoint)) {
      PastRows& past = past_[newer];
      past.rows.push_back(id);
      past.bytes += statement.integer(6);
      for (Removal& each : removals) each.covers = true;
      if (KeptRow* const kept = rows_.find(key)) kept->over_kept = true;
    } else if (is_past && removal) {
      removals.push_back({id, checkpoint});
    } else if (!is_newest) {
      (removal ? removals_ : left_over_).push_back(id);
    }
    if (is_newest || is_past) newer = checkpoint;
    if (!is_newest && !(is_of_level && !removal)) continue;
    const RowStamp stamp = RowStamp::of(key, checkpoint, removal);
    const std::span<const std::byte> bytes = removal ? std::span<const std::byte>() : statement.blob(5);
    const std::uint64_t stored = statement.integer(4);
    const std::uint64_t found = row_checksum(stamp, bytes);
    if (found != stored)
      return damaged("the checksum of its " + std::to_string(bytes.size()) + " bytes is " + hex(found) +
                     ", stored was " + hex(stored));
    if (is_of_level && !removal) level_digest_.add(stamp, stored, bytes.size());
    if (!is_newest) continue;
    if (removal) {
      removals.push_back({id, checkpoint});
      continue;
    }
    digest.add(stamp, stored, bytes.size());
    rows_.put(key, {.id = id, .checkpoint = checkpoint, .checksum = stored, .length = bytes.size()});
    if (take) take(key, aligned(bytes));
  }
  end_key();
  if (step == SqlStep::error) {
    error_ = database_.error(reading_rows);
    return false;
  }
  return true;
}

std::expected<void, WorldError> FileSource::finish() {
  std::vector<StateSection> left;
  if (!error_) {
    auto statement = database_.prepare("SELECT DISTINCT section FROM state ORDER BY section", reading_rows);
    if (!statement) return std::unexpected(std::move(statement.error()));
    SqlStep step;
    while ((step = statement->step()) == SqlStep::row) {
      const std::uint64_t section = statement->integer(0);
      if (!statement->is_integer(0) || section > 0xffff) {
        fail(WorldErrorCode::damaged, "damaged: a row of section " + statement->text(0) + ", which cannot be");
        break;
      }
      if (!world_format::knows(static_cast<StateSection>(section))) {
        fail(WorldErrorCode::newer, "holds rows of section " + statement->text(0) + ", which this Muster " +
                                        std::string(world_format::product) + " does not know");
        break;
      }
      if (!digests_.contains(static_cast<StateSection>(section))) left.push_back(static_cast<StateSection>(section));
    }
    if (step == SqlStep::error) return std::unexpected(database_.error(reading_rows));
  }
  for (const StateSection section : left) rows(section, nullptr);
  if (error_) return std::unexpected(*error_);
  for (const auto& [section, digest] : digests_) whole_.add(digest);
  if (whole_.rows != meta_.rows || whole_.text() != meta_.digest)
    return std::unexpected(
        WorldError(WorldErrorCode::damaged, shown_,
                   "damaged: the rows are not those of checkpoint " + std::to_string(meta_.checkpoint) + ": " +
                       std::to_string(whole_.rows) + " with digest " + whole_.text() + " are there, " +
                       std::to_string(meta_.rows) + " with digest " + meta_.digest + " were written"));
  if (meta_.level && (level_digest_.rows != meta_.level->rows || level_digest_.text() != meta_.level->digest))
    return std::unexpected(WorldError(
        WorldErrorCode::damaged, shown_,
        "damaged: the rows of the level are not those of checkpoint " + std::to_string(meta_.level->checkpoint) + ": " +
            std::to_string(level_digest_.rows) + " with digest " + level_digest_.text() + " are there, " +
            std::to_string(meta_.level->rows) + " with digest " + meta_.level->digest + " were written"));
  return {};
}

std::vector<std::int64_t> FileSource::left_over() const {
  std::vector<std::int64_t> all = left_over_;
  all.insert(all.end(), removals_.begin(), removals_.end());
  return all;
}

}  // namespace muster

#include "server/world/store/file_sink.h"

#include "server/world/rows/format.h"

namespace muster {
namespace {
constexpr const char* writing_rows = "writing a checkpoint";
}

FileSink::FileSink(Database& database, KeptRows& rows, const StateDigest& digest, std::uint64_t checkpoint,
                   std::uint64_t save, Replacing replacing, std::uint64_t kept, std::string shown)
    : database_(database),
      rows_(rows),
      digest_(digest),
      checkpoint_(checkpoint),
      save_(save),
      replacing_(replacing),
      kept_(kept),
      shown_(std::move(shown)) {
  const std::pair<Statement*, const char*> statements[] = {
      {&insert_,
       "INSERT INTO state(id, section, key, column_, checkpoint, checksum, bytes) VALUES(?7, ?1, ?2, ?3, ?4, ?5, ?6)"},
      {&update_, "UPDATE state SET checkpoint = ?2, checksum = ?3, bytes = ?4 WHERE id = ?1"},
      {&remove_, "DELETE FROM state WHERE id = ?1"}};
  for (const auto& [statement, sql] : statements) {
    auto prepared = database_.prepare(sql, writing_rows);
    if (!prepared) {
      error_ = std::move(prepared.error());
      return;
    }
    *statement = std::move(*prepared);
  }
}

void FileSink::fail(const StateKey& key) {
  const WorldError error = database_.error(writing_rows);
  // Name the row only if the error concerns its size. Other errors, such as a full disk, have
  // nothing to do with the row.
  error_ = error.code() == WorldErrorCode::too_large
               ? WorldError(error.code(), shown_, error.detail() + ": " + world_format::place(key))
               : error;
}

bool FileSink::see(const StateKey& key, KeptRow& kept) {
  if (kept.seen == save_) {
    error_.emplace(WorldErrorCode::damaged, shown_, "the registry saved a row twice: " + world_format::place(key));
    return false;
  }
  kept.seen = save_;
  ++(key.section == StateSection::columns ? columns_seen_ : whole_seen_);
  return true;
}

bool FileSink::has(const StateKey& key, std::uint64_t version) {
  if (error_) return true;
  KeptRow* const kept = rows_.find(key);
  if (kept == nullptr || !kept->given || kept->given_version != version) return false;
  if (see(key, *kept) && key.section == StateSection::chunks) {
    kept->seen_columns = save_;
    columns_seen_ += rows_.column_count(key.key);
  }
  return true;
}

void FileSink::row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) {
  if (error_) return;
  KeptRow* const kept = rows_.find(key);
  if (kept == nullptr) {
    write(key, version, bytes, nullptr);
    return;
  }
  if (!see(key, *kept) || (kept->given && kept->given_version == version)) return;
  // A new version does not necessarily mean new bytes. A chunk's row stores only its number of
  // rows, which may stay the same while its columns change, and a manager that is saved as a single
  // row cannot determine what has changed.
  if (kept->length == bytes.size() && kept->checksum == row_checksum(RowStamp::of(key, kept->checkpoint), bytes) &&
      database_.holds(kept->id, bytes)) {
    compared_.emplace_back(kept, version);
    return;
  }
  write(key, version, bytes, kept);
}

void FileSink::insert(const StateKey& key, std::uint64_t checksum, std::optional<std::span<const std::byte>> bytes) {
  insert_.bind(1, static_cast<std::uint64_t>(key.section))
      .bind(2, key.key)
      .bind(3, std::uint64_t{key.column})
      .bind(4, checkpoint_)
      .bind(5, checksum);
  if (bytes)
    insert_.bind(6, *bytes);
  else
    insert_.bind_null(6);
  if (const std::int64_t id = database_.next_row(); id != 0)
    insert_.bind(7, static_cast<std::uint64_t>(id));
  else
    insert_.bind_null(7);
  if (!insert_.run()) fail(key);
}

void FileSink::write(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes, const KeptRow* old) {
  const RowStamp stamp = RowStamp::of(key, checkpoint_);
  KeptRow kept{.id = old != nullptr ? old->id : 0,
               .checkpoint = checkpoint_,
               .checksum = row_checksum(stamp, bytes),
               .length = bytes.size(),
               .given_version = version,
               .given = true,
               .over_kept = old != nullptr && (old->over_kept || old->checkpoint <= kept_),
               .seen = save_};
  const bool in_place = replacing_ == Replacing::in_place && old != nullptr && old->checkpoint > kept_;
  if (in_place) {
    if (!update_.bind(1, static_cast<std::uint64_t>(old->id))
             .bind(2, checkpoint_)
             .bind(3, kept.checksum)
             .bind(4, bytes)
             .run())
      fail(key);
  } else {
    insert(key, kept.checksum, bytes);
    kept.id = database_.last_row();
  }
  if (error_) return;
  if (old != nullptr) {
    digest_.remove(RowStamp::of(key, old->checkpoint), old->checksum, old->length);
    if (!in_place) leave(*old);
  }
  digest_.add(stamp, kept.checksum, kept.length);
  written_.emplace_back(key, kept);
  ++counts_.rows_written;
  counts_.bytes_written += bytes.size();
}

void FileSink::leave(const KeptRow& old) {
  if (old.checkpoint > kept_) return replaced_.push_back(old.id);
  past_.rows.push_back(old.id);
  past_.bytes += old.length;
}

void FileSink::remove(const Row& row) {
  if (error_) return;
  const auto& [key, kept] = row;
  const bool is_kept = kept.checkpoint <= kept_;
  if (replacing_ == Replacing::in_place && !is_kept && !kept.over_kept) {
    if (!remove_.bind(1, static_cast<std::uint64_t>(kept.id)).run()) return fail(key);
  } else {
    insert(key, row_checksum(RowStamp::of(key, checkpoint_, true), {}), std::nullopt);
    if (error_) return;
    leave(kept);
    // The row without bytes must stay as long as there is a row below it.
    (kept_ != 0 && (is_kept || kept.over_kept) ? past_.removals : removals_).push_back(database_.last_row());
  }
  digest_.remove(RowStamp::of(key, kept.checkpoint), kept.checksum, kept.length);
  removed_.push_back(key);
  ++counts_.rows_removed;
}

std::vector<FileSink::Row> FileSink::vanished() const {
  std::vector<Row> all;
  // If every known row was seen, no row has vanished, and no further check is needed.
  if (whole_seen_ < rows_.whole().size())
    for (const auto& [key, kept] : rows_.whole())
      if (kept.seen != save_) all.emplace_back(key, kept);
  if (columns_seen_ < rows_.column_count())
    for (const auto& [chunk, columns] : rows_.columns()) {
      const KeptRow* const whole = rows_.find({StateSection::chunks, chunk, 0});
      if (whole != nullptr && whole->seen_columns == save_) continue;
      for (const KeptRows::Column& column : columns)
        if (column.row.seen != save_)
          all.emplace_back(StateKey{StateSection::columns, chunk, column.column}, column.row);
    }
  return all;
}

std::expected<void, WorldError> FileSink::good() const {
  if (error_) return std::unexpected(*error_);
  return {};
}

std::vector<std::int64_t> FileSink::replaced() const {
  std::vector<std::int64_t> all = replaced_;
  all.insert(all.end(), removals_.begin(), removals_.end());
  return all;
}

std::vector<std::int64_t> FileSink::inserted() const {
  std::vector<std::int64_t> all = removals_;
  all.insert(all.end(), past_.removals.begin(), past_.removals.end());
  for (const auto& [key, kept] : written_) all.push_back(kept.id);
  return all;
}

void FileSink::committed() {
  for (const auto& [kept, version] : compared_) {
    kept->given = true;
    kept->given_version = version;
  }
  for (const StateKey& key : removed_) rows_.erase(key);
  for (const auto& [key, kept] : written_) rows_.put(key, kept);
}

}  // namespace muster

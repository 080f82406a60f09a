#include "server/world/file_sink.h"

#include "server/world/format.h"

namespace muster {
namespace {
constexpr const char* writing = "writing a checkpoint";
}

FileSink::FileSink(Database& database, KeptRows& rows, const StateDigest& digest, std::uint64_t checkpoint,
                   std::uint64_t save, std::string shown)
    : database_(database),
      rows_(rows),
      digest_(digest),
      checkpoint_(checkpoint),
      save_(save),
      shown_(std::move(shown)) {
  const std::pair<Statement*, const char*> statements[] = {
      {&insert_,
       "INSERT INTO state(section, key, column_, version, checkpoint, checksum, bytes) "
       "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"},
      {&update_, "UPDATE state SET version = ?2, checkpoint = ?3, checksum = ?4, bytes = ?5 WHERE id = ?1"},
      {&remove_, "DELETE FROM state WHERE id = ?1"}};
  for (const auto& [statement, sql] : statements) {
    auto prepared = database_.prepare(sql, writing);
    if (!prepared) {
      error_ = std::move(prepared.error());
      return;
    }
    *statement = std::move(*prepared);
  }
}

void FileSink::fail(const StateKey& key) {
  const WorldError error = database_.error(writing);
  // A full disk is not the row's fault; of a row that is too large people want to know which.
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
  if (!kept->given && kept->length == bytes.size() &&
      kept->checksum == row_checksum({key, kept->version, kept->checkpoint}, bytes) &&
      database_.holds(kept->id, bytes)) {
    compared_.emplace_back(kept, version);
    return;
  }
  write(key, version, bytes, kept);
}

void FileSink::write(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes, const KeptRow* old) {
  const RowStamp stamp{key, version, checkpoint_};
  KeptRow kept{.id = old != nullptr ? old->id : 0,
               .version = version,
               .checkpoint = checkpoint_,
               .checksum = row_checksum(stamp, bytes),
               .length = bytes.size(),
               .given_version = version,
               .given = true,
               .seen = save_};
  bool good;
  if (old != nullptr) {
    digest_.remove({key, old->version, old->checkpoint}, old->checksum, old->length);
    good = update_.bind(1, static_cast<std::uint64_t>(old->id))
               .bind(2, version)
               .bind(3, checkpoint_)
               .bind(4, kept.checksum)
               .bind(5, bytes)
               .run();
  } else {
    good = insert_.bind(1, static_cast<std::uint64_t>(key.section))
               .bind(2, key.key)
               .bind(3, std::uint64_t{key.column})
               .bind(4, version)
               .bind(5, checkpoint_)
               .bind(6, kept.checksum)
               .bind(7, bytes)
               .run();
    kept.id = database_.last_row();
  }
  if (!good) {
    fail(key);
    return;
  }
  digest_.add(stamp, kept.checksum, kept.length);
  written_.emplace_back(key, kept);
  ++counts_.rows_written;
  counts_.bytes_written += bytes.size();
}

void FileSink::remove(const StateKey& key, const KeptRow& kept) {
  if (error_) return;
  digest_.remove({key, kept.version, kept.checkpoint}, kept.checksum, kept.length);
  if (!remove_.bind(1, static_cast<std::uint64_t>(kept.id)).run()) fail(key);
  removed_.push_back(key);
  ++counts_.rows_removed;
}

std::expected<void, WorldError> FileSink::finish() {
  // Where all that was kept was seen, nothing vanished, and no more than that was looked at.
  if (whole_seen_ < rows_.whole().size())
    for (const auto& [key, kept] : rows_.whole())
      if (kept.seen != save_) remove(key, kept);
  if (columns_seen_ < rows_.column_count())
    for (const auto& [chunk, columns] : rows_.columns()) {
      const KeptRow* const whole = rows_.find({StateSection::chunks, chunk, 0});
      if (whole != nullptr && whole->seen_columns == save_) continue;
      for (const KeptRows::Column& column : columns)
        if (column.row.seen != save_) remove({StateSection::columns, chunk, column.column}, column.row);
    }
  database_.stop_comparing();
  if (error_) return std::unexpected(*error_);
  return {};
}

void FileSink::keep() {
  for (const auto& [kept, version] : compared_) {
    kept->given = true;
    kept->given_version = version;
  }
  for (const StateKey& key : removed_) rows_.erase(key);
  for (const auto& [key, kept] : written_) rows_.put(key, kept);
}

}  // namespace muster

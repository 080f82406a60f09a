#include "server/world/store/file_history.h"

#include <utility>

#include "schema/hex.h"

namespace muster {
namespace {

constexpr const char* reading_history = "reading the history";
constexpr const char* writing_history = "writing the history";

/// Computes the digest of the table from its checksums, without reading the steps themselves.
std::expected<StateDigest, WorldError> digest_of_table(Database& database) {
  auto rows = database.prepare("SELECT number, checksum, length(bytes) FROM history", writing_history);
  if (!rows) return std::unexpected(std::move(rows.error()));
  StateDigest digest;
  SqlStep step;
  while ((step = rows->step()) == SqlStep::row)
    digest.add(RowStamp::of_step(rows->integer(0)), rows->integer(1), rows->integer(2));
  if (step == SqlStep::error) return std::unexpected(database.error(writing_history));
  return digest;
}

}  // namespace

std::expected<void, WorldError> FileHistory::read(Database& database, const FileMeta& meta, const std::string& shown,
                                                  const Take& take) {
  const auto damaged = [&](const std::string& what) {
    return std::unexpected(
        WorldError(WorldErrorCode::damaged, shown,
                   "damaged: in the history " + what +
                       ". To go on without the history, which only undo needs: DELETE FROM history"));
  };
  auto rows = database.prepare("SELECT number, checksum, bytes FROM history ORDER BY number", reading_history);
  if (!rows) return std::unexpected(std::move(rows.error()));
  StateDigest digest;
  SqlStep step;
  while ((step = rows->step()) == SqlStep::row) {
    const std::uint64_t number = rows->integer(0);
    const std::string named = "step " + std::to_string(number);
    if (!rows->is_integer(1) || !rows->is_blob(2)) return damaged("the row of " + named + " is not made like one");
    const std::span<const std::byte> bytes = rows->blob(2);
    const RowStamp stamp = RowStamp::of_step(number);
    const std::uint64_t stored = rows->integer(1), found = row_checksum(stamp, bytes);
    if (found != stored)
      return damaged("the checksum of the " + std::to_string(bytes.size()) + " bytes of " + named + " is " +
                     hex(found) + ", stored was " + hex(stored));
    digest.add(stamp, stored, bytes.size());
    if (take) take(number, bytes);
  }
  if (step == SqlStep::error) return std::unexpected(database.error(reading_history));
  if (digest.rows != 0 && (digest.rows != meta.steps || digest.text() != meta.history))
    return damaged(std::to_string(digest.rows) + " steps with digest " + digest.text() + " are there, " +
                   std::to_string(meta.steps) + " with digest " + meta.history + " were written");
  digest_ = digest;
  return {};
}

std::expected<void, WorldError> FileHistory::write(Database& database, std::span<const EditHistory::Saved> steps,
                                                   FileMeta& meta) {
  if (!digest_) {
    auto found = digest_of_table(database);
    if (!found) return std::unexpected(std::move(found.error()));
    digest_ = *found;
  }
  written_ = *digest_;
  Statement old, put, remove;
  const std::pair<Statement*, const char*> statements[] = {
      {&old, "SELECT checksum, length(bytes) FROM history WHERE number = ?1"},
      {&put,
       "INSERT INTO history(number, checksum, bytes) VALUES(?1, ?2, ?3) "
       "ON CONFLICT(number) DO UPDATE SET checksum = excluded.checksum, bytes = excluded.bytes"},
      {&remove, "DELETE FROM history WHERE number = ?1"}};
  for (const auto& [statement, sql] : statements) {
    if (steps.empty()) break;
    auto prepared = database.prepare(sql, writing_history);
    if (!prepared) return std::unexpected(std::move(prepared.error()));
    *statement = std::move(*prepared);
  }
  for (const EditHistory::Saved& each : steps) {
    const RowStamp stamp = RowStamp::of_step(each.number);
    const SqlStep found = old.bind(1, each.number).step();
    if (found == SqlStep::error) return std::unexpected(database.error(writing_history));
    if (found == SqlStep::row) written_.remove(stamp, old.integer(0), old.integer(1));
    old.reset();
    bool good = true;
    if (!each.bytes.empty()) {
      const std::uint64_t checksum = row_checksum(stamp, each.bytes);
      good = put.bind(1, each.number).bind(2, checksum).bind(3, std::span<const std::byte>(each.bytes)).run();
      written_.add(stamp, checksum, each.bytes.size());
    } else if (found == SqlStep::row) {
      good = remove.bind(1, each.number).run();
    }
    if (!good) return std::unexpected(database.error(writing_history));
  }
  meta.steps = written_.rows;
  meta.history = written_.text();
  return {};
}

}  // namespace muster

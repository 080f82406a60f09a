#include "server/world/store/file_journal.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "schema/hex.h"
#include "server/world/rows/checksum.h"

namespace muster {
namespace {

constexpr const char* reading = "reading the journal";
constexpr const char* writing = "writing the journal";

std::uint64_t inputs_of(const JournalGroup& group) noexcept { return group.last + 1 - group.first; }

/// Returns a description of a group for use in messages, for example "group 7 (inputs 120 to 140)".
std::string named(const JournalGroup& group) {
  std::string text = "group " + std::to_string(group.id);
  if (group.last >= group.first && group.first != 0)
    text += " (inputs " + std::to_string(group.first) + " to " + std::to_string(group.last) + ")";
  return text;
}

GroupStamp stamp_of(const JournalGroup& group, std::uint64_t code) noexcept {
  return {group.id, group.first, group.last, group.first_tick, group.last_tick, group.epoch, code, group.types};
}

/// Describes why a group cannot directly follow `end`. Returns an empty string if it can.
std::string misplaced(const JournalGroup& group, const JournalEnd& end) {
  if (group.id != end.group + 1)
    return "group " + std::to_string(end.group + 1) + " was to come, group " + std::to_string(group.id) + " came";
  if (group.first != end.last + 1)
    return "it begins with input " + std::to_string(group.first) + ", and input " + std::to_string(end.last + 1) +
           " was to come";
  if (group.last + 1 < group.first || group.last == ~std::uint64_t{0} || group.last_tick < group.first_tick)
    return "it ends before it begins";
  return {};
}

enum Column { id, first, last, first_tick, last_tick, epoch, code, types, checksum, records };

/// Reads and checks the statement's current row. On failure, the error text describes the fault.
std::expected<JournalGroup, std::string> judge(const Statement& row, const JournalEnd& end) {
  JournalGroup group{.id = row.integer(id),
                     .first = row.integer(first),
                     .last = row.integer(last),
                     .first_tick = row.integer(first_tick),
                     .last_tick = row.integer(last_tick),
                     .epoch = row.integer(epoch),
                     .types = row.integer(types)};
  for (int column = id; column < records; ++column)
    if (!row.is_integer(column)) return std::unexpected("a value that must be a number is none");
  if (!row.is_blob(records)) return std::unexpected("its records are not bytes");
  if (group.id != end.group + 1) return std::unexpected(misplaced(group, end));
  const std::span<const std::byte> bytes = row.blob(records);
  const std::uint64_t found = group_checksum(end.checksum, stamp_of(group, row.integer(code)), bytes);
  if (found != row.integer(checksum))
    return std::unexpected("its checksum and that of the " + std::to_string(bytes.size()) +
                           " bytes of its records is " + hex(found) + ", stored was " + hex(row.integer(checksum)));
  if (std::string wrong = misplaced(group, end); !wrong.empty()) return std::unexpected(std::move(wrong));
  group.records.assign(bytes.begin(), bytes.end());
  return group;
}

}  // namespace

std::expected<void, WorldError> FileJournal::open(Database& database, const FileMeta& meta, const std::string& shown) {
  end_ = {.group = meta.group, .checksum = meta.chain, .last = meta.sequence};
  newest_ = meta.group;
  unread_ = false;
  past_first_ = meta.group + 1;
  past_last_ = meta.past_group();
  auto statement = database.prepare("SELECT min(id), max(id) FROM journal", reading);
  if (!statement) return std::unexpected(std::move(statement.error()));
  if (statement->step() != SqlStep::row) return std::unexpected(database.error(reading));
  if (statement->is_null(0)) return {};
  if (!statement->is_integer(0) || !statement->is_integer(1) || statement->integer(0) == 0)
    return std::unexpected(
        WorldError(WorldErrorCode::damaged, shown, "damaged: the journal has group " + statement->text(0)));
  past_first_ = std::min(past_first_, statement->integer(0));
  newest_ = std::max(newest_, statement->integer(1));
  unread_ = newest_ > meta.group;
  return {};
}

std::expected<JournalReport, WorldError> FileJournal::read(Database& database, const FileMeta& meta,
                                                           const std::string& shown, const Take& take,
                                                           std::uint64_t newest) {
  const auto damaged = [&](const std::string& what) {
    return std::unexpected(WorldError(WorldErrorCode::damaged, shown, "damaged: in the journal " + what));
  };
  const auto without_it = [&] {
    const std::string from = std::to_string(end_.group + 1);
    return ". To go on without what was recorded since group " + from + ": DELETE FROM journal WHERE id >= " + from +
           ", and remove the lock file";
  };
  auto code_of = database.prepare("SELECT identity FROM codes WHERE id = ?1", reading);
  if (!code_of) return std::unexpected(std::move(code_of.error()));
  auto rows = database.prepare(
      "SELECT id, first, last, first_tick, last_tick, epoch, code, types, checksum, records FROM journal "
      "WHERE id > ?1 AND id <= ?2 ORDER BY id",
      reading);
  if (!rows) return std::unexpected(std::move(rows.error()));
  rows->bind(1, meta.group).bind(2, newest);
  end_ = {.group = meta.group, .checksum = meta.chain, .last = meta.sequence};
  newest_ = meta.group;
  unread_ = true;
  JournalReport report;
  bool wants = take != nullptr;
  SqlStep step;
  while ((step = rows->step()) == SqlStep::row) {
    newest_ = rows->integer(id);
    auto group = judge(*rows, end_);
    if (!group) {
      const JournalGroup bad{.id = newest_, .first = rows->integer(first), .last = rows->integer(last)};
      const std::string what = named(bad) + " is wrong: " + group.error();
      return damaged(what + without_it());
    }
    std::uint64_t key = rows->integer(code);
    code_of->reset();
    const SqlStep found = code_of->bind(1, key).step();
    if (found == SqlStep::error) return std::unexpected(database.error(reading));
    const bool is_there = found == SqlStep::row && code_of->is_text(0);
    if (is_there) group->code = code_of->text(0);
    if (!is_there || text_checksum(group->code) != key)
      return damaged("the code of " + named(*group) + ", " + hex(key) + ", is missing in the table 'codes' or another" +
                     without_it());
    end_ = {.group = group->id, .checksum = rows->integer(checksum), .last = group->last};
    ++report.groups;
    report.inputs += inputs_of(*group);
    report.bytes += group->records.size();
    if (!wants) continue;
    const auto taken = take(*group);
    if (!taken)
      return std::unexpected(WorldError(WorldErrorCode::incompatible, shown,
                                        "the journal is refused: " + named(*group) + ": " + taken.error()));
    wants = *taken;
  }
  if (step == SqlStep::error) return std::unexpected(database.error(reading));
  unread_ = false;
  return report;
}

std::expected<void, WorldError> FileJournal::append(Database& database, const std::string& shown, JournalGroup& group) {
  group.id = end_.group + 1;
  if (const std::string wrong = misplaced(group, end_); !wrong.empty())
    return std::unexpected(
        WorldError(WorldErrorCode::setup, shown, "a group of inputs does not follow the journal: " + wrong));
  const std::pair<Statement*, const char*> statements[] = {
      {&insert_,
       "INSERT INTO journal(id, first, last, first_tick, last_tick, epoch, code, types, checksum, records) "
       "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"},
      {&code_, "INSERT INTO codes(id, identity) VALUES(?1, ?2) ON CONFLICT DO NOTHING"}};
  for (const auto& [statement, sql] : statements) {
    if (*statement) continue;
    auto prepared = database.prepare(sql, writing);
    if (!prepared) return std::unexpected(std::move(prepared.error()));
    *statement = std::move(*prepared);
  }
  const std::uint64_t key = text_checksum(group.code);
  appended_checksum_ = group_checksum(end_.checksum, stamp_of(group, key), group.records);
  const bool good = code_.bind(1, key).bind(2, std::string_view(group.code)).run() &&
                    insert_.bind(1, group.id)
                        .bind(2, group.first)
                        .bind(3, group.last)
                        .bind(4, group.first_tick)
                        .bind(5, group.last_tick)
                        .bind(6, group.epoch)
                        .bind(7, key)
                        .bind(8, group.types)
                        .bind(9, appended_checksum_)
                        .bind(10, std::span<const std::byte>(group.records))
                        .run();
  if (!good) return std::unexpected(database.error(writing));
  return {};
}

void FileJournal::appended(const JournalGroup& group) noexcept {
  end_ = {.group = group.id, .checksum = appended_checksum_, .last = group.last};
  newest_ = group.id;
}

std::expected<std::uint64_t, WorldError> FileJournal::remove_past(Database& database, std::uint64_t past,
                                                                  const std::function<bool()>& enough) {
  constexpr const char* removing = "removing groups of the past";
  if (past_first_ > past) return past_first_;
  const std::pair<Statement*, const char*> statements[] = {{&remove_, "DELETE FROM journal WHERE id = ?1"},
                                                           {&oldest_, "SELECT min(id) FROM journal"}};
  for (const auto& [statement, sql] : statements) {
    if (*statement) continue;
    auto prepared = database.prepare(sql, removing);
    if (!prepared) return std::unexpected(std::move(prepared.error()));
    *statement = std::move(*prepared);
  }
  std::uint64_t next = past_first_;
  for (bool more = true; more && next <= past; more = !enough()) {
    if (!remove_.bind(1, next).run()) return std::unexpected(database.error(removing));
    // In a damaged file, group numbers may be far apart, so do not iterate over all numbers.
    oldest_.reset();
    if (oldest_.step() != SqlStep::row) return std::unexpected(database.error(removing));
    next = oldest_.is_null(0) ? past + 1 : std::max(next + 1, oldest_.integer(0));
    oldest_.reset();
  }
  if (next <= past) return next;
  auto removed = database.run("DELETE FROM codes WHERE id NOT IN (SELECT code FROM journal)", removing);
  if (!removed) return std::unexpected(std::move(removed.error()));
  return next;
}

void FileJournal::saved(const JournalEnd& contained, std::uint64_t past, std::uint64_t sequence) noexcept {
  newest_ = end_.group;
  past_last_ = past;
  // No inputs were recorded after the checkpoint was taken, so the next group starts directly after
  // the checkpoint, regardless of what the earlier groups contain.
  if (end_.group == contained.group) end_.last = sequence;
}

}  // namespace muster

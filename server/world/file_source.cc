#include "server/world/file_source.h"

#include <algorithm>
#include <cstdio>

#include "server/world/format.h"

namespace muster {
namespace {

constexpr const char* reading = "reading the state";

std::string hex(std::uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

}  // namespace

void FileSource::fail(WorldErrorCode code, std::string detail) {
  if (!error_) error_.emplace(code, shown_, std::move(detail));
}

std::span<const std::byte> FileSource::aligned(std::span<const std::byte> bytes) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % 16 == 0) return bytes;
  buffer_.assign(bytes.begin(), bytes.end());  // operator new aligns to 16
  return buffer_;
}

void FileSource::rows(StateSection section,
                      const std::function<void(const StateKey&, std::span<const std::byte>)>& take) {
  if (error_) return;
  StateDigest digest;
  // Keys are unsigned, SQL's integers signed: those with the upper bit set come second.
  for (const char* sql : {"SELECT id, key, column_, version, checkpoint, checksum, bytes FROM state "
                          "WHERE section = ?1 AND key >= 0 ORDER BY key, column_",
                          "SELECT id, key, column_, version, checkpoint, checksum, bytes FROM state "
                          "WHERE section = ?1 AND key < 0 ORDER BY key, column_"}) {
    auto statement = database_.prepare(sql, reading);
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
  Step step;
  while ((step = statement.step()) == Step::row) {
    RowStamp stamp;
    stamp.key = {section, statement.integer(1), static_cast<std::uint32_t>(statement.integer(2))};
    stamp.version = statement.integer(3);
    stamp.checkpoint = statement.integer(4);
    const std::string place = world_format::place(stamp.key);
    for (int column = 0; column < 6; ++column)
      if (!statement.is_integer(column)) {
        fail(WorldErrorCode::damaged, "damaged: " + place + ": a value that must be a number is none");
        return false;
      }
    if (statement.integer(2) > 0xffffffffu || !statement.is_blob(6)) {
      fail(WorldErrorCode::damaged, "damaged: " + place + ": the row is not made like one");
      return false;
    }
    const std::span<const std::byte> bytes = statement.blob(6);
    const std::uint64_t stored = statement.integer(5);
    const std::uint64_t found = row_checksum(stamp, bytes);
    if (found != stored) {
      fail(WorldErrorCode::damaged, "damaged: " + place + ": the checksum of its " + std::to_string(bytes.size()) +
                                        " bytes is " + hex(found) + ", stored was " + hex(stored));
      return false;
    }
    digest.add(stamp, stored, bytes.size());
    rows_.put(stamp.key, {.id = static_cast<std::int64_t>(statement.integer(0)),
                          .version = stamp.version,
                          .checkpoint = stamp.checkpoint,
                          .checksum = stored,
                          .length = bytes.size()});
    if (take) take(stamp.key, aligned(bytes));
  }
  if (step == Step::error) {
    error_ = database_.error(reading);
    return false;
  }
  return true;
}

std::expected<void, WorldError> FileSource::finish(const FileMeta& meta) {
  std::vector<StateSection> left;
  if (!error_) {
    auto statement = database_.prepare("SELECT DISTINCT section FROM state ORDER BY section", reading);
    if (!statement) return std::unexpected(std::move(statement.error()));
    Step step;
    while ((step = statement->step()) == Step::row) {
      const std::uint64_t section = statement->integer(0);
      if (!statement->is_integer(0) || section > 0xffff) {
        fail(WorldErrorCode::damaged, "damaged: a row of section " + statement->text(0) + ", which cannot be");
        break;
      }
      if (!digests_.contains(static_cast<StateSection>(section))) left.push_back(static_cast<StateSection>(section));
    }
    if (step == Step::error) return std::unexpected(database_.error(reading));
  }
  for (const StateSection section : left) rows(section, nullptr);
  if (error_) return std::unexpected(*error_);
  StateDigest whole;
  for (const auto& [section, digest] : digests_) whole.add(digest);
  if (whole.rows != meta.rows || whole.text() != meta.digest)
    return std::unexpected(WorldError(WorldErrorCode::damaged, shown_,
                                      "damaged: the rows are not those of checkpoint " +
                                          std::to_string(meta.checkpoint) + ": " + std::to_string(whole.rows) +
                                          " with digest " + whole.text() + " are there, " + std::to_string(meta.rows) +
                                          " with digest " + meta.digest + " were written"));
  return {};
}

}  // namespace muster

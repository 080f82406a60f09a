// Reads and writes the `journal` table: groups of inputs after the checkpoint. Each group is
// chained to the previous one by its checksum (checksum.h).
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>

#include "server/world/file/database.h"
#include "server/world/file/file_meta.h"
#include "server/world/journal/journal_group.h"

namespace muster {

/// The end of the chain: the last group, its checksum, and the sequence of the last input.
struct JournalEnd {
  std::uint64_t group = 0, checksum = 0, last = 0;
};

/// The journal of one open file. Must be destroyed before its database.
class FileJournal {
 public:
  /// Called with each group. If it returns false, the remaining groups are only checked. If it
  /// refuses a group, the error gives the reason.
  using Take = std::function<std::expected<bool, std::string>(const JournalGroup&)>;

  /// Finds the groups of a file whose checkpoint is `meta`, including past ones. Must run inside
  /// the caller's read transaction.
  [[nodiscard]] std::expected<void, WorldError> open(Database& database, const FileMeta& meta,
                                                     const std::string& shown);
  /// Returns true if there are groups that read() has not yet read.
  bool is_unread() const noexcept { return unread_; }
  /// Returns the highest group number in the file, whether or not the group is valid, or the number
  /// of the checkpoint's last group if the file has no groups.
  std::uint64_t newest() const noexcept { return newest_; }
  /// Returns the last valid group, or the checkpoint's last group while groups are unread.
  const JournalEnd& end() const noexcept { return end_; }

  /// Passes the verified groups after the checkpoint to `take`, in order, with bytes aligned to 16.
  /// If a group is wrong, fails with an error that names it. SQLite commits are atomic, so a
  /// partial group can only mean damage. Must run inside the caller's read transaction. Changes
  /// nothing.
  [[nodiscard]] std::expected<JournalReport, WorldError> read(Database& database, const FileMeta& meta,
                                                              const std::string& shown, const Take& take);

  /// Writes a group inside the caller's transaction, and sets its id. keep() must be called after
  /// the commit.
  [[nodiscard]] std::expected<void, WorldError> append(Database& database, const std::string& shown,
                                                       JournalGroup& group);
  void keep(const JournalGroup& group) noexcept;

  /// Call this after committing a checkpoint with the inputs up to `sequence`. The checkpoint
  /// contains the groups up to `contained`, which become past groups.
  void kept(const JournalEnd& contained, std::uint64_t sequence) noexcept;
  /// Returns true if the file has past groups.
  bool has_past() const noexcept { return past_first_ <= past_last_; }
  /// Removes groups up to `contained`, oldest first, until `enough`, which is called after each
  /// removal, returns true. Must run inside the caller's transaction. Returns the first remaining
  /// group; pass it to past_removed() after the commit.
  [[nodiscard]] std::expected<std::uint64_t, WorldError> remove_past(Database& database, std::uint64_t contained,
                                                                     const std::function<bool()>& enough);
  std::uint64_t past_last() const noexcept { return past_last_; }
  void past_removed(std::uint64_t first_left) noexcept { past_first_ = first_left; }

 private:
  JournalEnd end_;
  std::uint64_t past_first_ = 1, past_last_ = 0;  // range of past groups in the file
  std::uint64_t newest_ = 0;
  std::uint64_t appended_checksum_ = 0;
  bool unread_ = false;
  Statement insert_, code_, remove_, oldest_;
};

}  // namespace muster

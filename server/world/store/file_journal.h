// Reads and writes the `journal` table, which holds groups of inputs recorded after the checkpoint.
// Each group is chained to the previous one by its checksum (checksum.h).
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>

#include "server/world/journal/journal_group.h"
#include "server/world/store/database.h"
#include "server/world/store/file_meta.h"

namespace muster {

/// The end of the chain: the number of the last group, its checksum, and the sequence number of its
/// last input.
struct JournalEnd {
  std::uint64_t group = 0, checksum = 0, last = 0;
};

/// The journal of one open file. Must be destroyed before its database.
class FileJournal {
 public:
  /// A function that is called for each group. If it returns false, the remaining groups are only
  /// checked. If it rejects a group, the error explains the reason.
  using Take = std::function<std::expected<bool, std::string>(const JournalGroup&)>;

  /// Finds the groups, including past groups, of a file whose checkpoint is described by `meta`.
  /// Must be called inside the caller's read transaction.
  [[nodiscard]] std::expected<void, WorldError> open(Database& database, const FileMeta& meta,
                                                     const std::string& shown);
  /// Returns true if there are groups that read() has not yet read.
  bool is_unread() const noexcept { return unread_; }
  /// Returns the highest group number in the file, whether or not that group is valid. If the file
  /// has no groups, returns the number of the last group contained in the checkpoint.
  std::uint64_t newest() const noexcept { return newest_; }
  /// Returns the last valid group, or the checkpoint's last group if is_unread().
  const JournalEnd& end() const noexcept { return end_; }

  /// Verifies the groups after the checkpoint and passes them to `take`, in order, with their bytes
  /// aligned to 16. If a group is invalid, fails with an error that names it. SQLite commits are
  /// atomic, so a partial group can only mean damage. Must be called inside the caller's read
  /// transaction. Does not change the file.
  /// Groups with numbers above `newest` are ignored.
  [[nodiscard]] std::expected<JournalReport, WorldError> read(Database& database, const FileMeta& meta,
                                                              const std::string& shown, const Take& take,
                                                              std::uint64_t newest = ~std::uint64_t{0} >> 1);

  /// Writes a group inside the caller's transaction, and sets the group's id. appended() must be
  /// called after the commit.
  [[nodiscard]] std::expected<void, WorldError> append(Database& database, const std::string& shown,
                                                       JournalGroup& group);
  void appended(const JournalGroup& group) noexcept;

  /// Must be called after read() has failed, if the groups from there on are given up.
  void give_up() noexcept { unread_ = false; }
  /// Must be called after committing a checkpoint that contains the inputs up to `sequence` and the
  /// groups up to `contained`. The groups up to `past` become past groups.
  void saved(const JournalEnd& contained, std::uint64_t past, std::uint64_t sequence) noexcept;
  /// Returns true if the file has past groups.
  bool has_past() const noexcept { return past_first_ <= past_last_; }
  /// Removes the groups up to `past`, oldest first. Calls `enough` after each removal, and
  /// stops when it returns true. Must be called inside the caller's transaction. Returns the number
  /// of the first remaining group, which must be passed to past_removed() after the commit.
  [[nodiscard]] std::expected<std::uint64_t, WorldError> remove_past(Database& database, std::uint64_t past,
                                                                     const std::function<bool()>& enough);
  std::uint64_t past_last() const noexcept { return past_last_; }
  void past_removed(std::uint64_t first_left) noexcept { past_first_ = first_left; }

 private:
  JournalEnd end_;
  std::uint64_t past_first_ = 1, past_last_ = 0;  // range of the past groups in the file
  std::uint64_t newest_ = 0;
  std::uint64_t appended_checksum_ = 0;
  bool unread_ = false;
  Statement insert_, code_, remove_, oldest_;
};

}  // namespace muster

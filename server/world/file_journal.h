// The table `journal`: groups of inputs after the checkpoint, each chained to the one before by its checksum (checksum.h).
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>

#include "server/world/database.h"
#include "server/world/file_meta.h"
#include "server/world/journal/journal_group.h"

namespace muster {

/// Where the chain stands: the last group, its checksum, and the sequence of the last input.
struct JournalEnd {
  std::uint64_t group = 0, checksum = 0, last = 0;
};

/// Of one open file. Ends before its database.
class FileJournal {
 public:
  /// Takes a group; false: it wants no more of them, and the rest is only checked. The text of an error says what it refused.
  using Take = std::function<std::expected<bool, std::string>(const JournalGroup&)>;

  /// Begins with what a file whose checkpoint is `meta` has, groups of the past too: inside the caller's read transaction.
  [[nodiscard]] std::expected<void, WorldError> open(Database& database, const FileMeta& meta,
                                                     const std::string& shown);
  /// Whether groups are there that read() did not pass.
  bool is_unread() const noexcept { return unread_; }
  /// The largest number that a group in the file has, good or not; of the last checkpoint's where there is none.
  std::uint64_t newest() const noexcept { return newest_; }
  /// The last good group; where groups are unread, of those that were there at the checkpoint.
  const JournalEnd& end() const noexcept { return end_; }

  /// Gives the groups after the checkpoint in order, each judged before it is given. Inside the caller's read transaction. Bytes are
  /// given aligned to 16. A wrong one is an error that names it: a commit of SQLite's is there whole or not at all. Changes nothing.
  [[nodiscard]] std::expected<JournalReport, WorldError> read(Database& database, const FileMeta& meta,
                                                              const std::string& shown, const Take& take);

  /// Writes a group inside the caller's transaction, whose commit is followed by keep(). Gives it its id.
  [[nodiscard]] std::expected<void, WorldError> append(Database& database, const std::string& shown,
                                                       JournalGroup& group);
  void keep(const JournalGroup& group) noexcept;

  /// After the commit of a checkpoint. One with the inputs up to `sequence` contains the groups up to `contained`: those are of the past.
  void kept(const JournalEnd& contained, std::uint64_t sequence) noexcept;
  /// Whether the file has groups of the past.
  bool has_past() const noexcept { return past_first_ <= past_last_; }
  /// Removes groups up to `contained`, the oldest first, and asks `enough` after each; inside the caller's transaction. Gives the first
  /// that is left: past_removed() is to be told it when that transaction is committed.
  [[nodiscard]] std::expected<std::uint64_t, WorldError> remove_past(Database& database, std::uint64_t contained,
                                                                     const std::function<bool()>& enough);
  std::uint64_t past_last() const noexcept { return past_last_; }
  void past_removed(std::uint64_t first_left) noexcept { past_first_ = first_left; }

 private:
  JournalEnd end_;
  std::uint64_t past_first_ = 1, past_last_ = 0;  // numbers of the groups of the past that are there
  std::uint64_t newest_ = 0;
  std::uint64_t appended_checksum_ = 0;
  bool unread_ = false;
  Statement insert_, code_, remove_, oldest_;
};

}  // namespace muster

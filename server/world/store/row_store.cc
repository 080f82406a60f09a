#include "server/world/store/row_store.h"

#include <algorithm>
#include <utility>

#include "server/world/store/file_source.h"

namespace muster {

std::expected<void, WorldError> RowStore::load(const Read& read) {
  if (!tables()) return {};
  constexpr const char* doing = "reading the state";
  // The checkpoint refers to the rows; the rows that it wrote are found again below.
  begun_.reset();
  rows_.clear();
  left_over_.clear();
  past_rows_.clear();
  rows_known_ = false;
  if (auto begun = tables()->run("BEGIN", doing); !begun) return begun;
  const Transaction transaction(*tables());
  auto meta = read_meta(*tables(), format_, shown_);
  if (!meta) return std::unexpected(std::move(meta.error()));
  meta_ = std::move(*meta);
  FileSource source(*tables(), meta_, rows_, shown_);
  std::expected<void, StateError> taken;
  if (!is_new()) taken = read(source);
  if (auto whole = source.finish(); !whole) return std::unexpected(explained(whole.error()));
  if (!taken) {
    std::string detail = "the state is refused: " + world_format::place(taken.error().at) + ": " + taken.error().what;
    return std::unexpected(error(WorldErrorCode::incompatible, std::move(detail)));
  }
  digest_ = source.digest();
  left_over_ = source.left_over();
  past_rows_ = std::move(source.past());
  is_fresh_ = true;  // the journal may be applied in another way than it was recorded
  if (auto measured = measure_past(); !measured) return measured;
  if (auto noted = note_read(); !noted) return noted;
  rows_known_ = true;
  if (!journal_.is_unread()) note_whole();
  return {};
}

std::expected<void, WorldError> RowStore::steps(const TakeStep& take) {
  if (!tables() || is_older()) return {};
  if (auto begun = tables()->run("BEGIN", "reading the history"); !begun) return begun;
  const Transaction transaction(*tables());
  if (auto read = history_.read(*tables(), meta_, shown_, take); !read) return std::unexpected(explained(read.error()));
  return {};
}

std::expected<JournalReport, WorldError> RowStore::journal(const TakeGroup& take) {
  if (!tables()) return {};
  constexpr const char* doing = "reading the journal";
  if (auto begun = tables()->run("BEGIN", doing); !begun) return std::unexpected(std::move(begun.error()));
  const Transaction transaction(*tables());
  auto report = journal_.read(*tables(), meta_, shown_, take);
  if (!report) return std::unexpected(explained(report.error()));
  if (rows_known_) note_whole();
  return report;
}

void RowStore::give_up_journal() noexcept {
  journal_given_up_ = true;
  journal_.give_up();
}

std::expected<void, WorldError> RowStore::append(JournalGroup& group, Merges merges) {
  constexpr const char* doing = "writing the journal";
  if (is_new() || is_older())
    return std::unexpected(error(WorldErrorCode::setup, "inputs cannot be recorded before the first checkpoint"));
  if (auto begun = begin_writing(doing); !begun) return begun;
  const Transaction transaction(*tables());
  if (auto appended = journal_.append(*tables(), shown_, group); !appended) return appended;
  if (auto committed = commit(doing); !committed) return committed;
  journal_.appended(group);
  if (past_bytes_ > 0) new_groups_.emplace_back(group.id, group.records.size());
  if (auto settled = settle(); !settled) return settled;
  set_mark(group.id);
  wrote(merges);
  return {};
}

std::expected<void, WorldError> RowStore::unread() const {
  if (!journal_.is_unread()) return {};
  return std::unexpected(error(WorldErrorCode::setup, "holds inputs that were recorded after checkpoint " +
                                                          std::to_string(meta_.checkpoint) +
                                                          " and not read since; nothing is written over them"));
}

void RowStore::let_go() noexcept {
  begun_.reset();
  journal_ = {};
  history_ = {};
}

}  // namespace muster

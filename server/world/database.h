// SQLite as this folder uses it: a connection, a statement, and errors as world errors. sqlite3.h stays in the .cc files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/world/world_error.h"

struct sqlite3;
struct sqlite3_stmt;
struct sqlite3_blob;

namespace muster {

enum class Step : std::uint8_t { row, done, error };

/// A prepared statement. Must end before its Database. Columns are valid until the next step or reset.
class Statement {
 public:
  Statement() = default;
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  explicit operator bool() const noexcept { return statement_ != nullptr; }
  /// Values are bound from 1; `bytes` and `text` must live until reset.
  Statement& bind(int index, std::uint64_t value) noexcept;
  Statement& bind(int index, std::span<const std::byte> bytes) noexcept;
  Statement& bind(int index, std::string_view text) noexcept;
  Statement& bind_null(int index) noexcept;
  Step step() noexcept;
  /// One step that gives no row, then reset.
  bool run() noexcept;
  void reset() noexcept;

  bool is_integer(int column) const noexcept;
  bool is_blob(int column) const noexcept;
  bool is_text(int column) const noexcept;
  bool is_null(int column) const noexcept;
  std::uint64_t integer(int column) const noexcept;
  std::span<const std::byte> blob(int column) const noexcept;
  std::string text(int column) const;

 private:
  friend class Database;
  sqlite3_stmt* statement_ = nullptr;
  bool bound_ = true;  // every bind since the last reset succeeded
};

/// One connection, used by one thread at a time.
class Database {
 public:
  /// An empty database name for `vfs` means SQLite's own file access. `shown` is the path in errors.
  [[nodiscard]] static std::expected<Database, WorldError> open(const std::string& path, bool create,
                                                                const std::string& vfs, const std::string& shown);
  /// Opens the file as it is without its -wal, to read. It takes no locks: whoever writes meanwhile makes what is read worthless.
  [[nodiscard]] static std::expected<Database, WorldError> open_alone(const std::string& path,
                                                                      const std::string& shown);
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  [[nodiscard]] std::expected<void, WorldError> run(const char* sql, const char* doing);
  [[nodiscard]] std::expected<Statement, WorldError> prepare(const char* sql, const char* doing);
  /// The first column of the first row, as text; empty if there is none.
  [[nodiscard]] std::expected<std::string, WorldError> value(const char* sql, const char* doing);

  /// The last error of this connection as a sentence: "the disk is full while writing a checkpoint".
  WorldError error(const char* doing) const;
  std::int64_t last_row() const noexcept;
  bool in_transaction() const noexcept;
  void roll_back() noexcept;
  bool is_read_only() const noexcept;
  /// As the last statement that read something found it.
  bool is_in_wal_mode() const noexcept;
  /// Whether the end of this connection may merge the -wal into the file and remove it.
  void merge_at_end(bool merge) noexcept;
  /// Moves committed pages from the -wal into the file, as far as readers allow, also while another connection writes. Gives how many bytes of
  /// pages at the front of the -wal are in the file; none: it failed, which costs nothing but space. A -wal that began anew meanwhile has none.
  std::optional<std::uint64_t> merge() noexcept;
  /// Moves all of them, so that the -wal begins anew, under other numbers, with what is written next. False: somebody reads the file just
  /// now; nobody waits for that.
  [[nodiscard]] std::expected<bool, WorldError> merge_whole(const char* doing);
  /// How much of the -wal the last commit of this connection left in use. Less than before: it began anew with that commit.
  std::uint64_t wal_bytes() const noexcept { return wal_->bytes; }
  /// How many commits of this connection wrote to the -wal.
  std::uint64_t wal_commits() const noexcept { return wal_->commits; }
  /// Has all of the -wal on the disk when it returns: whoever wrote it may have died before that. Changes no byte. After something was read.
  [[nodiscard]] std::expected<void, WorldError> sync_wal(const char* doing);
  /// Writes all that this connection sees to a new database at `path`; on the disk when it returns. After an error something of it
  /// may be there. Not within a transaction.
  [[nodiscard]] std::expected<void, WorldError> copy_to(const std::string& path, const std::string& vfs,
                                                        const char* doing);
  /// True where the bytes of row `id` of `state` are exactly `bytes`. Keeps a reader open until stop_comparing.
  bool holds(std::int64_t id, std::span<const std::byte> bytes) noexcept;
  /// To be called before a commit: an open reader would keep the -wal from being reused.
  void stop_comparing() noexcept;

 private:
  Database() = default;
  static std::expected<Database, WorldError> begin(const std::string& name, int flags, const std::string& vfs,
                                                   const std::string& shown);
  void close() noexcept;

  sqlite3* connection_ = nullptr;
  sqlite3_blob* blob_ = nullptr;
  struct WalCount {
    std::uint64_t bytes = 0, commits = 0;
  };
  std::unique_ptr<WalCount> wal_ = std::make_unique<WalCount>();  // SQLite knows where it lies
  std::string shown_;
};

/// Ends the transaction that was begun before it, unless that was done.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() { database_.roll_back(); }

 private:
  Database& database_;
};

}  // namespace muster

// Wraps SQLite for this folder: connections, statements, and errors as world errors. Only .cc files
// include sqlite3.h.
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

/// A prepared statement. Must be destroyed before its Database. Columns are valid until the next
/// step or reset.
class Statement {
 public:
  Statement() = default;
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  explicit operator bool() const noexcept { return statement_ != nullptr; }
  /// Binds values, from index 1. `bytes` and `text` must live until reset.
  Statement& bind(int index, std::uint64_t value) noexcept;
  Statement& bind(int index, std::span<const std::byte> bytes) noexcept;
  Statement& bind(int index, std::string_view text) noexcept;
  Statement& bind_null(int index) noexcept;
  Step step() noexcept;
  /// Makes one step, which must give no row, and resets.
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
  /// Opens a database. An empty `vfs` means SQLite's own file access. `shown` is the path in
  /// errors.
  [[nodiscard]] static std::expected<Database, WorldError> open(const std::string& path, bool create,
                                                                const std::string& vfs, const std::string& shown);
  /// Opens the file without its -wal, for reading. Takes no locks, so a concurrent write makes the
  /// result worthless.
  [[nodiscard]] static std::expected<Database, WorldError> open_alone(const std::string& path,
                                                                      const std::string& shown);
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  [[nodiscard]] std::expected<void, WorldError> run(const char* sql, const char* doing);
  [[nodiscard]] std::expected<Statement, WorldError> prepare(const char* sql, const char* doing);
  /// Returns the first column of the first row as text; empty if there is no row.
  [[nodiscard]] std::expected<std::string, WorldError> value(const char* sql, const char* doing);

  /// Returns the last error of this connection as a sentence: "the disk is full while writing a
  /// checkpoint".
  WorldError error(const char* doing) const;
  std::int64_t last_row() const noexcept;
  bool in_transaction() const noexcept;
  void roll_back() noexcept;
  bool is_read_only() const noexcept;
  /// Returns the journal mode found by the last statement that read something.
  bool is_in_wal_mode() const noexcept;
  /// Sets whether the end of this connection merges the -wal into the file and removes it.
  void merge_at_end(bool merge) noexcept;
  /// Moves committed pages from the -wal into the file, as far as readers allow, also while another
  /// connection writes. Returns the bytes of pages at the front of the -wal that are in the file,
  /// or nothing after a failure, which only costs space. A -wal that began anew has 0.
  std::optional<std::uint64_t> merge() noexcept;
  /// Moves all pages, so that the next write begins the -wal anew. Returns false without waiting if
  /// the file is being read.
  [[nodiscard]] std::expected<bool, WorldError> merge_whole(const char* doing);
  /// Returns the bytes of the -wal in use after the last commit of this connection. Less than
  /// before means that it began anew.
  std::uint64_t wal_bytes() const noexcept { return wal_->bytes; }
  /// Returns the number of commits of this connection that wrote to the -wal.
  std::uint64_t wal_commits() const noexcept { return wal_->commits; }
  /// Syncs the whole -wal to the disk, because an earlier writer may have died before its sync.
  /// Changes no byte. Call after something was read.
  [[nodiscard]] std::expected<void, WorldError> sync_wal(const char* doing);
  /// Copies the database to a new one at `path`, on the disk on return. After an error a part of it
  /// may exist. Not within a transaction.
  [[nodiscard]] std::expected<void, WorldError> copy_to(const std::string& path, const std::string& vfs,
                                                        const char* doing);
  /// Returns true if row `id` of `state` has exactly these `bytes`. Keeps a reader open until
  /// stop_comparing().
  bool holds(std::int64_t id, std::span<const std::byte> bytes) noexcept;
  /// Call before a commit, because an open reader prevents reuse of the -wal.
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
  std::unique_ptr<WalCount> wal_ = std::make_unique<WalCount>();  // SQLite has its address
  std::string shown_;
};

/// Rolls back the caller's transaction, unless it has ended.
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

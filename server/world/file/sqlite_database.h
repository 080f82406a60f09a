// The tables of a world in a SQLite file. Converts SQLite's errors to WorldErrors. Only .cc files
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

#include "server/world/store/database.h"
#include "server/world/store/world_error.h"

struct sqlite3;
struct sqlite3_blob;

namespace muster {

/// A connection to a SQLite database. It may be used by only one thread at a time.
class SqliteDatabase final : public Database {
 public:
  /// Opens a database, or creates one that only its owner can read. If `vfs` is empty, SQLite's
  /// default VFS is used. Error messages call the path `shown`.
  [[nodiscard]] static std::expected<SqliteDatabase, WorldError> open(const std::string& path, bool create,
                                                                      const std::string& vfs, const std::string& shown);
  /// Opens the file read-only and ignores its -wal. Takes no locks, so the data is unreliable if
  /// another connection writes to the file at the same time.
  [[nodiscard]] static std::expected<SqliteDatabase, WorldError> open_alone(const std::string& path,
                                                                            const std::string& shown);
  SqliteDatabase(SqliteDatabase&& other) noexcept;
  SqliteDatabase& operator=(SqliteDatabase&& other) noexcept;
  ~SqliteDatabase() override;

  [[nodiscard]] std::expected<void, WorldError> run(const char* sql, const char* doing) override;
  [[nodiscard]] std::expected<Statement, WorldError> prepare(const char* sql, const char* doing) override;

  /// Checks the structure of the whole database. Fails if the database contains code that reading
  /// or writing Muster's tables would run (an index, a CHECK constraint, a generated column, or a
  /// virtual table of another program), if the structure is damaged, or if the check takes more
  /// steps than a database of this size needs.
  [[nodiscard]] std::expected<void, WorldError> check_structure(const char* doing);

  WorldError error(const char* doing) const override;
  std::int64_t next_row() noexcept override { return 0; }
  std::int64_t last_row() const noexcept override;
  bool in_transaction() const noexcept;
  void roll_back() noexcept override;
  bool is_read_only() const noexcept;
  /// Frees SQLite's copies of pages, which are at most 16 MiB. It reads pages again when it needs
  /// them.
  void forget_pages() noexcept override;
  /// Returns true if the file was in WAL mode when a statement last read data from it.
  bool is_in_wal_mode() const noexcept;
  /// Sets whether closing this connection merges the -wal into the file and removes it.
  void merge_at_end(bool merge) noexcept;
  /// Moves committed pages from the -wal into the file, as far as readers permit. Works even while
  /// another connection is writing. Returns how many bytes of pages at the start of the -wal are
  /// now in the file (0 if the -wal was restarted), or nothing on failure. The only consequence of
  /// a failure is that the -wal occupies more disk space.
  std::optional<std::uint64_t> merge() noexcept;
  /// Moves all pages into the file, so that the next write restarts the -wal. Returns false
  /// immediately if another connection is reading the file.
  [[nodiscard]] std::expected<bool, WorldError> merge_whole(const char* doing);
  /// Returns the number of bytes in use in the -wal after this connection's most recent commit. If
  /// the value decreases, the -wal was restarted.
  std::uint64_t wal_bytes() const noexcept { return wal_->bytes; }
  /// Returns the number of commits on this connection that wrote to the -wal.
  std::uint64_t wal_commits() const noexcept { return wal_->commits; }
  /// Syncs the whole -wal to disk, because an earlier writer may have died before syncing it. Does
  /// not change any bytes. Must be called after reading from the database.
  [[nodiscard]] std::expected<void, WorldError> sync_wal(const char* doing);
  /// Copies the database to a new file at `path`. The copy is on disk when the call returns. After
  /// an error, a partial copy may exist. Must not be called within a transaction.
  [[nodiscard]] std::expected<void, WorldError> copy_to(const std::string& path, const std::string& vfs,
                                                        const char* doing);
  /// Returns true if the row of `state` with the given `id` contains exactly `bytes`. Opens a
  /// reader, which stays open until stop_comparing() is called.
  bool holds(std::int64_t id, std::span<const std::byte> bytes) noexcept override;
  /// Closes the reader opened by holds(). Must be called before a commit, because an open reader
  /// prevents SQLite from reusing the -wal.
  void stop_comparing() noexcept override;

 private:
  SqliteDatabase() = default;
  static std::expected<SqliteDatabase, WorldError> begin(const std::string& name, int flags, const std::string& vfs,
                                                         const std::string& shown);
  void close() noexcept;

  sqlite3* connection_ = nullptr;
  sqlite3_blob* blob_ = nullptr;
  struct WalCount {
    std::uint64_t bytes = 0, commits = 0;
  };
  std::unique_ptr<WalCount> wal_ = std::make_unique<WalCount>();  // SQLite points to it
  std::string shown_;
};

}  // namespace muster

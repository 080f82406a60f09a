// A world in a SQLite file (Store): how the file is opened or refused, locked and watched, and when
// its -wal is merged. docs/file-format.md describes the file.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/world/file/file_alone.h"
#include "server/world/file/lock.h"
#include "server/world/file/sqlite_database.h"
#include "server/world/file/wal_use.h"
#include "server/world/place/file_watch.h"
#include "server/world/store/row_store.h"
#include "server/world/store/store.h"

namespace muster {

struct WorldFileOptions {
  OpenMode mode = OpenMode::open_or_create;
  /// If true, all pages are checked when the file is opened, at about 3 GB/s.
  bool check_structure = true;
  std::uint64_t merge_bytes = 16u << 20;  ///< size of the -wal at which it is merged into the file

  /// Name of a registered SQLite VFS. Tests use one that simulates a failing disk.
  std::string vfs = {};
  const FileMeta* continues = nullptr;  ///< the checkpoint of the world to continue, or null
  /// Limit on the size of the rows and groups that are kept for load_past(), where 0 means that
  /// none are kept. Beyond it, the oldest are dropped. The rows of one checkpoint may exceed it.
  std::uint64_t past_bytes = 0;
};

/// A world file, opened and locked by one owner. May be used on any thread, but only by one thread
/// at a time. Movable.
///
/// Before each write, and again before the write counts as durable, two conditions are checked: the
/// path must refer to the open file, and only this process's SQLite may have written to the file
/// and its -wal. If either condition fails, the file is permanently displaced. From then on,
/// nothing is written to the file at the path or to its -wal, and every call that writes fails with
/// WorldErrorCode::displaced.
class WorldFile final : public RowStore {
 public:
  /// Opens the world at `path`, or prepares to create it at the first checkpoint. Until then, only
  /// the lock file exists. If no checkpoint is made, the lock file is removed. After an error, the
  /// file, its -wal, and its companion files are unchanged, byte for byte. Symbolic links are
  /// followed, so that all names of a file share one lock.
  [[nodiscard]] static std::expected<WorldFile, WorldError> open(const std::string& path,
                                                                 WorldFileOptions options = {});

  WorldFile(WorldFile&&) noexcept = default;
  WorldFile& operator=(WorldFile&&) = delete;
  ~WorldFile() override;

  /// The absolute path with links resolved.
  const std::string& real_path() const noexcept { return path_; }
  const std::string& beside() const noexcept override { return path_; }

  void give_up_journal() noexcept override;

  /// Returns true if the file and its -wal have not changed since this object last wrote to them.
  /// Does not read their contents.
  bool is_as_left() const override;
  /// Fails if the file is displaced, or if its state cannot be determined because the file cannot
  /// be read.
  [[nodiscard]] std::expected<void, WorldError> still_there() override;
  const std::string* displaced() const noexcept override {
    return displaced_->is_so.load(std::memory_order_acquire) ? &displaced_->text : nullptr;
  }
  std::string way_on(const std::string& rescued) const override;
  [[nodiscard]] std::expected<std::string, WorldError> rescue(const CheckpointStamp& stamp,
                                                              const Save& save) const override;
  /// Does what rescue() describes, for a world that is stored elsewhere, with the given rights of
  /// the file. `options` says which checkpoint the file continues.
  [[nodiscard]] static std::expected<std::string, WorldError> write_rescued(const std::string& beside,
                                                                            WorldFileOptions options, unsigned rights,
                                                                            const CheckpointStamp& stamp,
                                                                            const Save& save, const std::string& shown);

  /// Returns true if a merge is due. A merge moves pages from the -wal into the file. It is due if
  /// no merge is running and enough bytes have been written to the -wal since the previous merge:
  /// as many as the options say, or at most 1 MiB with MergeAt::little.
  bool merge_is_due(MergeAt at) const noexcept override;
  bool is_merging() const noexcept override { return use_.is_merging(); }
  Pressure pressure() const noexcept override;
  /// Records the current end of the -wal for merge_beside().
  void begin_merge() noexcept override { use_.merge_begun(); }
  /// Merges the -wal on a separate connection.
  void merge_beside() noexcept override;
  void end_merge() noexcept override;
  /// Returns how many bytes of pages the previous merge left in the -wal because another program
  /// was reading an older state of the file. The -wal grows until that program stops reading.
  std::uint64_t held_bytes() const noexcept override { return use_.held(); }
  const WalUse& wal_use() const noexcept { return use_; }

 private:
  WorldFile(std::string shown, std::string path, WorldFileOptions options, WorldLock lock)
      : RowStore(std::move(shown), options.past_bytes),
        path_(std::move(path)),
        given_(path_),
        options_(std::move(options)),
        lock_(std::move(lock)) {}
  Database* tables() noexcept override { return database_ ? &*database_ : nullptr; }
  std::expected<void, WorldError> create() override;
  std::expected<void, WorldError> begin_writing(const char* doing) override;
  std::expected<void, WorldError> commit(const char* doing) override;
  /// Rereads the file if another program wrote to it during commit().
  std::expected<void, WorldError> settle() override;
  void set_mark(std::uint64_t group) noexcept override;
  /// Counts the bytes written, and merges the -wal if a merge is due.
  void wrote(Merges merges) noexcept override;
  std::expected<bool, WorldError> is_foreign() override;
  std::expected<void, WorldError> note_read() override;
  void note_whole() noexcept override { unread_wal_ = false; }
  /// If there is a foreign -wal next to the file, adds advice to an error.
  WorldError explained(const WorldError& error) const override;

  std::expected<void, WorldError> open_database();
  std::expected<void, WorldError> check_tables();
  std::expected<void, WorldError> check_mark(bool had_wal) const;
  std::expected<void, WorldError> check_wal();
  std::unexpected<WorldError> displace(const std::string& what);
  /// Reads the whole file on a separate connection. If `alone` is set, ignores the -wal.
  std::expected<void, WorldError> read_again(bool alone) const;
  /// Describes how the file without its -wal differs from its earlier state. Returns an empty
  /// string if it does not differ.
  std::string alone_differs() const;
  void note_merge();
  void merge_in_time() noexcept;
  bool merge_is_due_at(std::uint64_t bytes) const noexcept;

  std::string path_;
  std::string given_;  // the path as given, made absolute
  WorldFileOptions options_;
  WorldLock lock_;  // released after the database is closed
  std::optional<SqliteDatabase> database_;
  std::string data_version_;  // changes if another program writes to the file
  WalUse use_;
  std::optional<SqliteDatabase> beside_;  // for merges; closed before database_
  std::optional<std::uint64_t> in_file_;  // result of merge_beside()
  std::optional<FileStamp> merged_;       // state of the file after a merge
  bool foreign_wal_ = false;              // the -wal belongs to another process

  // True if the lock file has been synced since this process took the lock.
  bool lock_is_synced_ = false;
  bool file_differs_ = false;  // set by commit(), cleared by settle()
  bool unread_wal_ = false;    // a foreign -wal not yet verified to belong to the file
  // Contents of the file without its -wal, as of opening or the most recent merge.
  FileAlone alone_;
  std::optional<FileAlone> merged_alone_;  // becomes alone_ in end_merge()
  std::unique_ptr<FileWatch> watch_;       // null if there is no file yet
  struct Displaced {
    std::atomic<bool> is_so = false;
    std::string text;  // written before is_so
  };
  std::unique_ptr<Displaced> displaced_ = std::make_unique<Displaced>();
};

}  // namespace muster

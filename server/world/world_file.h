// A world's file: opening or refusing it, reading state and journal, writing checkpoints and groups of inputs. Knows rows of bytes
// and records, no registry.
// docs/file-format.md draws the tables.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "registry/state/state.h"
#include "schema/descriptor.h"
#include "server/world/checkpoint_report.h"
#include "server/world/database.h"
#include "server/world/file_journal.h"
#include "server/world/file_meta.h"
#include "server/world/file_sink.h"
#include "server/world/journal/wal_use.h"
#include "server/world/lock.h"
#include "server/world/place/file_watch.h"
#include "server/world/rows/format.h"
#include "server/world/rows/kept_rows.h"
#include "server/world/rows/state_copy.h"

namespace muster {

struct WorldFileOptions {
  OpenMode mode = OpenMode::open_or_create;
  bool check_structure = true;  ///< on opening: every page of the database, at about 3 GB/s, beside the checksums
  std::uint64_t merge_bytes = 16u << 20;  ///< so much waits in the -wal before it is merged into the file
  std::string vfs = {};                   ///< a registered SQLite VFS; tests put a failing disk here
  const FileMeta* continues = nullptr;    ///< what is created is this world, behind that checkpoint; null: a new one
};

/// What a checkpoint notes beside the rows.
struct CheckpointStamp {
  std::uint64_t sequence = 0;  ///< of the last input that the state contains
  std::uint64_t tick = 0;
  std::string code = {};                              ///< code identity of the host
  std::uint64_t types_fingerprint = 0;                ///< `types` is written where this changed
  std::span<const TypeDescriptor* const> types = {};  ///< for readers with SQL; never read back
  /// Nothing is written if no row, sequence or tick differs from the last checkpoint's; the report is then that one's.
  bool only_if_changed = false;
};

/// Who merges the -wal into the file after something was written, where that is due.
enum class Merges : std::uint8_t {
  at_once,    ///< before the call returns
  by_caller,  ///< who calls begin_merge(), soon: nobody waits for it who waits for what was written
};

/// How much a step of a checkpoint writes at most, a single row excepted.
struct CheckpointSlice {
  std::uint64_t bytes = 1u << 20;
  std::chrono::nanoseconds time = std::chrono::milliseconds(20);
  /// Asked after each row: where it says true the step ends, once it has written this much. May be null.
  std::function<bool()> hurries = {};
  std::uint64_t bytes_min = 32u << 10;
  Merges merges = Merges::at_once;
};

struct CheckpointStep {
  enum class State : std::uint8_t {
    more,  ///< another step is to come
    done,  ///< the checkpoint is current and on the disk
    stale,  ///< given up: another program wrote to the file since the copy was made; the next checkpoint writes everything
  };
  State state = State::more;
  CheckpointReport report = {};  ///< where it is done
};

/// Held open and locked by one owner; one thread at a time, which may be another each time. Movable.
///
/// Before something is written, and again before it is told to be durable, the path has to name the file that is open, and nobody else may
/// have written to it or to its -wal but SQLite. If that is not so, the file is displaced for good: nothing is written any more, neither
/// to what stands at the path nor to its -wal, also at the end, and every call that writes fails with WorldErrorCode::displaced.
class WorldFile {
 public:
  /// Opens the world at `path`, or prepares to create it at the first checkpoint: until then only the lock file exists,
  /// and it goes away again. A refusal leaves the file, its -wal and its neighbours byte for byte as they were. A symbolic
  /// link is followed, so that all its names share one lock.
  [[nodiscard]] static std::expected<WorldFile, WorldError> open(const std::string& path,
                                                                 WorldFileOptions options = {});

  WorldFile(WorldFile&&) noexcept = default;
  WorldFile& operator=(WorldFile&&) = delete;
  ~WorldFile();

  /// True until the first checkpoint of the world's life is durable.
  bool is_new() const noexcept { return meta_.checkpoint == 0; }
  /// A file of an older format is taken over by its first checkpoint, which keeps the original beside it.
  bool is_older() const noexcept { return database_ && format_ < world_format::version; }
  const FileMeta& meta() const noexcept { return meta_; }
  const std::string& path() const noexcept { return shown_; }      ///< as given
  const std::string& real_path() const noexcept { return path_; }  ///< absolute, links followed

  using Save = std::function<void(StateSink&)>;
  using Read = std::function<std::expected<void, StateError>(StateSource&)>;
  /// Lets `read` take the rows, and checks all of them, asked for or not. Where it fails, whatever `read` built is to be
  /// thrown away; the file is as before. A new world gives no rows, and `read` is not called.
  [[nodiscard]] std::expected<void, WorldError> load(const Read& read);

  /// Lets `take` have the groups of inputs that were recorded after the checkpoint, in order, each judged before. Once `take` gives
  /// false it gets no more, and the others are only judged. One that is wrong or missing is an error with its place and a way to go on
  /// without it. The file is as before. To be called after load() and before anything
  /// is written: append() and checkpoint() are refused while there are groups that were not read.
  [[nodiscard]] std::expected<JournalReport, WorldError> journal(const FileJournal::Take& take);
  /// Adds a group behind those that are there, in one transaction that is on the disk when this returns, and gives it its id. Its inputs
  /// follow the last ones that the file has (`durable()`). After an error the file is as before (after a power cut it may have the
  /// group all the same), and the same group may be tried again. Refused before a world's first checkpoint, and where is_older().
  [[nodiscard]] std::expected<void, WorldError> append(JournalGroup& group, Merges merges = Merges::at_once);
  /// Reads no content: whether the file and its -wal are as this one left them. If not, still_there() says whether that matters.
  bool is_as_left() const;
  /// An error: the file is displaced, or could not be read again to find out.
  [[nodiscard]] std::expected<void, WorldError> still_there();
  /// What became of the file, a sentence with the path. Null: it is not displaced. Any thread; valid as long as the file.
  const std::string* displaced() const noexcept {
    return displaced_->is_so.load(std::memory_order_acquire) ? &displaced_->text : nullptr;
  }
  /// Writes what `save` gives to a new world file beside this one, which is the same world with one more checkpoint and no journal: to
  /// NAME-rescued.muster, or -rescued-2 and so on. Gives its path. After an error nothing is there.
  [[nodiscard]] std::expected<std::string, WorldError> rescue(const CheckpointStamp& stamp, const Save& save) const;

  /// Whether so many bytes were written to the -wal since it was merged, or as many as the options say, and nobody merges it.
  bool merge_is_due(std::uint64_t bytes) const noexcept;
  /// merge_beside(), which is to follow, merges all that is in the -wal by now.
  void begin_merge() noexcept { use_.merge_begun(); }
  /// Merges by a connection of its own. Takes as long as the disk takes for as many bytes. Any thread, beside append() and the steps of a checkpoint.
  void merge_beside() noexcept;
  /// When merge_beside() has returned.
  void end_merge() noexcept;
  const WalUse& wal_use() const noexcept { return use_; }
  std::uint64_t merge_bytes() const noexcept { return options_.merge_bytes; }
  /// Sequence of the last input that the file has, in the state or in the journal as far as that was read. It is on the disk: what an owner
  /// who died left without a sync was synced on opening.
  std::uint64_t durable() const noexcept { return std::max(meta_.sequence, journal_.end().last); }

  /// Makes the file hold exactly the rows that `save` gives, in one transaction that is on the disk when this returns, and no group of
  /// inputs any more: what `save` gives contains them.
  /// Writes only rows whose version changed since this WorldFile wrote or compared them last. After an error the file
  /// holds the previous checkpoint; the next call tries everything again.
  [[nodiscard]] std::expected<CheckpointReport, WorldError> checkpoint(const CheckpointStamp& stamp, const Save& save);
  /// What `save` gives now, for a checkpoint of it. None may come in between.
  StateCopy copy(const Save& save) const;
  /// The same, but columns are not copied: from now on, until the checkpoint is over, the copy's preserver() must be told before they
  /// change, and it can be checkpointed once. `saved` is what EntityRegistry::begin_version gave before the last checkpoint of this file that
  /// succeeded, if this process made it; 0: it did not. `used` is an earlier one that was
  /// cleared, with the same `preserved_bytes_max`, whose memory this takes; afterwards there is none, and there need be none before.
  StateCopy preserve(const Save& save, std::uint64_t saved, std::uint64_t preserved_bytes_max,
                     std::optional<StateCopy>& used) const;
  /// The same as a checkpoint of what was copied. No value, and the file holds the previous checkpoint: another program wrote to the
  /// file since, so that what was copied does not do; the next checkpoint writes everything.
  [[nodiscard]] std::expected<std::optional<CheckpointReport>, WorldError> checkpoint(const CheckpointStamp& stamp,
                                                                                      const StateCopy& copied);

  /// The same in steps, between which groups may be appended: such groups are not contained. Rows are written beside those that are
  /// current, so until the step that makes all of them current, the file holds the previous checkpoint. Stamp and copy live until the
  /// last step, and the file stays where it is in memory; meanwhile nothing is copied. A checkpoint that was begun before and is not done is
  /// given up, as it is by checkpoint() and load().
  void begin_checkpoint(const CheckpointStamp& stamp, const StateCopy& copied);
  /// One transaction. After an error nothing is begun any more, and the file holds the previous checkpoint.
  [[nodiscard]] std::expected<CheckpointStep, WorldError> step_checkpoint(const CheckpointSlice& slice = {});
  /// Removes some of the rows that no checkpoint needs any more: those that the last one replaced, or that one which failed left, and
  /// the groups of inputs that it contains. The value says whether there are more. The next checkpoint does what was not done.
  [[nodiscard]] std::expected<bool, WorldError> remove_past(const CheckpointSlice& slice = {});
  /// Of pages in the -wal that could not be merged the last time, because another program reads what the file was before them. The -wal
  /// grows for as long as it does. 0: there are none.
  std::uint64_t held_bytes() const noexcept { return use_.held(); }

 private:
  WorldFile(std::string shown, std::string path, WorldFileOptions options, WorldLock lock)
      : shown_(std::move(shown)),
        path_(std::move(path)),
        given_(path_),
        options_(std::move(options)),
        lock_(std::move(lock)) {}
  std::expected<void, WorldError> open_database();
  std::expected<void, WorldError> create();
  std::expected<void, WorldError> check_tables();
  std::expected<void, WorldError> check_mark(bool had_wal) const;
  std::expected<void, WorldError> check_wal();
  /// If it fails while a -wal that is not known yet lies over the file: says so, and what to do.
  WorldError with_wal(const WorldError& error) const;
  std::expected<void, WorldError> begin_writing(const char* doing);
  /// The transaction, and that it is where it belongs. To be followed by settle().
  std::expected<void, WorldError> commit(const char* doing);
  /// Once this WorldFile knows what was committed: if somebody wrote to the file meanwhile, it is read again.
  std::expected<void, WorldError> settle();
  void set_mark(std::uint64_t group) noexcept;
  std::unexpected<WorldError> displace(const std::string& what);
  /// Reads everything anew, over a connection of its own; `alone`: without the -wal.
  std::expected<void, WorldError> read_again(bool alone) const;
  /// What is wrong with the file without its -wal, beside what it was; empty: nothing that can be told.
  std::string alone_differs() const;
  /// How many were removed; `enough` is asked after each.
  std::expected<std::size_t, WorldError> remove_left_over(const std::function<bool()>& enough);
  /// Of rows and groups, and commits the caller's transaction.
  std::expected<void, WorldError> remove_some_past(const std::function<bool()>& enough);
  /// Whether another program wrote since the rows were known.
  std::expected<bool, WorldError> is_foreign();
  FileMeta next_meta(const CheckpointStamp& stamp) const;
  /// Whether the checkpoint would say what the last one says.
  bool is_unchanged(const CheckpointStamp& stamp, const FileSink& sink, const JournalEnd& contained) const;
  CheckpointReport unchanged() const;
  /// Writes what the state's rows need beside them, and makes all of it current.
  std::expected<CheckpointReport, WorldError> make_current(const CheckpointStamp& stamp, FileSink& sink, FileMeta meta,
                                                           const JournalEnd& contained);
  std::expected<CheckpointStep, WorldError> step_beside(const CheckpointSlice& slice);
  void give_up_checkpoint();
  void note_merge();
  /// What was written is counted.
  void wrote(Merges merges) noexcept;
  void merge_in_time() noexcept;
  std::expected<CheckpointReport, WorldError> save_whole(const CheckpointStamp& stamp, const Save& save,
                                                         const JournalEnd& contained);
  std::expected<std::optional<CheckpointReport>, WorldError> save_copy(const CheckpointStamp& stamp,
                                                                       const StateCopy& copied,
                                                                       const JournalEnd& contained);
  std::expected<CheckpointReport, WorldError> write(const CheckpointStamp& stamp, const Save& save,
                                                    const JournalEnd& contained);
  WorldError error(WorldErrorCode code, std::string detail) const { return {code, shown_, std::move(detail)}; }

  /// A checkpoint that is written in steps.
  struct Begun {
    const CheckpointStamp* stamp;
    const StateCopy* copied;
    JournalEnd contained;
    std::optional<FileSink> sink = {};
    std::size_t given = 0;                                    // rows of the copy
    std::optional<std::vector<FileSink::Row>> vanished = {};  // found when all rows were given
    std::size_t removed = 0;                                  // of those
  };

  std::string shown_, path_;
  std::string given_;  // as given, and absolute
  WorldFileOptions options_;
  WorldLock lock_;  // given back after the database is closed
  std::optional<Database> database_;
  FileJournal journal_;
  std::uint32_t format_ = world_format::version;
  FileMeta meta_;
  StateDigest digest_;
  KeptRows rows_;
  std::vector<std::int64_t> left_over_;  // rows that mean nothing any more, in the order in which they may go
  bool rows_known_ = false;              // rows_ and digest_ are those of the file
  std::string data_version_;             // tells whether another program wrote since
  std::optional<Begun> begun_;
  std::uint64_t saves_ = 0;
  WalUse use_;
  std::optional<Database> beside_;        // merges; closed before the other, which merges all at its end
  std::optional<std::uint64_t> in_file_;  // as merge_beside() found it
  std::optional<FileStamp> merged_;       // the file then, if anything may have been merged
  bool foreign_wal_ = false;              // the -wal is of another process
  bool lock_is_synced_ = false;           // since this process took it
  bool file_differs_ = false;             // from commit() to settle()
  bool unread_wal_ = false;  // the same, and not all was read yet that shows whether it belongs to the file
  FileAlone alone_;          // the file without its -wal, as it was opened or merged into last
  std::optional<FileAlone> merged_alone_;  // likewise, until end_merge()
  std::unique_ptr<FileWatch> watch_;       // null: there is no file yet
  struct Displaced {
    std::atomic<bool> is_so = false;
    std::string text;  // written before
  };
  std::unique_ptr<Displaced> displaced_ = std::make_unique<Displaced>();
};

}  // namespace muster

#include "server/world/file/world_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "server/world/file/file_beside.h"
#include "server/world/file/file_header.h"
#include "server/world/place/left_behind.h"
#include "server/world/rows/format.h"
#include "server/world/store/file_source.h"
#include "server/world/store/type_rows.h"
#include "system/open_file.h"

namespace muster {
namespace {

/// Number of bytes of the -wal that are merged at once with MergeAt::little. The number is small
/// because edits that arrive during a merge must share the disk with the merge for a few
/// milliseconds.
constexpr std::uint64_t short_merge = 1u << 20;
/// Limits on the length of the -wal, as multiples of the number of bytes that are merged at once.
/// At the first limit, a save's steps wait until everything has been merged, so that the -wal is
/// restarted. At the second, groups wait too.
constexpr std::uint64_t steps_wait_at = 4, all_wait_at = 8;

bool may_write(const std::string& path) noexcept { return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0; }

/// Removes the temporary name of the file. create() links the final name before it removes the
/// temporary one, so a crash in between leaves both names.
void remove_unfinished_name(const std::string& path, const struct stat& file) noexcept {
  const std::string unfinished = path + "-new";
  struct stat other{};
  if (file.st_nlink > 1 && ::stat(unfinished.c_str(), &other) == 0 && other.st_ino == file.st_ino &&
      other.st_dev == file.st_dev)
    ::unlink(unfinished.c_str());
}

}  // namespace

std::expected<WorldFile, WorldError> WorldFile::open(const std::string& given, WorldFileOptions options) {
  const auto refuse = [&](WorldErrorCode code, std::string detail) {
    return std::unexpected(WorldError(code, given, std::move(detail)));
  };
  constexpr std::size_t name_bytes_max = 220, system_bytes_max = 255;
  const std::size_t name_bytes = std::filesystem::path(given).filename().string().size();
  const std::string long_name = "its name has " + std::to_string(name_bytes) + " bytes; a new world's may have " +
                                std::to_string(name_bytes_max) + ", because other files are stored next to it";
  if (name_bytes > system_bytes_max) return refuse(WorldErrorCode::missing, long_name);
  std::error_code failure;
  // Make the path absolute first. For a relative path that does not exist yet, weakly_canonical
  // does not add the current directory.
  std::filesystem::path resolved = std::filesystem::absolute(given, failure);
  if (!failure) resolved = std::filesystem::weakly_canonical(resolved, failure);
  if (given.empty() || failure) return refuse(WorldErrorCode::missing, "not the path of a file: " + failure.message());
  const std::string path = resolved.string();
  const std::string directory = resolved.parent_path().string();
  // SQLite allows paths of up to 512 bytes, and the file is created under a name that is 12 bytes
  // longer.
  constexpr std::size_t path_bytes_max = 500;
  if (path.size() > path_bytes_max)
    return refuse(WorldErrorCode::missing, "its path has " + std::to_string(path.size()) +
                                               " bytes, links followed; a world's may have " +
                                               std::to_string(path_bytes_max));

  struct stat file{};
  const bool exists = ::stat(path.c_str(), &file) == 0;
  if (!exists && errno != ENOENT && errno != ENAMETOOLONG)
    return refuse(WorldErrorCode::denied, "cannot be reached: " + std::string(std::strerror(errno)));
  if (exists && !S_ISREG(file.st_mode)) return refuse(WorldErrorCode::not_a_world, "not a world: not a regular file");
  if (exists && options.mode == OpenMode::create_new)
    return refuse(WorldErrorCode::exists, "exists already; a new world was asked for");
  if (!exists && options.mode == OpenMode::open_existing) {
    const std::string left = left_behind(path);
    return refuse(WorldErrorCode::missing, left.empty() ? "no such file" : left);
  }
  if (exists && !may_write(path))
    return refuse(WorldErrorCode::denied, "the file may not be written: " + std::string(std::strerror(errno)));
  if (!exists && name_bytes > name_bytes_max) return refuse(WorldErrorCode::missing, long_name);
  if (!may_write(directory))
    return refuse(errno == ENOENT ? WorldErrorCode::missing : WorldErrorCode::denied,
                  "its directory " + directory +
                      (errno == ENOENT ? std::string(" does not exist")
                                       : " may not be written: " + std::string(std::strerror(errno))));

  auto lock = WorldLock::take(path, given);
  if (!lock) return std::unexpected(std::move(lock.error()));
  WorldFile world(given, path, std::move(options), std::move(*lock));
  if (const auto absolute = std::filesystem::absolute(given, failure); !failure && absolute.lexically_normal() != path)
    world.given_ = absolute.string();
  if (!exists) {
    // Another owner may have created the file after the check above but before we took the lock.
    if (::stat(path.c_str(), &file) == 0) return refuse(WorldErrorCode::in_use, "just created by another process");
    if (const std::string left = left_behind(path); !left.empty()) return refuse(WorldErrorCode::left_behind, left);
    world.lock_.set_mark({}, 0, 0, {});
    return world;
  }
  remove_unfinished_name(path, file);
  auto opened = world.lock_.hold(path, given);
  if (opened) opened = check_header(path, given);
  if (opened) opened = world.check_wal();
  if (opened) {
    opened = world.open_database();
    if (!opened) opened = std::unexpected(world.explained(opened.error()));
  }
  if (!opened) {
    if (world.lock_.mark().world.empty()) world.lock_.remove_at_end();
    return std::unexpected(std::move(opened.error()));
  }
  return world;
}

WorldFile::~WorldFile() {
  if (!lock_.is_held()) return;
  if (database_) {
    // Check for displacement first. If the file is displaced, closing the connections normally
    // would modify the files that are now at the path.
    (void)still_there();
    beside_.reset();
    let_go();
    database_.reset();
    if (!displaced() && stamp_of(path_ + "-wal").inode == 0) lock_.note_wal({});
  }
  // No world was written, so the lock file has no purpose.
  if (lock_.mark().world.empty()) lock_.remove_at_end();
}

std::expected<void, WorldError> WorldFile::check_wal() {
  const std::string wal = path_ + "-wal";
  struct stat file{};
  if (::lstat(wal.c_str(), &file) == 0 && !S_ISREG(file.st_mode))
    return std::unexpected(
        error(WorldErrorCode::damaged, wal + " is not a regular file. Move it away, or put back the one "
                                             "that belongs to the file"));
  const int descriptor = open_file(wal.c_str(), O_RDONLY);
  if (descriptor < 0) return {};
  const auto header = read_wal_header(descriptor);
  ::close(descriptor);
  if (!header) return {};  // SQLite ignores such a -wal too
  const LockMark& mark = lock_.mark();
  const std::string lock = path_ + "-lock";
  const std::string way_on = ". To open the file without it, move " + wal + " and " + lock + " away";
  if (lock_.is_original() && mark.file && !mark.file.is(lock_.file()))
    return std::unexpected(
        error(WorldErrorCode::damaged, "another file was put in the place of the one that " + wal +
                                           " belongs to. Put that one back, or move it and its -wal to another name "
                                           "together" +
                                           way_on));
  if (mark.wal && header->salts != mark.wal && !header->salts.follows(mark.wal))
    return std::unexpected(error(
        WorldErrorCode::damaged,
        wal + " is not the one that the last process here wrote, as " + lock + " says. If " + lock +
            " is an older copy, move it alone away: the file and its -wal are then read together, and refused if they "
            "do not fit. Else put the right -wal back" +
            way_on));
  unread_wal_ = true;
  // Without its -wal, the file may be incomplete or inconsistent, in which case its contents are
  // unknown.
  alone_ = read_alone(path_, shown_, true);
  if (mark.wal && !alone_.world.empty() && !mark.world.empty() && alone_.world != mark.world)
    return std::unexpected(error(WorldErrorCode::damaged, "it is another world than the one that " + wal + " and " +
                                                              lock + " belong to. Put that one back" + way_on));
  return {};
}

WorldError WorldFile::explained(const WorldError& of) const {
  if (!unread_wal_ || of.code() != WorldErrorCode::damaged) return of;
  const std::string wal = path_ + "-wal";
  return error(of.code(), of.detail() + ". The file was read together with " + wal +
                              ", which may belong to another file or another time of this one. Put those back that "
                              "belong together, or, to open the file without it, move " +
                              wal + " and " + path_ + "-lock away");
}

std::expected<void, WorldError> WorldFile::open_database() {
  const bool had_wal = file_bytes(path_ + "-wal") > 0;
  auto opened = SqliteDatabase::open(path_, false, options_.vfs, shown_);
  if (!opened) return std::unexpected(std::move(opened.error()));
  database_.emplace(std::move(*opened));
  // If another process left a -wal, do not merge it until the first write, so that a refused file
  // keeps its -wal.
  database_->merge_at_end(!had_wal);
  foreign_wal_ = had_wal;
  if (database_->is_read_only()) return std::unexpected(error(WorldErrorCode::denied, "the file may not be written"));

  constexpr const char* doing = "opening the file";
  if (auto begun = database_->run("BEGIN", doing); !begun) return begun;
  const Transaction transaction(*database_);
  // The header in the file may be older than the header in the -wal.
  auto format = database_->value("PRAGMA user_version", doing);
  if (!format) return std::unexpected(std::move(format.error()));
  format_ = *format == "2" ? 2 : world_format::version;
  if (*format != std::to_string(format_))
    return std::unexpected(error(WorldErrorCode::newer, "written in file format " + *format));
  if (auto good = check_tables(); !good) return good;
  if (options_.check_structure) {
    if (auto good = database_->check_structure("checking the structure"); !good) return good;
  }
  if (had_wal) {
    // The last transaction may come from an owner that died before syncing. Once this sync
    // completes, everything in the file is durable.
    if (auto synced = database_->sync_wal(doing); !synced) return synced;
  }
  auto meta = read_meta(*database_, format_, shown_);
  if (!meta) return std::unexpected(std::move(meta.error()));
  meta_ = std::move(*meta);
  if (!alone_.world.empty() && meta_.world != alone_.world)
    return std::unexpected(error(WorldErrorCode::damaged, path_ + "-wal is of another world than the file"));
  watch_ = std::make_unique<FileWatch>(path_, given_, lock_.descriptor());
  if (const std::string wrong = watch_->begin(); !wrong.empty())
    return std::unexpected(error(WorldErrorCode::in_use, wrong + " while it was opened"));
  if (auto good = journal_.open(*database_, meta_, shown_); !good) return good;
  // The file is newer than its -wal.
  if (alone_.checkpoint > meta_.checkpoint || alone_.group > journal_.newest())
    return std::unexpected(error(WorldErrorCode::damaged, "the file is newer than " + path_ +
                                                              "-wal, which is of an earlier time. To open the file "
                                                              "without it, move " +
                                                              path_ + "-wal and " + path_ + "-lock away"));
  if (!had_wal) alone_ = {.world = meta_.world, .checkpoint = meta_.checkpoint, .group = journal_.newest()};
  return check_mark(had_wal);
}

std::expected<void, WorldError> WorldFile::check_tables() {
  constexpr const char* doing = "reading the tables";
  auto statement = database_->prepare("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1", doing);
  if (!statement) return std::unexpected(std::move(statement.error()));
  for (const world_format::Table& table : world_format::tables_of(format_)) {
    const SqlStep step = statement->bind(1, table.name).step();
    if (step == SqlStep::error) return std::unexpected(database_->error(doing));
    if (step == SqlStep::done)
      return std::unexpected(
          error(WorldErrorCode::damaged, "damaged: the table '" + std::string(table.name) + "' is missing"));
    if (statement->text(0) != table.sql)
      return std::unexpected(error(WorldErrorCode::damaged, "damaged: the table '" + std::string(table.name) +
                                                                "' is not the one of file format " +
                                                                std::to_string(format_)));
    statement->reset();
  }
  return {};
}

std::expected<void, WorldError> WorldFile::check_mark(bool had_wal) const {
  const LockMark& mark = lock_.mark();
  if (mark.world != meta_.world) return {};
  std::string lost;
  if (mark.checkpoint > meta_.checkpoint)
    lost = "damaged: it holds checkpoint " + std::to_string(meta_.checkpoint) + ", but checkpoint " +
           std::to_string(mark.checkpoint);
  else if (mark.group > journal_.newest())
    lost = "damaged: its journal ends with group " + std::to_string(journal_.newest()) + ", but group " +
           std::to_string(mark.group);
  else
    return {};
  return std::unexpected(error(WorldErrorCode::damaged, lost + " was reported durable: " + path_ +
                                                            (had_wal ? "-wal is cut off, or both are an older copy"
                                                                     : "-wal is missing, or this is an older copy") +
                                                            ". To go on from here, remove " + path_ + "-lock"));
}

std::expected<void, WorldError> WorldFile::create() {
  // Create the file under a temporary name, so that even after a power failure, `path_` refers
  // either to a complete world or to nothing.
  const std::string unfinished = path_ + "-new";
  const auto remove_unfinished = [&] {
    for (const char* part : {"", "-wal", "-shm", "-journal"}) ::unlink((unfinished + part).c_str());
  };
  remove_unfinished();
  FileMeta meta;
  if (options_.continues) {
    meta.world = options_.continues->world;
    meta.created = options_.continues->created;
    meta.checkpoint = options_.continues->checkpoint;
    meta.group = options_.continues->group;
    meta.chain = options_.continues->chain;
  } else {
    meta.world = new_world_name();
    meta.created = utc_now();
  }
  meta.history = StateDigest{}.text();
  meta.product = "muster " + std::string(world_format::product);
  meta.digest = StateDigest{}.text();
  const auto fill = [&]() -> std::expected<void, WorldError> {
    constexpr const char* doing = "creating the file";
    auto opened = SqliteDatabase::open(unfinished, true, options_.vfs, shown_);
    if (!opened) return std::unexpected(std::move(opened.error()));
    std::string sql = "PRAGMA page_size=" + std::to_string(world_format::page_bytes) +
                      "; PRAGMA application_id=" + std::to_string(world_format::application_id) +
                      "; PRAGMA user_version=" + std::to_string(world_format::version) +
                      "; PRAGMA journal_mode=WAL; BEGIN;";
    for (const world_format::Table& table : world_format::tables) sql += std::string(table.sql) + ';';
    for (const world_format::SectionName& section : world_format::sections)
      sql += "INSERT INTO section_names VALUES(" + std::to_string(static_cast<unsigned>(section.section)) + ", '" +
             section.name + "');";
    if (auto done = opened->run(sql.c_str(), doing); !done) return done;
    if (auto done = write_meta(*opened, meta); !done) return done;
    if (auto done = opened->run("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)", doing); !done) return done;
    return {};
  };
  if (auto filled = fill(); !filled) {
    remove_unfinished();
    return filled;
  }
  // Lock the file before giving it its final name, so that no other process can lock it first.
  if (auto held = lock_.hold(unfinished, shown_); !held) {
    remove_unfinished();
    return held;
  }
  // Use link instead of rename, because it never replaces a file that another program has created
  // in the meantime.
  if (::link(unfinished.c_str(), path_.c_str()) != 0) {
    const int reason = errno;
    remove_unfinished();
    if (reason == EEXIST) return std::unexpected(error(WorldErrorCode::exists, "was put there by another program"));
    return std::unexpected(
        error(WorldErrorCode::io, "cannot be put in its place: " + std::string(std::strerror(reason))));
  }
  remove_unfinished();
  // Remove a world whose creation was never reported, so that the path is free for the next
  // attempt.
  const auto take_back = [&] {
    for (const char* part : {"", "-wal", "-shm"}) ::unlink((path_ + part).c_str());
  };
  if (auto synced = sync_directory(std::filesystem::path(path_).parent_path().string(), shown_); !synced) {
    take_back();
    return synced;
  }
  if (auto opened = open_database(); !opened) {
    database_.reset();
    watch_.reset();
    take_back();
    return opened;
  }
  rows_known_ = true;
  return {};
}

void WorldFile::give_up_journal() noexcept {
  RowStore::give_up_journal();
  unread_wal_ = false;
  alone_.group = std::min(alone_.group, journal_.end().group);
}

std::expected<void, WorldError> WorldFile::note_read() {
  auto seen = database_->value("PRAGMA data_version", "reading the state");
  if (!seen) return std::unexpected(std::move(seen.error()));
  data_version_ = std::move(*seen);
  return {};
}

std::expected<bool, WorldError> WorldFile::is_foreign() {
  auto seen = database_->value("PRAGMA data_version", "writing a checkpoint");
  if (!seen) return std::unexpected(std::move(seen.error()));
  const bool foreign = !rows_known_ || *seen != data_version_;
  data_version_ = std::move(*seen);
  if (foreign) rows_known_ = false;
  return foreign;
}

bool WorldFile::is_as_left() const { return !watch_ || (!displaced() && watch_->look(use_.is_merging()).is_as_left()); }

std::unexpected<WorldError> WorldFile::displace(const std::string& what) {
  displaced_->text = what + " while this process had the world open. Nothing is written to that file anymore";
  displaced_->is_so.store(true, std::memory_order_release);
  for (SqliteDatabase* each : {&*database_, beside_ ? &*beside_ : nullptr})
    if (each) each->merge_at_end(false);
  return std::unexpected(error(WorldErrorCode::displaced, displaced_->text));
}

std::expected<void, WorldError> WorldFile::still_there() {
  if (const std::string* const text = displaced()) return std::unexpected(error(WorldErrorCode::displaced, *text));
  if (!watch_) return {};
  const FileWatch::Seen seen = watch_->look(use_.is_merging());
  if (seen.is_as_left()) return {};
  if (!seen.gone.empty()) return displace(seen.gone);
  if (!seen.hidden.empty()) return std::unexpected(error(WorldErrorCode::denied, seen.hidden));
  const FileStamp file = stamp_of(path_);
  // Other programs that write through SQLite append to the existing -wal. If they have restarted
  // the -wal, the file already contains everything that was in it.
  const bool alone = seen.wal_differs && !watch_->wal_only_grew();
  if (alone || seen.file_differs) {
    if (const std::string wrong = wrong_length(path_, lock_.descriptor()); !wrong.empty()) return displace(wrong);
    if (const std::string wrong = alone_differs(); !wrong.empty()) return displace(wrong);
    if (auto read = read_again(alone); !read) {
      const WorldErrorCode code = read.error().code();
      if (code == WorldErrorCode::io || code == WorldErrorCode::disk_full || code == WorldErrorCode::in_use ||
          code == WorldErrorCode::denied)
        return read;  // the file may be unchanged, so try again later
      return displace((alone ? path_ + "-wal" : path_) + " was written over or cut off by another program (" +
                      read.error().detail() + ")");
    }
    watch_->take_file(file);
  }
  if (alone) watch_->take_wal();
  return {};
}

std::string WorldFile::alone_differs() const {
  // As long as the -wal exists, its pages hide the file's versions of those pages.
  const FileAlone now = read_alone(path_, shown_, true);
  if (alone_.world.empty() || now.world.empty()) return {};
  if (now.world != meta_.world) return path_ + " was written over with another world";
  // Another program may have merged part of the -wal.
  if (now.checkpoint < alone_.checkpoint || now.group < alone_.group)
    return path_ + " was overwritten with an older copy";
  if (now.checkpoint > meta_.checkpoint || now.group > journal_.newest())
    return path_ + " was overwritten with another copy";
  return {};
}

std::expected<void, WorldError> WorldFile::read_again(bool alone) const {
  constexpr const char* doing = "reading the file again";
  auto opened =
      alone ? SqliteDatabase::open_alone(path_, shown_) : SqliteDatabase::open(path_, false, options_.vfs, shown_);
  if (!opened) return std::unexpected(std::move(opened.error()));
  opened->merge_at_end(false);
  if (auto begun = opened->run("BEGIN", doing); !begun) return begun;
  const Transaction transaction(*opened);
  if (auto good = opened->check_structure(doing); !good) return good;
  const auto meta = read_meta(*opened, format_, shown_);
  if (!meta) return std::unexpected(meta.error());
  if (meta->world != meta_.world || meta->checkpoint != meta_.checkpoint || meta->digest != meta_.digest)
    return std::unexpected(error(WorldErrorCode::damaged, "it holds another checkpoint"));
  KeptRows rows;
  FileSource source(*opened, *meta, rows, shown_);
  if (auto whole = source.finish(); !whole) return whole;
  if (!is_older()) {
    FileHistory history;
    if (auto read = history.read(*opened, *meta, shown_, {}); !read) return read;
  }
  FileJournal journal;
  if (auto read = journal.read(*opened, *meta, shown_, {}); !read) return std::unexpected(std::move(read.error()));
  if (!journal_.is_unread() &&
      (journal.end().group != journal_.end().group || journal.end().checksum != journal_.end().checksum))
    return std::unexpected(error(WorldErrorCode::damaged, "its journal ends with another group"));
  return {};
}

void WorldFile::set_mark(std::uint64_t group) noexcept {
  const bool was_unknown = !lock_.mark().wal;
  lock_.set_mark(meta_.world, meta_.checkpoint, group, watch_->salts());
  // The salts of the first -wal are random, and the salts of each later one are derived from them.
  if (was_unknown) lock_.sync();
}

std::expected<void, WorldError> WorldFile::commit(const char* doing) {
  const std::uint64_t commits = database_->wal_commits();
  if (auto committed = database_->run("COMMIT", doing); !committed) return committed;
  const bool wrote = database_->wal_commits() != commits;
  const std::string wrong =
      watch_->committed(wrote ? database_->wal_bytes() / world_format::page_bytes : 0, file_differs_);
  if (!wrong.empty()) return displace(wrong);
  return {};
}

std::expected<void, WorldError> WorldFile::settle() {
  return std::exchange(file_differs_, false) && !use_.is_merging() ? still_there() : std::expected<void, WorldError>();
}

std::expected<void, WorldError> WorldFile::begin_writing(const char* doing) {
  if (auto there = still_there(); !there) return there;
  if (auto read = unread(); !read) return read;
  if (unread_wal_)
    return std::unexpected(error(WorldErrorCode::setup, path_ + "-wal waits to be merged, and was not read since"));
  if (!database_->is_in_wal_mode()) {
    if (auto mode = database_->run("PRAGMA journal_mode=WAL", doing); !mode) return mode;
    watch_->take_file(stamp_of(lock_.descriptor()));
  }
  // After a power failure, the lock file must identify either this -wal or the previous one. A mark
  // written by an earlier process may not be on disk yet.
  if (!lock_is_synced_ || lock_.mark().wal != watch_->salts()) {
    lock_.note_wal(watch_->salts());
    lock_.sync();
    lock_is_synced_ = true;
  }
  if (foreign_wal_) {
    // Beyond its end, the -wal may contain pages of a transaction that was lost in a power failure.
    // If a later commit rewrote the first of those pages with identical content and the power
    // failed again, that transaction would appear to be complete.
    auto merged = database_->merge_whole(doing);
    if (!merged) return std::unexpected(std::move(merged.error()));
    foreign_wal_ = !*merged;
    watch_->take_file(stamp_of(lock_.descriptor()));
    alone_ = read_alone(path_, shown_, false);
  }
  return database_->run("BEGIN IMMEDIATE", doing);
}

void WorldFile::wrote(Merges merges) noexcept {
  database_->merge_at_end(true);
  use_.wrote(database_->wal_bytes());
  if (merges == Merges::at_once) merge_in_time();
}

bool WorldFile::merge_is_due(MergeAt at) const noexcept {
  return merge_is_due_at(at == MergeAt::usual ? options_.merge_bytes : at == MergeAt::little ? short_merge : 1);
}

Pressure WorldFile::pressure() const noexcept {
  if (!use_.is_merging() && use_.unmerged() == 0) return Pressure::none;
  if (use_.length() >= all_wait_at * options_.merge_bytes) return Pressure::all_wait;
  return use_.length() >= steps_wait_at * options_.merge_bytes ? Pressure::steps_wait : Pressure::none;
}

bool WorldFile::merge_is_due_at(std::uint64_t bytes) const noexcept {
  return !use_.is_merging() && use_.unmerged() > 0 && use_.unmerged() >= std::min(bytes, options_.merge_bytes);
}

void WorldFile::merge_in_time() noexcept {
  if (!merge_is_due(MergeAt::usual)) return;
  use_.merge_begun();
  lock_.sync();
  in_file_ = database_->merge();
  note_merge();
  end_merge();
}

void WorldFile::end_merge() noexcept {
  use_.merge_ended(in_file_);
  if (merged_ && !displaced()) {
    watch_->take_file(*merged_);
    alone_ = std::move(*merged_alone_);
  }
  merged_.reset();
}

void WorldFile::merge_beside() noexcept {
  in_file_.reset();
  merged_.reset();
  // If the path now refers to another file, or if the file has changed, a merge would overwrite
  // that file with the contents of the -wal.
  const auto is_ours = [&] {
    const FileStamp file = stamp_of(path_);
    return file.is_same_file(watch_->file()) && file.is_unwritten_since(watch_->file());
  };
  if (displaced() || !is_ours()) return;
  if (!beside_) {
    auto opened = SqliteDatabase::open(path_, false, options_.vfs, shown_);
    // A connection does not know that a -wal exists until it has read from the database.
    if (!opened || !is_ours() || !opened->value("PRAGMA schema_version", "merging the -wal")) return;
    opened->merge_at_end(false);
    beside_.emplace(std::move(*opened));
  }
  // After a power failure, the lock file must identify either this -wal or the previous one.
  lock_.sync();
  in_file_ = beside_->merge();
  note_merge();
}

void WorldFile::note_merge() {
  merged_ = stamp_of(lock_.descriptor());
  merged_alone_ = read_alone(path_, shown_, false);
}

}  // namespace muster

#include "server/file_program/compact.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "server/file_program/verify.h"
#include "server/world/file/file_beside.h"
#include "server/world/file/file_header.h"
#include "server/world/file/lock.h"
#include "server/world/file/sqlite_database.h"
#include "server/world/file/world_file.h"
#include "server/world/rows/format.h"
#include "server/world/store/file_meta.h"
#include "system/open_file.h"
#include "system/real_path.h"
#include "system/temporary_folder.h"

namespace muster {
namespace {

constexpr const char* compacting = "compacting the world";

/// Removes what neither the current state nor the level needs.
std::expected<void, WorldError> remove_unneeded(Database& database, FileMeta meta) {
  // The newest row of each key up to a checkpoint.
  const auto rows_of = [](std::uint64_t checkpoint) {
    return "SELECT id FROM (SELECT id, max(checkpoint) FROM state WHERE checkpoint <= " + std::to_string(checkpoint) +
           " GROUP BY section, key, column_)";
  };
  std::string needed = rows_of(meta.checkpoint);
  if (meta.level) needed += " UNION " + rows_of(meta.level->checkpoint);
  std::string sql = "BEGIN; DELETE FROM state WHERE id NOT IN (" + needed + ");";
  // A row without bytes ends an earlier row, and there are none left.
  if (!meta.level) sql += "DELETE FROM state WHERE bytes IS NULL;";
  sql += "DELETE FROM journal WHERE id <= " + std::to_string(meta.group) +
         "; DELETE FROM codes WHERE id NOT IN (SELECT code FROM journal);";
  if (auto done = database.run(sql.c_str(), compacting); !done) return done;
  meta.past.clear();
  if (auto done = write_meta(database, meta); !done) return done;
  return database.run("COMMIT; VACUUM", compacting);
}

std::expected<void, WorldError> sync_file(const std::string& path, const std::string& shown) {
  const int file = open_file(path.c_str(), O_RDWR);
  const bool synced = file >= 0 && ::fsync(file) == 0;
  const int why = errno;
  if (file >= 0) ::close(file);
  if (synced) return {};
  return std::unexpected(WorldError(why == ENOSPC ? WorldErrorCode::disk_full : WorldErrorCode::io, shown,
                                    std::string("it cannot be synced: ") + std::strerror(why)));
}

}  // namespace

std::expected<CompactReport, WorldError> compact(const std::string& path) {
  const auto refuse = [&](WorldErrorCode code, std::string what) {
    return std::unexpected(WorldError(code, path, std::move(what)));
  };
  const auto named = [&](const WorldError& error) { return refuse(error.code(), error.detail()); };
  std::error_code failure;
  const std::string real = real_path(std::filesystem::absolute(path, failure).string());
  {
    // Checks that no process has the world, and that its -wal belongs to it.
    const auto file = WorldFile::open(path, {.mode = OpenMode::open_existing});
    if (!file) return std::unexpected(file.error());
    if (file->is_older())
      return refuse(WorldErrorCode::older,
                    "of file format " + std::to_string(file->format()) + "; the next save converts it");
  }
  auto lock = WorldLock::take(real, path);
  if (!lock) return std::unexpected(lock.error());
  if (auto held = lock->hold(real, path); !held) return std::unexpected(held.error());
  const std::string folder = std::filesystem::path(real).parent_path().string();
  const TemporaryFolder scratch(folder, ".muster-compact-");
  if (scratch.error() != 0)
    return refuse(scratch.error() == ENOSPC ? WorldErrorCode::disk_full : WorldErrorCode::denied,
                  "no folder can be made next to it: " + std::string(std::strerror(scratch.error())));

  CompactReport report{.bytes_before = file_bytes(real) + file_bytes(real + "-wal")};
  const std::string made = (scratch.path() / std::filesystem::path(real).filename()).string();
  {
    auto database = SqliteDatabase::open(real, false, {}, path);
    if (!database) return std::unexpected(database.error());
    const auto merged = database->merge_whole(compacting);
    if (!merged) return std::unexpected(merged.error());
    if (!*merged) return refuse(WorldErrorCode::in_use, "another program is reading it");
    database->merge_at_end(true);
    if (auto copied = database->copy_to(made, {}, compacting); !copied) return std::unexpected(copied.error());
  }
  if (file_bytes(real + "-wal") > 0) return refuse(WorldErrorCode::in_use, "another program has it open");
  struct stat before{};
  if (::stat(real.c_str(), &before) != 0) return refuse(WorldErrorCode::io, std::strerror(errno));

  // What is not valid must not be removed, because it may be all that is left.
  const auto whole = verify(made);
  if (!whole) return named(whole.error());
  report.saves_dropped = whole->meta.past.size();
  report.hash = whole->hash;
  {
    auto database = SqliteDatabase::open(made, false, {}, path);
    if (!database) return std::unexpected(database.error());
    database->merge_at_end(true);
    if (auto removed = remove_unneeded(*database, whole->meta); !removed) return std::unexpected(removed.error());
  }
  const auto again = verify(made);
  if (!again) return named(again.error());
  if (again->hash != whole->hash || again->durable != whole->durable || again->meta.history != whole->meta.history)
    return refuse(WorldErrorCode::io, "the new file differs from it");
  if (::chmod(made.c_str(), before.st_mode & 07777) != 0 || ::chown(made.c_str(), before.st_uid, before.st_gid) != 0)
    return refuse(WorldErrorCode::denied,
                  "the new file cannot get its owner and permissions: " + std::string(std::strerror(errno)));
  if (auto synced = sync_file(made, path); !synced) return std::unexpected(synced.error());
  report.bytes_after = file_bytes(made);
  struct stat now{};
  if (::stat(real.c_str(), &now) != 0 || now.st_ino != before.st_ino || now.st_size != before.st_size ||
      now.st_mtim.tv_sec != before.st_mtim.tv_sec || now.st_mtim.tv_nsec != before.st_mtim.tv_nsec)
    return refuse(WorldErrorCode::in_use, "another program changed it meanwhile");
  if (::rename(made.c_str(), real.c_str()) != 0)
    return refuse(WorldErrorCode::io, "it cannot be replaced: " + std::string(std::strerror(errno)));
  if (auto synced = sync_directory(folder, path); !synced) return std::unexpected(synced.error());
  return report;
}

}  // namespace muster

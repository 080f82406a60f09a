#include "server/world/file_takeover.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "server/world/rows/format.h"

namespace muster {

std::expected<std::string, WorldError> keep_original(Database& database, const std::string& path,
                                                     const std::string& vfs, const std::string& shown) {
  const std::string unfinished = path + "-format1-new";
  const auto remove_unfinished = [&] {
    for (const char* part : {"", "-journal", "-wal", "-shm"}) ::unlink((unfinished + part).c_str());
  };
  remove_unfinished();
  if (auto copied = database.copy_to(unfinished, vfs, "keeping the original"); !copied) {
    remove_unfinished();
    return std::unexpected(std::move(copied.error()));
  }
  // link, not rename: it never replaces a file that is there.
  std::string kept = path + "-format1";
  int reason = 0;
  for (int number = 2; ::link(unfinished.c_str(), kept.c_str()) != 0; ++number) {
    reason = errno;
    if (reason != EEXIST || number > 1000) break;
    reason = 0;
    kept = path + "-format1-" + std::to_string(number);
  }
  remove_unfinished();
  if (reason != 0)
    return std::unexpected(
        WorldError(WorldErrorCode::io, shown, "the original cannot be kept as " + kept + ": " + std::strerror(reason)));
  if (auto synced = sync_directory(std::filesystem::path(path).parent_path().string(), shown); !synced) {
    ::unlink(kept.c_str());
    return std::unexpected(std::move(synced.error()));
  }
  return kept;
}

std::expected<void, WorldError> make_format_2(Database& database) {
  std::string sql;
  for (const world_format::Table& old : world_format::tables_of_format_1) {
    bool same = false;
    for (const world_format::Table& table : world_format::tables) same = same || table.sql == old.sql;
    if (!same) sql += "DROP TABLE " + std::string(old.name) + ';';
  }
  for (const world_format::Table& table : world_format::tables) {
    bool there = false;
    for (const world_format::Table& old : world_format::tables_of_format_1) there = there || table.sql == old.sql;
    if (!there) sql += std::string(table.sql) + ';';
  }
  sql += "PRAGMA user_version=" + std::to_string(world_format::version);
  return database.run(sql.c_str(), "taking the file over to format 2");
}

std::expected<void, WorldError> sync_directory(const std::string& directory, const std::string& shown) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool good = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (good) return {};
  return std::unexpected(
      WorldError(WorldErrorCode::io, shown, "its directory cannot be synced: " + std::string(std::strerror(error))));
}

}  // namespace muster

#include "server/file_program/backup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "server/world/file/database.h"
#include "server/world/file/file_beside.h"
#include "server/world/file/file_header.h"
#include "server/world/place/left_behind.h"
#include "server/world/rows/format.h"
#include "system/open_file.h"
#include "system/real_path.h"

namespace muster {
namespace {

constexpr const char* doing = "copying the world";

bool is_there(const std::string& path) noexcept {
  struct stat file{};
  return ::lstat(path.c_str(), &file) == 0;
}

/// Returns the first value that `sql` selects, or 0 if it selects none.
std::expected<std::uint64_t, WorldError> number(Database& database, const char* sql) {
  const auto text = database.value(sql, doing);
  if (!text) return std::unexpected(text.error());
  std::uint64_t value = 0;
  std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

/// Returns a description of the copy, whose contents are those that `from` had at the time of
/// copying.
std::expected<BackupReport, WorldError> look_at(const std::string& copy, const std::string& shown) {
  auto opened = Database::open(copy, false, {}, shown);
  if (!opened) return std::unexpected(opened.error());
  BackupReport report{.bytes = file_bytes(copy)};
  const auto read = [&](std::uint64_t& into, const char* sql) -> std::expected<void, WorldError> {
    const auto value = number(*opened, sql);
    if (!value) return std::unexpected(value.error());
    into = *value;
    return {};
  };
  if (auto done = read(report.checkpoint, "SELECT value FROM meta WHERE name = 'checkpoint'"); !done)
    return std::unexpected(done.error());
  if (auto done = read(report.sequence, "SELECT value FROM meta WHERE name = 'sequence'"); !done)
    return std::unexpected(done.error());
  if (auto done =
          read(report.group,
               "SELECT max(id) FROM journal WHERE id > (SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'group')");
      !done)
    return std::unexpected(done.error());
  std::uint64_t last = 0;
  if (auto done = read(last, "SELECT max(last) FROM journal"); !done) return std::unexpected(done.error());
  if (report.group != 0 && last > report.sequence) report.sequence = last;
  return report;
}

}  // namespace

std::expected<BackupReport, WorldError> back_up(const std::string& from, const std::string& to) {
  const auto refuse = [&](WorldErrorCode code, const std::string& path, std::string detail) {
    return std::unexpected(WorldError(code, path, std::move(detail)));
  };
  if (!is_there(from)) return refuse(WorldErrorCode::missing, from, "no such file");
  if (is_there(to)) return refuse(WorldErrorCode::exists, to, "exists already; a copy never replaces a file");
  if (const std::string left = left_companions(to); !left.empty())
    return refuse(WorldErrorCode::left_behind, to,
                  "these files of an earlier world would be combined with the copy: " + left +
                      ". Move them away, or give the copy another name");
  std::error_code failure;
  const std::filesystem::path folder = std::filesystem::absolute(to, failure).parent_path();
  if (failure || !std::filesystem::is_directory(folder, failure))
    return refuse(WorldErrorCode::missing, to, "there is no folder " + folder.string());

  const bool had_wal = file_bytes(real_path(from) + "-wal") > 0;
  auto source = Database::open(from, false, {}, from);
  if (!source) return std::unexpected(source.error());
  source->merge_at_end(!had_wal);
  const auto application = source->value("PRAGMA application_id", doing);
  if (!application) return std::unexpected(application.error());
  if (*application != std::to_string(world_format::application_id))
    return refuse(WorldErrorCode::not_a_world, from, "not a world: another program's database");

  // Use a temporary name first, so that `to` refers either to a complete world or to nothing.
  const std::string unfinished = to + "-new";
  const auto remove_unfinished = [&] {
    for (const char* part : {"", "-journal", "-wal", "-shm"}) ::unlink((unfinished + part).c_str());
  };
  remove_unfinished();
  // Those who may read the world may read the copy.
  struct stat original{};
  const int file = ::stat(from.c_str(), &original) == 0 ? open_file(unfinished.c_str(), O_RDWR | O_CREAT | O_EXCL) : -1;
  const bool is_made = file >= 0 && ::fchmod(file, original.st_mode & 0666) == 0;
  const int why = errno;
  if (file >= 0) ::close(file);
  if (!is_made) {
    remove_unfinished();
    return refuse(why == ENOSPC ? WorldErrorCode::disk_full : WorldErrorCode::denied, to,
                  "it cannot be created: " + std::string(std::strerror(why)));
  }
  auto copied = source->copy_to(unfinished, {}, doing);
  auto report = copied ? look_at(unfinished, to)
                       : std::unexpected(WorldError(copied.error().code(), to, copied.error().detail()));
  if (report && ::link(unfinished.c_str(), to.c_str()) != 0)
    report = refuse(errno == EEXIST ? WorldErrorCode::exists : WorldErrorCode::io, to,
                    "the copy cannot be renamed: " + std::string(std::strerror(errno)));
  remove_unfinished();
  if (!report) return report;
  if (auto synced = sync_directory(folder.string(), to); !synced) {
    ::unlink(to.c_str());
    return std::unexpected(synced.error());
  }
  return report;
}

}  // namespace muster

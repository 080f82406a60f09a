#include "server/file_program/backup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>

#include "server/world/file/file_beside.h"
#include "server/world/file/file_header.h"
#include "server/world/file/sqlite_database.h"
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
  auto opened = SqliteDatabase::open(copy, false, {}, shown);
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

/// Writes the text to a new file that only its owner can read. Returns 0, or errno after an error,
/// in which case there is no file.
int write_new(const std::string& path, std::string_view text) {
  const int file = open_file(path.c_str(), O_WRONLY | O_CREAT | O_EXCL);
  if (file < 0) return errno;
  int why = 0;
  while (why == 0 && !text.empty()) {
    const ssize_t wrote = ::write(file, text.data(), text.size());
    if (wrote > 0) text.remove_prefix(static_cast<std::size_t>(wrote));
    if (wrote < 0 && errno != EINTR) why = errno;
  }
  if (why == 0 && ::fsync(file) != 0) why = errno;
  ::close(file);
  if (why != 0) ::unlink(path.c_str());
  return why;
}

/// Copies the list of users, which a server replaces as a whole. Returns false if there is none.
std::expected<bool, WorldError> copy_users(const std::string& from, const std::string& to) {
  const int file = open_file(from.c_str(), O_RDONLY);
  if (file < 0 && errno == ENOENT) return false;
  const auto fail = [](const std::string& path, int why) {
    const std::string reason = why == ELOOP ? "a symbolic link" : std::strerror(why);
    return std::unexpected(WorldError(why == ENOSPC ? WorldErrorCode::disk_full : WorldErrorCode::denied, path,
                                      "the list of users cannot be copied: " + reason));
  };
  if (file < 0) return fail(from, errno);
  std::string text;
  char block[4096];
  ssize_t bytes = 0;
  do {
    bytes = ::read(file, block, sizeof block);
    if (bytes > 0) text.append(block, static_cast<std::size_t>(bytes));
  } while (bytes > 0 || (bytes < 0 && errno == EINTR));
  const int why = bytes < 0 ? errno : 0;
  ::close(file);
  if (why != 0) return fail(from, why);
  if (const int error = write_new(to, text); error != 0) return fail(to, error);
  return true;
}

constexpr std::string_view dated_end = "Z.muster";
constexpr std::size_t date_size = std::string_view("-20260301T033000Z.muster").size();

std::string stem_of(const std::string& world) { return std::filesystem::path(world).stem().string(); }

/// Returns true for the names that dated_copy() gives.
bool is_dated(std::string_view name, std::string_view stem) {
  if (name.size() != stem.size() + date_size || !name.starts_with(stem) || !name.ends_with(dated_end)) return false;
  const std::string_view date = name.substr(stem.size(), date_size - dated_end.size());
  for (std::size_t i = 0; i < date.size(); ++i) {
    const bool fits = i == 0 ? date[i] == '-' : i == 9 ? date[i] == 'T' : date[i] >= '0' && date[i] <= '9';
    if (!fits) return false;
  }
  return true;
}

}  // namespace

std::string dated_copy(const std::string& from, const std::string& folder, std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char date[32];
  std::strftime(date, sizeof date, "-%Y%m%dT%H%M%S", &parts);
  return (std::filesystem::path(folder) / (stem_of(from) + date + std::string(dated_end))).string();
}

std::expected<std::vector<std::string>, WorldError> remove_old_copies(const std::string& from,
                                                                      const std::string& folder, std::size_t count) {
  std::vector<std::string> copies;
  std::error_code failure;
  for (std::filesystem::directory_iterator each(folder, failure), end; !failure && each != end; each.increment(failure))
    if (is_dated(each->path().filename().string(), stem_of(from))) copies.push_back(each->path().string());
  if (failure) return std::unexpected(WorldError(WorldErrorCode::io, folder, failure.message()));
  std::ranges::sort(copies);
  copies.resize(copies.size() - std::min(copies.size(), count));
  for (const std::string& copy : copies)
    // If this is interrupted, the world file is still there, so that the next call removes it.
    for (const char* part : {"-users", ""})
      if (::unlink((copy + part).c_str()) != 0 && errno != ENOENT)
        return std::unexpected(WorldError(WorldErrorCode::denied, copy + part,
                                          "an old copy cannot be removed: " + std::string(std::strerror(errno))));
  return copies;
}

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
  auto source = SqliteDatabase::open(from, false, {}, from);
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
  const std::string users = to + "-users";
  if (report) {
    // Copied after the world, so that it has all users whom the copy mentions.
    const auto had = copy_users(real_path(from) + "-users", users);
    if (had) report->has_users = *had;
    if (!had) report = std::unexpected(had.error());
  }
  const bool made_users = report && report->has_users;
  if (report && ::link(unfinished.c_str(), to.c_str()) != 0)
    report = refuse(errno == EEXIST ? WorldErrorCode::exists : WorldErrorCode::io, to,
                    "the copy cannot be renamed: " + std::string(std::strerror(errno)));
  remove_unfinished();
  if (!report && made_users) ::unlink(users.c_str());
  if (!report) return report;
  if (auto synced = sync_directory(folder.string(), to); !synced) {
    ::unlink(to.c_str());
    if (made_users) ::unlink(users.c_str());
    return std::unexpected(synced.error());
  }
  return report;
}

}  // namespace muster

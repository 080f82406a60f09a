#include "server/file_program/read_world.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "server/file_program/backup.h"
#include "system/open_file.h"
#include "system/real_path.h"

namespace muster {
namespace {

/// Returns true if no process appears to have the world at `path` open. Does not require write
/// permission.
bool is_left_alone(const std::string& path) noexcept {
  const int fd = open_file((path + "-lock").c_str(), O_RDONLY);
  if (fd < 0) return errno == ENOENT;
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  const bool free = ::fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type == F_UNLCK;
  ::close(fd);
  return free;
}

/// Makes a byte-for-byte copy of a world that is not open, including its -wal and the durable marks
/// in its lock file.
std::expected<void, std::string> copy_files(const std::string& from, const std::string& to) {
  for (const char* part : {"", "-wal", "-lock"}) {
    std::error_code failure;
    if (*part != 0 && !std::filesystem::exists(from + part, failure)) continue;
    std::filesystem::copy_file(from + part, to + part, failure);
    if (!failure)
      std::filesystem::permissions(to + part, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write,
                                   failure);
    if (failure) return std::unexpected("it cannot be copied to " + to + part + ": " + failure.message());
  }
  return {};
}

}  // namespace

std::expected<ReadWorld, WorldError> ReadWorld::open(const std::string& path) {
  ReadWorld world(path);
  const std::string real = real_path(path);  // the -wal and the lock file are next to it
  const auto take = [&](const std::string& file) -> std::expected<void, WorldError> {
    auto opened = WorldFile::open(file, {.mode = OpenMode::open_existing});
    if (!opened) return std::unexpected(world.error(opened.error()));
    world.file_.emplace(std::move(*opened));
    return {};
  };
  const auto locked = take(path);
  if (locked) return world;
  const bool is_open = locked.error().code() == WorldErrorCode::in_use;
  const bool may_not_be_written = locked.error().code() == WorldErrorCode::denied && is_left_alone(real);
  if (!is_open && !may_not_be_written) return std::unexpected(locked.error());
  std::error_code failure;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(failure);
  if (failure)
    return std::unexpected(
        WorldError(WorldErrorCode::io, path, "there is no folder for temporary files: " + failure.message()));
  world.folder_ = std::make_unique<TemporaryFolder>(temporary, "muster-");
  if (const int error = world.folder_->error(); error != 0)
    return std::unexpected(WorldError(
        WorldErrorCode::io, path,
        "cannot make a folder like " + (temporary / "muster-XXXXXX").string() + ": " + std::strerror(error)));
  const std::string copy = (world.folder_->path() / "copy.muster").string();
  if (is_open) {
    if (auto copied = back_up(path, copy); !copied) return std::unexpected(copied.error());
  } else {
    // If copying fails as well, the file is unreadable, which also explains why opening it failed.
    if (auto copied = copy_files(real, copy); !copied)
      return std::unexpected(WorldError(WorldErrorCode::denied, path, locked.error().detail() + "; " + copied.error()));
    if (!is_left_alone(real))
      return std::unexpected(WorldError(WorldErrorCode::in_use, path, "was just opened by another process"));
  }
  world.running_ = is_open;
  if (auto opened = take(copy); !opened) return std::unexpected(opened.error());
  return world;
}

std::expected<LoadReport, WorldError> ReadWorld::load(EntityRegistry& registry) {
  LoadReport report;
  const auto loaded = file_->load([&](StateSource& source) -> std::expected<void, StateError> {
    auto read = registry.load(source);
    if (!read) return std::unexpected(std::move(read.error()));
    report = std::move(*read);
    return {};
  });
  if (!loaded) return std::unexpected(error(loaded.error()));
  return report;
}

std::expected<Slice, WorldError> ReadWorld::slice(const SliceRange& range) {
  auto slice = slice_of(*file_, range);
  if (!slice) return std::unexpected(error(slice.error()));
  return slice;
}

std::expected<std::vector<EditHistory::Saved>, WorldError> ReadWorld::steps() {
  std::vector<EditHistory::Saved> steps;
  const auto read = file_->steps([&](std::uint64_t number, std::span<const std::byte> bytes) {
    steps.push_back({.number = number, .bytes = {bytes.begin(), bytes.end()}});
  });
  if (!read) return std::unexpected(error(read.error()));
  return steps;
}

std::expected<JournalReport, WorldError> ReadWorld::journal(
    EntityRegistry& registry, const std::function<bool(const JournalGroup&)>& begin,
    const std::function<void(const JournalGroup&, const JournalRecord&)>& take) {
  auto read = file_->journal([&](const JournalGroup& group) -> std::expected<bool, std::string> {
    if (!begin(group)) return false;
    const auto whole = read_group(group, registry.types(), [&](const JournalRecord& record) { take(group, record); });
    if (!whole) return std::unexpected(whole.error());
    return true;
  });
  if (!read) return std::unexpected(error(read.error()));
  return read;
}

}  // namespace muster

#include "server/world/replay/slice_copy.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "server/world/file/sqlite_database.h"
#include "server/world/file/world_file.h"
#include "system/real_path.h"
#include "system/temporary_folder.h"

namespace muster {
namespace {

constexpr const char* copying_for_slice = "copying the world for a slice";

}  // namespace

std::expected<Slice, WorldError> slice_of_copy(const std::string& path, const SliceRange& range) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0)
    return std::unexpected(WorldError(WorldErrorCode::missing, path, std::strerror(errno)));
  std::error_code failure;
  const TemporaryFolder folder(std::filesystem::temp_directory_path(failure), "muster-");
  if (folder.error() != 0)
    return std::unexpected(WorldError(
        WorldErrorCode::io, path, std::string("there is no folder for its copy: ") + std::strerror(folder.error())));
  const std::string copy = (folder.path() / "copy.muster").string();
  {
    auto source = SqliteDatabase::open(real_path(path), false, {}, path);
    if (!source) return std::unexpected(std::move(source.error()));
    source->merge_at_end(false);
    if (auto copied = source->copy_to(copy, {}, copying_for_slice); !copied)
      return std::unexpected(std::move(copied.error()));
  }
  const auto named = [&](const WorldError& error) { return WorldError(error.code(), path, error.detail()); };
  auto file = WorldFile::open(copy, {.mode = OpenMode::open_existing});
  if (!file) return std::unexpected(named(file.error()));
  auto slice = slice_of(*file, range);
  if (!slice) return std::unexpected(named(slice.error()));
  return slice;
}

std::string slice_name(const std::string& path, const Slice& slice) {
  std::string name = std::filesystem::path(path).stem().string();
  for (char& c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.')) c = '_';
  if (name.empty() || name.front() == '.') name.insert(0, "world");
  const std::uint64_t tick = slice.groups.empty() ? slice.tick : slice.groups.back().last_tick;
  return name + "-tick" + std::to_string(tick) + ".slice";
}

}  // namespace muster

#include "server/file/read_world.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "server/file/backup.h"

namespace muster {

std::expected<ScratchFolder, std::string> ScratchFolder::make() {
  std::error_code failure;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(failure);
  if (failure) return std::unexpected("there is no folder for temporary files: " + failure.message());
  std::string path = (temporary / "muster-XXXXXX").string();
  if (!::mkdtemp(path.data()))
    return std::unexpected("cannot make a folder like " + path + ": " + std::strerror(errno));
  return ScratchFolder(std::move(path));
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::expected<ReadWorld, WorldError> ReadWorld::open(const std::string& path) {
  ReadWorld world(path);
  const auto take = [&](const std::string& file) -> std::expected<void, WorldError> {
    auto opened = WorldFile::open(file, {.mode = OpenMode::open_existing});
    if (!opened) return std::unexpected(world.error(opened.error()));
    world.file_.emplace(std::move(*opened));
    return {};
  };
  const auto locked = take(path);
  if (locked) return world;
  if (locked.error().code() != WorldErrorCode::in_use) return std::unexpected(locked.error());
  auto folder = ScratchFolder::make();
  if (!folder) return std::unexpected(WorldError(WorldErrorCode::io, path, folder.error()));
  world.folder_.emplace(std::move(*folder));
  const std::string copy = world.folder_->path() + "/copy.muster";
  if (auto copied = back_up(path, copy); !copied) return std::unexpected(copied.error());
  if (auto opened = take(copy); !opened) return std::unexpected(opened.error());
  return world;
}

}  // namespace muster

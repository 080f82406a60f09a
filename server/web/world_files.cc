#include "server/web/world_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "server/web/web_address.h"

namespace muster {
namespace {

constexpr std::string_view suffixes[] = {"gltf", "glb", "bin",  "obj",  "mtl",  "fbx", "stl",  "ply",
                                         "png",  "jpg", "jpeg", "webp", "ktx2", "hdr", "basis"};

/// Returns the path of the open file, with all symbolic links resolved.
std::string path_of_descriptor(int descriptor) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = ::readlink(link.c_str(), path, sizeof path);
  return length > 0 && length < PATH_MAX ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

/// Returns the last component of a path that begins with a slash. Returns an empty string if any
/// component begins with a dot.
std::string last_name(std::string_view path) {
  if (path.find("/.") != std::string_view::npos) return {};
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace

bool is_served_suffix(const std::string& name) {
  return std::ranges::find(suffixes, suffix_of(name)) != std::end(suffixes);
}

WorldFiles::WorldFiles(const std::string& folder, std::string world) : world_(std::move(world)) {
  std::error_code failure;
  // Empty if there is no such folder.
  folder_ = std::filesystem::canonical(folder, failure).string();
  if (folder_ == "/") folder_.clear();  // never serve the root directory as a world's folder
}

bool WorldFiles::is_the_worlds(const std::string& name) const {
  return !world_.empty() && (name == world_ || name.starts_with(world_ + "-"));
}

std::expected<OpenFile, HttpAnswer> WorldFiles::open(const std::vector<std::string>& parts) const {
  const auto none = [] { return std::unexpected(http_sentence(404, "there is no such file in the world's folder")); };
  const auto not_given = [] {
    return std::unexpected(
        http_sentence(403, "only models and their files are served from the world's folder, by suffix"));
  };
  if (folder_.empty() || parts.empty()) return none();
  std::string path = folder_;
  for (const std::string& part : parts) path += "/" + part;

  // First obtain a descriptor for the path without opening the file, in order to determine the
  // file's type and location.
  const OpenFile place(::open(path.c_str(), O_PATH | O_CLOEXEC), 0);
  if (!place) return none();
  const std::string real = path_of_descriptor(place.descriptor());
  if (!real.starts_with(folder_ + "/")) return none();
  const std::string name = last_name(std::string_view(real).substr(folder_.size()));
  if (name.empty()) return none();
  struct stat found;
  if (::fstat(place.descriptor(), &found) != 0 || !S_ISREG(found.st_mode)) return none();
  for (const std::string& asked : {parts.back(), name})
    if (is_the_worlds(asked) || !is_served_suffix(asked)) return not_given();
  struct stat worlds;
  if (!world_.empty() && ::stat((folder_ + "/" + world_).c_str(), &worlds) == 0 && worlds.st_dev == found.st_dev &&
      worlds.st_ino == found.st_ino)
    return not_given();

  const std::string again = "/proc/self/fd/" + std::to_string(place.descriptor());
  const int descriptor = ::open(again.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return none();
  return OpenFile(descriptor, static_cast<std::uint64_t>(found.st_size));
}

}  // namespace muster

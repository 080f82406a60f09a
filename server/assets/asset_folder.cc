#include "server/assets/asset_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <random>
#include <system_error>
#include <utility>

#include "messages/utf8.h"
#include "server/web/world_files.h"

namespace muster {
namespace {

using AssetFailure = std::unexpected<AssetFault>;

constexpr std::size_t asset_name_bytes_max = 200;  // a file system allows 255
/// Bytes that an upload leaves free, so that the world can still be saved.
constexpr std::uint64_t spared_bytes = 256u << 20;
constexpr char upload_prefix[] = ".upload-";
/// Seconds after which an upload that does not grow is left over from a program that was killed.
constexpr std::int64_t upload_seconds = 3600;

class Descriptor {
 public:
  explicit Descriptor(int descriptor = -1) : descriptor_(descriptor) {}
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

AssetFailure disk_failure(const std::string& what, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT;
  return AssetFailure({is_full ? 507u : 500u, what + ": " + std::generic_category().message(error)});
}

std::string asset_path(const AssetFolder::Parts& parts) {
  std::string path = assets_name;
  for (const std::string& part : parts) path += "/" + part;
  return path;
}

Descriptor open_folder(int above, const std::string& name) {
  return Descriptor(::openat(above, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// Opens the folder of a path below the folder for assets, and creates it if `creates` is true.
std::expected<Descriptor, AssetFault> asset_folder(const std::string& world_folder, const AssetFolder::Parts& path,
                                                   bool creates) {
  if (world_folder.empty()) return AssetFailure({404, "this world has no folder for assets"});
  Descriptor folder(::open(world_folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder && errno == ENOENT) return AssetFailure({404, "there is no such world"});
  if (!folder) return disk_failure("the world's folder cannot be opened", errno);
  AssetFolder::Parts names = {assets_name};
  names.insert(names.end(), path.begin(), path.end() - 1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    Descriptor next = open_folder(folder.get(), names[i]);
    if (!next && errno == ENOENT && creates) {
      if (::mkdirat(folder.get(), names[i].c_str(), 0777) != 0 && errno != EEXIST)
        return disk_failure("the folder " + names[i] + " cannot be created", errno);
      next = open_folder(folder.get(), names[i]);
    }
    if (next) {
      folder = std::move(next);
      continue;
    }
    const std::string where = asset_path({path.begin(), path.begin() + static_cast<std::ptrdiff_t>(i)});
    if (errno == ENOENT) return AssetFailure({404, "there is no folder " + where});
    if (errno == ELOOP || errno == ENOTDIR)
      return AssetFailure({409, where + " is not a folder; symbolic links are not followed"});
    return disk_failure("the folder " + where + " cannot be opened", errno);
  }
  return folder;
}

/// Adds the files of a folder and of the folders below it. Returns false once there are too many.
bool add_files(Descriptor folder, const std::string& before, std::size_t depth, AssetList& list) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(folder.get()), ::closedir);
  if (!entries) return true;
  const int descriptor = folder.release();
  while (const dirent* const entry = ::readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (name.starts_with('.') && !name.starts_with(upload_prefix)) continue;
    struct stat found;
    if (::fstatat(descriptor, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (name.starts_with(upload_prefix)) {
      if (S_ISREG(found.st_mode) && found.st_mtim.tv_sec + upload_seconds < ::time(nullptr))
        ::unlinkat(descriptor, name.c_str(), 0);
      continue;
    }
    if (S_ISDIR(found.st_mode) && depth < asset_depth_max) {
      Descriptor below = open_folder(descriptor, name);
      if (below && !add_files(std::move(below), before + name + "/", depth + 1, list)) return false;
    }
    if (!S_ISREG(found.st_mode) || !asset_path_fault({name}).empty()) continue;
    if (list.files.size() == assets_listed_max) {
      list.is_cut = true;
      return false;
    }
    list.files.push_back({before + name, static_cast<std::uint64_t>(found.st_size),
                          found.st_mtim.tv_sec * 1'000'000'000LL + found.st_mtim.tv_nsec});
  }
  return true;
}

}  // namespace

std::string asset_path_fault(const std::vector<std::string>& parts) {
  if (parts.empty()) return "a file's name is needed";
  if (parts.size() > asset_depth_max + 1)
    return "the path has more than " + std::to_string(asset_depth_max) + " folders";
  for (const std::string& part : parts) {
    if (part.size() > asset_name_bytes_max)
      return "a name has " + std::to_string(part.size()) + " bytes; " + std::to_string(asset_name_bytes_max) +
             " are allowed";
    if (const std::string fault = text_fault(part); !fault.empty()) return "a name " + fault;
    if (part.front() == '.') return "a name begins with a dot";
    if (part.find_first_of("/\\") != part.npos) return "a name has a slash or a backslash";
    if (has_invisible(part)) return "a name has a character that cannot be seen";
  }
  if (!is_served_suffix(parts.back())) return "only models, textures and model data are stored, by suffix";
  return {};
}

std::expected<AssetList, AssetFault> AssetFolder::list() const {
  AssetList list;
  if (world_folder_.empty()) return list;
  auto folder = asset_folder(world_folder_, {"x"}, false);
  if (!folder) {
    if (folder.error().status == 404) return list;
    return AssetFailure(std::move(folder.error()));
  }
  add_files(std::move(*folder), {}, 0, list);
  std::ranges::sort(list.files, {}, &Asset::path);
  return list;
}

std::expected<AssetUpload, AssetFault> AssetFolder::begin(const Parts& path, std::uint64_t bytes, bool replaces) const {
  if (const std::string fault = asset_path_fault(path); !fault.empty()) return AssetFailure({400, fault});
  if (bytes > asset_bytes_max)
    return AssetFailure({413, "the file is larger than " + std::to_string(asset_bytes_max >> 20) + " MiB"});
  auto folder = asset_folder(world_folder_, path, true);
  if (!folder) return AssetFailure(std::move(folder.error()));
  struct stat found;
  if (::fstatat(folder->get(), path.back().c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!S_ISREG(found.st_mode)) return AssetFailure({409, asset_path(path) + " is not a file"});
    if (!replaces) return AssetFailure({409, "there is already a file " + asset_path(path)});
  }
  struct statvfs disk;
  if (::fstatvfs(folder->get(), &disk) == 0) {
    const std::uint64_t free = static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
    if (free < bytes + spared_bytes)
      return AssetFailure({507, "the disk is nearly full: " + std::to_string(free >> 20) + " MiB are free, and " +
                                    std::to_string(spared_bytes >> 20) + " MiB must stay free"});
  }
  std::random_device random;
  AssetUpload upload;
  upload.kept_name_ = upload_prefix + std::to_string(random()) + "-" + std::to_string(random());
  upload.name_ = path.back();
  upload.replaces_ = replaces;
  upload.file_ =
      ::openat(folder->get(), upload.kept_name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (upload.file_ < 0) return disk_failure("the file cannot be created", errno);
  upload.folder_ = folder->release();
  return upload;
}

std::expected<void, AssetFault> AssetFolder::rename(const Parts& from, const Parts& to) const {
  for (const Parts* path : {&from, &to})
    if (const std::string fault = asset_path_fault(*path); !fault.empty()) return AssetFailure({400, fault});
  const auto suffix = [](const std::string& name) { return name.substr(name.rfind('.')); };
  if (suffix(from.back()) != suffix(to.back())) return AssetFailure({400, "the suffix of a file stays the same"});
  const auto old_folder = asset_folder(world_folder_, from, false);
  if (!old_folder) return AssetFailure(old_folder.error());
  struct stat found;
  if (::fstatat(old_folder->get(), from.back().c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0)
    return AssetFailure({404, "there is no file " + asset_path(from)});
  if (!S_ISREG(found.st_mode)) return AssetFailure({409, asset_path(from) + " is not a file"});
  const auto folder = asset_folder(world_folder_, to, true);
  if (!folder) return AssetFailure(folder.error());
  if (::renameat2(old_folder->get(), from.back().c_str(), folder->get(), to.back().c_str(), RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST) return AssetFailure({409, "there is already a file " + asset_path(to)});
    return disk_failure(asset_path(from) + " cannot be renamed", errno);
  }
  return {};
}

AssetUpload::AssetUpload(AssetUpload&& other) noexcept
    : folder_(std::exchange(other.folder_, -1)),
      file_(std::exchange(other.file_, -1)),
      kept_name_(std::exchange(other.kept_name_, {})),
      name_(std::move(other.name_)),
      replaces_(other.replaces_) {}

AssetUpload::~AssetUpload() {
  if (file_ >= 0) ::close(file_);
  if (folder_ < 0) return;
  if (!kept_name_.empty()) ::unlinkat(folder_, kept_name_.c_str(), 0);
  ::close(folder_);
}

std::expected<void, AssetFault> AssetUpload::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return disk_failure("the file cannot be written", written < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

std::expected<void, AssetFault> AssetUpload::finish() {
  if (::fsync(file_) != 0) return disk_failure("the file cannot be written", errno);
  const unsigned flags = replaces_ ? 0 : RENAME_NOREPLACE;
  if (::renameat2(folder_, kept_name_.c_str(), folder_, name_.c_str(), flags) != 0) {
    if (errno == EEXIST) return AssetFailure({409, "there is already a file " + name_});
    return disk_failure("the file cannot get its name", errno);
  }
  kept_name_.clear();
  (void)::fsync(folder_);
  return {};
}

}  // namespace muster

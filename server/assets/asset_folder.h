// The folder "assets" next to a world: models, textures and model data, which users list, upload
// and rename. Never follows a symbolic link. All calls may wait for the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

namespace muster {

/// The name of the folder.
inline constexpr char assets_name[] = "assets";
/// Limits on a file's size in bytes, on the number of files that are listed, and on the depth of
/// folders.
inline constexpr std::uint64_t asset_bytes_max = 256u << 20;
inline constexpr std::size_t assets_listed_max = 10'000;
inline constexpr std::size_t asset_depth_max = 8;

struct Asset {
  std::string path;  ///< relative to the folder, with "/" between folders
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;  ///< when the content changed, since 1970
};

struct AssetList {
  std::vector<Asset> files;  ///< ordered by path
  bool is_cut = false;       ///< true if there are more than assets_listed_max files
};

/// The reason why something failed: a status of HTTP and a human-readable message.
struct AssetFault {
  unsigned status = 500;
  std::string text;
};

/// A file that is being uploaded. Until finish() succeeds, the file is under another name, which is
/// never listed, and the destructor removes it. Movable. May be used on any thread, by one at a
/// time.
class AssetUpload {
 public:
  AssetUpload(AssetUpload&& other) noexcept;
  AssetUpload& operator=(AssetUpload&&) = delete;
  ~AssetUpload();

  [[nodiscard]] std::expected<void, AssetFault> write(std::span<const std::byte> bytes);
  /// Makes the file durable and gives it its name. May be called once.
  [[nodiscard]] std::expected<void, AssetFault> finish();

 private:
  friend class AssetFolder;
  AssetUpload() = default;

  int folder_ = -1, file_ = -1;
  std::string kept_name_, name_;
  bool replaces_ = false;
};

/// Immutable. May be used on any thread.
class AssetFolder {
 public:
  using Parts = std::vector<std::string>;
  /// `world_folder` is the folder of the world's file. If it is empty, there are no assets. The
  /// folder "assets" is created by the first upload.
  explicit AssetFolder(std::string world_folder) : world_folder_(std::move(world_folder)) {}

  /// Lists the files whose names an upload could have. Leaves out symbolic links, and files and
  /// folders whose names begin with a dot. Removes what uploads left over an hour ago.
  [[nodiscard]] std::expected<AssetList, AssetFault> list() const;
  /// Begins an upload of `bytes` bytes to a path below the folder. If there is such a file already,
  /// refuses (409) unless `replaces` is true.
  [[nodiscard]] std::expected<AssetUpload, AssetFault> begin(const Parts& path, std::uint64_t bytes,
                                                             bool replaces) const;
  /// Gives a file another path below the folder with the same suffix. Refuses (409) if there is
  /// such a file already.
  [[nodiscard]] std::expected<void, AssetFault> rename(const Parts& from, const Parts& to) const;

 private:
  std::string world_folder_;
};

/// Returns why a path cannot be that of an asset, or an empty string if it can.
std::string asset_path_fault(const std::vector<std::string>& parts);

}  // namespace muster

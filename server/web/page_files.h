// The editor's page: a folder of files, read once into memory, also compressed.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <string>

namespace muster {

/// Does not change after it was read. Any thread.
class PageFiles {
 public:
  static constexpr std::size_t files_max = 1000;
  static constexpr std::size_t bytes_max = 64u << 20;  ///< limit on all files together

  struct File {
    std::string type;  ///< media type
    std::string tag;   ///< for ETag, from the content, without quotes
    std::shared_ptr<const std::string> bytes;
    std::shared_ptr<const std::string> gzip;  ///< null if that is not shorter
  };

  PageFiles() = default;
  /// Reads all files below the folder, except links and names that begin with a dot. The error has
  /// its place. Without `compress` it takes less time, to check only for errors.
  [[nodiscard]] static std::expected<PageFiles, std::string> read(const std::string& folder, bool compress = true);

  /// Finds the file of a path: "index.html", "assets/x.js". Returns null if there is none.
  const File* find(const std::string& path) const;
  bool empty() const noexcept { return files_.empty(); }

 private:
  std::map<std::string, File> files_;
};

}  // namespace muster

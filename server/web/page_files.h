// Holds the editor's page, which is a directory of files. The files are read into memory once, and
// a compressed copy of each is kept as well.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <string>

namespace muster {

/// Immutable once it has been read. May be used on any thread.
class PageFiles {
 public:
  static constexpr std::size_t files_max = 1000;
  static constexpr std::size_t bytes_max = 64u << 20;  ///< limit on the total size of all files

  struct File {
    std::string type;  ///< media type
    std::string tag;   ///< value of the ETag field, derived from the file's content, without quotes
    std::shared_ptr<const std::string> bytes;
    std::shared_ptr<const std::string> gzip;  ///< null if gzip does not make the file shorter
  };

  PageFiles() = default;
  /// Reads all files below the directory, except for symbolic links and files whose names begin
  /// with a dot. On failure, the error includes the path. If `compress` is false, reading is
  /// faster, which is useful if the caller only checks for errors.
  [[nodiscard]] static std::expected<PageFiles, std::string> read(const std::string& folder, bool compress = true);

  /// Finds a file by its path, such as "index.html" or "assets/x.js". Returns null if there is no
  /// such file.
  const File* find(const std::string& path) const;
  bool empty() const noexcept { return files_.empty(); }

 private:
  std::map<std::string, File> files_;
};

}  // namespace muster

// The editor's page, which is a directory of files. They are read into memory once and also
// compressed.
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
    std::string tag;   ///< content of the ETag field, derived from the file, without quotes
    std::shared_ptr<const std::string> bytes;
    std::shared_ptr<const std::string> gzip;  ///< null if gzip does not make the file shorter
  };

  PageFiles() = default;
  /// Reads all files below the directory, except for links and for names that begin with a dot. The
  /// error includes the path. Reading is faster without `compress`, which is useful for merely
  /// checking for errors.
  [[nodiscard]] static std::expected<PageFiles, std::string> read(const std::string& folder, bool compress = true);

  /// Finds a file by its path, such as "index.html" or "assets/x.js". Returns null if there is no
  /// such file.
  const File* find(const std::string& path) const;
  bool empty() const noexcept { return files_.empty(); }

 private:
  std::map<std::string, File> files_;
};

}  // namespace muster

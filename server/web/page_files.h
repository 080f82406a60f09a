// The editor's page: a folder of files, read once and kept in memory, compressed too.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <string>

namespace muster {

/// Never changes once it is read. Any thread.
class PageFiles {
 public:
  static constexpr std::size_t files_max = 1000;
  static constexpr std::size_t bytes_max = 64u << 20;  ///< of all together

  struct File {
    std::string type;  ///< media type
    std::string tag;   ///< of the content, for ETag: without quotes
    std::shared_ptr<const std::string> bytes;
    std::shared_ptr<const std::string> gzip;  ///< null if that is not shorter
  };

  PageFiles() = default;
  /// All files below the folder; those whose names begin with a dot, and links, are left out. The
  /// error says what is wrong, and where. `compress`: false saves time where only the error is of
  /// interest.
  [[nodiscard]] static std::expected<PageFiles, std::string> read(const std::string& folder, bool compress = true);

  /// `path`: "index.html", "assets/x.js". Null: there is none.
  const File* find(const std::string& path) const;
  bool empty() const noexcept { return files_.empty(); }

 private:
  std::map<std::string, File> files_;
};

}  // namespace muster

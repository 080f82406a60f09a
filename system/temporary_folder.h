// A folder for files that are needed for a while.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace muster {

/// A new folder that only its owner can use. The destructor removes it with all of its contents.
class TemporaryFolder {
 public:
  /// Creates the folder in the folder `in`, with a name that begins with `prefix`.
  TemporaryFolder(const std::filesystem::path& in, const std::string& prefix) {
    std::string name = (in / (prefix + "XXXXXX")).string();
    if (::mkdtemp(name.data()))
      path_ = name;
    else
      error_ = errno;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  /// Returns why the folder could not be created, as errno, or 0.
  int error() const noexcept { return error_; }

 private:
  std::filesystem::path path_;
  int error_ = 0;
};

}  // namespace muster

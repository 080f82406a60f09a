// A private copy of a plugin's file, made when it is loaded, so that the next build may overwrite
// the file while the code runs.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace muster {

/// The copy exists as long as this object, so that debuggers find it. It lies beside the file as
/// .NAME.muster-PID-N, because the plugin may look for other libraries there, or in the folder for
/// temporary files if that one cannot be written.
class PluginCopy {
 public:
  /// Reads the file, which must be a complete ELF shared library. The error names the fault,
  /// without the path. Removes copies that ended processes left beside the file.
  [[nodiscard]] static std::expected<PluginCopy, std::string> make(const std::string& path);
  PluginCopy() = default;
  PluginCopy(PluginCopy&& other) noexcept
      : path_(std::exchange(other.path_, {})), digest_(other.digest_), unique_(other.unique_) {}
  PluginCopy& operator=(PluginCopy&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(digest_, other.digest_);
    std::swap(unique_, other.unique_);
    return *this;
  }
  ~PluginCopy();

  /// Path of the copy; it is absolute or contains a slash.
  const std::string& path() const noexcept { return path_; }
  /// Hash of the file's bytes.
  std::uint64_t digest() const noexcept { return digest_; }
  /// True if the file has unique symbols, for which the process uses the definition of the library
  /// loaded first. GCC makes them for variables of templates and inline variables.
  bool has_unique_symbols() const noexcept { return unique_; }

 private:
  std::string path_;
  std::uint64_t digest_ = 0;
  bool unique_ = false;
};

}  // namespace muster

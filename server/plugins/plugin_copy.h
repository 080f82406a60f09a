// A plugin's file as it was when it was loaded: a copy of our own, so that the next build may be written over the file
// while its code runs.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace muster {

/// The copy is there as long as this object, so that debuggers find it: beside the file, as .NAME.muster-PID-N (the plugin may
/// look for other libraries from there), or in the folder for temporary files where that cannot be written.
class PluginCopy {
 public:
  /// Reads and looks at the file: an ELF shared library of which no part is missing. The error says what is wrong, without
  /// the path. Copies that ended processes left beside the file are removed.
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

  /// Absolute, or with a slash in it.
  const std::string& path() const noexcept { return path_; }
  /// Of the file's bytes.
  std::uint64_t digest() const noexcept { return digest_; }
  /// It has symbols of which the process has one, that of the library that came first: GCC makes them of templates' and
  /// inline variables.
  bool has_unique_symbols() const noexcept { return unique_; }

 private:
  std::string path_;
  std::uint64_t digest_ = 0;
  bool unique_ = false;
};

}  // namespace muster

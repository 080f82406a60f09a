// A private copy of a plugin's file. The copy is created when the plugin is loaded, so that the
// next build can overwrite the original file while the code is running.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace muster {

/// The copy exists for the lifetime of this object, so that debuggers can find it. It is stored
/// next to the plugin's file, as .NAME.muster-PID-N, because the plugin may load other libraries
/// from that directory. If that directory is not writable, the copy is stored in the directory for
/// temporary files.
class PluginCopy {
 public:
  /// Copies the file, which must be a complete ELF shared library. On failure, the error describes
  /// the fault and does not include the path. Also removes copies left next to the file by
  /// processes that have ended.
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

  /// Returns the path of the copy. The path is absolute or contains a slash.
  const std::string& path() const noexcept { return path_; }
  /// Returns the hash of the file's bytes.
  std::uint64_t digest() const noexcept { return digest_; }
  /// Returns true if the file has unique symbols. For such symbols, the process uses the definition
  /// from the library that was loaded first. GCC creates them for static variables in templates and
  /// for inline variables.
  bool has_unique_symbols() const noexcept { return unique_; }

 private:
  std::string path_;
  std::uint64_t digest_ = 0;
  bool unique_ = false;
};

}  // namespace muster

// Runs flatc, which parses the schema language.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <vector>

namespace muster::schemac {

struct FlatcFailure {
  /// True if flatc reported an error in the schema; false if flatc could not be run.
  bool schema_is_wrong = false;
  std::string what;
  std::string said;  ///< what flatc printed
};

/// A temporary folder that the destructor removes. The path is empty if the folder could not be
/// created.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }
  /// Returns true if at least 64 KiB can still be written to the folder.
  bool can_be_written() const;

 private:
  std::string path_;
};

/// Runs flatc with one -I option for each include folder, followed by the arguments in `words`.
/// If flatc succeeds, anything that it prints appears in schemac's own output.
[[nodiscard]] std::expected<void, FlatcFailure> call_flatc(const std::string& flatc,
                                                           const std::vector<std::string>& include_folders,
                                                           const std::vector<std::string>& words);

/// Compiles a .fbs file to a binary schema, and adds the defaults that flatc omits
/// (high_defaults.h).
[[nodiscard]] std::expected<std::vector<std::byte>, FlatcFailure> run_flatc(
    const std::string& flatc, const std::vector<std::string>& include_folders, const std::string& source);

/// Reads a whole file.
[[nodiscard]] std::expected<std::vector<std::byte>, std::string> read_file(const std::string& path);
/// Writes a file, unless it already contains exactly these bytes, so that an unchanged file does
/// not cause rebuilds.
[[nodiscard]] std::expected<void, std::string> write_file(const std::string& path, const void* data, std::size_t bytes);

}  // namespace muster::schemac

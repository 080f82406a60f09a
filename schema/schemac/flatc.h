// Runs flatc, which parses the schema language.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <vector>

namespace muster::schemac {

struct FlatcFailure {
  /// Flatc said what is wrong with the schema; false: it could not be run.
  bool schema_is_wrong = false;
  std::string what;
};

/// A temporary folder that is removed with this object. Its path is empty if it could not be made.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }
  /// Whether 64 KiB more can be written in it.
  bool can_be_written() const;

 private:
  std::string path_;
};

/// Calls the program flatc with `words`, after -I for each include folder. Its output goes to
/// schemac's output.
[[nodiscard]] std::expected<void, FlatcFailure> call_flatc(const std::string& flatc,
                                                           const std::vector<std::string>& include_folders,
                                                           const std::vector<std::string>& words);

/// Compiles a .fbs to a binary schema, with the defaults that flatc leaves out of it
/// (high_defaults.h).
[[nodiscard]] std::expected<std::vector<std::byte>, FlatcFailure> run_flatc(
    const std::string& flatc, const std::vector<std::string>& include_folders, const std::string& source);

/// Empty-handed where the file cannot be read.
[[nodiscard]] std::expected<std::vector<std::byte>, std::string> read_file(const std::string& path);
/// Leaves a file alone that holds these bytes already, so that what depends on it is not built
/// again.
[[nodiscard]] std::expected<void, std::string> write_file(const std::string& path, const void* data, std::size_t bytes);

}  // namespace muster::schemac

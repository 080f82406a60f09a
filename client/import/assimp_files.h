// Opens files for Assimp.
#pragma once

#include <assimp/DefaultIOSystem.h>

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Opens only regular files, so that no call blocks on a pipe.
///
/// Assimp merges all "o" lines of an .obj that have the same name into one object, and truncates
/// names at spaces. Therefore, each line gets a unique name when the .obj is read, and name()
/// returns the original name. A Collada file is rewritten in a form that Assimp understands
/// (collada_text.h).
class AssimpFiles : public Assimp::DefaultIOSystem {
 public:
  bool Exists(const char* path) const override;
  Assimp::IOStream* Open(const char* path, const char* mode) override;
  void Close(Assimp::IOStream* stream) override;

  /// Returns the name that an object has in the file, given the name that Assimp reports.
  std::string name(std::string_view name) const;
  /// Returns warnings about file contents that were changed or omitted before Assimp read the file,
  /// and about contents that Assimp does not report.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  std::vector<std::string> objects_;  // object names of the .obj, in file order
  std::vector<std::string> warnings_;
};

}  // namespace muster

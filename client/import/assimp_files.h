// The files that Assimp opens.
#pragma once

#include <assimp/DefaultIOSystem.h>

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Opens regular files only, so that nothing waits for a pipe.
///
/// Assimp makes one object of all "o" lines of an .obj that have the same name, and cuts names at
/// spaces. So the lines of the .obj are given names of their own while it is read; `name` gives
/// back those in the file. A Collada file is read in words that Assimp understands
/// (collada_text.h).
class AssimpFiles : public Assimp::DefaultIOSystem {
 public:
  bool Exists(const char* path) const override;
  Assimp::IOStream* Open(const char* path, const char* mode) override;
  void Close(Assimp::IOStream* stream) override;

  /// The name in the file of what Assimp calls `name`.
  std::string name(std::string_view name) const;
  /// Whole sentences: what was changed or left out for Assimp, or what it will not tell.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  std::vector<std::string> objects_;  // of the .obj, in its order
  std::vector<std::string> warnings_;
};

}  // namespace muster

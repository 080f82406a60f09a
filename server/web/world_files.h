// Files next to the world that a page needs to draw it: models and the files that they refer to.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "server/web/http_answer.h"

namespace muster {

/// Opens only files in one directory and below it. Listener's thread only.
class WorldFiles {
 public:
  /// An empty `folder` means that there are no files. `world` is the name of the world's file in
  /// that directory. Never opens that file, or files whose names begin with its name, such as its
  /// journal, its lock, and the address file with the token.
  WorldFiles(const std::string& folder, std::string world);

  /// Opens the file at `parts` of path_of(), below the directory. A link may lead to another place
  /// below the directory. The error is a status and a sentence. Refuses (403) all suffixes except
  /// those of models, textures, and data of models.
  [[nodiscard]] std::expected<OpenFile, HttpAnswer> open(const std::vector<std::string>& parts) const;

 private:
  bool is_the_worlds(const std::string& name) const;
  std::string folder_;  // resolved path
  std::string world_;
};

}  // namespace muster

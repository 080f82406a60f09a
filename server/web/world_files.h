// Files beside the world that a page needs to draw it: models and the files that they name.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "server/web/http_answer.h"

namespace muster {

/// Opens only files in one folder and below it. Listener's thread only.
class WorldFiles {
 public:
  /// An empty `folder` means no files. `world` is the name of the world's file in it. Never opens
  /// that file or files whose names begin with its name, such as its journal, its lock, and the
  /// address file with the token.
  WorldFiles(const std::string& folder, std::string world);

  /// Opens the file at `parts` of path_of(), below the folder. A link may lead to another place
  /// below the folder. The error is a status and a sentence. Refuses (403) suffixes other than
  /// those of models, textures, and data of models.
  [[nodiscard]] std::expected<OpenFile, HttpAnswer> open(const std::vector<std::string>& parts) const;

 private:
  bool is_the_worlds(const std::string& name) const;
  std::string folder_;  // real path
  std::string world_;
};

}  // namespace muster

// Files next to the world that a page needs to draw the world: models and the files that models
// refer to.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "server/web/http_answer.h"

namespace muster {

/// Opens only files in or below one directory. Used only on the listener's thread.
class WorldFiles {
 public:
  /// If `folder` is empty, there are no files. `world` is the name of the world's file in that
  /// directory. That file is never opened, and neither are files whose names begin with its name,
  /// such as its journal, its lock file, and the address file, which contains the token.
  WorldFiles(const std::string& folder, std::string world);

  /// Opens the file below the directory whose path has the given `parts` (see path_of()). A
  /// symbolic link may lead to another place below the directory. The error is a status and a
  /// sentence. All suffixes are refused (403), except those of models, textures, and model data.
  [[nodiscard]] std::expected<OpenFile, HttpAnswer> open(const std::vector<std::string>& parts) const;

 private:
  bool is_the_worlds(const std::string& name) const;
  std::string folder_;  // path with links resolved
  std::string world_;
};

}  // namespace muster

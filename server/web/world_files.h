// Files beside the world that a page needs to draw it: models, and what they name.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "server/web/http_answer.h"

namespace muster {

/// Listener's thread only. Opens files of one folder and those below it; nothing else, whatever is
/// asked.
class WorldFiles {
 public:
  /// `folder`: empty: there are none. `world`: the name of the world's file in it. That file is
  /// never given, nor those that are called like it and more: its journal, its lock, and the
  /// address file, which holds the token.
  WorldFiles(const std::string& folder, std::string world);

  /// `parts`: of the path below the folder, as path_of gives them. A link may lead to another place
  /// below the folder. The error is a status and a sentence. A file whose suffix is not that of a
  /// model, a texture, or data of a model is not given: 403.
  [[nodiscard]] std::expected<OpenFile, HttpAnswer> open(const std::vector<std::string>& parts) const;

 private:
  bool is_the_worlds(const std::string& name) const;
  std::string folder_;  // real path
  std::string world_;
};

}  // namespace muster

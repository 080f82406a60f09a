// Opens files next to the world that a page needs in order to draw the world: models, and the files
// to which models refer.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "server/web/http_answer.h"

namespace muster {

/// Returns true if the suffix of a name is that of a model, a texture, or model data.
bool is_served_suffix(const std::string& name);

/// Opens only files in or below one directory. Immutable. May be used on any thread.
class WorldFiles {
 public:
  /// If `folder` is empty, there are no files. `world` is the name of the world's file in that
  /// directory. Neither that file nor any file whose name begins with the same name is ever opened.
  /// Examples are the journal, the lock file, and the address file, which contains the token.
  WorldFiles(const std::string& folder, std::string world);

  /// Opens the file below the directory whose path has the given `parts` (see path_of()). A
  /// symbolic link may point to another place below the directory. On failure, the error consists
  /// of a status and a human-readable message. Files are refused (403) unless their suffix is that
  /// of a model, a texture, or model data.
  [[nodiscard]] std::expected<OpenFile, HttpAnswer> open(const std::vector<std::string>& parts) const;

 private:
  bool is_the_worlds(const std::string& name) const;
  std::string folder_;  // path with links resolved
  std::string world_;
};

}  // namespace muster

// Finds companion files of a world file that does not exist.
#pragma once

#include <string>

namespace muster {

/// If an earlier world at `path` left companion files behind but the world file itself is missing,
/// returns a message that names those files and explains what to do. Returns an empty string if
/// there is no file that a new world would adopt. A lock file alone does not count as such a file.
std::string left_behind(const std::string& path);
/// Returns the names of the non-empty companion files of the world at `path`, separated by commas.
std::string left_companions(const std::string& path);
/// Returns true if neither a file nor any companion file exists at `path`.
bool is_free_name(const std::string& path);

}  // namespace muster

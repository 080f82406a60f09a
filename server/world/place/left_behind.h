// Finds companions of a world file that does not exist.
#pragma once

#include <string>

namespace muster {

/// Returns a sentence that names the files left by an earlier world at `path`, whose own file is
/// missing, and says what to do. Returns an empty string if no file exists that a new world would
/// take over; a lock file alone does not count.
std::string left_behind(const std::string& path);
/// Returns the names of a world's non-empty companion files next to `path`, separated by commas.
std::string left_companions(const std::string& path);
/// Returns true if neither a file nor any companion of one exists at `path`.
bool is_free_name(const std::string& path);

}  // namespace muster

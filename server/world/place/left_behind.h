// Finds companions of a world file that does not exist.
#pragma once

#include <string>

namespace muster {

/// Returns a sentence that names the files of an earlier world at `path`, which has no file, and
/// tells what to do. Empty if there is nothing that a new world would take over; a lock file alone
/// does not count.
std::string left_behind(const std::string& path);
/// Returns the names of non-empty files of a world beside `path`, separated by commas.
std::string left_companions(const std::string& path);
/// Returns true if there is neither a file nor a companion of one at `path`.
bool is_free_name(const std::string& path);

}  // namespace muster

// Companions of a world file that is not there any more.
#pragma once

#include <string>

namespace muster {

/// What lies at `path`, where no file is, of a world that was there: a sentence that names each file and says what to do. Empty: nothing
/// that a new world would take over. A lock file alone is nothing.
std::string left_behind(const std::string& path);
/// Names the files of a world that lie beside `path` and hold something, separated by commas. Empty: none does.
std::string left_companions(const std::string& path);
/// Whether neither a file nor a companion of one lies at `path`.
bool is_free_name(const std::string& path);

}  // namespace muster

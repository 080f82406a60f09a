// Finds Muster's own schemas, which a game's schema includes by names such as "schema/muster.fbs",
// and the headers of these schemas.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace muster::schemac {

/// Returns the folder that contains `schema/muster.fbs`. The function finds the folder relative to
/// this program: share/muster if the program is installed, or a parent of the build folder. Returns
/// an empty path if there is no such folder.
std::filesystem::path own_schemas();

/// Returns true if the name and content of `file` equal those of a file in `own`. If `file` cannot
/// be read, it counts as one of Muster's schemas if it has the same name as one of them and is in a
/// folder called `schema`.
bool is_own_schema(const std::filesystem::path& own, const std::filesystem::path& file);

/// Returns the header of the included schema `file`: one of Muster's own headers, such as
/// `muster/schema/scene.h`, if is_own_schema() is true, and otherwise the same as header_of(), such
/// as `parts.h`. `source_file` comes from source_files().
std::string included_header(const std::filesystem::path& own, const std::filesystem::path& file,
                            std::string_view source_file);

}  // namespace muster::schemac

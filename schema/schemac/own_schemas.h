// Finds Muster's own schemas, which a game's schema includes as "schema/muster.fbs", and their
// headers.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace muster::schemac {

/// Returns the folder that contains `schema/muster.fbs`, relative to this program: share/muster if
/// installed, or a parent of the build folder. Empty if there is no such folder.
std::filesystem::path own_schemas();

/// Returns the header of the included schema `file`: `muster/schema/scene.h` if it is one of
/// Muster's own, with the name and content of a file in `own`; otherwise `parts.h`, like header_of.
/// `source_file` comes from source_files(). A `file` that cannot be read counts as Muster's if it
/// has the name of one and its folder is called `schema`.
std::string included_header(const std::filesystem::path& own, const std::filesystem::path& file,
                            std::string_view source_file);

}  // namespace muster::schemac

// Muster's own schemas, which a game's schema includes as "schema/muster.fbs", and the headers that
// belong to them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace muster::schemac {

/// Returns the folder in which `schema/muster.fbs` lies, found from the place of this program:
/// installed, beside it in share/muster; in a build folder, above it. Empty if it is in neither.
std::filesystem::path own_schemas();

/// Returns the header of the included schema `file`: `muster/schema/scene.h` for one of Muster's
/// own, which has the name and the content of a file of `own`; else `parts.h`, as header_of does.
/// `source_file` is what source_files() gives. A `file` that cannot be read is one of Muster's if
/// it has the name of one and lies in a folder `schema`.
std::string included_header(const std::filesystem::path& own, const std::filesystem::path& file,
                            std::string_view source_file);

}  // namespace muster::schemac

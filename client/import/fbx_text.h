// Finds data in an FBX file that Assimp does not return.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Returns sentences about contents of the file, text or binary, that the import gets wrong:
/// orthographic cameras, fields of view with a different name, and geometric transforms.
std::vector<std::string> unread_in_fbx(std::string_view file);

}  // namespace muster

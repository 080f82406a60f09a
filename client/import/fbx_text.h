// Reads data of an FBX file that Assimp does not return.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Whole sentences about what the file holds, as text or binary, and the import gets wrong:
/// orthographic cameras, fields of view of another name, geometric transforms.
std::vector<std::string> unread_in_fbx(std::string_view file);

}  // namespace muster

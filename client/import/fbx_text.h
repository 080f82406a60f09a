// Finds data in an FBX file that Assimp does not report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Returns warnings about the contents of a text or binary FBX file that are imported incorrectly:
/// orthographic cameras, fields of view under a different property name, and geometric transforms.
std::vector<std::string> unread_in_fbx(std::string_view file);

}  // namespace muster

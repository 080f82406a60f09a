// Rewrites a Collada file in a form that Assimp reads correctly.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Returns the text of a Collada file, rewritten so that Assimp can read its cameras. Assimp reads
/// a camera's numbers only if the camera has a name. Assimp also mistakes a vertical angle for a
/// horizontal angle and an orthographic camera for a perspective camera, and it stops reading at a
/// skew. In the returned text, each camera has a name, and either a horizontal angle with an aspect
/// or a vertical angle without one. For an orthographic camera, the angle is replaced by the
/// camera's height, and the aspect is negative (flat_aspect). Skews are omitted with a warning, and
/// so is an angle whose required aspect is missing. Text that is not Collada, or is malformed, is
/// returned unchanged.
std::string readable_collada(std::string_view text, std::vector<std::string>& warnings);

/// Stored as the aspect of an orthographic camera whose aspect is unknown.
constexpr double flat_aspect = -1e-6;

}  // namespace muster

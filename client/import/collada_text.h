// A Collada file in words that Assimp reads rightly.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Assimp takes a camera's numbers only if it has a name, a vertical angle for a horizontal one,
/// and an orthographic camera for a perspective one; a skew stops it. This returns the text with
/// cameras that it reads: each has a name, and a horizontal angle with an aspect, or a vertical
/// angle without one. An orthographic camera has its height as its angle and a negative aspect
/// (flat_aspect). Skews are left out, with a warning; so is an angle without the aspect that it
/// needs. A text that is no Collada, or broken, is returned as it is.
std::string readable_collada(std::string_view text, std::vector<std::string>& warnings);

/// The aspect that marks an orthographic camera of unknown aspect.
constexpr double flat_aspect = -1e-6;

}  // namespace muster

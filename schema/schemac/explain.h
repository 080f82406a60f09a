// Finds mistakes in a schema's text for which flatc prints unhelpful messages. Names the field that
// contains the mistake, and describes the correction.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::schemac {

/// Describes the first mistake that flatc would encounter in the schema `source` or in the schemas
/// that `source` includes, as in "game.fbs:3:5: game.Orc.name: a struct cannot hold a string; ...".
/// If the schemas contain none of the known mistakes, returns the first error in `said`, which is
/// flatc's output, in the same form. Returns an empty string if there is none.
std::string explain_refusal(const std::string& source, const std::vector<std::string>& include_folders,
                            std::string_view said);

}  // namespace muster::schemac

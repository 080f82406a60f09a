// Finds in a schema's text what flatc refuses with words that do not help, and says which field it is and what to write.
#pragma once

#include <string>
#include <vector>

namespace muster::schemac {

/// Says what is wrong with the schema in `source`, or with one that it includes: "game.fbs:3:5: game.Orc.name: a struct cannot hold
/// a string; ...". Only the first mistake is named, in the order in which flatc reads. Empty if none of the known ones is found.
std::string explain_refusal(const std::string& source, const std::vector<std::string>& include_folders);

}  // namespace muster::schemac

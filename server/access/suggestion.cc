#include "server/access/suggestion.h"

#include <algorithm>
#include <cstddef>

#include "schema/edit_distance.h"

namespace muster {

std::string suggestion(std::string_view name, const std::vector<std::string>& known) {
  const std::string* nearest = nullptr;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  constexpr std::size_t compared_max = 100;
  for (const std::string& each : known) {
    const std::size_t distance = edit_distance(name.substr(0, compared_max), each);
    if (distance < least) nearest = &each;
    least = std::min(least, distance);
  }
  return nearest ? "; did you mean \"" + *nearest + "\"?" : std::string();
}

}  // namespace muster

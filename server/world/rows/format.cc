#include "server/world/rows/format.h"

#include <algorithm>
#include <cstdio>

namespace muster::world_format {

bool knows(StateSection section) noexcept {
  return std::ranges::find(sections, section, &SectionName::section) != sections.end();
}

std::string place(const StateKey& key) {
  std::string text = "section " + std::to_string(static_cast<unsigned>(key.section));
  for (const SectionName& known : sections)
    if (known.section == key.section) text = known.name;
  text += ' ';
  text += std::to_string(key.key);
  if (key.section == StateSection::manager_parts) {
    text += ", part " + std::to_string(key.column);
  } else if (key.column != 0) {
    char column[32];
    std::snprintf(column, sizeof column, ", column 0x%08x", key.column);
    text += column;
  }
  return text;
}

}  // namespace muster::world_format

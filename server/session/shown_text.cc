#include "server/session/shown_text.h"

#include <ranges>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/storage/names.h"

namespace muster {

std::string shown_id(Entity e) { return "#" + std::to_string(e.index) + ":" + std::to_string(e.generation); }

std::string shown_path(const EntityRegistry& registry, Entity e, std::size_t bytes_max, Steps& steps) {
  std::vector<std::string> names;
  std::size_t bytes = 0;
  for (Entity at = e; registry.alive(at); at = registry.parent(at)) {
    steps.spend(1);
    const std::string_view name = registry.name(at);
    bytes += 1 + name.size();
    if (bytes > bytes_max) return shown_id(e);
    names.push_back(name.empty() ? shown_id(at) : escape_name(name));
  }
  bytes = 0;
  for (const std::string& name : names) bytes += 1 + name.size();
  if (bytes > bytes_max) return shown_id(e);
  std::string path;
  path.reserve(bytes);
  for (const std::string& name : std::views::reverse(names)) (path += '/') += name;
  steps.spend_bytes(bytes);
  return path;
}

std::string_view shown_name(std::string_view name, std::size_t bytes_max) noexcept {
  if (name.size() <= bytes_max) return name;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
  return name.substr(0, end);
}

}  // namespace muster

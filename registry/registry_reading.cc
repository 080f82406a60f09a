// The parts of EntityRegistry that read texts, types, the hierarchy, names, paths, and the clock.
#include <ranges>

#include "messages/value_text.h"
#include "registry/registry_impl.h"

namespace muster {

void EntityRegistry::nothing_to_get(Entity e, std::string_view component) const noexcept {
  std::string who = "entity " + id_and_path(*this, e);
  if (!alive(e))
    who += e ? " is not alive" : " is nil";
  else
    who += " has no " + std::string(component);
  fatal("EntityRegistry::get<" + std::string(component) + ">: " + who +
        "; check has<T>(e) first, or use find<T>(e), which returns null");
}

std::string_view EntityRegistry::text(Text text) const noexcept { return impl_->texts.find(text); }
TypeTable& EntityRegistry::types() noexcept { return impl_->types.table(); }
const TypeTable& EntityRegistry::types() const noexcept { return impl_->types.table(); }

Entity EntityRegistry::parent(Entity e) const noexcept { return impl_->structure.hierarchy().parent(e); }
std::uint32_t EntityRegistry::depth(Entity e) const noexcept { return impl_->structure.hierarchy().depth(e); }
Entity EntityRegistry::first_child(Entity e) const noexcept {
  return alive(e) ? impl_->structure.hierarchy().first_child(e) : Entity{};
}
Entity EntityRegistry::next_sibling(Entity e) const noexcept {
  return alive(e) ? impl_->structure.hierarchy().next_sibling(e) : Entity{};
}
std::uint32_t EntityRegistry::child_count(Entity e) const noexcept {
  return alive(e) ? impl_->structure.hierarchy().children(e) : 0;
}
std::string_view EntityRegistry::name(Entity e) const noexcept { return text(impl_->structure.name_of(e)); }
Entity EntityRegistry::find_child(Entity parent, std::string_view name) const noexcept {
  check_reading();
  return name.empty() ? Entity{} : impl_->structure.names().find(parent, text_of(name));
}

Entity EntityRegistry::find_path(std::string_view path) const {
  check_reading();
  if (path.starts_with('/')) path.remove_prefix(1);
  Entity at;
  std::string name;
  for (std::size_t i = 0; i <= path.size(); ++i) {
    if (i < path.size() && path[i] == '\\' && i + 1 < path.size()) {
      name += path[++i];
    } else if (i == path.size() || path[i] == '/') {
      at = find_child(at, name);
      if (!at) return {};
      name.clear();
    } else {
      name += path[i];
    }
  }
  return at;
}

std::string EntityRegistry::path(Entity e) const {
  std::vector<Entity> steps;
  for (; alive(e); e = parent(e)) steps.push_back(e);
  std::string path;
  for (const Entity step : std::views::reverse(steps)) {
    const std::string_view name = this->name(step);
    path += '/';
    path += name.empty() ? '#' + id_text(step) : escape_name(name);
  }
  return path;
}

std::string id_and_path(const EntityRegistry& registry, Entity e) {
  const std::string id = '#' + std::to_string(e.index) + ':' + std::to_string(e.generation);
  return registry.alive(e) ? id + " (" + registry.path(e) + ')' : id;
}

std::uint64_t EntityRegistry::now_ns() const noexcept { return impl_->now_ns; }
}  // namespace muster

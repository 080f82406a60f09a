// The parts of EntityRegistry that read texts, types, the hierarchy, names and paths, clock and
// counters.
#include <ranges>

#include "registry/registry_impl.h"

namespace muster {

std::vector<std::pair<Entity, std::uint32_t>> EntityRegistry::left_grants() const {
  check_outside();
  std::vector<Entity> named;
  for (const auto& [key, timer] : impl_->timers.waiting()) add_made(BatchView(timer.batch), named);
  for (const Arena* arena : {&core_.state.input, &core_.state.cascade})
    arena->for_each([&](const BatchView& batch) { add_made(batch, named); });
  std::vector<bool> kept(storage().ids().indices());
  for (const Entity e : named)
    if (storage().in_state(e, IdState::granted)) kept[e.index] = true;
  std::vector<std::pair<Entity, std::uint32_t>> left;
  const auto goes = [&](std::uint32_t i) { return !kept[i] && storage().in_state({i, 1}, IdState::granted); };
  for (std::uint32_t i = 1; i < kept.size(); ++i) {
    if (!goes(i)) continue;
    const std::uint32_t first = i;
    // After the last removed text; used ones in between do not end the range.
    std::uint32_t end = i + 1;
    for (; i < kept.size() && !kept[i]; ++i)
      if (goes(i)) end = i + 1;
    left.emplace_back(Entity{first, 1}, end - first);
  }
  return left;
}

void EntityRegistry::nothing_to_get(Entity e, std::string_view component) const noexcept {
  std::string who = "entity #" + std::to_string(e.index) + ":" + std::to_string(e.generation);
  if (!alive(e))
    who += e ? " is not alive" : " is nil";
  else
    who += " (" + path(e) + ") has no " + std::string(component);
  fatal("EntityRegistry::get<" + std::string(component) + ">: " + who +
        "; check has<T>(e) first, or use find<T>(e), which returns null");
}

std::optional<AtWork> EntityRegistry::at_work() const {
  const Inside inside = core_.inside.look();
  if (inside == Inside::nobody) return std::nullopt;
  const Handler* const straight = handler_in(inside);
  AtWork work =
      straight ? impl_->delivery.at_work(straight, core_.pushed_to.look()) : impl_->delivery.at_work(core_.workers);
  work.sequence = core_.state.sequence.look();
  return work;
}

const RegistryOptions& EntityRegistry::options() const noexcept { return impl_->options; }

std::string_view EntityRegistry::text(Text text) const noexcept { return impl_->texts.find(text); }
std::size_t EntityRegistry::text_count() const noexcept { return impl_->texts.size(); }
std::string_view EntityRegistry::text_at(std::size_t i) const noexcept { return impl_->texts[i]; }
Text EntityRegistry::text_id(std::size_t i) const noexcept { return impl_->texts.at(i); }
std::uint64_t EntityRegistry::text_bytes() const noexcept { return impl_->texts.bytes(); }
std::uint64_t EntityRegistry::text_drops() const noexcept { return impl_->texts.drops(); }
TypeTable& EntityRegistry::types() noexcept { return impl_->types.table(); }
const TypeTable& EntityRegistry::types() const noexcept { return impl_->types.table(); }

std::span<const TypeId> EntityRegistry::components(Entity e) const noexcept {
  check_reading();
  const Row row = storage().find(e);
  if (!row) return {};
  // Limit on sets of components: callers that keep changing and reading them make ever more.
  constexpr std::size_t kept_max = 256;
  std::vector<TypeId> types;
  const std::span<const TypeId> here = types_of(row, types);
  if (here.data() != types.data() || here.empty()) return here;
  Archetype& archetype = *row.chunk->archetype;
  if (archetype.present.size() >= kept_max && archetype.present_sequence != core_.state.sequence)
    archetype.present.clear();
  archetype.present_sequence = core_.state.sequence;
  return *archetype.present.insert(std::move(types)).first;
}

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
  return name.empty() ? Entity{} : std::as_const(impl_->structure).names().find(parent, text_of(name));
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
    path += name.empty() ? '#' + std::to_string(step.index) + ':' + std::to_string(step.generation) : escape_name(name);
  }
  return path;
}

std::uint64_t EntityRegistry::now_ns() const noexcept { return impl_->now_ns; }
bool EntityRegistry::next_due(std::uint64_t& due_ns) const noexcept {
  if (impl_->timers.empty()) return false;
  due_ns = impl_->timers.next_due();
  return true;
}
TimerId EntityRegistry::next_timer() const noexcept { return impl_->next_timer; }
const Timers& EntityRegistry::timers() const noexcept { return impl_->timers; }
std::uint64_t EntityRegistry::sequence() const noexcept { return core_.state.sequence; }
std::size_t EntityRegistry::memory_waiting() const noexcept {
  return core_.state.input.capacity() + core_.state.cascade.capacity() + core_.pushing.capacity();
}
const RegistryCounters& EntityRegistry::counters() const noexcept { return core_.state.counters; }
std::uint64_t EntityRegistry::version() const noexcept { return storage().version(); }
std::uint64_t EntityRegistry::begin_version() noexcept { return core_.state.storage.begin_version(); }
void EntityRegistry::add_preserver(ColumnPreserver& preserver) { core_.state.storage.add_preserver(preserver); }
void EntityRegistry::remove_preserver(ColumnPreserver& preserver) noexcept {
  core_.state.storage.remove_preserver(preserver);
}

}  // namespace muster

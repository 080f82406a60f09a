// EntityRegistry's calls that read components.
#pragma once

#include <tuple>
#include <type_traits>

#include "registry/entity_registry.h"

namespace muster {

template <ComponentType C>
const C* EntityRegistry::find(Entity e) const noexcept {
  static_assert(!is_tag<C>, "a tag has no value to find: ask has<T>(e)");
  check_reading();
  return reinterpret_cast<const C*>(component_of(storage(), e, TypeTraits<C>::id));
}
template <ComponentType C>
const C& EntityRegistry::get(Entity e) const noexcept {
  static_assert(!is_tag<C>, "a tag has no value to get: ask has<T>(e)");
  const C* found = find<C>(e);
  require(found, "EntityRegistry::get: the entity is dead or lacks the component");
  return *found;
}
template <ComponentType C>
bool EntityRegistry::has(Entity e) const noexcept {
  check_reading();
  return component_of(storage(), e, TypeTraits<C>::id) != nullptr;
}
inline const std::byte* EntityRegistry::find(Entity e, TypeId component) const noexcept {
  check_reading();
  return component_of(storage(), e, component);
}

template <class... Cs, class F>
void EntityRegistry::each(F&& f) const {
  static_assert((!is_tag<std::remove_const_t<Cs>> && ...),
                "a tag has no value to be given: leave it out and ask has<T>(e)");
  check_reading();
  const Storage& s = storage();
  const std::uint64_t structure = s.structure();
  for (std::uint32_t depth = 0; depth < s.depths(); ++depth)
    for (const auto& archetype : s.archetypes()) {
      if (!archetype || depth >= archetype->groups.size()) continue;
      if (!(archetype->has(TypeTraits<std::remove_const_t<Cs>>::id) && ...)) continue;
      for (Chunk* chunk : archetype->groups[depth].chunks) {
        const auto lacks = [&]([[maybe_unused]] std::uint32_t row) {
          return (false || ... ||
                  (EnableableType<std::remove_const_t<Cs>> &&
                   !Row{chunk, row}.has(TypeTraits<std::remove_const_t<Cs>>::id)));
        };
        [[maybe_unused]] const auto column = [&]<class C>() {
          const std::uint16_t slot = archetype->column(TypeTraits<C>::id);
          return slot == no_column ? nullptr : reinterpret_cast<const C*>(chunk->slots()[slot].data);
        };
        const std::tuple columns { column.template operator()<std::remove_const_t<Cs>>()... };
        for (std::uint32_t row = 0; row < chunk->count; ++row) {
          if (lacks(row)) continue;
          std::apply(
              [&](const auto*... c) {
                if constexpr (std::is_invocable_v<F, Entity, const Cs&...>)
                  f(chunk->ids()[row], c[row]...);
                else
                  f(c[row]...);
              },
              columns);
          require(s.structure() == structure,
                  "EntityRegistry::each: rows came, went or moved while they were read; gather first whom to change");
        }
      }
    }
}

template <class F>
void EntityRegistry::each_entity(F&& f) const {
  each<>([&](Entity e) { f(e); });
}

}  // namespace muster

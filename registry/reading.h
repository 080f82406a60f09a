// The calls of EntityRegistry that read components.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "registry/entity_registry.h"

namespace muster {

template <ComponentType C>
const C* EntityRegistry::find(Entity e) const noexcept {
  static_assert(!is_tag<C>, "a tag has no value: use has<T>(e)");
  check_reading();
  return reinterpret_cast<const C*>(component_of(storage(), e, TypeTraits<C>::id));
}
template <ComponentType C>
const C& EntityRegistry::get(Entity e) const noexcept {  // const: to write, use registry.set(e, T{...})
  if constexpr (is_tag<C>) {
    static_assert(!is_tag<C>, "a tag has no value: use has<T>(e)");
    std::unreachable();
  } else {
    const C* found = find<C>(e);
    if (!found) [[unlikely]]
      nothing_to_get(e, TypeTraits<C>::name);
    return *found;
  }
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

namespace detail {

/// Explains what is wrong with a call to each().
template <class F, class... Cs>
constexpr void explain_each() {
  if constexpr (!(true && ... && ComponentType<Cs>))
    explain_components<Cs...>();
  else if constexpr ((false || ... || is_tag<Cs>))
    static_assert(understood<F>, "a tag has no value to pass: leave it out and use has<T>(e)");
  else if constexpr (sizeof...(Cs) == 0)
    static_assert(
        understood<F>,
        "each() needs the component types: each<const A, const B>([](Entity e, const A& a, const B& b) {...})");
  else
    static_assert(understood<F>,
                  "each<A, B>(f) calls f(Entity, const A&, const B&) or f(const A&, const B&): take values as const "
                  "T&; to write, use registry.set(e, T{...}) or push a message to a handler that takes T&");
}
template <class F, class... Cs>
constexpr bool can_be_given_each() {
  if constexpr (!(true && ... && ValueType<Cs>))
    return false;
  else
    return std::is_invocable_v<F, Entity, const Cs&...> || std::is_invocable_v<F&, const Cs&...>;
}

}  // namespace detail

template <class... Cs, class F>
void EntityRegistry::each(F&& f) const {
  if constexpr (detail::can_be_given_each<F, std::remove_const_t<Cs>...>())
    each_row<std::remove_const_t<Cs>...>(std::forward<F>(f));
  else
    detail::explain_each<F, std::remove_const_t<Cs>...>();
}
template <ComponentType... Cs, class F>
void EntityRegistry::each_row(F&& f) const {
  check_reading();
  const Storage& s = storage();
  const std::uint64_t structure = s.structure();
  for (std::uint32_t depth = 0; depth < s.depths(); ++depth)
    for (const auto& archetype : s.archetypes()) {
      if (!archetype || depth >= archetype->groups.size()) continue;
      if (!(archetype->has(TypeTraits<Cs>::id) && ...)) continue;
      for (Chunk* chunk : archetype->groups[depth].chunks) {
        const auto lacks = [&]([[maybe_unused]] std::uint32_t row) {
          return (false || ... || (EnableableType<Cs> && !Row{chunk, row}.has(TypeTraits<Cs>::id)));
        };
        [[maybe_unused]] const auto column = [&]<class C>() {
          const std::uint16_t slot = archetype->column(TypeTraits<C>::id);
          return slot == no_column ? nullptr : reinterpret_cast<const C*>(chunk->slots()[slot].data);
        };
        const std::tuple columns { column.template operator()<Cs>()... };
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
                  "EntityRegistry::each: rows were added, removed or moved during the loop; collect the entities, then "
                  "change them");
        }
      }
    }
}

}  // namespace muster

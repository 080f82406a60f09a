// Runtime components are values of any C++ type that can be moved without throwing. They are stored
// in the same chunks as other components. The presence of the component is saved under the name
// given here and is sent like a tag. The value is neither saved nor sent. If no value was passed
// (Create, Set, a loaded world), the value is default-constructed. Saved data must not depend on
// the value.
//
//   struct Sound { Voice voice; };
//   template <> struct muster::RuntimeTraits<Sound> { static constexpr std::string_view name = "game.Sound"; };
//
//   registry.create("bell", Has<Sound>{});                            // presence only
//   registry.subscribe("ring", [](const Ring&, Sound& sound) {...});  // like any component
#pragma once

#include <cstddef>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "schema/descriptor.h"
#include "schema/hash.h"

namespace muster {

/// Must be specialized by users: `static constexpr std::string_view name` is a full name that no
/// schema uses.
template <class T>
struct RuntimeTraits;

template <class T>
concept RuntimeType = requires { RuntimeTraits<T>::name; };

/// The functions that storage calls for values of a runtime type. Destinations are raw memory.
/// After a value has been relocated or destroyed, its memory is raw again.
struct RuntimeOps {
  void (*construct)(void* at);
  void (*relocate)(void* to, void* from) noexcept;
  void (*destroy)(void* at) noexcept;
};

namespace detail {
template <class T>
inline constexpr RuntimeOps runtime_ops{[](void* at) { ::new (at) T(); },
                                        [](void* to, void* from) noexcept {
                                          T* old = std::launder(static_cast<T*>(from));
                                          ::new (to) T(std::move(*old));
                                          old->~T();
                                        },
                                        [](void* at) noexcept { std::launder(static_cast<T*>(at))->~T(); }};
}  // namespace detail

template <RuntimeType T>
struct TypeTraits<T> {
  static_assert(std::is_default_constructible_v<T> && std::is_nothrow_move_constructible_v<T> &&
                    std::is_nothrow_destructible_v<T>,
                "a runtime component must be default-constructible, and nothrow movable and destructible");
  static_assert(alignof(T) <= 64 && sizeof(T) <= 4096,
                "a runtime component must have at most 4096 bytes, aligned to at most 64");
  static constexpr TypeId id = hash32(RuntimeTraits<T>::name);
  static constexpr std::string_view name = RuntimeTraits<T>::name;
  static constexpr TypeRole role = TypeRole::component;
  static constexpr bool runtime = true;
};

/// Names a runtime component without passing a value, in Create and Set.
template <RuntimeType T>
struct Has {
  std::uint8_t reserved = 0;
};
template <RuntimeType T>
struct TypeTraits<Has<T>> {
  static constexpr TypeId id = TypeTraits<T>::id;
  static constexpr std::string_view name = TypeTraits<T>::name;
  static constexpr TypeRole role = TypeRole::component;
  using Runtime = T;
};

/// T itself, or the type that Has<T> names. Otherwise void.
template <class T>
struct RuntimeOf {
  using type = void;
};
template <RuntimeType T>
struct RuntimeOf<T> {
  using type = T;
};
template <class T>
struct RuntimeOf<Has<T>> {
  using type = T;
};

}  // namespace muster

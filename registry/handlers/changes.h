// Added, Removed and Changed: a handler subscribes to them in order to follow a component's life. They are never
// pushed. A handler of Added runs after the component came, one of Removed before it goes, both while the message is
// handled that did it. A handler of Changed runs while a Set or SetField is handled; after another handler's write it
// runs for a message of its own, behind what that handler pushed for the row.
#pragma once

#include "schema/descriptor.h"

namespace muster {

/// T came, with Create or Set. `[](const Added<Health>&, const Health& health, Entity self) {...}`
template <class T>
struct Added {};
/// T goes, with Remove or Destroy; with Destroy children lose it before their parents.
template <class T>
struct Removed {};
/// The bytes of T are others than before.
template <class T>
struct Changed {};

enum class ChangeKind : std::uint8_t { none, added, removed, changed };

/// The id under which handlers of a change are kept. It is no message's type id and never leaves the process.
constexpr TypeId change_id(ChangeKind kind, TypeId component) noexcept {
  std::uint64_t mixed = (std::uint64_t{component} << 8 | static_cast<std::uint8_t>(kind)) * 0x9e3779b97f4a7c15ull;
  mixed ^= mixed >> 29;
  return static_cast<TypeId>(mixed * 0xbf58476d1ce4e5b9ull >> 32);
}

template <class T>
struct ChangeOf {
  static constexpr ChangeKind kind = ChangeKind::none;
};
template <ComponentType T>
struct ChangeOf<Added<T>> {
  static constexpr ChangeKind kind = ChangeKind::added;
  using Component = T;
};
template <ComponentType T>
struct ChangeOf<Removed<T>> {
  static constexpr ChangeKind kind = ChangeKind::removed;
  using Component = T;
};
template <ComponentType T>
struct ChangeOf<Changed<T>> {
  static constexpr ChangeKind kind = ChangeKind::changed;
  using Component = T;
};
template <class T>
concept ChangeMessage = ChangeOf<T>::kind != ChangeKind::none;

template <ChangeMessage C>
struct TypeTraits<C> {
  static constexpr TypeId id = change_id(ChangeOf<C>::kind, TypeTraits<typename ChangeOf<C>::Component>::id);
  static constexpr TypeRole role = TypeRole::plain;
};

}  // namespace muster

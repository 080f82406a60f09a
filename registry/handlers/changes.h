// Defines Added, Removed, and Changed, to which handlers subscribe in order to follow a component.
// Messages of these types are never pushed. Handlers of Added run after the component was added,
// and handlers of Removed run before it is removed, in both cases during the message that causes
// the change. Handlers of Changed run during a Set or SetField. After a write by another handler,
// they run for a separate message, which comes after everything that the other handler posted for
// the row.
#pragma once

#include "schema/descriptor.h"

namespace muster {

/// T was added by Create or Set. A handler may look like this:
/// `[](const Added<Health>&, const Health& health, Entity self) {...}`
template <class T>
struct Added {};
/// T is being removed by Remove or Destroy. Destroy removes it from children before their parents.
template <class T>
struct Removed {};
/// The bytes of T have changed.
template <class T>
struct Changed {};

enum class ChangeKind : std::uint8_t { none, added, removed, changed };

/// The id under which handlers of a change are stored. It is distinct from all message type ids and
/// is never used outside the process.
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

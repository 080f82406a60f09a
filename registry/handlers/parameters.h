// The words of the query language: the parameters that a handler may take in addition to its
// message. signature.h interprets them.
#pragma once

#include "registry/handlers/handler.h"
#include "registry/storage/ancestors.h"

namespace muster {

/// True if T is a component without data. Always false for runtime components.
template <class T>
constexpr bool tag_of() {
  if constexpr (requires { TypeTraits<T>::tag; })
    return TypeTraits<T>::tag;
  else
    return false;
}
template <class T>
inline constexpr bool is_tag = tag_of<T>();

/// Restricts the handler to entities that have the component T, without reading T.
template <class T>
struct With {};
/// Restricts the handler to entities that do not have the component T.
template <class T>
struct Without {};

/// Restricts the handler to entities without an ancestor that has T. The entity itself may have T.
template <class T>
struct WithoutParent {};
/// Restricts the handler to entities that do not have T and whose ancestors do not have it either.
template <class T>
struct WithoutSelfOrParent {};

/// A component with data.
template <class T>
concept ValueType = ComponentType<T> && !is_tag<T>;

/// A value that does not come from the entity's own row. `Parent<const T>` always has a value,
/// because the handler runs only for entities for which there is one. `Parent<const T*>` may be
/// null. The value is valid until the handler returns.
template <class T>
class FromElsewhere {
 public:
  using Value = std::remove_cv_t<std::remove_pointer_t<T>>;
  static_assert(std::is_const_v<std::remove_pointer_t<T>> || std::is_same_v<Value, Entity>,
                "only an entity's own components can be written: take Parent<const T>, SelfOrParent<const T> "
                "or Other<const T>, and send the other entity a message to change it");
  explicit FromElsewhere(const Value* value) noexcept : FromElsewhere(value, value != nullptr) {}
  /// A constructor for callers that know whether there is a value.
  FromElsewhere(const Value* value, bool is_there) noexcept : value_(value), is_there_(is_there) {}
  const Value& operator*() const noexcept { return *value_; }
  const Value* operator->() const noexcept { return value_; }
  const Value* get() const noexcept { return value_; }
  explicit operator bool() const noexcept { return is_there_; }

 private:
  const Value* value_;
  bool is_there_;
};

/// T of the nearest ancestor that has it: `Parent<const Gravity>`.
template <class T>
struct Parent : FromElsewhere<T> {
  using FromElsewhere<T>::FromElsewhere;
};
/// T of the entity itself, or else T of its nearest ancestor that has it.
template <class T>
struct SelfOrParent : FromElsewhere<T> {
  using FromElsewhere<T>::FromElsewhere;
};
/// T of the nearest ancestor that has X. Absent if this ancestor does not have T. For example, with
/// `ParentWith<const Health, Soldier>`, a shield reads the health of the soldier that carries it.
template <class T, class X>
struct ParentWith : FromElsewhere<T> {
  using FromElsewhere<T>::FromElsewhere;
};
/// T of the entity itself, or else T of its nearest ancestor that has it. The search stops at the
/// first entity that has X, which may be the entity itself. For example, with `UpTo<const
/// Animation, Model>`, a bone finds the animation of its own model, but not that of the model's
/// mount.
template <class T, class X>
struct UpTo : FromElsewhere<T> {
  using FromElsewhere<T>::FromElsewhere;
};
/// T of the entity that the message names, or else T of that entity's nearest ancestor that has it.
/// The message names the entity in its field `other`, or in its only field of type muster.Entity.
/// With `Other<const T>`, the handler does not run if there is no value, or if the other entity is
/// dead or nil.
template <class T>
struct Other : FromElsewhere<T> {
  using FromElsewhere<T>::FromElsewhere;
};

/// Reads T of any entity by id. A handler that also writes T runs its rows one after another.
template <class T>
class Lookup {
 public:
  static_assert(std::is_const_v<T>, "Lookup is read-only: take Lookup<const T>");
  explicit Lookup(const Storage& storage) noexcept : storage_(&storage) {}
  /// Returns null if the entity is not alive or does not have T.
  T* find(Entity e) const noexcept {
    static_assert(!is_tag<std::remove_const_t<T>>, "a tag has no value: use has(e) of the Lookup<const T>");
    return reinterpret_cast<T*>(component_of(*storage_, e, TypeTraits<std::remove_const_t<T>>::id));
  }
  bool has(Entity e) const noexcept {
    return component_of(*storage_, e, TypeTraits<std::remove_const_t<T>>::id) != nullptr;
  }
  bool alive(Entity e) const noexcept { return is_alive(*storage_, e); }

 private:
  const Storage* storage_;
};

/// The return type of a handler that may end the delivery to its target. In a pass, the target is
/// the entity or, for a handler without components, the whole pass.
enum class Verdict : std::uint8_t { proceed, consume };

}  // namespace muster

// Explains in one sentence what is wrong with a call that names an unsuitable type, such as a plain
// struct used as a component or a component that is pushed. Without these overloads, the compiler
// would list every overload that does not match.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "registry/handlers/subscription.h"
#include "schema/descriptor.h"
#include "schema/table.h"

namespace muster::detail {

/// The condition of the assertions below. The template argument makes the compiler's message name
/// the type.
template <class...>
inline constexpr bool understood = false;

template <class T>
concept AnyMessage = MessageType<T> || TableMessageType<T>;
/// Types that can be pushed.
template <class M>
concept PushedType = MessageType<M> || (TableMessageType<M> && NativeTable<M>);

/// Explains why T is not a component.
template <class T>
constexpr void explain_component() {
  using Plain = std::remove_cvref_t<T>;
  if constexpr (!std::is_same_v<T, Plain>)
    static_assert(understood<T>, "name the component type without const, & or *: has<T>(e), get<T>(e)");
  else if constexpr (AnyMessage<T>)
    static_assert(understood<T>, "this is a message, not a component: push it with registry.push(e, M{...})");
  else if constexpr (std::is_same_v<T, Entity>)
    static_assert(understood<T>,
                  "an entity id is not a component: to set a parent, use create_under(parent, name, T{...})");
  else if constexpr (std::is_convertible_v<const T&, std::string_view>)
    static_assert(understood<T>, "a string is not a component: to set a name, use create_under(parent, name, T{...})");
  else if constexpr (GeneratedType<T>)
    static_assert(understood<T>, "this type is not a component: write `struct T (component) {...}` in its schema");
  else
    static_assert(understood<T>,
                  "a component is a struct marked (component) in a schema: write `struct T (component) {...}` there, "
                  "or specialize RuntimeTraits for this type if its values stay in the process");
}
/// Explains why the first unsuitable type among these is not a component.
template <class T, class... Ts>
constexpr void explain_components() {
  if constexpr (ComponentType<T>)
    explain_components<Ts...>();
  else
    explain_component<T>();
}

/// Explains why M cannot be pushed.
template <class M>
constexpr void explain_message() {
  if constexpr (ComponentType<M>)
    static_assert(understood<M>, "a component is set, not pushed: use registry.set(e, T{...})");
  else if constexpr (TableMessageType<M>)
    static_assert(understood<M>,
                  "a view is read-only: push the table's own class (T, not TView), as returned by decode()");
  else if constexpr (GeneratedType<M>)
    static_assert(understood<M>, "this type is not a message: write `struct T (message) {...}` in its schema");
  else
    static_assert(
        understood<M>,
        "a message is a struct or table marked (message) in a schema: write `struct T (message) {...}` there");
}

/// True if T may be a path or name that was passed by mistake instead of an entity.
template <class T>
concept PathLike = std::is_convertible_v<const T&, std::string_view>;
template <class Path>
constexpr void explain_path() {
  static_assert(understood<Path>, "a path is not an entity: pass an entity, such as registry.find_path(\"/orc\")");
}

/// Overloads for paths and for types that are not messages. `Result` is the return type of the
/// correct call.
template <class Result>
struct WrongMessages {
  template <class M>
    requires(!PushedType<M>)
  static Result push(Entity, const M&) {
    explain_message<M>();
    std::unreachable();
  }
  template <class M>
    requires(!PushedType<M>)
  static Result push(std::span<const Entity>, const M&) {
    explain_message<M>();
    std::unreachable();
  }
  template <class M>
    requires(!PushedType<M>)
  static Result push(const M&) {
    explain_message<M>();
    std::unreachable();
  }
  template <PathLike Path, class M>
  static Result push(const Path&, const M&) {
    explain_path<Path>();
    std::unreachable();
  }
  template <class M>
    requires(!PushedType<M>)
  static Result push_subtree(Entity, std::uint64_t, const M&) {
    explain_message<M>();
    std::unreachable();
  }
};
/// Like WrongMessages, but for post().
struct WrongPosts {
  template <class M>
    requires(!PushedType<M>)
  static void post(Entity, const M&) {
    explain_message<M>();
  }
  template <class M>
    requires(!PushedType<M>)
  static void post(std::span<const Entity>, const M&) {
    explain_message<M>();
  }
  template <class M>
    requires(!PushedType<M>)
  static void post(const M&) {
    explain_message<M>();
  }
  template <PathLike Path, class M>
  static void post(const Path&, const M&) {
    explain_path<Path>();
  }
  template <class M>
    requires(!PushedType<M>)
  static void post_subtree(Entity, std::uint64_t, const M&) {
    explain_message<M>();
  }
};

template <class... Ts>
concept OtherThanComponents = (!(ComponentType<Ts> && ...));

/// Overloads for types that are not components. `Result` is the return type of set() and remove().
template <class Result>
struct WrongChanges {
  template <class... Ts>
    requires OtherThanComponents<Ts...>
  static Result set(Entity, const Ts&...) {
    explain_components<Ts...>();
    std::unreachable();
  }
  template <PathLike Path, class... Ts>
  static Result set(const Path&, const Ts&...) {
    explain_path<Path>();
    std::unreachable();
  }
  template <class T>
    requires OtherThanComponents<T>
  static Result remove(Entity) {
    explain_component<T>();
    std::unreachable();
  }
  template <class T, PathLike Path>
  static Result remove(const Path&) {
    explain_path<Path>();
    std::unreachable();
  }
};
struct WrongCreations {
  template <class... Ts>
    requires OtherThanComponents<Ts...>
  static Entity create_under(Entity, std::string_view, const Ts&...) {
    explain_components<Ts...>();
    std::unreachable();
  }
};
struct WrongReads {
  template <class T>
    requires OtherThanComponents<T>
  static const T* find(Entity) {
    explain_component<T>();
    std::unreachable();
  }
  template <class T>
    requires OtherThanComponents<T>
  static const T& get(Entity) {
    explain_component<T>();
    std::unreachable();
  }
  template <class T>
    requires OtherThanComponents<T>
  static bool has(Entity) {
    explain_component<T>();
    std::unreachable();
  }
  template <class T, PathLike Path>
  static const T* find(const Path&) {
    explain_path<Path>();
    std::unreachable();
  }
  template <class T, PathLike Path>
  static const T& get(const Path&) {
    explain_path<Path>();
    std::unreachable();
  }
  template <class T, PathLike Path>
  static bool has(const Path&) {
    explain_path<Path>();
    std::unreachable();
  }
};
/// Overloads for EntityRegistry::create, which may take a name.
struct WrongNamedCreations : WrongCreations {
  template <class... Ts>
    requires OtherThanComponents<Ts...>
  static Entity create(std::string_view, const Ts&...) {
    explain_components<Ts...>();
    std::unreachable();
  }
  template <class T, class... Ts>
    requires OtherThanComponents<T, Ts...> && (!std::is_convertible_v<const T&, std::string_view>)
  static Entity create(const T&, const Ts&...) {
    explain_components<T, Ts...>();
    std::unreachable();
  }
};
/// Overloads for Spawner::create, which takes no name.
struct WrongUnnamedCreations : WrongCreations {
  template <class... Ts>
    requires OtherThanComponents<Ts...>
  static Entity create(const Ts&...) {
    explain_components<Ts...>();
    std::unreachable();
  }
};

/// Overloads for calls that Outbox does not support.
struct WrongRequests {
  template <class... Ts>
  static Entity create(const Ts&...) {
    return explain_spawner<Ts...>();
  }
  template <class... Ts>
  static Entity create_under(Entity, const Ts&...) {
    return explain_spawner<Ts...>();
  }
  template <class... Ts>
  static Entity spawn(const Ts&...) {
    return explain_spawner<Ts...>();
  }
  template <class... Ts>
  static void push(const Ts&...) {
    static_assert(understood<Ts...>, "a handler cannot run inside another: call out.post(...) instead");
  }

 private:
  template <class... Ts>
  static Entity explain_spawner() {
    static_assert(understood<Ts...>,
                  "a handler that creates entities takes a Spawner& besides its Outbox&: spawner.create(T{...})");
    std::unreachable();
  }
};

/// An overload of subscribe() without a name.
struct WrongSubscriptions {
  template <class F, class... More>
    requires(!std::is_convertible_v<const F&, std::string>)
  static Subscription subscribe(const F&, const More&...) {
    static_assert(understood<F>, "the handler's name comes first: subscribe(\"game.take_damage\", handler)");
    std::unreachable();
  }
};

}  // namespace muster::detail

// Registers types on first use: adds them to the type table, the storage, and the routes of a
// registry.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <vector>

#include "messages/type_table.h"
#include "registry/handlers/changes.h"
#include "registry/handlers/handler_table.h"
#include "registry/handlers/turn.h"
#include "registry/storage/storage.h"

namespace muster {

class TypesKnown {
 public:
  /// `storage` and `states` must outlive this object, but their contents may be exchanged.
  TypesKnown(Storage& storage, HandlerStates& states);
  ~TypesKnown();

  TypeTable& table() noexcept { return table_; }
  const TypeTable& table() const noexcept { return table_; }
  HandlerTable& handlers() noexcept { return handlers_; }
  const HandlerTable& handlers() const noexcept { return handlers_; }

  /// Registers a compiled type. Throws a SetupError that names the type if a known type with the
  /// same name has a different layout.
  template <GeneratedType T>
  void need() {
    std::atomic<TypeId>& seen = seen_[TypeTraits<T>::id % std::size(seen_)];
    if (this->seen<T>()) [[likely]]
      return;
    if (turn_here()) [[unlikely]]
      need_in_turn(TypeTraits<T>::id, [](TypesKnown& known) { known.make_known<T>(); });
    else
      make_known<T>();
    seen.store(TypeTraits<T>::id, std::memory_order_relaxed);
  }
  /// True if need() is certain to have no effect. May be false even if the type is known.
  template <GeneratedType T>
  bool seen() const noexcept {
    return seen_[TypeTraits<T>::id % std::size(seen_)].load(std::memory_order_relaxed) == TypeTraits<T>::id;
  }
  /// Returns the route of a compiled message.
  template <GeneratedType M>
  MessageRoute& route() {
    need<M>();
    return *handlers_.route(TypeTraits<M>::id);
  }
  /// Returns the route of any known message type, or null.
  MessageRoute* route(TypeId message) {
    const Seen& seen = routes_[message % std::size(routes_)];
    return seen.type == message ? seen.route : find_route(message);
  }
  /// Returns the route of a compiled message, or null if it has not been stored by
  /// remember_route(). Must not be called by workers.
  template <GeneratedType M>
  MessageRoute* seen_route() noexcept {
    const Seen& first = pushed_[first_place(TypeTraits<M>::id)];
    if (first.type == TypeTraits<M>::id) [[likely]] {
      if (!first.route) __builtin_unreachable();
      return first.route;
    }
    const Seen& second = pushed_[second_place(TypeTraits<M>::id)];
    return second.type == TypeTraits<M>::id ? second.route : nullptr;
  }
  /// Stores the route of a message type for seen_route(). `sealed` is a SingleBatch of this type
  /// that contains an arbitrary message.
  void remember_route(TypeId known, std::span<const std::byte> sealed);
  /// Returns the route of a change to a known component.
  MessageRoute& change(ChangeKind kind, TypeId component);
  /// Destroys all values of a runtime component. The component is then a tag until need() turns it
  /// into a runtime component again.
  void forget_runtime(TypeId type);
  /// Calls forget_runtime() for each runtime component for whose functions `whose` returns true,
  /// even if handlers use the component. Returns the ids of these components.
  std::vector<TypeId> forget_runtime_of(const std::function<bool(const RuntimeOps&)>& whose);
  /// Returns the component type with this id, or null if it is unknown or not a component.
  const StoredType* component(TypeId type);

  /// The numbers of known types, components, and messages.
  struct Mark {
    TypeTable::Mark table;
    std::size_t components, messages;
  };
  Mark mark() const noexcept;
  /// Forgets the types added since the mark. The forgotten types must not be used by any archetype,
  /// batch, or handler.
  void take_back(const Mark& mark);

 private:
  /// An entry in the route caches. There are two possible places for a pushed type.
  struct Seen {
    TypeId type = 0;
    MessageRoute* route = nullptr;
  };
  static constexpr std::size_t pushed_places = 256;
  static constexpr std::size_t first_place(TypeId type) noexcept { return type % pushed_places; }
  static constexpr std::size_t second_place(TypeId type) noexcept { return type / pushed_places % pushed_places; }
  MessageRoute* find_route(TypeId message);
  void learn_runtime(TypeId id, std::string_view name, const RuntimeOps& ops, std::uint32_t size, std::uint32_t align);
  /// The slow path of need(), for types that are not in the cache.
  template <GeneratedType T>
  void make_known() {
    if constexpr (!std::is_void_v<typename RuntimeOf<T>::type>) {
      using R = typename RuntimeOf<T>::type;
      learn_runtime(TypeTraits<R>::id, TypeTraits<R>::name, detail::runtime_ops<R>, sizeof(R), alignof(R));
    } else if constexpr (ChangeMessage<T>) {
      make_known<typename ChangeOf<T>::Component>();
      change(ChangeOf<T>::kind, TypeTraits<typename ChangeOf<T>::Component>::id);
    } else if constexpr (TypeTraits<T>::role == TypeRole::component) {
      if (!storage_.component(TypeTraits<T>::id)) [[unlikely]]
        learn(TypeTraits<T>::id, table_.add<T>());
    } else {
      if (!handlers_.route(TypeTraits<T>::id)) [[unlikely]]
        learn(TypeTraits<T>::id, table_.add<T>());
    }
  }
  /// Like need(), but for use while several workers run handlers. Checks under a lock, and adds
  /// types in turn.
  void need_in_turn(TypeId type, void (*make)(TypesKnown&));
  void learn(TypeId type, std::expected<void, SchemaError> added);
  TypeTable table_;
  std::deque<TypeDescriptor> changes_;  // descriptors of changes, for routes and error messages
  std::atomic<TypeId> seen_[64] = {};   // caches the types that need() has registered
  Seen pushed_[pushed_places];
  Seen routes_[64];  // routes of types that were looked up by run-time id
  HandlerTable handlers_;
  Storage& storage_;
  struct Gate;
  std::unique_ptr<Gate> gate_;  // for need_in_turn()
};

}  // namespace muster

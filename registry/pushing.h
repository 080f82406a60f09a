// The push and post calls of EntityRegistry. If nothing else has to be done, the inlined code calls
// a handler directly or appends to an open batch. All other cases take the general path
// (registry/delivery/inputs.h).
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "messages/single_batch.h"
#include "registry/entity_registry.h"

namespace muster {

// --- push ---

/// Returns the arena for the batch of a push. deliver_pushed() must be called afterward. Registers
/// the type. Stops the program if called inside a handler.
template <GeneratedType M>
Arena& EntityRegistry::open() {
  check_outside();
  known_types().need<M>();
  return core_.pushing;
}

[[gnu::always_inline]] inline Receipt EntityRegistry::push_direct(MessageRoute& route, Entity target, void* message) {
  RegistryCore& core = core_;
  const std::uint64_t place = core.state.storage.locate(target);
  const KnownChunk* entry = route.chunks.find(place, core.state.storage.stamp());
  if (!entry) [[unlikely]] {
    entry = learn_chunk(route, place);
    if (!entry) return end_untaken_push(place);
  }
  const CallSite& site = *entry->site;
  core.pushed_to = target.bits();
  core.inside = site.inside;
  try {
    site.run_known(*core.context, *entry, message, static_cast<std::uint32_t>(place) & (Locator::rows_max - 1));
  } catch (...) {
    handler_failed();
  }
  core.inside = Inside::nobody;
  if (core.more_follows()) [[unlikely]]
    return end_handled_push();
  core.count({.handled = 1});
  return {.sequence = core.state.sequence, .handled = 1};
}

/// Shows the batch that the route owns to the sinks.
template <MessageType M>
[[gnu::always_inline]] inline void EntityRegistry::tell_pushed(InputSink& sink, MessageRoute& route, Entity target,
                                                               const M& message) {
  const InInput mark(core_);
  SingleBatch<M>& sealed = SingleBatch<M>::at(route.sealed.get());
  sealed.set(target, message);
  core_.tell_to(sink, core_.pushed, sealed.bytes());
}

template <MessageType M>
[[gnu::always_inline]] inline Receipt EntityRegistry::push(Entity target, const M& message) {
  if constexpr (std::is_same_v<M, Destroy>) return destroy(target, message);
  if constexpr (is_builtin(TypeTraits<M>::id)) return push_queued<M>(target, message);
  if (core_.is_quiet()) [[likely]] {
    if (MessageRoute* route = known_types().seen_route<M>()) [[likely]] {
      M kept = message;  // a copy, because the handler may change the caller's object
      if (InputSink* const sink = core_.told)
        tell_pushed(*sink, *route, target, kept);
      else
        core_.number();
      return push_direct(*route, target, &kept);
    }
  }
  return push_queued<M>(target, message);
}
/// The general path. The first push of a type also takes this path, so that the type's route and
/// its sealed batch are stored.
template <MessageType M>
[[gnu::noinline]] Receipt EntityRegistry::push_queued(Entity target, Passed<M> message) {
  open<M>().append(target, message);
  if constexpr (!is_builtin(TypeTraits<M>::id)) {
    if (!known_types().seen_route<M>()) [[unlikely]]
      known_types().remember_route(TypeTraits<M>::id, SingleBatch<M>(target, message).bytes());
  }
  return deliver_pushed();
}
template <MessageType M, ComponentType... Cs>
Receipt EntityRegistry::push_rows(Entity target, const M& message, const Cs&... components) {
  open<M>().append_rows(target, message, components...);
  return deliver_pushed();
}
template <MessageType M>
Receipt EntityRegistry::push(std::span<const Entity> targets, const M& message) {
  if (targets.empty()) return check_outside(), Receipt{};  // no message, so there is no input
  open<M>().append_shared(targets, message);
  return deliver_pushed();
}
template <MessageType M>
Receipt EntityRegistry::push(const M& message) {
  open<M>().append_world(message);
  return deliver_pushed();
}
template <MessageType M>
Receipt EntityRegistry::push_subtree(Entity target, std::uint64_t parts, const M& message) {
  open<M>().append_subtree(target, parts, message);
  return deliver_pushed();
}
template <TableMessageType M>
  requires NativeTable<M>
Receipt EntityRegistry::push(Entity target, const M& message) {
  open<M>().append_table(TypeTraits<M>::id, target, core_.tables.encode(message));
  return deliver_pushed();
}
template <TableMessageType M>
  requires NativeTable<M>
Receipt EntityRegistry::push(const M& message) {
  return push(Entity{}, message);
}

// --- post ---

template <GeneratedType M>
Arena& EntityRegistry::posting() {
  check_outside();
  known_types().need<M>();
  return input();
}
template <MessageType M>
inline void EntityRegistry::post(Entity target, const M& message) {
  // Batches are opened only outside handlers and only for known types.
  input().extend_or(target, message, [&] { return post_first<M>(target, message); });
}
template <MessageType M>
[[gnu::noinline]] std::byte* EntityRegistry::post_first(Entity target, Passed<M> message) {
  if (known_types().seen<M>()) [[likely]]
    if (std::byte* const next = input().begin_next(target, message)) [[likely]]
      return next;
  return post_slowly<M>(target, message);
}
/// A separate function, so that post_first() does not have to save registers.
template <MessageType M>
[[gnu::noinline]] std::byte* EntityRegistry::post_slowly(Entity target, Passed<M> message) {
  return posting<M>().append_and_tell(target, message);
}
template <MessageType M>
void EntityRegistry::post(std::span<const Entity> targets, const M& message) {
  posting<M>().append_shared(targets, message);
}
template <MessageType M>
void EntityRegistry::post(const M& message) {
  posting<M>().append_world(message);
}
template <TableMessageType M>
  requires NativeTable<M>
void EntityRegistry::post(Entity target, const M& message) {
  posting<M>().append_table(TypeTraits<M>::id, target, core_.tables.encode(message));
}
template <MessageType M>
TimerId EntityRegistry::post_at(std::uint64_t due_ns, Entity target, const M& message) {
  check_outside();
  known_types().need<M>();
  core_.timed.append(target, message);
  return post_timed(due_ns);
}
template <MessageType M>
TimerId EntityRegistry::post_at(std::uint64_t due_ns, const M& message) {
  check_outside();
  known_types().need<M>();
  core_.timed.append_world(message);
  return post_timed(due_ns);
}

// --- messages with texts ---

template <ComponentType... Cs>
detail::Made EntityRegistry::create_named(Entity parent, std::string_view name, Cs... components) {
  (known_types().need<Cs>(), ...);
  const Text text = name.empty() ? Text{} : intern_name(name);
  if (!text && !name.empty()) [[unlikely]]
    return refuse_create(parent, name, nullptr);  // no entity is created if its name is refused
  open<Create>().append_rows(Entity{}, Create{.parent = parent, .name = text}, components...);
  Entity made;
  const Receipt receipt = deliver_new({&made, 1});
  if (!receipt.handled) [[unlikely]]
    return refuse_create(parent, name, &receipt);
  return {made};
}
template <ComponentType... Cs>
detail::Made EntityRegistry::spawn_with(std::string_view what, const SpawnOptions& options, Cs... root) {
  if constexpr (sizeof...(Cs) == 0)
    if (const Entity made = spawn_direct(what, options)) [[likely]]
      return {made};
  (known_types().need<Cs>(), ...);
  Spawn message;
  const std::span<Entity> ids = prepare_spawn(what, options, message);
  if (ids.empty()) [[unlikely]]
    return refuse_spawn(what, options, nullptr);
  if constexpr (sizeof...(Cs) == 0)
    open<Spawn>().append_shared(ids.size(), message);
  else
    open<Spawn>().append_rows_shared(ids.size(), message, root...);
  const Receipt receipt = deliver_new(ids, true);
  if (!receipt.handled) [[unlikely]]
    return refuse_spawn(what, options, &receipt);
  if (options.ids) options.ids->assign(ids.begin(), ids.end());
  return {ids.front()};
}
inline Receipt EntityRegistry::rename(Entity e, std::string_view name) {
  Receipt refused;
  const Text text = intern_name(name, &refused);
  if (refused.refused) return refused;  // the existing name must not be removed
  return push(e, Rename{.name = text});
}
inline Receipt EntityRegistry::set_handler_enabled(std::string_view name, bool enabled) {
  Receipt refused;
  const Text text = intern_name(name, &refused);
  if (refused.refused) return refused;  // handlers that have no name must not be switched
  return push(EnableHandler{.name = text, .enabled = enabled});
}

}  // namespace muster

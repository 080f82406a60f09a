// Lets a handler request what should happen next. Each call appends its message to the end of the
// cascade, so messages are delivered in the order of the calls. Nothing is delivered until all
// handlers of the current message have returned.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "messages/arena.h"
#include "messages/batch_builder.h"
#include "registry/apply/template.h"
#include "registry/apply/wrong_calls.h"
#include "registry/handlers/subscription.h"
#include "registry/handlers/types_known.h"
#include "schema/muster.h"
#include "schema/table.h"

namespace muster {

class EntityRegistry;
class Storage;
class TextTable;

using TimerId = std::uint64_t;

/// A handler parameter, valid until the handler returns. "post" means that a message is delivered
/// later: a handler never runs inside another. Calls never fail. A message's outcome is determined
/// and counted when the message is delivered.
class Outbox : detail::WrongPosts, detail::WrongChanges<void>, detail::WrongRequests, detail::WrongSubscriptions {
 public:
  using WrongChanges::set, WrongChanges::remove, WrongSubscriptions::subscribe;
  using WrongPosts::post, WrongPosts::post_subtree;
  using WrongRequests::create, WrongRequests::create_under, WrongRequests::spawn, WrongRequests::push;
  /// Sends a message to an entity.
  template <MessageType M>
  void post(Entity target, const M& message) {
    if (!types_.seen<M>() || !arena_.extend(target, message)) [[unlikely]]
      post_otherwise(target, message);
  }
  /// Sends a single payload to a span of entities.
  template <MessageType M>
  void post(std::span<const Entity> targets, const M& message) {
    types_.need<M>();
    arena_.append_shared(targets, message);
  }
  /// Sends a message to the world. Each subscribed handler runs for all entities that it matches.
  template <MessageType M>
  void post(const M& message) {
    types_.need<M>();
    arena_.append_world(message);
  }
  /// Sends a table to an entity, or to the world if `target` is nil.
  template <TableMessageType M>
    requires NativeTable<M>
  void post(Entity target, const M& message) {
    types_.need<M>();
    arena_.append_table(TypeTraits<M>::id, target, tables_.encode(message));
  }
  /// Sends a message to any combination of an entity, its ancestors, and its descendants. `parts`
  /// is a mask of SubtreeParts.
  template <MessageType M>
  void post_subtree(Entity target, std::uint64_t parts, const M& message) {
    types_.need<M>();
    arena_.append_subtree(target, parts, message);
  }
  /// Sends a message to an entity when the registry's clock reaches now + delay.
  template <MessageType M>
  TimerId post_after(std::uint64_t delay_ns, Entity target, const M& message) {
    types_.need<M>();
    timed_.append(target, message);
    return append_timed(delay_ns);
  }
  /// Sends a message to the world when the registry's clock reaches now + delay.
  template <MessageType M>
  TimerId post_after(std::uint64_t delay_ns, const M& message) {
    types_.need<M>();
    timed_.append_world(message);
    return append_timed(delay_ns);
  }
  /// Cancels a message sent by post_after(). Has no effect if the message was already delivered.
  void cancel(TimerId timer) { arena_.append_world(CancelTimer{.timer = timer}); }

  void destroy(Entity target) { arena_.append(target, Destroy{}); }
  /// Adds components to an entity, or overwrites existing ones.
  template <ComponentType... Cs>
  void set(Entity target, const Cs&... components) {
    (types_.need<Cs>(), ...);
    arena_.append_rows(target, Set{}, components...);
  }
  template <ComponentType C>
  void remove(Entity target) {
    arena_.append(target, Remove{.component = TypeTraits<C>::id});
  }
  void reparent(Entity target, Entity parent, Entity before = {}) {
    arena_.append(target, Reparent{.parent = parent, .before = before});
  }
  /// Renames an entity. If a sibling already has the name, appends the next free suffix. If a
  /// different text has the same hash as the name, the entity keeps its name and a refusal is
  /// counted.
  void rename(Entity target, std::string_view name);

  /// Subscribes a handler, as EntityRegistry::subscribe does, except that the handler becomes
  /// active when this request is delivered. If its name is taken at that time, or its position in
  /// the order is contradictory, the handler never becomes active and a refusal is counted.
  /// Handlers are code, not state, so they must be subscribed again after a load.
  template <class F>
  Subscription subscribe(std::string name, F handler, HandlerOptions options = {});
  /// Ends a subscription when this request is delivered. Until then, the handler is still called.
  void end(Subscription subscription);
  /// Enables or disables the handlers with this name when this request is delivered. If a different
  /// text has the same hash as the name, no handler is affected and a refusal is counted.
  void set_handler_enabled(std::string_view name, bool enabled);

  /// Returns the time of the registry's clock, in nanoseconds.
  std::uint64_t now_ns() const noexcept { return now_ns_; }

 private:
  friend class EntityRegistry;
  friend class Spawner;
  friend class Delivery;
  friend class ParallelPass;
  friend class Synctest;  // registry/moments/synctest.h
  Outbox(BatchWriter& arena, TypesKnown& types, TextTable& texts, std::uint64_t& next_timer,
         const std::uint64_t& now_ns, const std::shared_ptr<EntityRegistry*>& registry)
      : arena_(arena), types_(types), texts_(texts), next_timer_(next_timer), now_ns_(now_ns), registry_(registry) {}
  /// The slow part of post(). It is a separate function, so that little code is inlined into a
  /// handler's loop.
  template <MessageType M>
  [[gnu::noinline]] void post_otherwise(Entity target, const M& message) {
    types_.need<M>();
    arena_.append(target, message);
  }
  /// Sends the batch in timed_, which is empty afterward.
  TimerId append_timed(std::uint64_t delay_ns);
  /// Adds the text. If a different text has its hash, returns no value and sends the text instead,
  /// so that the refusal is counted when it is delivered.
  std::optional<Text> intern(std::string_view text);
  Subscription keep(std::unique_ptr<Handler> handler);

  BatchWriter& arena_;  // RegistryState::cascade, or the worker's own writer during a parallel pass
  TypesKnown& types_;
  TextTable& texts_;
  std::uint64_t& next_timer_;
  const std::uint64_t& now_ns_;
  const std::shared_ptr<EntityRegistry*>& registry_;
  BatchBuilder timed_;
  TableBuffer tables_;
};

/// A handler parameter for creating entities. It counts as writing the resource "ids", so handlers
/// that spawn run one after another.
class Spawner : detail::WrongUnnamedCreations {
 public:
  using WrongUnnamedCreations::create, WrongUnnamedCreations::create_under;
  /// Returns the id of a new entity. The id is final and may immediately be used in messages and
  /// fields. The entity is alive once its Create has been delivered. The Create may still be
  /// refused, for example because the parent died first.
  template <ComponentType... Cs>
  Entity create(const Cs&... components) {
    return create_under({}, {}, components...);
  }
  /// Like create(), but for a child of `parent`. `name` may be empty. If a sibling already has the
  /// name, the next free suffix is appended. If a different text has the same hash as the name,
  /// returns nil, and a refusal is counted.
  template <ComponentType... Cs>
  Entity create_under(Entity parent, std::string_view name, const Cs&... components) {
    (outbox_.types_.need<Cs>(), ...);
    const std::optional<Text> text = intern(name);
    if (!text) return {};
    const Entity made = reserve();
    outbox_.arena_.append_rows(made, Create{.parent = parent, .name = *text, .clash = NameClash::suffix},
                               components...);
    return made;
  }
  /// Spawns a tree from a template (registry/apply/template.h) and returns the id of its root. The
  /// components in `root` are added to the root's components from the template, replacing those of
  /// the same type. The ids are final, but the Spawn may still be refused when it is delivered. If
  /// the template is unknown at the time of the call, returns nil and sends nothing. If a different
  /// text has the same hash as the name, returns nil, and a refusal is counted.
  template <ComponentType... Cs>
  Entity spawn(std::string_view what, const SpawnOptions& options = {}, const Cs&... root) {
    (outbox_.types_.need<Cs>(), ...);
    Spawn message;
    if (!prepare(what, options, message)) return {};
    append_spawn(outbox_.arena_, std::span<const Entity>(ids_), message, root...);
    return ids_.front();
  }

 private:
  friend class EntityRegistry;
  friend class ParallelPass;
  Spawner(Storage& storage, Outbox& outbox, const TemplateTable& templates)
      : storage_(storage), outbox_(outbox), templates_(templates) {}
  Entity reserve();
  /// Reserves the ids and stores them in ids_. Returns false if the template is unknown or the name
  /// is refused.
  bool prepare(std::string_view what, const SpawnOptions& options, Spawn& message);
  std::optional<Text> intern(std::string_view name);

  Storage& storage_;
  Outbox& outbox_;
  const TemplateTable& templates_;
  std::vector<Entity> ids_;
};

}  // namespace muster

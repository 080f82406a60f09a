// The facade: everything that happens to entities goes through here, as a message.
//
//   registry.push(orc, Damage{...})
//     Arena            the message's bytes are appended as an item of a batch            messages/arena.h
//     InputSink        the sealed batch passes, with its sequence number and author      registry/delivery/input_sink.h
//     Delivery         finds the target's row, calls the handlers in order               registry/delivery/delivery.h
//     Handler          reads and writes components, writes to its Outbox                 registry/handlers/signature.h, outbox.h
//     Arena            what handlers pushed waits behind, and is delivered in turn
//
// One thread at a time uses a registry; other threads reach it through the inbox. Inside a handler the registry must not
// be used: that stops the program and names the handler.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messages/arena.h"
#include "messages/batch_builder.h"
#include "messages/single_batch.h"
#include "registry/apply/manager.h"
#include "registry/apply/outbox.h"
#include "registry/apply/receipt.h"
#include "registry/apply/row_sites.h"
#include "registry/apply/structure.h"
#include "registry/apply/template.h"
#include "registry/delivery/executor.h"
#include "registry/delivery/inbox.h"
#include "registry/delivery/input_sink.h"
#include "registry/delivery/registry_core.h"
#include "registry/handlers/dynamic_handler.h"
#include "registry/handlers/handler_table.h"
#include "registry/handlers/signature.h"
#include "registry/handlers/subscription.h"
#include "registry/handlers/types_known.h"
#include "registry/observe/figures.h"
#include "registry/observe/trace.h"
#include "schema/muster.h"
#include "schema/table.h"

namespace muster {

class StateSink;
class StateSource;
struct StateError;
class TemplateTree;
class Timers;

class EntityRegistry {
 public:
  explicit EntityRegistry(RegistryOptions options = {});
  ~EntityRegistry();
  EntityRegistry(const EntityRegistry&) = delete;
  EntityRegistry& operator=(const EntityRegistry&) = delete;

  // --- types and texts ---

  /// All types this registry knows. Add schemas to it before their messages come.
  TypeTable& types() noexcept;
  const TypeTable& types() const noexcept;
  /// Makes a compiled type known; done by itself at first use. Throws SetupError where its layout differs from one known.
  template <GeneratedType T>
  void add_type() {
    known().need<T>();
  }
  /// A runtime component (registry/storage/runtime_type.h) is known at first use too; here it gets a hook that is called for
  /// every value after a load, and now for those that are there: f(T&, Entity). It may read the registry.
  template <RuntimeType T>
  void add_runtime_type(std::function<void(T&, Entity)> restore = {}) {
    check_outside();
    known().need<T>();
    if (restore)
      set_restorer(TypeTraits<T>::id,
                   [restore = std::move(restore)](void* value, Entity e) { restore(*static_cast<T*>(value), e); });
  }
  /// Destroys all values; who has one keeps its presence, and gets a fresh value when the type is known again. For the
  /// plugin that brought T, before it goes. Throws SetupError while a handler takes T.
  template <RuntimeType T>
  void remove_runtime_type() {
    forget_runtime_type(TypeTraits<T>::id);
  }
  /// The same for every runtime type whose functions `whose` knows as its own, whoever takes it: for a host that unloads
  /// code. Handlers that take such a type must be gone before the next message.
  void remove_runtime_types(const std::function<bool(const RuntimeOps&)>& whose);
  /// Makes the text known to the world (a message, if it is new) and returns its hash. A hash collision with another
  /// text is refused: the result is the empty text.
  Text intern(std::string_view text);
  /// The bytes of a text; empty where unknown. Valid as long as the registry.
  std::string_view text(Text text) const noexcept;
  /// Texts in the order they came, for whoever sends them on.
  std::size_t text_count() const noexcept;
  std::string_view text_at(std::size_t i) const noexcept;

  // --- reading; pointers and references last until the next push, flush or advance ---

  bool alive(Entity e) const noexcept { return storage().alive(e); }
  /// Null where the entity is not alive or lacks C.
  template <ComponentType C>
  const C* find(Entity e) const noexcept {
    return reinterpret_cast<const C*>(component_of(storage(), e, TypeTraits<C>::id));
  }
  /// The component must be there: stops the program otherwise.
  template <ComponentType C>
  const C& get(Entity e) const noexcept {
    const C* found = find<C>(e);
    require(found, "EntityRegistry::get: the entity is dead or lacks the component");
    return *found;
  }
  template <ComponentType C>
  bool has(Entity e) const noexcept {
    return find<C>(e) != nullptr;
  }
  /// By run-time type: the value's bytes (none for a tag that is there: not null, not to be read), null where absent.
  const std::byte* find(Entity e, TypeId component) const noexcept { return component_of(storage(), e, component); }
  /// The entity's component types, ascending by id.
  std::span<const TypeId> components(Entity e) const noexcept;
  /// Calls f for every entity that has all of Cs, in row order: f(Entity, const Cs&...) or f(const Cs&...).
  template <class... Cs, class F>
  void each(F&& f) const;
  /// Calls f(Entity) for every entity in row order: depth, archetype, position.
  template <class F>
  void each_entity(F&& f) const;
  std::uint64_t entity_count() const noexcept { return storage().rows(); }

  Entity parent(Entity e) const noexcept;
  std::uint32_t depth(Entity e) const noexcept;
  Entity first_child(Entity e) const noexcept;
  Entity next_sibling(Entity e) const noexcept;
  std::uint32_t child_count(Entity e) const noexcept;
  std::string_view name(Entity e) const noexcept;
  /// The child of `parent` (nil: among the roots) of that name; nil if none.
  Entity find_child(Entity parent, std::string_view name) const noexcept;
  /// By path: names joined by `/`, `/` and `\` in names escaped by `\`; a leading `/` is allowed. Nil if none.
  Entity find_path(std::string_view path) const;
  /// "/squad/unit~2"; an unnamed entity is shown as "#index:generation" in its place.
  std::string path(Entity e) const;

  // --- messages: push delivers now, post waits for the next push, flush or advance ---

  template <MessageType M>
  [[gnu::always_inline]] Receipt push(Entity target, const M& message) {
    if constexpr (std::is_same_v<M, Destroy>) return destroy(target, message);
    if constexpr (is_builtin(TypeTraits<M>::id)) return push_builtin(target, message);
    if (core_.is_quiet()) [[likely]] {
      if (MessageRoute* route = known().seen_route<M>()) [[likely]] {
        SingleBatch<M>& sealed = SingleBatch<M>::at(route->sealed.get());
        sealed.set(target, message);
        return push_direct(*route, target, sealed.payload(), sealed.bytes());
      }
    }
    return push_queued<M>(target, message);
  }
  /// One payload for a span of entities.
  template <MessageType M>
  Receipt push(std::span<const Entity> targets, const M& message) {
    if (targets.empty()) return check_outside(), Receipt{};  // no message, no input
    open<M>().append_shared(targets, message);
    return deliver_pushed();
  }
  /// To everyone who matches: a pass.
  template <MessageType M>
  Receipt push(const M& message) {
    open<M>().append_world(message);
    return deliver_pushed();
  }
  /// To the `parts` (a mask of SubtreeParts) of an entity's line.
  template <MessageType M>
  Receipt push_subtree(Entity target, std::uint64_t parts, const M& message) {
    open<M>().append_subtree(target, parts, message);
    return deliver_pushed();
  }
  /// A table: to an entity, or (nil) to everyone who matches.
  template <TableMessageType M>
    requires NativeTable<M>
  Receipt push(Entity target, const M& message) {
    open<M>().append_table(TypeTraits<M>::id, target, encode(message));
    return deliver_pushed();
  }
  template <TableMessageType M>
    requires NativeTable<M>
  Receipt push(const M& message) {
    return push(Entity{}, message);
  }
  template <TableMessageType M>
    requires NativeTable<M>
  void post(Entity target, const M& message) {
    posting<M>().append_table(TypeTraits<M>::id, target, encode(message));
  }
  /// Any batch: made by a BatchBuilder from known types, or judged by the Verifier.
  Receipt push_batch(std::span<const std::byte> batch, std::uint64_t author = 0, std::uint64_t request = 0);
  void post_batch(std::span<const std::byte> batch);

  template <MessageType M>
  void post(Entity target, const M& message) {
    // A batch is open outside handlers only, and of known types.
    input().extend_or(target, message, [&] { return post_first<M>(target, message); });
  }
  template <MessageType M>
  void post(std::span<const Entity> targets, const M& message) {
    posting<M>().append_shared(targets, message);
  }
  template <MessageType M>
  void post(const M& message) {
    posting<M>().append_world(message);
  }
  template <MessageType M>
  void post_subtree(Entity target, std::uint64_t parts, const M& message) {
    posting<M>().append_subtree(target, parts, message);
  }
  /// Posts a message that is delivered when the clock reaches `due_ns`.
  template <MessageType M>
  TimerId post_at(std::uint64_t due_ns, Entity target, const M& message) {
    known().need<M>();
    BatchBuilder inner;
    inner.append(target, message);
    return post_timed(due_ns, inner.front());
  }
  template <MessageType M>
  TimerId post_at(std::uint64_t due_ns, const M& message) {
    known().need<M>();
    BatchBuilder inner;
    inner.append_world(message);
    return post_timed(due_ns, inner.front());
  }
  Receipt cancel(TimerId timer) { return push(CancelTimer{.timer = timer}); }

  /// Delivers what was posted, then what the inbox holds, then everything handlers push. The counts are sums.
  Receipt flush();
  /// Moves the clock: what was posted is delivered, then each due time up to now + ns gets a flush of its own, the clock
  /// showing it. Does not take the inbox.
  Receipt advance(std::uint64_t ns);
  std::uint64_t now_ns() const noexcept;
  /// Of the next timer; no value if none waits.
  bool next_due(std::uint64_t& due_ns) const noexcept;
  /// Those that wait. Valid until the next push, flush or advance.
  const Timers& timers() const noexcept;

  // --- structure, as messages; each is pushed and delivered at once ---

  template <ComponentType... Cs>
  Entity create(const Cs&... components);
  template <ComponentType... Cs>
  Entity create(std::string_view name, const Cs&... components) {
    return create_under(Entity{}, name, components...);
  }
  /// As the last child of `parent`. Nil, and nothing done, where it was refused (the name is taken, the parent is dead).
  template <ComponentType... Cs>
  Entity create_under(Entity parent, std::string_view name, const Cs&... components) {
    (known().need<Cs>(), ...);
    const Text text = name.empty() ? Text{} : intern(name);
    const Entity made = reserve();
    return push_rows(made, Create{.parent = parent, .name = text}, components...).handled ? made : Entity{};
  }
  /// `count` entities with the same values.
  template <ComponentType... Cs>
  std::vector<Entity> create_many(std::uint32_t count, const Cs&... components);
  /// A whole tree from a template, as one message; the root gets `root` in place of, or beside, what the template gives it.
  /// The root's id (of the first tree, where options.count is more than one). Nil, and nothing done, where it was refused.
  template <ComponentType... Cs>
  Entity spawn(std::string_view what, const SpawnOptions& options = {}, const Cs&... root) {
    (known().need<Cs>(), ...);
    Spawn message;
    const std::span<const Entity> ids = prepare_spawn(what, options, message);
    if (ids.empty()) return {};
    append_spawn(open<Spawn>(), ids, message, root...);
    return deliver_pushed().handled ? ids.front() : Entity{};
  }
  /// Lays a template over a living tree, node over node by child names; missing nodes are created. `ids`, if given, receives
  /// the entities of all nodes in pre-order.
  Receipt merge(Entity top, std::string_view what, std::vector<Entity>* ids = nullptr);
  /// Makes a template known to the world, or replaces the one of that name. Throws SetupError where the tree contradicts
  /// itself (TemplateTree::compile); what else is wrong with it is a refusal.
  Receipt define(const TemplateTree& tree);
  /// Null where unknown. May be shared with other threads, which make batches from it with append_spawn.
  std::shared_ptr<const Template> find_template(std::string_view name) const;
  /// As it was defined, for making others of it (TemplateTree::read); absent where unknown. Valid until the next push.
  std::optional<DefineTemplateView> template_definition(std::string_view name) const;
  /// The batch of the DefineTemplate message that defined it; empty where unknown. Valid until the next push.
  std::span<const std::byte> template_batch(std::string_view name) const;
  /// By the hash of their names.
  std::vector<std::string_view> template_names() const;
  std::size_t template_count() const noexcept;
  [[gnu::always_inline]] Receipt destroy(Entity e) { return destroy(e, Destroy{}); }
  /// Adds or overwrites components.
  template <ComponentType... Cs>
  Receipt set(Entity e, const Cs&... components);
  template <ComponentType C>
  Receipt remove(Entity e);
  Receipt reparent(Entity e, Entity parent, Entity before = {}) {
    return push(e, Reparent{.parent = parent, .before = before});
  }
  /// An empty name takes the name away.
  Receipt rename(Entity e, std::string_view name) {
    const Text text = intern(name);
    return push(e, Rename{.name = text});
  }
  /// Never-used ids for another thread or a session, which may create with them without asking: `count` indices from the
  /// returned entity's on, all of generation 1.
  Entity grant(std::uint32_t count, std::uint64_t author);
  void return_grant(Entity first, std::uint32_t count);

  // --- handlers ---

  /// `handler`: a function or a lambda whose first parameter is the message and whose others are the query (see
  /// registry/handlers/parameters.h). The name orders, journals and finds it; it must be unique per message type unless empty.
  /// Throws SetupError for a name taken or a contradicting order.
  template <class F>
  [[nodiscard]] Subscription subscribe(std::string name, F handler, HandlerOptions options = {});
  /// A function known at compile time, `subscribe<take_damage>("game.take_damage")`: inlined into the loop over rows.
  template <auto handler>
    requires std::is_function_v<std::remove_pointer_t<decltype(handler)>>
  [[nodiscard]] Subscription subscribe(std::string name, HandlerOptions options = {});
  /// A subsystem's member function; the object must outlive the subscription.
  template <class C, class R, class... A>
  [[nodiscard]] Subscription subscribe(std::string name, C& object, R (C::*member)(A...), HandlerOptions options = {});
  template <class C, class R, class... A>
  [[nodiscard]] Subscription subscribe(std::string name, const C& object, R (C::*member)(A...) const,
                                       HandlerOptions options = {});
  /// By run-time ids. Unknown types, and writes elsewhere than self, throw SetupError.
  [[nodiscard]] Subscription subscribe(std::string name, DynamicShape shape,
                                       std::function<void(const DynamicCall&)> handler, HandlerOptions options = {});
  const HandlerTable& handlers() const noexcept;
  /// Handlers that are subscribed from now on belong to this part of the program; 0 at first. Among those without a name the
  /// ones of a smaller part run first, whenever they came: a server numbers its plugins, so that one that is loaded again
  /// has its old place.
  void begin_part(std::uint32_t part);

  // --- how a pass is spread over workers, in words (registry/delivery/schedule.h); empty where the message has no handlers yet ---

  /// Passes are spread over its workers from now on, with the same results; null, or one worker: the caller's thread alone.
  /// It must outlive the registry or the next call. Handlers of passes then run on several threads: what they touch besides
  /// their parameters must be named in their options (external_reads, external_writes), or be state that is their own.
  void set_executor(Executor* executor);
  const PassCounters& pass_counters() const noexcept;
  /// The graph of a message's handlers as Graphviz draws it: who waits for whom, and what for.
  std::string pass_dot(TypeId message) const;
  /// Groups of handlers which may overlap, and of each whether it may be split: over rows, or over the children of a parent.
  std::string pass_groups(TypeId message) const;
  /// Why two handlers of a message do not overlap. The same name twice: why that one is not split.
  std::string why_apart(TypeId message, std::string_view first, std::string_view second) const;

  /// Handlers of this name, of whatever message, are called or passed over from now on, those subscribed later too. A
  /// message, so it is journalled, and saved.
  Receipt enable_handler(std::string_view name, bool enabled) {
    const Text text = intern(name);
    return push(EnableHandler{.name = text, .enabled = enabled});
  }
  /// The id under which a handler put together by run-time ids follows a change of a component: for
  /// DynamicShape::message. Throws SetupError for an unknown component.
  TypeId change_message(ChangeKind kind, TypeId component);

  // --- where time goes (docs/observability.md); nothing of it is state, and no result depends on it ---

  /// Counts and times what is delivered from now on, from zero; off: the figures stay to be read. Off at first, and
  /// then free: the only test is one that a push makes anyway.
  void observe(bool on);
  bool observing() const noexcept;
  /// By the order of subscription; handlers that have ended included, those never called not.
  std::vector<HandlerFigures> handler_figures() const;
  /// In the order the types were first delivered.
  std::vector<MessageFigures> message_figures() const;
  /// Records into `trace` while observing; null: no longer. It must outlive its recording.
  void set_trace(Trace* trace);
  /// What handlers push names the message that made it from now on, in its batch's bytes (messages/causes.h); a trace shows
  /// the chain. Runs of messages are then delivered one by one, with the same results. Off at first: then no bytes. What
  /// comes of a timer names nobody.
  void record_causes(bool on);

  // --- managers: owners of component data outside ---

  /// Must be removed before it goes. Throws SetupError where the name is taken, and where the manager refuses the state
  /// that was saved or left under this name, which it is given at once (or by load()).
  void add_manager(std::string name, Manager& manager);
  /// What it would save is kept, saved with the registry, and given to the next one of its name: a plugin's reload.
  void remove_manager(Manager& manager);
  /// Null if there is none.
  Manager* find_manager(std::string_view name) const noexcept;
  /// What waits for managers that are not there, by hash64 of their names; for a host that exchanges managers and may have
  /// to go back.
  const ManagerStates& waiting_managers() const noexcept;
  void set_waiting_managers(ManagerStates states);
  /// What managers hold for a living entity: f(name of the manager, component), managers by name.
  void describe(Entity e, const std::function<void(std::string_view, const Held&)>& take) const;

  // --- neighbours ---

  Inbox& inbox() noexcept;
  /// Sinks are called in the order they were added. Must be removed before they go.
  void add_sink(InputSink& sink);
  void remove_sink(InputSink& sink) noexcept;
  /// Of the last sealed input.
  std::uint64_t sequence() const noexcept;
  const RegistryCounters& counters() const noexcept;

  // --- state ---

  /// A hash of everything that decides the future: rows in row order, hierarchy, ids, texts, queue, timers, clock.
  std::uint64_t hash() const;
  /// Writes all rows, what is posted and carried over too; changes nothing. A keeper of versions calls begin_version()
  /// after each save, so that what changes later has a greater version. Not inside a handler.
  void save(StateSink& sink) const;
  /// Reads saved rows into a registry that is new: nothing created, nothing pushed. Handlers may be there already. On an
  /// error the registry must be thrown away.
  [[nodiscard]] std::expected<void, StateError> load(StateSource& source);
  /// Changes since a version: every row's column carries the version of its last change. See Storage::touch.
  std::uint64_t version() const noexcept;
  /// Everything that changes from now on gets a version greater than the one returned.
  std::uint64_t begin_version() noexcept;
  /// Told before columns change, for readers of the past; null: nobody.
  void set_preserver(ColumnPreserver* preserver) noexcept;
  /// For readers inside Muster (state, replication); not a way to write.
  const Storage& storage() const noexcept { return core_.storage; }

 private:
  friend class Subscription;
  friend class StateWriter;
  friend class StateReader;
  struct Impl;
  TypesKnown& known() noexcept { return core_.types; }
  Arena& input() noexcept { return core_.input; }
  /// Stops the program inside handlers; makes the type known; seals what was posted before.
  template <GeneratedType M>
  Arena& open() {
    check_outside();
    known().need<M>();
    input().seal();
    return input();
  }
  template <GeneratedType M>
  Arena& posting() {
    check_outside();
    known().need<M>();
    return input();
  }
  void check_outside() const noexcept {
    if (core_.delivering) [[unlikely]]
      used_inside_handler();
  }
  [[noreturn]] void used_inside_handler() const noexcept;
  Receipt deliver_pushed();
  template <MessageType M, ComponentType... Cs>
  Receipt push_rows(Entity target, const M& message, const Cs&... components) {
    known().need<M>();
    if (core_.is_quiet()) [[likely]]
      return push_sealed(SingleRows<M, Cs...>(target, message, components...).bytes());
    open<M>().append_rows(target, message, components...);
    return deliver_pushed();
  }
  /// Of a type that the registry acts on.
  template <MessageType M>
  [[gnu::noinline]] Receipt push_builtin(Entity target, const M& message) {
    if (!core_.is_quiet()) return push_queued<M>(target, message);
    known().need<M>();
    return push_sealed(SingleBatch<M>(target, message).bytes());
  }
  // --- registry/direct_rows.h ---
  struct Direct;
  template <ComponentType... Cs>
  Entity create_first(const Cs&... components);
  template <ComponentType... Cs>
  std::vector<Entity> create_many_queued(std::uint32_t count, const Cs&... components);
  template <ComponentType... Cs>
  Receipt set_first(Row row, const Cs&... components);
  template <ComponentType C>
  Receipt remove_first(Row row);
  Receipt destroy(Entity e, const Destroy& message);

  /// Small messages by value: they need not be in memory for the call that seldom happens.
  template <class M>
  using Passed = std::conditional_t<sizeof(M) <= 16, M, const M&>;
  template <MessageType M>
  [[gnu::noinline]] Receipt push_queued(Entity target, Passed<M> message) {
    open<M>().append(target, message);
    if constexpr (!is_builtin(TypeTraits<M>::id))
      known().remember_route(TypeTraits<M>::id, SingleBatch<M>(target, message).bytes());
    return deliver_pushed();
  }
  /// Apart, so that the other saves no registers.
  template <MessageType M>
  [[gnu::noinline]] std::byte* post_slowly(Entity target, Passed<M> message) {
    return posting<M>().append_and_tell(target, message);
  }
  template <MessageType M>
  [[gnu::noinline]] std::byte* post_first(Entity target, Passed<M> message) {
    if (known().seen<M>()) [[likely]]
      if (std::byte* const next = input().begin_next(target, message)) [[likely]]
        return next;
    return post_slowly<M>(target, message);
  }
  /// One message of a type that the registry acts on, to one entity, as a batch made on the stack while nothing waits.
  Receipt push_sealed(std::span<const std::byte> batch);
  /// A push while nothing waits: handlers read the message in `sealed`.
  Receipt push_direct(MessageRoute& route, Entity target, void* payload, std::span<const std::byte> sealed);
  /// By value, so that the caller's receipt need not be in memory.
  void tell_receipt(Envelope envelope, Receipt receipt);
  /// What is left of a push to one entity: counting, unless it was handled, telling its receipt, what handlers pushed.
  Receipt end_push(Receipt receipt);
  Receipt end_handled_push();
  /// Everything that handlers pushed; true if it was cut short.
  bool deliver_caused();
  /// To be called where something is caught: what a handler threw is the end of the program.
  [[noreturn]] void handler_failed();
  TimerId post_timed(std::uint64_t due_ns, BatchView inner);
  Entity reserve() {
    check_outside();
    return core_.storage.reserve();
  }
  void reserve(std::span<Entity> ids);
  std::span<const Entity> prepare_spawn(std::string_view what, const SpawnOptions& options, Spawn& message);
  Subscription add_handler(std::unique_ptr<Handler> handler);
  template <class Invoker, class F>
  Subscription add_invoker(std::string name, F&& f, bool has_state, HandlerOptions options);
  void end_handler(std::uint64_t ordinal);
  void set_restorer(TypeId type, std::function<void(void*, Entity)> restore);
  void forget_runtime_type(TypeId type);

  // Here and not behind a pointer: what is inlined into a loop need not look for it again after each call.
  RegistryCore core_;
  std::unique_ptr<Impl> impl_;
};

// --- templates and what is inlined ---

[[gnu::always_inline]] inline Receipt EntityRegistry::push_direct(MessageRoute& route, Entity target, void* payload,
                                                                  std::span<const std::byte> sealed) {
  RegistryCore& core = core_;
  const Delivering mark(core.delivering);
  core.pushed.sequence = ++core.sequence;
  core.tell_input(core.pushed, sealed);
  const Row row = core.storage.find(target);
  if (!row) [[unlikely]]
    return end_push({.dead = 1});
  const CallSite& site = route.calls[row.chunk->archetype_number];
  if (!site.run) [[unlikely]]
    return end_push({.unhandled = 1});
  ++core.counters.messages;
  RunContext& context = *core.context;
  context.running = site.handler;
  try {
    site.run(context, site, payload, *row.chunk, row.row);
  } catch (...) {
    handler_failed();
  }
  context.running = nullptr;
  if (core.told_pushes || !core.cascade.empty()) [[unlikely]]
    return end_handled_push();
  return {.sequence = core.sequence, .handled = 1};
}

template <class... Cs, class F>
void EntityRegistry::each(F&& f) const {
  const Storage& s = storage();
  for (std::uint32_t depth = 0; depth < s.depths(); ++depth)
    for (const auto& archetype : s.archetypes()) {
      if (!archetype || depth >= archetype->groups.size()) continue;
      if (!(archetype->has(TypeTraits<std::remove_const_t<Cs>>::id) && ...)) continue;
      for (const Chunk* chunk : archetype->groups[depth].chunks) {
        [[maybe_unused]] const auto column = [&]<class C>() {
          const std::uint16_t slot = archetype->column(TypeTraits<C>::id);
          return slot == no_column ? nullptr : reinterpret_cast<const C*>(chunk->slots()[slot].data);
        };
        const std::tuple columns { column.template operator()<std::remove_const_t<Cs>>()... };
        for (std::uint32_t row = 0; row < chunk->count; ++row)
          std::apply(
              [&](const auto*... c) {
                if constexpr (std::is_invocable_v<F, Entity, const Cs&...>)
                  f(chunk->ids()[row], c[row]...);
                else
                  f(c[row]...);
              },
              columns);
      }
    }
}

template <class F>
void EntityRegistry::each_entity(F&& f) const {
  each<>([&](Entity e) { f(e); });
}

}  // namespace muster

#include "registry/direct_rows.h"
#include "registry/subscribing.h"

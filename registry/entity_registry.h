// The facade through which every change to entities passes as a message.
//
//   registry.push(orc, Damage{...})
//     while nothing is waiting   straight to its handler; a sink sees a sealed batch owned by its type's route
//                                (not for the first push of a type, nor while observing)   registry/pushing.h
//     otherwise                  into a batch; waiting messages are delivered first        registry/delivery/inputs.h
//   either way
//     tell                       number it; InputSinks see the sealed batch   registry/delivery/registry_core.h, input_sink.h
//     deliver                    the target's row, its handlers in order      registry/handlers/handler.h, signature.h
//     settle                     counters, receipt
//     cascade                    deliver what handlers wrote to their Outbox (registry/apply/outbox.h)
//
// A registry may be used by only one thread at a time. Other threads access it through the inbox
// (registry/host.h). Handlers must not use the registry; if one does, the program is stopped with
// an error that names the handler. They may only ask what cannot change before they return: ids and
// the hierarchy (alive, name, path, parent, depth, children), texts, types, templates, the clock,
// and counts. tests/registry/delivery/calls_inside_test.cc lists all calls. If an InputSink throws
// an exception, the call that made the input propagates the exception, and the input does not take
// place.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "registry/apply/created.h"
#include "registry/apply/outbox.h"
#include "registry/apply/receipt.h"
#include "registry/apply/wrong_calls.h"
#include "registry/arithmetic.h"
#include "registry/delivery/registry_core.h"
#include "registry/handlers/builtin_messages.h"
#include "registry/handlers/signature.h"
#include "registry/handlers/subscription.h"
#include "registry/observe/log.h"
#include "schema/muster.h"
#include "schema/table.h"

namespace muster {

// Defined in their own headers.
class Manager;          // registry/apply/manager.h
class RegistryReader;   // registry/host.h
class RegistryHost;     //
class RegistryFigures;  // registry/profile.h
class RegistryProfile;  //
struct DynamicCall;     // registry/handlers/dynamic_handler.h
struct DynamicShape;    //
class StateSink;        // registry/state/state.h
class StateSource;      //
struct StateError;      //
struct LoadReport;      //
class TemplateTree;     // registry/templates/template_tree.h

class EntityRegistry : detail::WrongMessages<Receipt>,
                       detail::WrongPosts,
                       detail::WrongChanges<Receipt>,
                       detail::WrongNamedCreations,
                       detail::WrongReads,
                       detail::WrongSubscriptions {
 public:
  using WrongChanges::set, WrongChanges::remove, WrongNamedCreations::create, WrongNamedCreations::create_under;
  using WrongMessages::push, WrongMessages::push_subtree, WrongPosts::post;
  using WrongReads::find, WrongReads::get, WrongReads::has;
  /// Warns once per process, through options.on_warning, if the calling file was compiled with
  /// different floating-point settings. `arithmetic` describes the settings of that file.
  explicit EntityRegistry(RegistryOptions options = {}, std::uint32_t arithmetic = detail::arithmetic_here());
  ~EntityRegistry();
  EntityRegistry(const EntityRegistry&) = delete;
  EntityRegistry& operator=(const EntityRegistry&) = delete;

  // --- reading: pointers and references are valid until the next push, flush, or advance ---

  /// Reads a single array element. False for ids that are nil, that are stale, or that were never
  /// issued.
  bool alive(Entity e) const noexcept { return storage().alive(e); }
  /// Returns null if the entity is not alive or does not have C. Tags have no value; use has().
  template <ComponentType C>
  const C* find(Entity e) const noexcept;
  /// Stops the program with an error that names the entity and the component if C is missing.
  template <ComponentType C>
  const C& get(Entity e) const noexcept;
  template <ComponentType C>
  bool has(Entity e) const noexcept;
  /// Looks up a value by its run-time type. Returns null if it is absent. For a tag that is
  /// present, returns a non-null pointer that must not be dereferenced.
  const std::byte* find(Entity e, TypeId component) const noexcept;
  /// Calls f(Entity, const Cs&...) or f(const Cs&...) for every entity that has all of Cs, in row
  /// order (depth, archetype, position). each<>(f) calls f(Entity) for every entity. Stops the
  /// program if f adds, removes, or moves rows.
  template <class... Cs, class F>
  void each(F&& f) const;
  std::uint64_t entity_count() const noexcept { return storage().rows(); }

  // For entities that are not alive, these functions return nil, 0, or an empty string.
  Entity parent(Entity e) const noexcept;
  /// Returns the depth in the hierarchy, which is 0 for roots.
  std::uint32_t depth(Entity e) const noexcept;
  Entity first_child(Entity e) const noexcept;
  Entity next_sibling(Entity e) const noexcept;
  std::uint32_t child_count(Entity e) const noexcept;
  /// Returns an empty string if the entity has no name. Valid for the lifetime of the registry.
  std::string_view name(Entity e) const noexcept;
  /// Returns a path such as "/squad/unit~2". Unnamed entities appear as "#index:generation".
  std::string path(Entity e) const;
  /// Returns the child of `parent` with this name, or nil. If `parent` is nil, searches the roots.
  Entity find_child(Entity parent, std::string_view name) const noexcept;
  /// Finds an entity by its path, which consists of names joined by `/`. Within names, `/` and `\`
  /// are escaped by `\`. A leading `/` is allowed. Returns nil if there is no such entity.
  Entity find_path(std::string_view path) const;

  // --- push: delivers immediately ---
  //
  // Each push first delivers posted messages, then its own message, and then everything that its
  // handlers post. Errors are not reported. The receipt counts how many targets of this message
  // were handled, unhandled (alive, but without a handler), dead, or refused. It also contains the
  // first refusal and states whether the cascade was cut short. EnableHandler, InternText and
  // DropCarried do not wait for messages that a cut cascade carries over.

  /// Sends a message to a single entity.
  template <MessageType M>
  [[gnu::always_inline]] Receipt push(Entity target, const M& message);
  /// Sends a single payload to several entities. An empty span is not an input.
  template <MessageType M>
  Receipt push(std::span<const Entity> targets, const M& message);
  /// Sends a message to every matching entity, as a pass: handler by handler, each for all entities
  /// in the order of rows. If a handler takes M& or returns a Verdict, the pass goes entity by
  /// entity instead: each entity gets a copy of the message, which its handlers receive in order.
  template <MessageType M>
  Receipt push(const M& message);
  /// Sends a message to those parts of an entity's lineage that `parts` (a mask of SubtreeParts)
  /// selects.
  template <MessageType M>
  Receipt push_subtree(Entity target, std::uint64_t parts, const M& message);
  /// Sends a table to a single entity, or to every matching entity if `target` is nil.
  template <TableMessageType M>
    requires NativeTable<M>
  Receipt push(Entity target, const M& message);
  template <TableMessageType M>
    requires NativeTable<M>
  Receipt push(const M& message);

  // --- post: waits for the next push, flush, or advance ---

  template <MessageType M>
  void post(Entity target, const M& message);
  template <MessageType M>
  void post(std::span<const Entity> targets, const M& message);
  template <MessageType M>
  void post(const M& message);
  template <TableMessageType M>
    requires NativeTable<M>
  void post(Entity target, const M& message);
  /// Delivers posted messages, then the contents of the inbox, and then everything that handlers
  /// push. The counts in the receipt are totals. If there was nothing to deliver, the call does not
  /// count as an input.
  Receipt flush();

  // --- time: the host moves the registry's clock ---

  /// Posts a message that is delivered at `due_ns`, or immediately if this time has passed. Returns
  /// the timer.
  template <MessageType M>
  TimerId post_at(std::uint64_t due_ns, Entity target, const M& message);
  template <MessageType M>
  TimerId post_at(std::uint64_t due_ns, const M& message);
  /// Cancels a timer. Ignores unknown timers and those that have already fired.
  Receipt cancel(TimerId timer) { return push(CancelTimer{.timer = timer}); }
  /// Delivers posted messages and then moves the clock forward. For each due time up to now + ns,
  /// sets the clock to that time and performs a separate flush. Does not read the inbox. The clock
  /// stops at 2^64 - 1 ns and never goes back.
  Receipt advance(std::uint64_t ns);
  std::uint64_t now_ns() const noexcept;

  // --- structure: each call is a message that is pushed and delivered immediately ---

  /// Creates an unnamed root. The creation is never refused.
  template <ComponentType... Cs>
  Entity create(const Cs&... components);
  /// Creates a root with a name. Refused without effect if another root has the name, or if a
  /// different text has the same hash as the name.
  template <ComponentType... Cs>
  [[gnu::always_inline]] Created create(std::string_view name, const Cs&... components) {
    return Created(create_named<Cs...>(Entity{}, name, components...));
  }
  /// Creates an entity as the last child of `parent`, or as a root if `parent` is nil. `name` may
  /// be empty. Refused without effect if the parent is dead or the name is taken.
  template <ComponentType... Cs>
  [[gnu::always_inline]] Created create_under(Entity parent, std::string_view name, const Cs&... components) {
    return Created(create_named<Cs...>(parent, name, components...));
  }
  /// Creates `count` unnamed roots with the same values. If memory runs out (std::bad_alloc), some
  /// of them may have been created, and their ids are lost.
  template <ComponentType... Cs>
  std::vector<Entity> create_many(std::uint32_t count, const Cs&... components);
  /// Destroys the entity and all its descendants, children first. A dead target is counted in the
  /// receipt.
  [[gnu::always_inline]] Receipt destroy(Entity e) { return destroy(e, Destroy{}); }
  /// Adds components to an entity, or overwrites existing ones.
  template <ComponentType... Cs>
  Receipt set(Entity e, const Cs&... components);
  /// Removes a component. Refused (missing_component) if the entity does not have C.
  template <ComponentType C>
  Receipt remove(Entity e);
  /// Moves the entity under `parent`, or to the roots if `parent` is nil. It is placed before the
  /// child `before`, or at the end if `before` is nil. Refused without effect if the parent is
  /// dead, is the entity itself, or is one of its descendants.
  Receipt reparent(Entity e, Entity parent, Entity before = {}) {
    return push(e, Reparent{.parent = parent, .before = before});
  }
  /// Renames the entity. An empty name removes its name. Refused if a sibling already has the name,
  /// or if a different text has the same hash as the name.
  Receipt rename(Entity e, std::string_view name);

  // --- templates ---

  /// Spawns a tree from a template with a single message. The components in `root` are added to the
  /// root's components from the template, replacing those of the same type. The result is the id of
  /// the root, or of the first root if options.count is greater than one. Refused without effect if
  /// the template is unknown, if options.count is 0, or if the parent, the sibling, or the name is
  /// not valid.
  template <ComponentType... Cs>
  [[gnu::always_inline]] Created spawn(std::string_view what, const SpawnOptions& options = {}, const Cs&... root) {
    return Created(spawn_with<Cs...>(what, options, root...));
  }
  /// Applies a template to a living tree. Nodes are matched by child names, and missing nodes are
  /// created. If `ids` is not null, it receives the ids of all nodes in pre-order. Refused if the
  /// template is unknown.
  Receipt apply_template(Entity top, std::string_view what, std::vector<Entity>* ids = nullptr);
  /// Defines a template, or replaces the one with the same name. Throws SetupError if the tree is
  /// inconsistent (TemplateTree::compile). Other errors are reported as refusals.
  Receipt define_template(const TemplateTree& tree);

  // --- types and texts ---

  /// Returns all types that this registry knows. Schemas must be added before messages of their
  /// types arrive.
  TypeTable& types() noexcept;
  const TypeTable& types() const noexcept;
  /// Registers a compiled type, which would otherwise be registered on first use. Throws SetupError
  /// if a known type with the same name has a different layout.
  template <GeneratedType T>
  void add_type() {
    check_outside();
    known_types().need<T>();
  }
  /// Registers a runtime component (registry/storage/runtime_type.h). The hook f(T&, Entity) is
  /// called now for existing values, and for all values after a load. The hook may read the
  /// registry.
  template <RuntimeType T>
  void add_runtime_type(std::function<void(T&, Entity)> restore = {});
  /// Adds the text to the world, by a message if it is new, and returns its hash. If a different
  /// text has the same hash, the text is refused and the result is the empty text. Servers do not
  /// drop texts that were interned in this process. Therefore, code that stores a Text where the
  /// registry cannot see it (in a handler, a manager, or a runtime component) must intern the text
  /// at each startup.
  Text intern(std::string_view text);
  /// Returns the bytes of a text, or an empty view if it is unknown. Valid until the next push.
  std::string_view text(Text text) const noexcept;

  // --- handlers ---

  /// Subscribes a function or lambda. Its first parameter is the message, and the others form the
  /// query (registry/handlers/parameters.h). `name` is used for ordering, journals, and lookup. It
  /// may be empty; otherwise, it must be unique for each message type. Throws SetupError without
  /// subscribing the handler if the name is taken, if the order is contradictory, or if no journal
  /// records the message and the handler does more than read (registry/handlers/unkept.h).
  template <class F>
  Subscription subscribe(std::string name, F handler, HandlerOptions options = {});
  /// Subscribes a function that is known at compile time and is inlined into the loop over rows, as
  /// in `subscribe<take_damage>("game.take_damage")`.
  template <auto function>
  Subscription subscribe(std::string name, HandlerOptions options = {});  // not for lambdas
  /// Subscribes a member function. The object must outlive the subscription.
  template <class C, class R, class... A>
  Subscription subscribe(std::string name, C& object, R (C::*member)(A...), HandlerOptions options = {});
  template <class C, class R, class... A>
  Subscription subscribe(std::string name, const C& object, R (C::*member)(A...) const, HandlerOptions options = {});
  /// Subscribes a handler that is defined by run-time ids. Throws SetupError if a type is unknown,
  /// or if a term with a source other than self writes.
  Subscription subscribe(std::string name, DynamicShape shape, std::function<void(const DynamicCall&)> handler,
                         HandlerOptions options = {});
  using WrongSubscriptions::subscribe;  // last, because compilers list candidates in this order
  /// Enables or disables all handlers with this name, for all messages, including handlers that are
  /// added later. The call is a message, so the setting is saved.
  Receipt set_handler_enabled(std::string_view name, bool enabled);

  // --- state ---

  /// Returns a hash of everything that determines the future of the registry: rows in row order,
  /// the hierarchy, ids, texts, the queue, timers, and the clock.
  std::uint64_t hash() const;
  /// Writes all rows, including posted and carried messages. Does not change anything. To track
  /// versions, call RegistryHost::begin_version() immediately before each save; later changes then
  /// have a greater version. Must not be called inside a handler.
  void save(StateSink& sink) const;
  /// Loads saved rows into a separate state, which then replaces the current one. If this fails or
  /// the source throws an exception, the registry is unchanged. Invalid bool and enum values are
  /// corrected and listed in the report, so that any saved state can be loaded.
  ///
  /// The following are not affected: handlers, subscriptions, managers, sinks, preservers, the
  /// executor, and lanes with their contents. Managers receive their saved state, or the state that
  /// they had when they were added. If a manager refuses the state or throws an exception, the
  /// managers before it get their previous state back. Restore hooks are called last. A load is not
  /// an input, so sinks do not see it. Texts that were passed to intern() earlier must be interned
  /// again, as at startup. Requires memory for both states.
  [[nodiscard]] std::expected<LoadReport, StateError> load(StateSource& source);
  /// Returns the sequence number of the most recent input that was shown to sinks.
  std::uint64_t sequence() const noexcept { return core_.state.sequence; }
  /// Returns the current version, which increases with every save. Each column of a chunk stores
  /// the version of its most recent change; see Storage::touch.
  std::uint64_t version() const noexcept { return storage().version(); }

  // --- neighbors ---

  /// Adds an owner of external data. It must be removed before it is destroyed. The manager
  /// receives the state that was saved or left behind under its name, now and at each load().
  /// Throws SetupError if the name is taken or the manager refuses that state.
  void add_manager(std::string name, Manager& manager);
  /// Removes a manager. Its state is stored, saved with the registry, and passed to the next
  /// manager of that name, for example when a plugin is reloaded.
  void remove_manager(Manager& manager);
  /// Return an object with the calls that servers, savers, replays, and replicas need. Defined in
  /// registry/host.h.
  RegistryHost host() noexcept;
  RegistryReader host() const noexcept;
  /// Return an object that provides timing statistics and traces. Defined in registry/profile.h.
  RegistryProfile profile() noexcept;
  RegistryFigures profile() const noexcept;

 private:
  /// Interns a name on behalf of the registry itself. If the name is refused, `refused` receives
  /// the receipt.
  Text intern_name(std::string_view text, Receipt* refused = nullptr);
  friend class RegistryReader;
  friend class RegistryHost;
  friend class RegistryFigures;
  friend class RegistryProfile;
  friend class Subscription;
  friend class StateWriter;
  friend class Moments;         // registry/moments/moments.h
  friend class QuietInputs;     //
  friend class Synctest;        // registry/moments/synctest.h
  friend struct ConversionsOf;  // registry/state/swap_state.cc
  struct Impl;
  /// Small messages are passed by value, so that a rarely taken call does not force them into
  /// memory.
  template <class M>
  using Passed = std::conditional_t<sizeof(M) <= 16, M, const M&>;

  const Storage& storage() const noexcept { return core_.state.storage; }
  TypesKnown& known_types() noexcept { return core_.types; }
  Arena& input() noexcept { return core_.state.input; }
  void check_outside() const noexcept {
    if (core_.inside != Inside::nobody) [[unlikely]]
      used_inside_handler();
  }
  /// Stops the program if called inside a handler. Handlers must declare what they read as
  /// parameters, so that passes produce the same results on any number of workers.
  void check_reading() const noexcept {
    if (core_.inside != Inside::nobody && core_.inside != Inside::readers) [[unlikely]]
      used_inside_handler();
  }
  [[noreturn]] void used_inside_handler() const noexcept;
  /// Stops the program because get() did not find the component.
  [[noreturn]] void nothing_to_get(Entity e, std::string_view component) const noexcept;

  // --- registry/reading.h ---
  template <ComponentType... Cs, class F>
  void each_row(F&& f) const;

  // --- registry/pushing.h ---
  template <GeneratedType M>
  Arena& open();
  template <GeneratedType M>
  Arena& posting();
  template <MessageType M>
  Receipt push_queued(Entity target, Passed<M> message);
  template <MessageType M, ComponentType... Cs>
  Receipt push_rows(Entity target, const M& message, const Cs&... components);
  template <MessageType M>
  std::byte* post_first(Entity target, Passed<M> message);
  template <MessageType M>
  std::byte* post_slowly(Entity target, Passed<M> message);
  // Takes components by value, because a reference might refer to a row that moves while pending
  // messages are delivered.
  template <ComponentType... Cs>
  detail::Made create_named(Entity parent, std::string_view name, Cs... components);
  template <ComponentType... Cs>
  detail::Made spawn_with(std::string_view what, const SpawnOptions& options, Cs... root);
  /// Delivers a push that sinks have already seen, while no messages are pending. Equivalent to
  /// Inputs::push.
  Receipt push_direct(MessageRoute& route, Entity target, void* message);
  /// Returns data about the chunk that contains `place`, a result of Storage::locate(). Returns
  /// null if `place` is not a row, or if no handler processes the route's message for it.
  const KnownChunk* learn_chunk(MessageRoute& route, std::uint64_t place);
  template <MessageType M>
  void tell_pushed(InputSink& sink, MessageRoute& route, Entity target, const M& message);
  /// Completes push_direct() if no handler took the message, a handler posted, or a sink wants
  /// receipts. Returns a reference to the registry's own receipt, so that the caller's does not
  /// have to be in memory.
  const Receipt& end_untaken_push(std::uint64_t place);
  const Receipt& end_handled_push();
  /// Stops the program because a handler threw an exception. Must be called from a catch block.
  [[noreturn]] void handler_failed();

  // --- registry/delivery/inputs.h ---
  Receipt deliver_pushed();
  /// Reserves ids for the targets of the batch and writes them to `ids`. `waited` is true if
  /// Inputs::wait_over() was just called.
  Receipt deliver_new(std::span<Entity> ids, bool waited = false);

  // --- registry/refused_creations.cc ---
  /// Explains why a creation was refused. `receipt` is null if the message was not pushed because a
  /// different text has the same hash as the name, or because the template cannot be spawned.
  [[gnu::cold]] detail::Made refuse_create(Entity parent, std::string_view name, const Receipt* receipt) const;
  [[gnu::cold]] detail::Made refuse_spawn(std::string_view what, const SpawnOptions& options,
                                          const Receipt* receipt) const;

  /// Posts the batch in RegistryCore::timed, which is empty afterward.
  TimerId post_timed(std::uint64_t due_ns);
  /// Prepares `message` and delivers pending messages. Returns the memory for the ids of all nodes,
  /// which is empty if the name or the template is refused or the spawn would not have any nodes.
  std::span<Entity> prepare_spawn(std::string_view what, const SpawnOptions& options, Spawn& message);

  /// Spawns an unnamed tree from a template that was already spawned that way. Requires that no
  /// messages are pending and no handler has to be called. Equivalent to the general path. If the
  /// general path is required, returns nil and has no effect.
  Entity spawn_direct(std::string_view what, const SpawnOptions& options);

  // --- registry/direct_rows.h ---
  template <ComponentType... Cs>
  Entity create_first(const Cs&... components);
  template <ComponentType... Cs>
  std::vector<Entity> create_many_queued(std::uint32_t count, const Cs&... components);
  template <ComponentType... Cs>
  Receipt set_first(Row row, const Cs&... components);
  template <ComponentType C>
  Receipt remove_first(Row row);
  Receipt destroy(Entity e, const Destroy& message);

  // --- registry/subscribing.h ---
  Subscription add_handler(std::unique_ptr<Handler> handler);
  template <class Invoker, class F>
  Subscription add_invoker(std::string name, F&& f, bool has_state, HandlerOptions options, bool of_manager = false);
  void end_handler(std::uint64_t ordinal);
  void set_restorer(TypeId type, std::function<void(void*, Entity)> restore);

  // A direct member instead of a pointer, so that code inlined into a loop does not have to reload
  // a pointer after each call.
  RegistryCore core_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster

#include "registry/direct_rows.h"
#include "registry/pushing.h"
#include "registry/reading.h"
#include "registry/subscribing.h"

// The facade through which every change to entities passes, as a message.
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
// A registry may be used by one thread at a time; other threads reach it through the inbox
// (registry/host.h). Handlers must not use it: doing so stops the program with an error that names
// the handler. They may only call alive, name, path, parent and children, whose results cannot
// change before the handlers return. If an InputSink throws, every call that makes an input passes
// the exception on, and the input has not happened.
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
  /// different floating-point settings (`arithmetic`: those found there).
  explicit EntityRegistry(RegistryOptions options = {}, std::uint32_t arithmetic = detail::arithmetic_here());
  ~EntityRegistry();
  EntityRegistry(const EntityRegistry&) = delete;
  EntityRegistry& operator=(const EntityRegistry&) = delete;

  // --- reading: pointers and references are valid until the next push, flush or advance ---

  /// Reads one array entry. False for ids that are nil, stale or were never issued.
  bool alive(Entity e) const noexcept { return storage().alive(e); }
  /// Null if the entity is not alive or lacks C. Tags have no value: use has().
  template <ComponentType C>
  const C* find(Entity e) const noexcept;
  /// Stops the program with an error that names the entity and the component if it is missing.
  template <ComponentType C>
  const C& get(Entity e) const noexcept;
  template <ComponentType C>
  bool has(Entity e) const noexcept;
  /// Looks up a value by run-time type. Null if absent; for a tag that is present, a pointer that
  /// is not null and must not be read.
  const std::byte* find(Entity e, TypeId component) const noexcept;
  /// Calls f(Entity, const Cs&...) or f(const Cs&...) for every entity that has all of Cs, in row
  /// order (depth, archetype, position); each<>(f) calls f(Entity) for every entity. Stops the
  /// program if f adds, removes or moves rows.
  template <class... Cs, class F>
  void each(F&& f) const;
  std::uint64_t entity_count() const noexcept { return storage().rows(); }

  // For entities that are not alive, these return nil, 0 or an empty text.
  Entity parent(Entity e) const noexcept;
  /// 0 for roots.
  std::uint32_t depth(Entity e) const noexcept;
  Entity first_child(Entity e) const noexcept;
  Entity next_sibling(Entity e) const noexcept;
  std::uint32_t child_count(Entity e) const noexcept;
  /// Empty if it has none. Valid for the lifetime of the registry.
  std::string_view name(Entity e) const noexcept;
  /// For example "/squad/unit~2". Unnamed entities appear as "#index:generation".
  std::string path(Entity e) const;
  /// The child of `parent` (nil: a root) with that name, or nil.
  Entity find_child(Entity parent, std::string_view name) const noexcept;
  /// Finds an entity by path: names joined by `/`, in which `/` and `\` are escaped by `\`. A
  /// leading `/` is allowed. Nil if there is none.
  Entity find_path(std::string_view path) const;

  // --- push: delivers now ---
  //
  // First delivers posted messages, then this one, then everything that its handlers push. Nothing
  // is reported as an error. The receipt counts the targets of this message that were handled,
  // unhandled (alive, but without a handler), dead or refused (with the first refusal), and tells
  // whether the cascade was cut short.

  /// Sends to one entity.
  template <MessageType M>
  [[gnu::always_inline]] Receipt push(Entity target, const M& message);
  /// Sends one payload to several entities. An empty span is not an input.
  template <MessageType M>
  Receipt push(std::span<const Entity> targets, const M& message);
  /// Sends to every matching entity: a pass.
  template <MessageType M>
  Receipt push(const M& message);
  /// Sends to the `parts` (a mask of SubtreeParts) of an entity's lineage.
  template <MessageType M>
  Receipt push_subtree(Entity target, std::uint64_t parts, const M& message);
  /// Sends a table to one entity, or to every matching entity if `target` is nil.
  template <TableMessageType M>
    requires NativeTable<M>
  Receipt push(Entity target, const M& message);
  template <TableMessageType M>
    requires NativeTable<M>
  Receipt push(const M& message);

  // --- post: waits for the next push, flush or advance ---

  template <MessageType M>
  void post(Entity target, const M& message);
  template <MessageType M>
  void post(std::span<const Entity> targets, const M& message);
  template <MessageType M>
  void post(const M& message);
  template <TableMessageType M>
    requires NativeTable<M>
  void post(Entity target, const M& message);
  /// Delivers posted messages, then the contents of the inbox, then everything handlers push. The
  /// counts are sums. If nothing was waiting, this is not an input.
  Receipt flush();

  // --- time: the host moves the registry's clock ---

  /// Posts a message to be delivered at `due_ns`, or at once if that is past. Returns the timer.
  template <MessageType M>
  TimerId post_at(std::uint64_t due_ns, Entity target, const M& message);
  template <MessageType M>
  TimerId post_at(std::uint64_t due_ns, const M& message);
  /// Ignores unknown numbers and timers that have already fired.
  Receipt cancel(TimerId timer) { return push(CancelTimer{.timer = timer}); }
  /// Delivers posted messages, then moves the clock: each due time up to now + ns gets its own
  /// flush, with the clock set to it. Does not read the inbox. The clock stops at 2^64 - 1 ns and
  /// never goes back.
  Receipt advance(std::uint64_t ns);
  std::uint64_t now_ns() const noexcept;

  // --- structure: each call is a message that is pushed and delivered at once ---

  /// Creates a root without a name. This cannot be refused.
  template <ComponentType... Cs>
  Entity create(const Cs&... components);
  /// Creates a root. Refused without effect if another root has the name, or if a different text
  /// has the name's hash.
  template <ComponentType... Cs>
  [[gnu::always_inline]] Created create(std::string_view name, const Cs&... components) {
    return Created(create_named<Cs...>(Entity{}, name, components...));
  }
  /// Creates the last child of `parent` (nil: a root); `name` may be empty. Refused without effect
  /// if the parent is dead or the name is taken.
  template <ComponentType... Cs>
  [[gnu::always_inline]] Created create_under(Entity parent, std::string_view name, const Cs&... components) {
    return Created(create_named<Cs...>(parent, name, components...));
  }
  /// Creates `count` unnamed roots with the same values. If memory runs out (std::bad_alloc), some
  /// may have been created; their ids are lost.
  template <ComponentType... Cs>
  std::vector<Entity> create_many(std::uint32_t count, const Cs&... components);
  /// Destroys the entity and all below it, children first. A dead target is counted in the receipt.
  [[gnu::always_inline]] Receipt destroy(Entity e) { return destroy(e, Destroy{}); }
  /// Adds or overwrites components.
  template <ComponentType... Cs>
  Receipt set(Entity e, const Cs&... components);
  /// Refused (missing_component) if the entity lacks C.
  template <ComponentType C>
  Receipt remove(Entity e);
  /// Moves the entity under `parent` (nil: to the roots), before its child `before` (nil: last).
  /// Refused without effect if the parent is dead, is the entity itself, or lies below it.
  Receipt reparent(Entity e, Entity parent, Entity before = {}) {
    return push(e, Reparent{.parent = parent, .before = before});
  }
  /// Renames the entity; an empty name removes its name. Refused if a sibling has the name, or if a
  /// different text has the name's hash.
  Receipt rename(Entity e, std::string_view name);

  // --- templates ---

  /// Spawns a tree from a template, as one message. `root` adds to or replaces the template's
  /// components of the root. The result is the root's id (of the first tree if options.count is
  /// more than one). Refused without effect if the template is unknown, options.count is 0, or the
  /// place or the name does not fit.
  template <ComponentType... Cs>
  [[gnu::always_inline]] Created spawn(std::string_view what, const SpawnOptions& options = {}, const Cs&... root) {
    return Created(spawn_with<Cs...>(what, options, root...));
  }
  /// Applies a template to a living tree, matching nodes by child names and creating missing ones.
  /// Writes the ids of all nodes to `ids`, if given, in pre-order. Refused if unknown.
  Receipt apply_template(Entity top, std::string_view what, std::vector<Entity>* ids = nullptr);
  /// Defines a template or replaces the one of that name. Throws SetupError if the tree contradicts
  /// itself (TemplateTree::compile); other errors are refusals.
  Receipt define_template(const TemplateTree& tree);

  // --- types and texts ---

  /// All types this registry knows. Add schemas before messages of their types arrive.
  TypeTable& types() noexcept;
  const TypeTable& types() const noexcept;
  /// Registers a compiled type, which otherwise happens at first use. Throws SetupError if a known
  /// type of that name has a different layout.
  template <GeneratedType T>
  void add_type() {
    known().need<T>();
  }
  /// Registers a runtime component (registry/storage/runtime_type.h) with a hook f(T&, Entity) that
  /// is called now for existing values, and for all after a load. The hook may read the registry.
  template <RuntimeType T>
  void add_runtime_type(std::function<void(T&, Entity)> restore = {});
  /// Adds the text to the world (by a message, if it is new) and returns its hash. On a hash
  /// collision with another text it is refused, and the result is the empty text. Servers do not
  /// drop texts that were interned in this process, so code that keeps a Text out of the registry's
  /// sight (in a handler, a manager or a runtime component) must intern it at each start.
  Text intern(std::string_view text);
  /// The bytes of a text; empty if unknown. Valid until the next push.
  std::string_view text(Text text) const noexcept;

  // --- handlers ---

  /// Subscribes a function or lambda whose first parameter is the message and whose others form the
  /// query (registry/handlers/parameters.h). `name` is used for ordering, journals and lookup; it
  /// must be unique per message type unless empty. Throws SetupError without subscribing if the
  /// name is taken, the order is contradictory, or the handler does more than read although no
  /// journal records its message (registry/handlers/unkept.h).
  template <class F>
  Subscription subscribe(std::string name, F handler, HandlerOptions options = {});
  /// Subscribes a function known at compile time, `subscribe<take_damage>("game.take_damage")`,
  /// which is inlined into the loop over rows.
  template <auto function>
  Subscription subscribe(std::string name, HandlerOptions options = {});  // not for lambdas
  /// Subscribes a member function; the object must outlive the subscription.
  template <class C, class R, class... A>
  Subscription subscribe(std::string name, C& object, R (C::*member)(A...), HandlerOptions options = {});
  template <class C, class R, class... A>
  Subscription subscribe(std::string name, const C& object, R (C::*member)(A...) const, HandlerOptions options = {});
  /// Subscribes by run-time ids. Throws SetupError for unknown types and for writes to anything but
  /// self.
  Subscription subscribe(std::string name, DynamicShape shape, std::function<void(const DynamicCall&)> handler,
                         HandlerOptions options = {});
  using WrongSubscriptions::subscribe;  // the last: compilers show candidates in this order
  /// Enables or disables all handlers of this name, of any message, including later ones. This is a
  /// message, so it is saved.
  Receipt set_handler_enabled(std::string_view name, bool enabled);

  // --- state ---

  /// A hash of everything that determines the future: rows in row order, hierarchy, ids, texts,
  /// queue, timers, clock.
  std::uint64_t hash() const;
  /// Writes all rows, including posted and carried-over messages. Changes nothing. To track
  /// versions, call RegistryHost::begin_version() right before each save: later changes then have a
  /// greater version. Must not be called inside a handler.
  void save(StateSink& sink) const;
  /// Loads saved rows into a separate state, which then replaces the current one. If this fails or
  /// the source throws, the registry is unchanged. Invalid bool and enum values are corrected and
  /// listed in the report, so that anything that was saved can be loaded.
  ///
  /// Wiring is unaffected: handlers, subscriptions, managers, sinks, preservers, the executor, and
  /// lanes with their contents. Managers receive their saved state, or the state they had when
  /// added; if one refuses or throws, those before it get back the state they had. Restore hooks
  /// are called last. A load is not an input: sinks do not see it. Texts passed to intern() earlier
  /// must be interned again, as at a start. Needs memory for both states.
  [[nodiscard]] std::expected<LoadReport, StateError> load(StateSource& source);
  /// The number of the last input that was shown to sinks.
  std::uint64_t sequence() const noexcept { return core_.state.sequence; }
  /// The current version, which grows with every save: each column of a chunk carries the version
  /// of its last change. See Storage::touch.
  std::uint64_t version() const noexcept { return storage().version(); }

  // --- neighbors ---

  /// Adds an owner of external data, which must be removed before it is destroyed. The manager
  /// receives the state that was saved or left behind under its name, now and at each load().
  /// Throws SetupError if the name is taken or the manager refuses that state.
  void add_manager(std::string name, Manager& manager);
  /// Removes a manager. Its state is kept, saved with the registry, and given to the next manager
  /// of that name, as when a plugin is reloaded.
  void remove_manager(Manager& manager);
  /// Return the calls that servers, savers, replays and replicas need. Defined in registry/host.h.
  RegistryHost host() noexcept;
  RegistryReader host() const noexcept;
  /// Return the figures and traces of what takes time. Defined in registry/profile.h.
  RegistryProfile profile() noexcept;
  RegistryFigures profile() const noexcept;

 private:
  /// Interns a name for the registry itself. If this is refused, `refused` receives the refusal.
  Text intern_name(std::string_view text, Receipt* refused = nullptr);
  friend class RegistryReader;
  friend class RegistryHost;
  friend class RegistryFigures;
  friend class RegistryProfile;
  friend class Subscription;
  friend class StateWriter;
  friend struct ConversionsOf;  // registry/state/swap_state.cc
  struct Impl;
  /// Small messages are passed by value: the rarely taken call then need not put them in memory.
  template <class M>
  using Passed = std::conditional_t<sizeof(M) <= 16, M, const M&>;

  const Storage& storage() const noexcept { return core_.state.storage; }
  TypesKnown& known() noexcept { return core_.types; }
  Arena& input() noexcept { return core_.state.input; }
  void check_outside() const noexcept {
    if (core_.inside != Inside::nobody) [[unlikely]]
      used_inside_handler();
  }
  /// Stops the program inside handlers. Handlers declare their reads as parameters, so that passes
  /// give the same results on any number of workers.
  void check_reading() const noexcept {
    if (core_.inside != Inside::nobody && core_.inside != Inside::readers) [[unlikely]]
      used_inside_handler();
  }
  [[noreturn]] void used_inside_handler() const noexcept;
  /// Stops the program because get() found no such component.
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
  // Takes components by value: a reference could be to a row that moves while waiting messages are
  // delivered.
  template <ComponentType... Cs>
  detail::Made create_named(Entity parent, std::string_view name, Cs... components);
  template <ComponentType... Cs>
  detail::Made spawn_with(std::string_view what, const SpawnOptions& options, Cs... root);
  /// Delivers a push that sinks have seen, while nothing is waiting. Equivalent to Inputs::push.
  Receipt push_direct(MessageRoute& route, Entity target, void* message);
  /// `place` is from Storage::locate(). Null if it is not a row, or no handler takes the route's
  /// message for it.
  const KnownChunk* learn_chunk(MessageRoute& route, std::uint64_t place);
  template <MessageType M>
  void tell_pushed(InputSink& sink, MessageRoute& route, Entity target, const M& message);
  /// Finishes push_direct() if no handler took the message, a handler pushed, or a sink wants
  /// receipts. Returns registry memory, so that the caller's receipt need not be in memory.
  const Receipt& end_untaken_push(std::uint64_t place);
  const Receipt& end_handled_push();
  /// Must be called in a catch block: stops the program because a handler threw.
  [[noreturn]] void handler_failed();

  // --- registry/delivery/inputs.h ---
  Receipt deliver_pushed();
  /// Reserves ids for the batch's targets and writes them to `ids`. `waited`: Inputs::wait_over()
  /// was just called.
  Receipt deliver_new(std::span<Entity> ids, bool waited = false);

  // --- registry/refused_creations.cc ---
  /// Explains why a creation was refused. `receipt` is null if its message was not pushed, because
  /// a different text has the name's hash or the template cannot be spawned.
  [[gnu::cold]] detail::Made refuse_create(Entity parent, std::string_view name, const Receipt* receipt) const;
  [[gnu::cold]] detail::Made refuse_spawn(std::string_view what, const SpawnOptions& options,
                                          const Receipt* receipt) const;

  TimerId post_timed(std::uint64_t due_ns, BatchView inner);
  /// Prepares `message` and delivers waiting messages. Returns the place for the ids of all nodes;
  /// empty if the name or the template is refused, or if the spawn would have no nodes.
  std::span<Entity> prepare_spawn(std::string_view what, const SpawnOptions& options, Spawn& message);

  /// Spawns an unnamed tree of a template already spawned that way, while nothing is waiting and no
  /// handler must be called. Equivalent to the general way; returns nil and does nothing if the
  /// general way is needed.
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

  // A direct member instead of a pointer, so that code inlined into a loop need not reload a
  // pointer after each call.
  RegistryCore core_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster

#include "registry/direct_rows.h"
#include "registry/pushing.h"
#include "registry/reading.h"
#include "registry/subscribing.h"

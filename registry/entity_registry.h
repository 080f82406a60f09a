// The facade: everything that happens to entities goes through here, as a message.
//
//   registry.push(orc, Damage{...})
//     while nothing waits     it goes straight to its handler; a sink sees its type's own sealed batch      registry/pushing.h
//                             (not the first of its type, nor while somebody observes)
//     otherwise               a batch takes it, what waits is delivered, then this one                      registry/delivery/inputs.h
//   either way
//     tell                    number; InputSinks see the sealed batch                  registry/delivery/registry_core.h, input_sink.h
//     deliver                 the target's row, its handlers in order                  registry/handlers/handler.h, signature.h
//     settle                  counters, receipt
//     cascade                 what handlers wrote to their Outbox (registry/apply/outbox.h) is delivered in turn
//
// One thread at a time uses a registry; other threads reach it through the inbox. A handler must not use it: that stops the program
// and names the handler (it may ask what no message changes before its handlers return: alive, name, path, parent, children).
// Every call that makes an input throws what an InputSink throws, and then that input did not happen.
#pragma once

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

#include "registry/apply/manager.h"
#include "registry/apply/outbox.h"
#include "registry/apply/receipt.h"
#include "registry/apply/template.h"
#include "registry/apply/wrong_calls.h"
#include "registry/arithmetic.h"
#include "registry/delivery/inbox.h"
#include "registry/delivery/registry_core.h"
#include "registry/handlers/builtin_messages.h"
#include "registry/handlers/signature.h"
#include "registry/handlers/subscription.h"
#include "schema/muster.h"
#include "schema/table.h"

namespace muster {

// Each has a header of its own, for those who use it.
struct DynamicCall;     // registry/handlers/dynamic_handler.h
struct DynamicShape;    //
struct HandlerFigures;  // registry/observe/figures.h
struct MessageFigures;  //
struct PassCounters;    // registry/delivery/executor.h
class Trace;            // registry/observe/trace.h
class StateSink;        // registry/state/state.h
class StateSource;      //
struct StateError;      //
struct LoadReport;      //
class TemplateTree;     // registry/templates/template_tree.h
class Timers;           // registry/apply/timers.h
class PushedSink;       // registry/delivery/pushed_sink.h

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
  /// Warns once per process, through options.on_warning, if the file that calls this was compiled so
  /// that floats get other bits than elsewhere (`arithmetic`: what was found there).
  explicit EntityRegistry(RegistryOptions options = {}, std::uint32_t arithmetic = detail::arithmetic_here());
  ~EntityRegistry();
  EntityRegistry(const EntityRegistry&) = delete;
  EntityRegistry& operator=(const EntityRegistry&) = delete;

  /// As given, but for bounds that came with loaded state.
  const RegistryOptions& options() const noexcept;

  // --- reading: pointers and references last until the next push, flush or advance ---

  /// One array read; false of nil, stale and never issued ids.
  bool alive(Entity e) const noexcept { return storage().alive(e); }
  /// Null where the entity is not alive or lacks C. Of a tag, which has no value, only has() can be asked.
  template <ComponentType C>
  const C* find(Entity e) const noexcept;
  /// The component must be there: otherwise this stops the program with an error that names entity and component.
  template <ComponentType C>
  const C& get(Entity e) const noexcept;
  template <ComponentType C>
  bool has(Entity e) const noexcept;
  /// By run-time type: the value's bytes (none for a tag that is there: not null, not to be read), null where absent.
  const std::byte* find(Entity e, TypeId component) const noexcept;
  /// The entity's component types, ascending by id; none where it is not alive. Valid until the next input.
  std::span<const TypeId> components(Entity e) const noexcept;
  /// Calls f for every entity that has all of Cs, in row order: f(Entity, const Cs&...) or f(const Cs&...). Stops the program where f has
  /// rows come, go or move.
  template <class... Cs, class F>
  void each(F&& f) const;
  /// Calls f(Entity) for every entity in row order: depth, archetype, position. As each().
  template <class F>
  void each_entity(F&& f) const;
  std::uint64_t entity_count() const noexcept { return storage().rows(); }

  // Of an entity that is not alive: nil, 0, an empty text.
  Entity parent(Entity e) const noexcept;
  /// 0 for roots.
  std::uint32_t depth(Entity e) const noexcept;
  Entity first_child(Entity e) const noexcept;
  Entity next_sibling(Entity e) const noexcept;
  std::uint32_t child_count(Entity e) const noexcept;
  /// Empty where it has none. Valid as long as the registry.
  std::string_view name(Entity e) const noexcept;
  /// "/squad/unit~2"; an unnamed entity is shown as "#index:generation" in its place.
  std::string path(Entity e) const;
  /// The child of `parent` (nil: among the roots) of that name; nil if none.
  Entity find_child(Entity parent, std::string_view name) const noexcept;
  /// By path: names joined by `/`, `/` and `\` in names escaped by `\`; a leading `/` is allowed. Nil if none.
  Entity find_path(std::string_view path) const;

  // --- push: delivers now ---
  //
  // First what was posted is delivered, then this message, then everything that its handlers push. The receipt says what became of
  // this message: counts of targets that were handled, unhandled (alive, nobody takes it), dead or refused (with the first
  // refusal), and whether the cascade was cut short. Nothing is an error here; whoever wants to know looks at the receipt.

  /// To one entity.
  template <MessageType M>
  [[gnu::always_inline]] Receipt push(Entity target, const M& message);
  /// One payload for a span of entities. An empty span is no input.
  template <MessageType M>
  Receipt push(std::span<const Entity> targets, const M& message);
  /// To everyone who matches: a pass.
  template <MessageType M>
  Receipt push(const M& message);
  /// To the `parts` (a mask of SubtreeParts) of an entity's line.
  template <MessageType M>
  Receipt push_subtree(Entity target, std::uint64_t parts, const M& message);
  /// A table: to an entity, or (nil) to everyone who matches.
  template <TableMessageType M>
    requires NativeTable<M>
  Receipt push(Entity target, const M& message);
  template <TableMessageType M>
    requires NativeTable<M>
  Receipt push(const M& message);
  /// Batches made by a BatchBuilder from known types, or judged by the Verifier. Several behind one another are several pushes; the
  /// counts are their sums. An empty span is no input. Bytes that end inside a batch stop the program. Sinks are told the session
  /// (`author`), its request and its user; 0: the host.
  Receipt push_batch(std::span<const std::byte> batches, std::uint64_t author = 0, std::uint64_t request = 0,
                     std::uint64_t user = 0);

  // --- post: waits for the next push, flush or advance ---

  template <MessageType M>
  void post(Entity target, const M& message);
  template <MessageType M>
  void post(std::span<const Entity> targets, const M& message);
  template <MessageType M>
  void post(const M& message);
  template <MessageType M>
  void post_subtree(Entity target, std::uint64_t parts, const M& message);
  template <TableMessageType M>
    requires NativeTable<M>
  void post(Entity target, const M& message);
  /// As for push_batch.
  void post_batch(std::span<const std::byte> batches);
  /// Delivers what was posted, then what the inbox holds, then everything handlers push. The counts are sums. Where nothing waited
  /// this is no input.
  Receipt flush();

  /// Does here what an input did in another registry, as a sink was told of it there: its envelope and its bytes, of whatever kind.
  /// Where the two had the same state, handlers and options when the first of them came, this one has the same state, the same
  /// sequence and the same receipts after each push, flush and advance; a post or a batch of a lane is delivered, and what its
  /// handlers push waits for the push, flush or advance behind it. The bytes must be judged (verify_batch). Stops the program where the
  /// input is not the next one, or something was posted here; what is put into lanes here waits for a flush of one's own.
  /// Without a batch a push, a post or a batch of a lane is one that nobody kept, because its handlers could change nothing: it
  /// delivers nothing, and is an input as before.
  Receipt replay(const Envelope& recorded, std::span<const std::byte> batch);

  // --- time: the registry's clock moves when the host says so ---

  /// Posts a message that is delivered when the clock reaches `due_ns`; at once where it is past. The number is for cancel().
  template <MessageType M>
  TimerId post_at(std::uint64_t due_ns, Entity target, const M& message);
  template <MessageType M>
  TimerId post_at(std::uint64_t due_ns, const M& message);
  /// Unknown numbers, and timers that have fallen due, are ignored.
  Receipt cancel(TimerId timer) { return push(CancelTimer{.timer = timer}); }
  /// Moves the clock: what was posted is delivered, then each due time up to now + ns gets a flush of its own, the clock
  /// showing it. Does not take the inbox. The clock stops at 2^64 - 1 ns and never goes back.
  Receipt advance(std::uint64_t ns);
  std::uint64_t now_ns() const noexcept;
  /// Of the next timer; false if none waits.
  bool next_due(std::uint64_t& due_ns) const noexcept;
  /// The number that the next timer will get.
  TimerId next_timer() const noexcept;
  /// Those that wait. Valid until the next push, flush or advance.
  const Timers& timers() const noexcept;

  // --- structure, as messages; each is pushed and delivered at once ---

  /// A root without a name. It cannot be refused.
  template <ComponentType... Cs>
  Entity create(const Cs&... components);
  /// A root; nil, and nothing done, where another root has the name, or another text its hash.
  template <ComponentType... Cs>
  Entity create(std::string_view name, const Cs&... components) {
    return create_under(Entity{}, name, components...);
  }
  /// As the last child of `parent` (nil: a root); `name` may be empty. Nil, and nothing done, where it was refused (the name is
  /// taken, the parent is dead).
  template <ComponentType... Cs>
  Entity create_under(Entity parent, std::string_view name, const Cs&... components) {
    return create_named<Cs...>(parent, name, components...);
  }
  /// `count` roots without names, with the same values. Where memory fails (std::bad_alloc), some may have been made, with their values, whose
  /// ids nobody is given.
  template <ComponentType... Cs>
  std::vector<Entity> create_many(std::uint32_t count, const Cs&... components);
  /// Destroys the entity and everything below it, children first. The receipt counts it as dead where it was not alive.
  [[gnu::always_inline]] Receipt destroy(Entity e) { return destroy(e, Destroy{}); }
  /// Adds or overwrites components.
  template <ComponentType... Cs>
  Receipt set(Entity e, const Cs&... components);
  /// Refused (missing_component) where the entity lacks C.
  template <ComponentType C>
  Receipt remove(Entity e);
  /// Under `parent` (nil: to the roots), before its child `before` (nil: as the last). Refused, and nothing done, where the
  /// parent is dead, or the entity itself or below it.
  Receipt reparent(Entity e, Entity parent, Entity before = {}) {
    return push(e, Reparent{.parent = parent, .before = before});
  }
  /// An empty name takes the name away. Refused where a sibling has it, or another text its hash.
  Receipt rename(Entity e, std::string_view name);
  /// Never-used ids for another thread or a session, which may create with them without asking: `count` indices from the
  /// returned entity's on, all of generation 1. Always granted, from what was returned before where a range there is long
  /// enough. Indices end at 2^32: drawing more stops the program.
  Entity grant(std::uint32_t count, std::uint64_t author);
  /// Those of them that were not used go back: 64 and more in a row wait for later grants, shorter runs are ids that the registry
  /// gives out itself. Used ones, and ids that were never granted, are ignored; whoever had them may not create with them any more.
  void return_grant(Entity first, std::uint32_t count);
  /// How many ids a grant can have at most that costs no memory: the longest range that was returned.
  std::uint32_t returned_ids() const noexcept { return core_.state.storage.returned_ids().longest(); }
  /// Whose owners are gone after a load, in ranges: ids that were granted, not used, and are not among those that a Create,
  /// Spawn or MergeTemplate names that waits (as a timer, posted or carried over). Ascending. For a host that has loaded state
  /// and gives them back, before it grants others.
  std::vector<std::pair<Entity, std::uint32_t>> left_grants() const;

  // --- templates ---

  /// A whole tree from a template, as one message; the root gets `root` in place of, or beside, what the template gives it.
  /// The root's id (of the first tree, where options.count is more than one). Nil, and nothing done, where the template is unknown
  /// or the message was refused.
  template <ComponentType... Cs>
  Entity spawn(std::string_view what, const SpawnOptions& options = {}, const Cs&... root) {
    return spawn_with<Cs...>(what, options, root...);
  }
  /// Lays a template over a living tree, node over node by child names; missing nodes are created. `ids`, if given, receives
  /// the entities of all nodes in pre-order. Refused where the template is unknown.
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
  /// every value after a load, and now for those that are there: f(T&, Entity). The hook may read the registry.
  template <RuntimeType T>
  void add_runtime_type(std::function<void(T&, Entity)> restore = {});
  /// Destroys all values; an entity that has one keeps its presence, and gets a fresh value when the type is known again. For
  /// the plugin that brought T, before it goes. Throws SetupError while a handler takes T.
  template <RuntimeType T>
  void remove_runtime_type() {
    forget_runtime_type(TypeTraits<T>::id);
  }
  /// Forgets every runtime type whose functions `whose` knows as its own, whether handlers take it or not: for a host that unloads
  /// code. Handlers that take such a type must be gone before the next message.
  void remove_runtime_types(const std::function<bool(const RuntimeOps&)>& whose);
  /// Makes the text known to the world (a message, if it is new) and returns its hash. A hash collision with another
  /// text is refused: the result is the empty text. Servers do not have a text dropped that was interned so in this process:
  /// code that keeps a Text where the registry does not see it (a handler, a manager, a runtime component) interns it at each start.
  Text intern(std::string_view text);
  /// The bytes of a text; empty where unknown. Valid until the next push.
  std::string_view text(Text text) const noexcept;
  /// Texts in the order they came, for whoever sends them on. A place is another text's where text_drops() has changed.
  std::size_t text_count() const noexcept;
  std::string_view text_at(std::size_t i) const noexcept;
  Text text_id(std::size_t i) const noexcept;
  std::uint64_t text_bytes() const noexcept;  ///< of all of them
  std::uint64_t text_drops() const noexcept;
  /// Whether intern() was given it in this process.
  bool is_host_text(Text text) const noexcept;
  /// Forgets those of these texts that nothing of the world mentions: no component, name or template, no message that waits (posted,
  /// carried over, as a timer), no name of a handler that is off. A message, so that a replay forgets the same. What others may
  /// still mention (sessions, the host itself) the caller leaves out. What stays keeps its order.
  Receipt drop_texts(std::span<const Text> texts);

  // --- handlers ---

  /// `handler`: a function or a lambda whose first parameter is the message and whose others are the query (see
  /// registry/handlers/parameters.h). The name orders, journals and finds it; it must be unique per message type unless empty.
  /// Throws SetupError for a name taken, a contradicting order, or a handler that does more than read where its message is one that no
  /// journal keeps (registry/handlers/unkept.h); then it is not subscribed.
  template <class F>
  Subscription subscribe(std::string name, F handler, HandlerOptions options = {});
  /// A function known at compile time, `subscribe<take_damage>("game.take_damage")`: inlined into the loop over rows.
  template <auto function>
  Subscription subscribe(std::string name, HandlerOptions options = {});  // a lambda is given as an argument
  /// A subsystem's member function; the object must outlive the subscription.
  template <class C, class R, class... A>
  Subscription subscribe(std::string name, C& object, R (C::*member)(A...), HandlerOptions options = {});
  template <class C, class R, class... A>
  Subscription subscribe(std::string name, const C& object, R (C::*member)(A...) const, HandlerOptions options = {});
  /// By run-time ids. Unknown types, and writes elsewhere than self, throw SetupError.
  Subscription subscribe(std::string name, DynamicShape shape, std::function<void(const DynamicCall&)> handler,
                         HandlerOptions options = {});
  using WrongSubscriptions::subscribe;  // the last: compilers show candidates in this order
  const HandlerTable& handlers() const noexcept;
  /// Handlers of this name, of whatever message, are called or passed over from now on, those subscribed later too. A
  /// message, so it is saved.
  Receipt enable_handler(std::string_view name, bool enabled);
  /// The id under which a handler put together by run-time ids follows a change of a component: for
  /// DynamicShape::message. Throws SetupError for an unknown component.
  TypeId change_message(ChangeKind kind, TypeId component);
  /// Handlers that are subscribed from now on belong to this part of the program; 0 at first. Among those without a name the
  /// ones of a smaller part run first, whenever they came: a server numbers its plugins, so that one that is loaded again
  /// has its old place.
  void begin_part(std::uint32_t part);

  // --- passes on several workers (registry/delivery/schedule.h) ---

  /// Passes are spread over its workers from now on, with the same results; null, or one worker: the caller's thread alone.
  /// It must outlive the registry or the next call. Handlers of passes then run on several threads: what they touch besides
  /// their parameters must be named in their options (external_reads, external_writes), or be state that is their own.
  void set_executor(Executor* executor);
  const PassCounters& pass_counters() const noexcept;
  /// What is being done right now; no value: nothing. Any thread, while the registry lives; alone of all calls it may also be made while
  /// handlers run. For whoever looks for a handler that does not return.
  std::optional<AtWork> at_work() const;
  // In words; empty where the message has no handlers yet.
  /// The graph of a message's handlers as Graphviz draws it: which handler waits for which, and what for.
  std::string pass_dot(TypeId message) const;
  /// Groups of handlers which may overlap, and of each whether it may be split: over rows, or over the children of a parent.
  std::string pass_groups(TypeId message) const;
  /// Why two handlers of a message do not overlap. The same name twice: why that one is not split.
  std::string why_apart(TypeId message, std::string_view first, std::string_view second) const;

  // --- state ---

  /// A hash of everything that decides the future: rows in row order, hierarchy, ids, texts, queue, timers, clock.
  std::uint64_t hash() const;
  /// Writes all rows, what is posted and carried over too; changes nothing. A keeper of versions calls begin_version()
  /// right before each save, so that what changes later has a greater version. Not inside a handler.
  void save(StateSink& sink) const;
  /// Reads saved rows into a state aside, and puts it in the place of the one that is there. On an error, and if the source
  /// throws, the registry is as it was. Values that no bool or enum of their fields has are put right, and the report names
  /// them: what was saved can be loaded.
  ///
  /// What is wiring stays: handlers and subscriptions, managers, sinks, preservers, executor, lanes and what lies in them.
  /// Managers are given what was saved of them, or what they had when they were added; if one refuses or throws, those that
  /// were given theirs before get back what they had. Then restore hooks are called. A load is no input: sinks are not told.
  /// Texts that intern() gave before are to be interned again, as at a start. Takes memory for both states.
  [[nodiscard]] std::expected<LoadReport, StateError> load(StateSource& source);
  /// An empty state for this registry, with the bounds of cascades that its options had.
  RegistryState make_state() const;
  /// Exchanges the registry's state with another one that it made or had before, as load() does with the one it read, but
  /// the values of runtime components stay with their state, and no restore hook is called. What managers hold goes by what
  /// they save. On an error, which names a manager, everything is as it was. Takes time for each archetype and handler, not
  /// for rows, unless a preserver reads them.
  [[nodiscard]] std::expected<void, StateError> swap_state(RegistryState& other);
  /// Whether nothing was created, pushed, posted or loaded yet.
  bool is_new() const noexcept;
  /// Changes since a version: every row's column carries the version of its last change. See Storage::touch.
  std::uint64_t version() const noexcept;
  /// Everything that changes from now on gets a version greater than the one returned.
  std::uint64_t begin_version() noexcept;
  /// Told before columns change, until it is removed: a reader of the past. Several read at once, each from a moment of its own. It must
  /// outlive the registry or be removed. Not inside a handler.
  void add_preserver(ColumnPreserver& preserver);
  void remove_preserver(ColumnPreserver& preserver) noexcept;

  // --- neighbours: sinks, other threads, owners of data outside ---

  /// Sinks are called in the order they were added. A sink must be removed before it goes.
  void add_sink(InputSink& sink);
  void remove_sink(InputSink& sink) noexcept;
  /// Who sees what handlers push and timers deliver, when its turn has come; null: nobody, and then it costs nothing. The sink must
  /// outlive the registry or the next call.
  void set_pushed_sink(PushedSink* sink) noexcept;
  /// Where other threads put batches, which flush() takes.
  Inbox& inbox() noexcept;
  /// Of the last input that was told.
  std::uint64_t sequence() const noexcept;
  const RegistryCounters& counters() const noexcept;
  /// For who replays: what was counted up to here where it was recorded, messages that nobody kept among them.
  void set_counters(const RegistryCounters& recorded) noexcept { core_.state.counters = recorded; }
  /// Bytes of memory that the queues of messages hold, used or not. After a storm most of it is given back.
  std::size_t memory_waiting() const noexcept;
  /// The manager must be removed before it goes. Throws SetupError where the name is taken, and where the manager refuses the
  /// state that was saved or left under this name, which it is given at once (or by load()).
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
  /// For readers inside Muster (state, replication); not a way to write.
  const Storage& storage() const noexcept { return core_.state.storage; }
  const Hierarchy& hierarchy() const noexcept { return core_.state.hierarchy; }

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

 private:
  /// intern() of a name that the registry keeps itself. Where that is refused, `refused` is told of it.
  Text intern_name(std::string_view text, Receipt* refused = nullptr);
  friend class Subscription;
  friend class StateWriter;
  friend struct ConversionsOf;  // registry/state/swap_state.cc
  struct Impl;
  struct Direct;  // registry/direct_rows.h
  /// Small messages by value: they need not be in memory for the call that seldom happens.
  template <class M>
  using Passed = std::conditional_t<sizeof(M) <= 16, M, const M&>;

  TypesKnown& known() noexcept { return core_.types; }
  Arena& input() noexcept { return core_.state.input; }
  void check_outside() const noexcept {
    if (core_.inside != Inside::nobody) [[unlikely]]
      used_inside_handler();
  }
  /// Stops the program inside handlers: what they read their parameters declare, so that passes run alike on any workers.
  void check_reading() const noexcept {
    if (core_.inside != Inside::nobody && core_.inside != Inside::readers) [[unlikely]]
      used_inside_handler();
  }
  [[noreturn]] void used_inside_handler() const noexcept;
  /// Stops the program: get() was asked for what is not there.
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
  template <MessageType M>
  Receipt push_builtin(Entity target, const M& message);
  template <MessageType M, ComponentType... Cs>
  Receipt push_rows(Entity target, const M& message, const Cs&... components);
  template <MessageType M>
  std::byte* post_first(Entity target, Passed<M> message);
  template <MessageType M>
  std::byte* post_slowly(Entity target, Passed<M> message);
  // Components by value: what a caller refers to may be a row that moves while what waits is delivered.
  template <ComponentType... Cs>
  Entity create_named(Entity parent, std::string_view name, Cs... components);
  template <ComponentType... Cs>
  Entity spawn_with(std::string_view what, const SpawnOptions& options, Cs... root);
  /// A push while nothing waits, once it was told. Equals Inputs::push.
  Receipt push_direct(MessageRoute& route, Entity target, void* message);
  /// `place` is what Storage::locate() gives. Null where it is no row, or nobody handles the route's message for this row.
  const KnownChunk* learn_chunk(MessageRoute& route, std::uint64_t place);
  template <MessageType M>
  void tell_pushed(InputSink& sink, MessageRoute& route, Entity target, const M& message);
  /// The rest of push_direct, where no handler took the message, a handler pushed, or a sink wants receipts. What they give is in memory
  /// of the registry, so that a caller's receipt need not be in memory.
  const Receipt& end_untaken_push(std::uint64_t place);
  const Receipt& end_handled_push();
  /// By value, so that the caller's receipt need not be in memory.
  void tell_receipt(const Envelope& envelope, Receipt receipt);
  /// To be called where something is caught: what a handler threw is the end of the program.
  [[noreturn]] void handler_failed();

  // --- registry/delivery/inputs.h ---
  Receipt deliver_pushed();
  /// New ids are reserved for the batch's targets and written to `ids`. `waited`: Inputs::wait_over() was called just before.
  Receipt deliver_new(std::span<Entity> ids, bool waited = false);
  Receipt push_sealed(std::span<const std::byte> batch);
  TimerId post_timed(std::uint64_t due_ns, BatchView inner);
  /// Where the ids of all nodes will be, when nothing waits any more; empty where there is no such template.
  std::span<Entity> prepare_spawn(std::string_view what, const SpawnOptions& options, Spawn& message);

  /// A tree without a name while nothing waits and nobody is told, of a template that was spawned like that before. Nil, and nothing done,
  /// where it has to go the general way; equals that.
  Entity spawn_direct(std::string_view what, const SpawnOptions& options);

  // --- registry/direct_rows.h ---
  template <ComponentType... Cs>
  Entity create_first(const Cs&... components);
  template <ComponentType... Cs>
  std::vector<Entity> create_many_queued(std::uint32_t count, const Cs&... components);
  std::uint32_t move_recent(MoveSite& site, Entity e, std::uint64_t place);
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
  void forget_runtime_type(TypeId type);

  // Here and not behind a pointer: what is inlined into a loop need not look for it again after each call.
  RegistryCore core_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster

#include "registry/direct_rows.h"
#include "registry/pushing.h"
#include "registry/reading.h"
#include "registry/subscribing.h"

// The calls that hosts (servers, savers, replays, replicas) need in addition to those of
// EntityRegistry. registry.host() returns a RegistryHost, or a RegistryReader if the registry is
// const. Both merely refer to the registry and cost nothing to create. They may be used only on the
// registry's thread and during the registry's lifetime. Handlers must not use them.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "registry/apply/manager.h"
#include "registry/apply/timers.h"
#include "registry/delivery/inbox.h"
#include "registry/entity_registry.h"
#include "registry/storage/text_table.h"

namespace muster {

class EditLog;     // registry/apply/edit_log.h
class PushedSink;  // registry/delivery/pushed_sink.h

/// The calls that do not change anything.
class RegistryReader {
 public:
  explicit RegistryReader(const EntityRegistry& registry) noexcept : read_(registry) {}

  // --- inputs and time ---

  /// True if nothing has been created, pushed, posted, or loaded yet.
  bool is_new() const noexcept;
  const RegistryCounters& counters() const noexcept { return read_.core_.state.counters; }
  /// Returns the limits of the current state on cascades.
  const CascadeBounds& bounds() const noexcept { return read_.core_.state.bounds; }
  /// Returns the number of bytes of the messages that a cut cascade carries over.
  std::size_t carried_bytes() const noexcept { return read_.core_.state.cascade.bytes(); }
  /// True if a cut cascade carries messages over.
  bool carries() const noexcept { return !read_.core_.state.cascade.empty(); }
  /// Returns the pending timers. Valid until the next push, flush, or advance.
  const Timers& timers() const noexcept { return read_.core_.state.timers; }
  /// Returns the number that the next timer will receive.
  TimerId next_timer() const noexcept { return read_.core_.state.next_timer; }
  /// Returns the number of bytes that the message queues occupy, whether or not they are used. Once
  /// a queue is empty, it keeps 4 MiB, or as much as both of its last two bursts needed.
  std::size_t memory_waiting() const noexcept;
  /// Returns the call in progress, if any. Used to find a handler that does not return. May be
  /// called from any thread during the lifetime of the registry, even while handlers are running.
  std::optional<AtWork> at_work() const;

  // --- entities, texts, handlers, managers ---

  const Storage& storage() const noexcept { return read_.core_.state.storage; }
  const Hierarchy& hierarchy() const noexcept { return read_.core_.state.hierarchy; }
  /// Returns the entity's component types in ascending order, or an empty span if the entity is not
  /// alive. Valid until the next input.
  std::span<const TypeId> components(Entity e) const noexcept;
  /// Returns the texts, in the order in which they were added.
  const TextTable& texts() const noexcept { return read_.core_.state.texts; }
  /// True if the text was passed to intern() in this process.
  bool is_host_text(Text text) const noexcept;
  const HandlerTable& handlers() const noexcept { return read_.core_.types.handlers(); }
  /// Returns the lines that handlers wrote (registry/observe/log.h). The log may be read on any
  /// thread during the lifetime of the registry.
  const GameLog& log() const noexcept;
  /// Returns the states of absent managers, keyed by the hash64 of their names. Intended for hosts
  /// that replace managers and may have to undo the replacement.
  const ManagerStates& waiting_managers() const noexcept;
  /// Calls take(manager name, component) for each component that a manager holds for a living
  /// entity, in the order of manager names.
  void describe(Entity e, const std::function<void(std::string_view, const Held&)>& take) const;
  bool has_managers() const noexcept;
  /// Calls Manager::save_entity() of each manager for a living entity, in the order of manager
  /// names. Calls lost(manager name) for each one that holds something for the entity and cannot
  /// save it.
  void save_held(Entity e, BatchWriter& to, const std::function<void(std::string_view)>& lost) const;
  /// Returns the size of the largest grant that does not need new memory, which is the length of
  /// the longest returned range.
  std::uint32_t returned_ids() const noexcept { return storage().returned_ids().longest(); }
  /// Returns the granted ids that have no owner after a load: those that are unused and are not
  /// named by a pending Create, Spawn, or MergeTemplate. The ranges are in ascending order. After a
  /// load, hosts must return these ids before they grant others.
  std::vector<std::pair<Entity, std::uint32_t>> left_grants() const;

  // --- templates ---

  /// Returns null if the template is unknown. Other threads may share the template to build batches
  /// with append_spawn.
  std::shared_ptr<const Template> find_template(std::string_view name) const;
  /// Returns the original definition, from which other templates can be derived
  /// (TemplateTree::read). Returns no value if the template is unknown. Valid until the next push.
  std::optional<DefineTemplateView> template_definition(std::string_view name) const;
  /// Returns the batch of the DefineTemplate message, or an empty span if the template is unknown.
  /// Valid until the next push.
  std::span<const std::byte> template_batch(std::string_view name) const;
  /// Returns the names of all templates, sorted by their hashes.
  std::vector<std::string_view> template_names() const;
  std::size_t template_count() const noexcept;

  // --- state ---

  /// Creates an empty state for this registry, with the cascade limits from its options.
  RegistryState make_state() const;
  /// Returns how many times the state has been replaced, by a load or by swap_state(). Code that
  /// keeps numbers of archetypes, uids of chunks, or positions of texts must forget them if the
  /// count has changed.
  std::uint64_t swaps() const noexcept;

 private:
  const EntityRegistry& read_;
};

/// Extends RegistryReader with calls that change the registry. They must not be used inside a
/// handler or sink, except for inbox(), and for remove_sink and set_pushed_sink inside a sink. If
/// they are, the program is stopped. If an InputSink throws an exception, the call that made the
/// input propagates the exception, and the input does not take place.
class RegistryHost : public RegistryReader {
 public:
  explicit RegistryHost(EntityRegistry& registry) noexcept : RegistryReader(registry), registry_(registry) {}

  // --- inputs ---

  /// Pushes batches that a BatchBuilder made from known types, or that the Verifier has checked.
  /// Consecutive batches are separate pushes, and the counts in the receipt are totals. An empty
  /// span is not an input. Stops the program if the bytes end inside a batch. Sinks receive `by` in
  /// the envelope; by default, the sender is the host.
  Receipt push_batch(std::span<const std::byte> batches, const Sender& by = {});
  /// Posts batches. The batches must meet the same conditions as those passed to push_batch().
  void post_batch(std::span<const std::byte> batches);
  /// Repeats an input of another registry, of any kind, from the envelope and bytes that a sink
  /// received there. If both registries had the same state, handlers, and options before the first
  /// such input, they have the same state, sequence, and receipts after each push, flush, and
  /// advance.
  ///
  /// A replayed post or lane batch is delivered, but the messages that its handlers post remain
  /// pending until the next push, flush, or advance. The bytes must have been verified
  /// (verify_batch). Stops the program if the input is not the next one, or if anything was posted
  /// to this registry. Batches in this registry's lanes wait for a flush(). If `batch` is empty for
  /// a push, post, or lane batch, the input was not recorded because its handlers could not change
  /// anything. In that case, nothing is delivered, but the call counts as an input.
  ///
  /// The cuts that a sink received (InputSink::on_cut) must be passed to expect_cut() before: those
  /// with `resumed` 0 before the replay of their input, and the others before the replay of the
  /// next input. If `timed` is true, the registry's own limit on time applies instead, so the
  /// results may be different.
  Receipt replay(const Envelope& recorded, std::span<const std::byte> batch, bool timed = false);
  /// Makes replays end a cascade where time ended it. Passing a cut again has no effect.
  void expect_cut(const CascadeCut& cut);
  /// Begins a turn: from now until the next call, all cascades together may take
  /// RegistryOptions::cascade_ns_max. Until the first call, each run of a cascade may take that
  /// time. Intended for hosts that make several calls for one tick.
  void begin_turn() noexcept;
  /// Sets the state's limits on cascades and on what they carry over. The change is not an input,
  /// so a host that records inputs must begin again with a new checkpoint.
  void set_bounds(const CascadeBounds& bounds) noexcept;
  /// Sets the counters to the values recorded at this point, which also count messages that were
  /// not recorded themselves. Intended for replays.
  void set_counters(const RegistryCounters& recorded) noexcept;
  /// Returns the inbox. Other threads put batches into it, and flush() delivers them.
  Inbox& inbox() noexcept;
  /// Adds a sink. Sinks are called in the order in which they were added. A sink must be removed
  /// before it is destroyed.
  void add_sink(InputSink& sink);
  /// Removes a sink. A sink may remove itself or another sink while it is called.
  void remove_sink(InputSink& sink) noexcept;
  /// Sets the sink that sees messages from handlers and timers as they are delivered. Null removes
  /// the sink; there is no cost without a sink. The sink must outlive the registry or remain valid
  /// until the next call.
  void set_pushed_sink(PushedSink* sink) noexcept;
  /// Sets the log that sees the edits of sessions as they are applied. Null removes the log; there
  /// is no cost without a log. The log must outlive the registry or remain valid until the next
  /// call.
  void set_edit_log(EditLog* log) noexcept;

  // --- ids and texts ---

  /// Grants never-used ids to another thread or a session, which can then create entities without a
  /// round trip. The grant consists of `count` indices, starting with that of the returned entity,
  /// all with generation 1. Reuses a returned range if one is long enough. Always succeeds, except
  /// that the program is stopped once all 2^32 indices are used up.
  Entity grant(std::uint32_t count, std::uint64_t session);
  /// Takes back the unused ids of a grant. Runs of 64 or more are held for later grants; the
  /// registry itself uses up shorter runs. Ids that are used or were never granted are ignored. The
  /// grantee must not create any further entities with these ids.
  void return_grant(Entity first, std::uint32_t count);
  /// Drops those of the given texts that are not referenced by components, names, templates,
  /// pending messages (posted, carried, or timed), or disabled handlers. The drop is a message, so
  /// a replay also drops the texts. The caller must omit texts that are still referenced elsewhere,
  /// such as by sessions or the host. The order of the remaining texts does not change.
  Receipt drop_texts(std::span<const Text> texts);

  // --- plugins and workers ---

  /// From now on, spreads passes over the executor's workers, with the same results. If `executor`
  /// is null or has a single worker, the caller's thread runs passes. RegistryOptions::executor
  /// sets the initial executor. The executor must outlive the registry or remain valid until the
  /// next call.
  ///
  /// Handlers of passes then run on several threads. All data that a handler accesses in addition
  /// to its parameters must be named in its options (external_reads, external_writes) or must be
  /// private to it. See registry/delivery/schedule.h.
  void set_executor(Executor* executor);
  /// Assigns handlers that are subscribed from now on to this part of the program. The initial part
  /// is 0. Unnamed handlers run in the order of their parts, regardless of when they were
  /// subscribed. A server numbers its plugins, so that a reloaded plugin returns to its old
  /// position.
  void begin_part(std::uint32_t part);
  /// Returns an id to use as DynamicShape::message, so that a handler defined by run-time ids can
  /// follow the changes of a component. Throws SetupError if the component is unknown.
  TypeId change_message(ChangeKind kind, TypeId component);
  /// Forgets every runtime type for whose functions `whose` returns true, even if handlers use the
  /// type. Intended for hosts that unload code. The handlers must be ended before the next message.
  void remove_runtime_types(const std::function<bool(const RuntimeOps&)>& whose);
  /// Destroys all values of T. Must be called before the plugin that defines T is unloaded. The
  /// component remains present in its entities, which receive new values when the type is
  /// registered again. Throws SetupError if a handler uses T.
  template <RuntimeType T>
  void remove_runtime_type() {
    forget_runtime_type(TypeTraits<T>::id);
  }
  void set_waiting_managers(ManagerStates states);

  // --- state ---

  /// Exchanges the registry's state with another state that the registry created or had earlier.
  /// Unlike EntityRegistry::load(), leaves the values of runtime components in their state and does
  /// not call restore hooks. Managers receive their saved state. On failure, the error names a
  /// manager, and nothing has changed. The time depends on the number of archetypes and handlers,
  /// not on the number of rows, unless a preserver reads the rows.
  [[nodiscard]] std::expected<void, StateError> swap_state(RegistryState& other);
  /// Like EntityRegistry::load(), but the registry may have been in use, and its sequence goes on.
  [[nodiscard]] std::expected<LoadReport, StateError> restore(StateSource& source);
  /// Continues with the sequence number after `sequence`, unless the current one is higher. Used
  /// after a return to a moment, so that no sequence number is given to two inputs.
  void raise_sequence(std::uint64_t sequence) noexcept;
  /// Starts a new version. Later changes receive a version greater than the one returned.
  std::uint64_t begin_version() noexcept {
    registry_.check_outside();
    return registry_.core_.state.storage.begin_version();
  }
  /// Adds a preserver, which is called before columns change, so that it can read earlier values.
  /// Several preservers may be active at once, each reading values as of a different time. A
  /// preserver must be removed before it is destroyed, or must outlive the registry.
  void add_preserver(ColumnPreserver& preserver) {
    registry_.check_outside();
    registry_.core_.state.storage.add_preserver(preserver);
  }
  void remove_preserver(ColumnPreserver& preserver) noexcept {
    registry_.check_outside();
    registry_.core_.state.storage.remove_preserver(preserver);
  }

 private:
  friend class EntityRegistry;

  void forget_runtime_type(TypeId type);
  std::expected<LoadReport, StateError> load_from(StateSource& source, std::uint64_t sequence_min);
  /// Stops the program if a handler is being called.
  void check_no_handler() const noexcept;

  EntityRegistry& registry_;
};

inline RegistryHost EntityRegistry::host() noexcept { return RegistryHost(*this); }
inline RegistryReader EntityRegistry::host() const noexcept { return RegistryReader(*this); }

}  // namespace muster

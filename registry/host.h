// What a host needs of a registry besides the calls of EntityRegistry: servers, savers, replays,
// replicas. registry.host() gives a RegistryHost, or a RegistryReader if the registry is const.
// Both only refer to the registry, cost nothing to make, and may be used as long as it exists, on
// its thread. Handlers must not use them.
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

/// The calls that change nothing.
class RegistryReader {
 public:
  explicit RegistryReader(const EntityRegistry& registry) noexcept : read_(registry) {}

  // --- inputs and time ---

  /// True if nothing has been created, pushed, posted or loaded yet.
  bool is_new() const noexcept;
  const RegistryCounters& counters() const noexcept { return read_.core_.state.counters; }
  /// The pending timers. Valid until the next push, flush or advance.
  const Timers& timers() const noexcept { return read_.core_.state.timers; }
  /// The number that the next timer will get.
  TimerId next_timer() const noexcept { return read_.core_.state.next_timer; }
  /// Bytes held by the message queues, used or not. Most of it is released after a burst.
  std::size_t memory_waiting() const noexcept;
  /// The call in progress, or no value, to find a handler that does not return. May be called from
  /// any thread during the registry's lifetime, even while handlers run.
  std::optional<AtWork> at_work() const;

  // --- entities, texts, handlers, managers ---

  const Storage& storage() const noexcept { return read_.core_.state.storage; }
  const Hierarchy& hierarchy() const noexcept { return read_.core_.state.hierarchy; }
  /// The entity's component types, ascending by id; empty if not alive. Valid until the next input.
  std::span<const TypeId> components(Entity e) const noexcept;
  /// The texts, in the order of arrival.
  const TextTable& texts() const noexcept { return read_.core_.state.texts; }
  /// True if the text was passed to intern() in this process.
  bool is_host_text(Text text) const noexcept;
  const HandlerTable& handlers() const noexcept { return read_.core_.types.handlers(); }
  /// The states of absent managers, by hash64 of their names; for hosts that exchange managers and
  /// may have to go back.
  const ManagerStates& waiting_managers() const noexcept;
  /// Calls f(manager name, component) for a living entity's data in managers, in order of names.
  void describe(Entity e, const std::function<void(std::string_view, const Held&)>& take) const;
  /// The largest grant that needs no new memory: the length of the longest returned range.
  std::uint32_t returned_ids() const noexcept { return storage().returned_ids().longest(); }
  /// Granted ids that a load left without an owner: unused, and not named by a waiting Create,
  /// Spawn or MergeTemplate. Ascending ranges. After a load, hosts return them before granting
  /// others.
  std::vector<std::pair<Entity, std::uint32_t>> left_grants() const;

  // --- templates ---

  /// Null if unknown. Other threads may share it to make batches with append_spawn.
  std::shared_ptr<const Template> find_template(std::string_view name) const;
  /// The original definition, for deriving other templates (TemplateTree::read). Absent if unknown.
  /// Valid until the next push.
  std::optional<DefineTemplateView> template_definition(std::string_view name) const;
  /// The DefineTemplate message's batch; empty if unknown. Valid until the next push.
  std::span<const std::byte> template_batch(std::string_view name) const;
  /// Sorted by the hash of their names.
  std::vector<std::string_view> template_names() const;
  std::size_t template_count() const noexcept;

  // --- state ---

  /// Makes an empty state for this registry, with the cascade bounds of its options.
  RegistryState make_state() const;

 private:
  const EntityRegistry& read_;
};

/// The calls of a RegistryReader, and those that change the registry. Calls that make an input
/// throw what an InputSink throws; the input then has not happened.
class RegistryHost : public RegistryReader {
 public:
  explicit RegistryHost(EntityRegistry& registry) noexcept : RegistryReader(registry), registry_(registry) {}

  // --- inputs ---

  /// Pushes batches made by a BatchBuilder from known types, or checked by the Verifier.
  /// Consecutive batches are separate pushes; the receipt has the sums of their counts. An empty
  /// span is not an input. Stops the program if the bytes end inside a batch. Sinks see the session
  /// (`author`; 0: the host), its request and its user.
  Receipt push_batch(std::span<const std::byte> batches, std::uint64_t author = 0, std::uint64_t request = 0,
                     std::uint64_t user = 0);
  /// Posts what push_batch() accepts.
  void post_batch(std::span<const std::byte> batches);
  /// Repeats an input of another registry from the envelope and the bytes that a sink received
  /// there, whatever the kind. If both registries had the same state, handlers and options before
  /// the first of these inputs, this one has the same state, sequence and receipts after each push,
  /// flush and advance. A replayed post or lane batch is delivered, and its handlers' pushes wait
  /// for the next push, flush or advance. The bytes must have been verified (verify_batch). Stops
  /// the program if the input is not the next one or if anything was posted here; batches in this
  /// registry's lanes wait for a flush(). Without a batch, a push, post or lane batch is one that
  /// was not recorded because its handlers could change nothing. It delivers nothing, but counts as
  /// an input.
  Receipt replay(const Envelope& recorded, std::span<const std::byte> batch);
  /// For replays: sets the counters recorded at this point, including unrecorded messages.
  void set_counters(const RegistryCounters& recorded) noexcept { registry_.core_.state.counters = recorded; }
  /// The inbox where other threads put batches for flush().
  Inbox& inbox() noexcept;
  /// Sinks are called in the order they were added. A sink must be removed before it is destroyed.
  void add_sink(InputSink& sink);
  void remove_sink(InputSink& sink) noexcept;
  /// Sets the sink that sees messages pushed by handlers and timers as they are delivered; null
  /// (free of cost): none. It must outlive the registry or the next call.
  void set_pushed_sink(PushedSink* sink) noexcept;
  /// Sets the log that sees the edits of sessions as they are applied; null (free of cost): none. It
  /// must outlive the registry or the next call.
  void set_edit_log(EditLog* log) noexcept;

  // --- ids and texts ---

  /// Grants never-used ids to another thread or a session, which can then create entities without
  /// asking: `count` indices starting at the returned entity's, all of generation 1. Always
  /// succeeds, and reuses a returned range that is long enough. Stops the program once 2^32 indices
  /// are used up.
  Entity grant(std::uint32_t count, std::uint64_t author);
  /// Returns the unused ids of a grant. Runs of 64 or more are kept for later grants; the registry
  /// itself uses up shorter runs. Ids that are used or were never granted are ignored. The grantee
  /// may no longer create with these ids.
  void return_grant(Entity first, std::uint32_t count);
  /// Forgets those of these texts that are not referenced by components, names, templates, waiting
  /// messages (posted, carried over, timers) or disabled handlers. This is a message, so a replay
  /// forgets them too. The caller must leave out texts that are still referenced elsewhere (by
  /// sessions or the host). The order of the remaining texts is unchanged.
  Receipt drop_texts(std::span<const Text> texts);

  // --- plugins and workers ---

  /// Spreads passes over the executor's workers from now on, with the same results; with null or
  /// one worker, the caller's thread runs them. RegistryOptions::executor sets the first one. The
  /// executor must outlive the registry or the next call. Handlers of passes then run on several
  /// threads: whatever they touch besides their parameters must be named in their options
  /// (external_reads, external_writes) or be private to them. See registry/delivery/schedule.h.
  void set_executor(Executor* executor);
  /// Assigns handlers that are subscribed from now on to this part of the program; 0 initially.
  /// Unnamed handlers run in the order of their parts, whenever they were subscribed: a server
  /// numbers its plugins so that a reloaded plugin gets its old position.
  void begin_part(std::uint32_t part);
  /// The id for DynamicShape::message that lets a handler defined by run-time ids follow a
  /// component's changes. Throws SetupError for an unknown component.
  TypeId change_message(ChangeKind kind, TypeId component);
  /// Forgets every runtime type for whose functions `whose` returns true, even if handlers use it:
  /// for a host that unloads code. Those handlers must be gone before the next message.
  void remove_runtime_types(const std::function<bool(const RuntimeOps&)>& whose);
  /// Destroys all values of T before the plugin defining it is unloaded. Entities keep their
  /// presence and get fresh values when the type returns. Throws SetupError if a handler uses T.
  template <RuntimeType T>
  void remove_runtime_type() {
    forget_runtime_type(TypeTraits<T>::id);
  }
  void set_waiting_managers(ManagerStates states);

  // --- state ---

  /// Exchanges the registry's state with another one that it made or had before, like
  /// EntityRegistry::load(), but values of runtime components stay with their state and restore
  /// hooks are not called. Managers receive their saved state. On an error, which names a manager,
  /// everything is unchanged. Takes time per archetype and handler, not per row, unless a preserver
  /// reads the rows.
  [[nodiscard]] std::expected<void, StateError> swap_state(RegistryState& other);
  /// Starts a new version: later changes get a version greater than the one returned.
  std::uint64_t begin_version() noexcept { return registry_.core_.state.storage.begin_version(); }
  /// Adds a reader of the past, called before columns change. Several may read at once, each from
  /// its own moment. It must be removed or outlive the registry. Not for use inside a handler.
  void add_preserver(ColumnPreserver& preserver) { registry_.core_.state.storage.add_preserver(preserver); }
  void remove_preserver(ColumnPreserver& preserver) noexcept {
    registry_.core_.state.storage.remove_preserver(preserver);
  }

 private:
  void forget_runtime_type(TypeId type);

  EntityRegistry& registry_;
};

inline RegistryHost EntityRegistry::host() noexcept { return RegistryHost(*this); }
inline RegistryReader EntityRegistry::host() const noexcept { return RegistryReader(*this); }

}  // namespace muster

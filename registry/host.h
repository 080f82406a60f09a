// The calls that hosts (servers, savers, replays, replicas) need in addition to those of
// EntityRegistry. registry.host() returns a RegistryHost, or a RegistryReader if the registry is
// const. Both only refer to the registry, cost nothing to make, and may be used on its thread
// during its lifetime. Handlers must not use them.
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

/// Calls that change nothing.
class RegistryReader {
 public:
  explicit RegistryReader(const EntityRegistry& registry) noexcept : read_(registry) {}

  // --- inputs and time ---

  /// True if nothing has been created, pushed, posted or loaded yet.
  bool is_new() const noexcept;
  const RegistryCounters& counters() const noexcept { return read_.core_.state.counters; }
  /// The pending timers. Valid until the next push, flush or advance.
  const Timers& timers() const noexcept { return read_.core_.state.timers; }
  /// Returns the number that the next timer will get.
  TimerId next_timer() const noexcept { return read_.core_.state.next_timer; }
  /// Returns the number of bytes held by the message queues, whether used or not. Most of them are
  /// released after a burst.
  std::size_t memory_waiting() const noexcept;
  /// Returns the call in progress, if any; used to find a handler that does not return. May be
  /// called from any thread during the registry's lifetime, even while handlers run.
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
  /// The states of absent managers, by hash64 of their names. For hosts that replace managers and
  /// may have to undo the replacement.
  const ManagerStates& waiting_managers() const noexcept;
  /// Calls take(manager name, component) for each component of a living entity that a manager
  /// holds, in order of manager names.
  void describe(Entity e, const std::function<void(std::string_view, const Held&)>& take) const;
  /// Returns the largest grant that needs no new memory: the length of the longest returned range.
  std::uint32_t returned_ids() const noexcept { return storage().returned_ids().longest(); }
  /// Returns the granted ids that a load left without an owner: those that are unused and not named
  /// by a waiting Create, Spawn or MergeTemplate. The ranges are ascending. After a load, hosts
  /// return these ids before granting others.
  std::vector<std::pair<Entity, std::uint32_t>> left_grants() const;

  // --- templates ---

  /// Returns null if unknown. Other threads may share the template to make batches with
  /// append_spawn.
  std::shared_ptr<const Template> find_template(std::string_view name) const;
  /// Returns the original definition, for deriving other templates (TemplateTree::read), or no
  /// value if unknown. Valid until the next push.
  std::optional<DefineTemplateView> template_definition(std::string_view name) const;
  /// Returns the batch of the DefineTemplate message; empty if unknown. Valid until the next push.
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

/// Adds calls that change the registry to those of a RegistryReader. If an InputSink throws, calls
/// that make an input pass the exception on, and the input has not happened.
class RegistryHost : public RegistryReader {
 public:
  explicit RegistryHost(EntityRegistry& registry) noexcept : RegistryReader(registry), registry_(registry) {}

  // --- inputs ---

  /// Pushes batches made by a BatchBuilder from known types, or checked by the Verifier.
  /// Consecutive batches are separate pushes; the receipt has the sums of their counts. An empty
  /// span is not an input. Stops the program if the bytes end inside a batch. Sinks receive the
  /// session (`author`, or 0 for the host), its request and its user.
  Receipt push_batch(std::span<const std::byte> batches, std::uint64_t author = 0, std::uint64_t request = 0,
                     std::uint64_t user = 0);
  /// Posts batches, under the same conditions as push_batch().
  void post_batch(std::span<const std::byte> batches);
  /// Repeats an input of another registry, of any kind, from the envelope and the bytes that a sink
  /// received there. If both registries had the same state, handlers and options before the first
  /// of these inputs, they have the same state, sequence and receipts after each push, flush and
  /// advance. A replayed post or lane batch is delivered, and its handlers' pushes wait for the
  /// next push, flush or advance. The bytes must have been verified (verify_batch). Stops the
  /// program if the input is not the next one or if anything was posted here; batches in this
  /// registry's lanes wait for a flush(). A push, post or lane batch whose `batch` is empty was not
  /// recorded, because its handlers could change nothing. It delivers nothing, but counts as an
  /// input.
  Receipt replay(const Envelope& recorded, std::span<const std::byte> batch);
  /// Sets the counters to those recorded at this point, which include unrecorded messages. For
  /// replays.
  void set_counters(const RegistryCounters& recorded) noexcept { registry_.core_.state.counters = recorded; }
  /// Returns the inbox, into which other threads put batches for flush().
  Inbox& inbox() noexcept;
  /// Sinks are called in the order they were added. A sink must be removed before it is destroyed.
  void add_sink(InputSink& sink);
  void remove_sink(InputSink& sink) noexcept;
  /// Sets the sink that sees messages pushed by handlers and timers as they are delivered. Null
  /// means no sink, which costs nothing. The sink must outlive the registry or the next call.
  void set_pushed_sink(PushedSink* sink) noexcept;
  /// Sets the log that sees the edits of sessions as they are applied. Null means no log, which
  /// costs nothing. The log must outlive the registry or the next call.
  void set_edit_log(EditLog* log) noexcept;

  // --- ids and texts ---

  /// Grants never-used ids to another thread or a session, which can then create entities without a
  /// round trip: `count` indices starting with that of the returned entity, all of generation 1.
  /// Reuses a returned range if one is long enough. Always succeeds, except that the program stops
  /// once all 2^32 indices are used up.
  Entity grant(std::uint32_t count, std::uint64_t author);
  /// Returns the unused ids of a grant. Keeps runs of 64 or more for later grants; the registry
  /// itself uses up shorter runs. Ignores ids that are used or were never granted. The grantee may
  /// no longer create entities with these ids.
  void return_grant(Entity first, std::uint32_t count);
  /// Drops each of these texts that is not referenced by components, names, templates, waiting
  /// messages (posted, carried over, timers) or disabled handlers. This is a message, so a replay
  /// drops the texts too. The caller must leave out texts that are still referenced elsewhere (by
  /// sessions or the host). The order of the remaining texts is unchanged.
  Receipt drop_texts(std::span<const Text> texts);

  // --- plugins and workers ---

  /// Spreads passes over the executor's workers from now on, with the same results; with null or
  /// one worker, the caller's thread runs them. RegistryOptions::executor sets the initial
  /// executor. The executor must outlive the registry or the next call. Handlers of passes then run
  /// on several threads: all data that a handler accesses besides its parameters must be named in
  /// its options (external_reads, external_writes) or be private to it. See
  /// registry/delivery/schedule.h.
  void set_executor(Executor* executor);
  /// Assigns handlers that are subscribed from now on to this part of the program; 0 initially.
  /// Unnamed handlers run in the order of their parts, regardless of when they were subscribed. A
  /// server numbers its plugins, so a reloaded plugin gets its old position.
  void begin_part(std::uint32_t part);
  /// Returns the id for DynamicShape::message with which a handler defined by run-time ids follows
  /// a component's changes. Throws SetupError for an unknown component.
  TypeId change_message(ChangeKind kind, TypeId component);
  /// Forgets every runtime type for whose functions `whose` returns true, even if handlers use the
  /// type. For hosts that unload code. The handlers must end before the next message.
  void remove_runtime_types(const std::function<bool(const RuntimeOps&)>& whose);
  /// Destroys all values of T before the plugin defining it is unloaded. Entities keep their
  /// presence and get fresh values when the type returns. Throws SetupError if a handler uses T.
  template <RuntimeType T>
  void remove_runtime_type() {
    forget_runtime_type(TypeTraits<T>::id);
  }
  void set_waiting_managers(ManagerStates states);

  // --- state ---

  /// Exchanges the registry's state with another one that it made or had before. Unlike
  /// EntityRegistry::load(), leaves values of runtime components in their state and calls no
  /// restore hooks. Managers receive their saved state. On an error, which names a manager, nothing
  /// has changed. Takes time per archetype and handler, not per row, unless a preserver reads the
  /// rows.
  [[nodiscard]] std::expected<void, StateError> swap_state(RegistryState& other);
  /// Starts a new version: later changes get a version greater than the one returned.
  std::uint64_t begin_version() noexcept { return registry_.core_.state.storage.begin_version(); }
  /// Adds a preserver, which is called before columns change so that it can read past values.
  /// Several may read at once, each as of its own moment. A preserver must be removed before it is
  /// destroyed, or outlive the registry. Must not be called inside a handler.
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

// The parts of a registry and how they are connected. Private to registry/*.cc.
#pragma once

#include <map>
#include <unordered_set>

#include "registry/apply/managers.h"
#include "registry/apply/structure.h"
#include "registry/apply/timers.h"
#include "registry/delivery/delivery.h"
#include "registry/delivery/inputs.h"
#include "registry/delivery/parallel_pass.h"
#include "registry/delivery/unknown_names.h"
#include "registry/entity_registry.h"
#include "registry/observe/log.h"
#include "registry/observe/observer.h"
#include "registry/storage/names.h"
#include "registry/storage/text_table.h"

namespace muster {

class OldValue;

/// Is called at the beginning of every advance() of the host.
class EachTick {
 public:
  virtual ~EachTick() = default;
  virtual void before_tick() = 0;
};

struct EntityRegistry::Impl {
  explicit Impl(EntityRegistry& owner, RegistryOptions wanted)
      : core(owner.core_),
        options(std::move(wanted)),
        own_bounds(core.state.bounds),
        structure(core.state, types),
        managers(core.state),
        outbox(cascade, types, texts, next_timer, now_ns, self),
        spawner(storage, outbox, state.templates),
        game_log(state.sequence, now_ns),
        delivery(RunContext{storage, outbox, spawner}, types, structure, timers, next_timer, now_ns, cascade),
        inputs({core, delivery, structure, managers}, options) {}

  RegistryCore& core;
  RegistryState& state = core.state;
  Arena& input = state.input;
  Arena& cascade = state.cascade;
  Storage& storage = state.storage;
  Hierarchy& hierarchy = state.hierarchy;
  TypesKnown& types = core.types;
  RegistryOptions options;
  const CascadeBounds own_bounds;  // limits from the options; a loaded state may have others
  TextTable& texts = state.texts;
  Structure structure;
  Managers managers;
  Timers& timers = state.timers;
  std::uint64_t& now_ns = state.now_ns;
  std::uint64_t& next_timer = state.next_timer;
  Outbox outbox;
  Spawner spawner;
  GameLog game_log;
  Log log{game_log};
  Delivery delivery;
  std::unique_ptr<ParallelPass> parallel;  // null if there is only one worker
  std::unique_ptr<Observer> observer;      // null if the registry was never observed
  Trace* trace = nullptr;
  bool counting = false;  // true if `observer` is counting
  Inputs inputs;
  PushedSink* pushed_sink = nullptr;  // not passed to `inputs` while they are quiet
  UnknownNames unknown_names;
  std::vector<Entity> spawn_ids;
  std::unordered_set<std::uint64_t> host_texts;  // texts passed to intern() in this process
  std::shared_ptr<EntityRegistry*> self;

  std::unique_ptr<EachTick> each_tick;  // null unless ticks are done twice
  /// Sets `each_tick`, as RegistryOptions::on_sync_difference demands.
  void do_ticks_twice(EntityRegistry& registry);

  /// Returns the observer, or null if the registry is not being observed.
  Observer* watching() noexcept { return counting ? observer.get() : nullptr; }
  /// Passes the observer to all parts that need it. While an observer is set, pushes take the
  /// general path.
  void note_observed() {
    delivery.set_observer(watching());
    inputs.set_observer(watching());
    if (parallel) parallel->set_observer(watching());
    const bool observed = counting || cascade.causes() || !options.shortcuts;
    core.general_way = (core.general_way & RegistryCore::was_resumed) | (observed ? RegistryCore::observed : 0);
  }
  /// Warns about names in the options of new handlers that do not match anything.
  void tell_unknown_names();
  /// Calls the restore hook of this runtime type, or of all runtime types if `type` is 0, for every
  /// existing value, in row order.
  void restore_values(TypeId type);
  /// Performs the work of restore_values(). During this work, the hooks may only read the registry.
  void call_restorers(TypeId type) {
    call_readers([&] { restore_values(type); });
  }
  /// Performs work that calls restore hooks, which may only read the registry.
  void call_readers(const std::function<void()>& work);
  /// How archetypes have changed: not at all, by dropping some, or in any way.
  enum class Archetypes : std::uint8_t { same, fewer, others };
  /// Clears all caches outside the state. Must be called after the contents of the state were
  /// exchanged or returned to a moment. Caches that compare the stamp(), chunk_changes(),
  /// structure(), or version() of the Storage do not have to be cleared, because the exchange has
  /// changed these numbers.
  void forget_contents(Archetypes archetypes = Archetypes::others);
  std::uint64_t swaps = 0;  // how often that was done
  /// Must be called after the state's limits on cascades were changed.
  void note_bounds() noexcept;
  std::map<TypeId, std::function<void(void*, Entity)>> restorers;
  std::map<TypeId, void (*)(const OldValue&, void*)> conversions;  // registry/state/conversion.h
};

/// Returns the entity's id, followed by its path if it is alive: "#3:1 (/town/tower)". For errors.
std::string id_and_path(const EntityRegistry& registry, Entity e);

}  // namespace muster

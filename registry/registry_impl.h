// The parts of a registry and how they hang together. Private to registry/*.cc.
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
#include "registry/observe/observer.h"
#include "registry/storage/names.h"
#include "registry/storage/text_table.h"

namespace muster {

class OldValue;

struct EntityRegistry::Impl {
  explicit Impl(EntityRegistry& owner, RegistryOptions wanted)
      : core(owner.core_),
        options(std::move(wanted)),
        structure(storage, hierarchy, types, texts),
        managers(storage),
        outbox(cascade, types, texts, next_timer, now_ns, self),
        spawner(storage, outbox, structure.templates()),
        delivery(RunContext{storage, outbox, spawner, owner}, types, structure, timers, next_timer, now_ns, cascade),
        inputs({core, delivery, timers, managers, next_timer, now_ns}, options) {}

  RegistryCore& core;
  Arena& input = core.input;
  Arena& cascade = core.cascade;
  Storage& storage = core.storage;
  Hierarchy& hierarchy = core.hierarchy;
  TypesKnown& types = core.types;
  RegistryOptions options;
  TextTable texts;
  Structure structure;
  Managers managers;
  Timers timers;
  std::uint64_t now_ns = 0;
  std::uint64_t next_timer = 1;
  Outbox outbox;
  Spawner spawner;
  Delivery delivery;
  std::unique_ptr<ParallelPass> parallel;  // null: one worker
  std::unique_ptr<Observer> observer;      // null: never observed
  Trace* trace = nullptr;
  bool counting = false;  // into `observer`
  Inputs inputs;
  UnknownNames unknown_names;
  std::vector<Entity> spawn_ids;
  std::unordered_set<std::uint64_t> host_texts;  // that intern() was given in this process
  std::shared_ptr<EntityRegistry*> self;

  /// Null unless the registry is observed.
  Observer* watching() noexcept { return counting ? observer.get() : nullptr; }
  /// Whoever asks while passes are delivered is told of, or not; pushes then go the general way.
  void note_observed() {
    delivery.set_observer(watching());
    inputs.set_observer(watching());
    if (parallel) parallel->set_observer(watching());
    const bool observed = counting || cascade.causes() || !options.shortcuts;
    core.general_way = (core.general_way & RegistryCore::was_resumed) | (observed ? RegistryCore::observed : 0);
  }
  /// Calls the restore hook of this runtime type (0: of all) for every value there is, in row order.
  /// Says which names in the options of new handlers mean nothing.
  void tell_unknown_names();
  void restore_values(TypeId type);
  std::map<TypeId, std::function<void(void*, Entity)>> restorers;
  std::map<TypeId, void (*)(const OldValue&, void*)> conversions;  // registry/state/conversion.h
};

}  // namespace muster

// The parts of a registry and how they hang together. Private to registry/*.cc.
#pragma once

#include <map>

#include "registry/apply/managers.h"
#include "registry/apply/structure.h"
#include "registry/apply/timers.h"
#include "registry/delivery/delivery.h"
#include "registry/delivery/gather.h"
#include "registry/delivery/parallel_pass.h"
#include "registry/entity_registry.h"
#include "registry/observe/observer.h"
#include "registry/storage/names.h"
#include "registry/storage/text_table.h"

namespace muster {

struct EntityRegistry::Impl {
  explicit Impl(EntityRegistry& owner, RegistryOptions wanted)
      : core(owner.core_),
        options(wanted),
        structure(storage, hierarchy, types, texts),
        managers(storage),
        outbox(cascade, types, texts, next_timer, now_ns, self),
        spawner(storage, outbox, structure.templates()),
        delivery(RunContext{storage, outbox, spawner, owner}, types, structure, timers, next_timer, now_ns, cascade) {}

  RegistryCore& core;
  bool& delivering = core.delivering;
  bool& observed = core.observed;
  std::uint64_t& sequence = core.sequence;
  RegistryCounters& counters = core.counters;
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
  BatchCursor cursor;  // into the front of `cascade`
  std::uint64_t now_ns = 0;
  std::uint64_t next_timer = 1;
  Outbox outbox;
  Spawner spawner;
  Delivery delivery;
  std::unique_ptr<ParallelPass> parallel;  // null: one worker
  std::unique_ptr<Observer> observer;      // null: never observed
  Trace* trace = nullptr;
  bool counting = false;  // into `observer`
  Inbox inbox;
  std::vector<Entity> spawn_ids;
  Gather gathering;
  std::shared_ptr<EntityRegistry*> self;

  Envelope seal(InputKind kind, std::uint64_t author, std::uint64_t request, std::span<const std::byte> batch);
  /// One input's own messages; not what they cause.
  Receipt deliver_input(const BatchView& batch, InputKind kind, std::uint64_t author, std::uint64_t request);
  /// The oldest batches of `input`, at most so many, type by type, where nobody can tell. False, and nothing done, where
  /// it is not possible or not worth it (registry/delivery/gather.h).
  bool gather(std::size_t batches_max, Receipt& sum);
  /// The oldest batches of `input`, at most so many, while they are of messages to one entity each that handlers alone
  /// care about. How many. For a registry that is not observed, without causes, and while nobody looks at the receipts
  /// of posts.
  std::size_t deliver_plain(std::size_t batches_max, Receipt& sum);
  /// Everything in `input`; the last batch is of `last_kind`.
  Receipt deliver_inputs(InputKind last_kind, std::uint64_t author, std::uint64_t request);
  /// What handlers pushed, up to the bound. True if all was delivered.
  bool deliver_cascade();
  /// Before an input: what an earlier one left behind.
  void deliver_carried();
  /// Before a batch is delivered: the time, where that is observed.
  std::uint64_t begin_batch();
  /// Null unless the registry is observed.
  Observer* watching() noexcept { return counting ? observer.get() : nullptr; }
  /// Calls the restore hook of this runtime type (0: of all) for every value there is, in row order.
  void restore_values(TypeId type);
  std::map<TypeId, std::function<void(void*, Entity)>> restorers;
  /// Ids that a replayed Create or timer of the host names are taken as the host took them.
  void claim_ids(const BatchView& batch);
};

}  // namespace muster

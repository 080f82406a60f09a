// The state of a registry: everything that is saved and hashed, as one value.
//
//   EntityRegistry | state                          | wiring
//                  | rows, ids, links, names, texts | types, handlers, managers, sinks, executor, observer, inbox
//                  | templates, timers, what waits, |
//                  | clock, sequence, counters      |
//
// A registry has its state at a fixed place. What is loaded, or put in its place
// (EntityRegistry::swap_state), moves in there: references to a registry's Storage, Hierarchy and
// the like stay valid and show the contents that are there now. Pointers into the contents (rows,
// chunks, archetypes, texts, templates) go with the state that they are of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "messages/arena.h"
#include "registry/apply/manager.h"
#include "registry/apply/receipt.h"
#include "registry/apply/template.h"
#include "registry/apply/timers.h"
#include "registry/handlers/at_work.h"
#include "registry/handlers/handler_table.h"
#include "registry/storage/hierarchy.h"
#include "registry/storage/names.h"
#include "registry/storage/storage.h"
#include "registry/storage/text_table.h"

namespace muster {

struct RegistryCounters {
  std::uint64_t messages = 0;  ///< delivered, targets counted
  std::uint64_t unhandled = 0, dead = 0, refused = 0;
  std::uint64_t carried = 0;    ///< times a cascade was cut short
  std::uint64_t overtaken = 0;  ///< times carried messages went behind a new input

  /// Adds what became of messages that were delivered.
  void add(const Receipt& receipt) noexcept {
    messages += receipt.handled + receipt.unhandled + receipt.dead + receipt.refused;
    unhandled += receipt.unhandled;
    dead += receipt.dead;
    refused += receipt.refused;
  }
};

/// What handlers of one input may cause, in messages and in bytes of their payloads; the rest is
/// carried over.
struct CascadeBounds {
  std::uint64_t messages_max = 10'000'000;
  std::uint64_t bytes_max = 128u << 20;
};

/// How far a batch has been delivered: budgets count messages, not batches.
struct BatchCursor {
  std::uint32_t message = 0;
  std::size_t offset = 0;  ///< of tables: where the next item begins in the body
};

/// Empty, or taken out of a registry: EntityRegistry::make_state() and swap_state() are how users
/// come by one. Belongs to that registry, whose thread uses it and which must outlive it. The
/// members are for the registry's own parts.
struct RegistryState {
  /// An empty state that shares the component types of other states of a registry, with memory for
  /// messages in segments of `segment_bytes` (Arena).
  RegistryState(std::shared_ptr<ComponentTypes> types, std::size_t segment_bytes);
  /// Leaves an empty state behind.
  RegistryState(RegistryState&& other);
  RegistryState& operator=(RegistryState&& other);
  /// Exchanges all contents with another state of the same registry. Pays no heed to what is
  /// remembered of them outside: EntityRegistry::swap_state does.
  void swap(RegistryState& other);

  Storage storage;
  Hierarchy hierarchy{storage};
  Names names{hierarchy};
  TextTable texts;
  TemplateTable templates;
  Timers timers;
  HandlerStates handlers;
  ManagerStates managers;  ///< of managers that are not there; in a state outside of its registry, of all
  Arena input;             ///< what was posted
  Arena cascade;           ///< what handlers pushed
  BatchCursor cursor;      ///< into the front batch of the cascade
  Shown<std::uint64_t> sequence = 0;
  std::uint64_t now_ns = 0;
  std::uint64_t next_timer = 1;
  RegistryCounters counters;
  CascadeBounds bounds;
  std::uint32_t resumed = 0;  ///< of the next input's envelope
};

}  // namespace muster

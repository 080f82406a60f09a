// The state of a registry: everything that is saved and hashed, as one value.
//
//   EntityRegistry | state                          | wiring
//                  | rows, ids, links, names, texts | types, handlers, managers, sinks, executor, observer, inbox
//                  | templates, timers, what waits, |
//                  | clock, sequence, counters      |
//
// A registry has its state at a fixed place. State that is loaded or swapped in
// (RegistryHost::swap_state) moves to that place: references to a registry's Storage, Hierarchy
// and so on stay valid and show the new contents. Pointers into the contents (rows, chunks,
// archetypes, texts, templates) go with the state to which they belong.
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
  std::uint64_t messages = 0;  ///< delivered, counted by target
  std::uint64_t unhandled = 0, dead = 0, refused = 0;
  std::uint64_t carried = 0;    ///< number of times a cascade was cut short
  std::uint64_t overtaken = 0;  ///< number of new inputs delivered before carried messages

  /// Adds the results of delivered messages.
  void add(const Receipt& receipt) noexcept {
    messages += receipt.handled + receipt.unhandled + receipt.dead + receipt.refused;
    unhandled += receipt.unhandled;
    dead += receipt.dead;
    refused += receipt.refused;
  }
};

/// Limits on what the handlers of one input may push, in messages and in payload bytes. Anything
/// beyond is carried over.
struct CascadeBounds {
  std::uint64_t messages_max = 10'000'000;
  std::uint64_t bytes_max = 128u << 20;
};

/// How far a batch has been delivered: limits count messages, not batches.
struct BatchCursor {
  std::uint32_t message = 0;
  std::size_t offset = 0;  ///< for tables: offset of the next item in the body
};

/// Empty, or taken out of a registry. Users obtain one from RegistryReader::make_state() and
/// swap_state(). Belongs to that registry, which must outlive it and whose thread uses it. The
/// members are for the registry's own parts.
struct RegistryState {
  /// Makes an empty state that shares a registry's component types. Messages are stored in segments
  /// of `segment_bytes` (Arena).
  RegistryState(std::shared_ptr<ComponentTypes> types, std::size_t segment_bytes);
  /// Leaves the other state empty.
  RegistryState(RegistryState&& other);
  RegistryState& operator=(RegistryState&& other);
  /// Exchanges all contents with another state of the same registry. Does not update caches outside
  /// the states; RegistryHost::swap_state does.
  void swap(RegistryState& other);

  Storage storage;
  Hierarchy hierarchy{storage};
  Names names{hierarchy};
  TextTable texts;
  TemplateTable templates;
  Timers timers;
  HandlerStates handlers;
  ManagerStates managers;  ///< of absent managers, or of all if outside the registry
  Arena input;             ///< posted messages
  Arena cascade;           ///< messages pushed by handlers
  BatchCursor cursor;      ///< position in the front batch of the cascade
  Shown<std::uint64_t> sequence = 0;
  std::uint64_t now_ns = 0;
  std::uint64_t next_timer = 1;
  RegistryCounters counters;
  CascadeBounds bounds;
  std::uint32_t resumed = 0;  ///< Envelope::resumed of the next input
};

}  // namespace muster

// The state of a registry: everything that is saved and hashed, held in one value.
//
//   EntityRegistry | state                          | wiring
//                  | rows, ids, links, names, texts | types, handlers, managers, sinks, executor, observer, inbox
//                  | templates, timers, what waits, |
//                  | clock, sequence, counters      |
//
// The current state of a registry is always at the same address. When a state is loaded or swapped
// in (RegistryHost::swap_state), its contents move to that address, so references to a registry's
// Storage, Hierarchy, and so on remain valid and refer to the new contents. Pointers into the
// contents (rows, chunks, archetypes, texts, templates) move with the state to which they belong.
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
  std::uint64_t messages = 0;  ///< messages delivered, counted once per target
  std::uint64_t unhandled = 0, dead = 0, refused = 0;
  std::uint64_t carried = 0;    ///< number of times that a cascade was cut short
  std::uint64_t overtaken = 0;  ///< number of new inputs that were delivered before carried
                                ///< messages
  std::uint64_t dropped = 0;    ///< number of carried messages that were dropped, because too many
                                ///< waited or by a DropCarried message

  /// Adds the results of delivered messages.
  void add(const Receipt& receipt) noexcept {
    messages += receipt.handled + receipt.unhandled + receipt.dead + receipt.refused;
    unhandled += receipt.unhandled;
    dead += receipt.dead;
    refused += receipt.refused;
  }
};

/// Limits on the number and the total payload size of the messages that the handlers of one input
/// may push, and of those that may wait. Messages beyond a limit of the first kind are carried over
/// to the next input. If more messages wait than the others allow, the newest are dropped.
struct CascadeBounds {
  std::uint64_t messages_max = 10'000'000;
  std::uint64_t bytes_max = 128u << 20;
  std::uint64_t carried_messages_max = 10'000'000;
  std::uint64_t carried_bytes_max = 256u << 20;
  friend bool operator==(const CascadeBounds&, const CascadeBounds&) = default;
};

/// Records how much of a batch has been delivered. Needed because limits count messages rather than
/// batches.
struct BatchCursor {
  std::uint32_t message = 0;
  std::size_t offset = 0;  ///< for tables: offset of the next item in the body
};

/// A state that belongs to a registry: its current state, an empty one, or one that was swapped
/// out. Users obtain states from RegistryReader::make_state() and swap_state(). The registry must
/// outlive the state, and only the registry's thread may use it. Only the registry's own parts may
/// use the members.
struct RegistryState {
  /// Creates an empty state that shares the component types of a registry. Messages are stored in
  /// segments of `segment_bytes` (see Arena).
  RegistryState(std::shared_ptr<ComponentTypes> types, std::size_t segment_bytes);
  /// Leaves `other` empty.
  RegistryState(RegistryState&& other);
  RegistryState& operator=(RegistryState&& other);
  /// Exchanges all contents with another state of the same registry. Caches outside the states are
  /// not updated; RegistryHost::swap_state updates them.
  void swap(RegistryState& other);

  Storage storage;
  Hierarchy hierarchy{storage};
  Names names{hierarchy};
  TextTable texts;
  TemplateTable templates;
  Timers timers;
  HandlerStates handlers;
  ManagerStates managers;  ///< states of absent managers, or of all managers if outside the
                           ///< registry
  Arena input;             ///< posted messages
  Arena cascade;           ///< messages posted by handlers
  BatchCursor cursor;      ///< position in the cascade's front batch
  Shown<std::uint64_t> sequence = 0;
  std::uint64_t now_ns = 0;
  std::uint64_t next_timer = 1;
  RegistryCounters counters;
  CascadeBounds bounds;
  std::uint32_t resumed = 0;  ///< Envelope::resumed of the next input
};

}  // namespace muster

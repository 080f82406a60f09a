// Figures of a registry while it was observed (RegistryProfile::observe), per handler and per
// message type. Counts are exact and do not depend on the number of workers. Times are measured by
// the machine's clock.
#pragma once

#include <cstdint>
#include <string>

#include "schema/descriptor.h"

namespace muster {

struct HandlerFigures {
  std::uint64_t ordinal = 0;  ///< ordinal of the subscription
  std::string name;           ///< empty if the handler was subscribed without a name
  TypeId message = 0;         ///< the message type that it handles
  std::uint64_t calls = 0;    ///< batches and passes that called the handler for at least one row

  /// Number of entities that the handler was called for, counted per message. For a handler without
  /// terms, equal to `calls`.
  std::uint64_t rows = 0;
  /// Time spent in the handler, summed over all workers. If handlers alternate message by message,
  /// one call in 16 is timed, always including the first, and represents the others.
  std::uint64_t ns = 0;
};

/// Messages are counted when they are delivered, not when they are pushed. Timed messages are
/// counted when they fall due.
struct MessageFigures {
  TypeId type = 0;
  std::string name;
  /// Messages from outside. A message to a span counts once.
  std::uint64_t pushed = 0;
  std::uint64_t caused = 0;                               ///< messages from handlers or timers
  std::uint64_t handled = 0, unhandled = 0, refused = 0;  ///< targets, as in Receipt
  std::uint64_t dead = 0;                                 ///< targets that were not alive: dropped

  /// Messages that a cut cascade left waiting, counted each time.
  std::uint64_t carried = 0;
  /// Time spent in the handlers of this type and in the registry's own action.
  std::uint64_t ns = 0;
};

}  // namespace muster

// What a registry did while it was observed (EntityRegistry::observe), per handler and per message type. Counts are
// exact and do not depend on the number of workers; times are of one machine's clock.
#pragma once

#include <cstdint>
#include <string>

#include "schema/descriptor.h"

namespace muster {

struct HandlerFigures {
  std::uint64_t ordinal = 0;  ///< of its subscription
  std::string name;           ///< empty: subscribed without one
  TypeId message = 0;         ///< what it handles
  std::uint64_t calls = 0;    ///< batches and passes in which it was called for at least one row
  std::uint64_t rows = 0;  ///< entities it was called for, each message counted; of a handler that asks for none: calls
  /// Time spent in the handler, of all workers together. Where handlers take turns message by message, one call in 16
  /// is timed, the first always, and stands for the others.
  std::uint64_t ns = 0;
};

/// Messages are counted when their turn comes, not when they are pushed; a timed message when it is due.
struct MessageFigures {
  TypeId type = 0;
  std::string name;
  std::uint64_t pushed = 0;                               ///< messages from outside; one to a span is one
  std::uint64_t caused = 0;                               ///< messages that handlers pushed or timers brought
  std::uint64_t handled = 0, unhandled = 0, refused = 0;  ///< targets, as in Receipt
  std::uint64_t dead = 0;                                 ///< targets that were not alive: dropped
  std::uint64_t carried = 0;  ///< messages left waiting by a cascade that was cut short; each time counts
  std::uint64_t ns = 0;       ///< time of its handlers, and of what the registry itself does with it
};

}  // namespace muster

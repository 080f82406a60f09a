// Statistics for each handler and each message type, collected while a registry is observed
// (RegistryProfile::observe). Counts are exact and do not depend on the number of workers. Times
// are measured with the machine's clock.
#pragma once

#include <cstdint>
#include <string>

#include "schema/descriptor.h"

namespace muster {

struct HandlerFigures {
  std::uint64_t ordinal = 0;  ///< ordinal of the subscription
  std::string name;           ///< empty if the handler was subscribed without a name
  TypeId message = 0;         ///< message type of the handler
  std::uint64_t calls = 0;    ///< number of batches and passes that called the handler for at least
                              ///< one row

  /// Number of entities for which the handler was called, counted once per message. Equal to
  /// `calls` if the handler has no terms.
  std::uint64_t rows = 0;
  /// Time spent in the handler, summed over all workers. If handlers alternate from message to
  /// message, one call in 16 is timed and represents the others. The first call is always timed.
  std::uint64_t ns = 0;
};

/// Messages are counted when they are delivered rather than when they are pushed. Timed messages
/// are counted when they become due.
struct MessageFigures {
  TypeId type = 0;
  std::string name;
  /// Number of messages that came from outside the registry. A message to a span is counted once.
  std::uint64_t pushed = 0;
  std::uint64_t caused = 0;                               ///< messages from handlers or timers
  std::uint64_t handled = 0, unhandled = 0, refused = 0;  ///< targets, as in Receipt
  std::uint64_t dead = 0;                                 ///< dropped, because the target was not
                                                          ///< alive

  /// Number of messages left pending by cut cascades. A message is counted each time that it is
  /// left pending.
  std::uint64_t carried = 0;
  /// Time spent in the handlers of this message type and in the registry's own action for the type.
  std::uint64_t ns = 0;
};

}  // namespace muster

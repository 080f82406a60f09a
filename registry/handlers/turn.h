// What handlers may do only in their order, although several of them run at the same time: draw the ids of timers, make
// texts and types known, begin and end handlers. A worker that comes to it waits until everything before is done.
#pragma once

namespace muster {

struct Handler;

class Turn {
 public:
  virtual ~Turn() = default;
  /// Returns when all that one worker would have done before this is done; whoever is later in the order waits.
  virtual void take() = 0;
};

/// Of the calling thread: null unless it runs a handler of a pass that is spread over workers.
Turn*& turn_here() noexcept;
/// The handler that this thread runs for such a pass.
const Handler*& running_here() noexcept;

inline void take_turn() {
  if (Turn* turn = turn_here()) turn->take();
}

}  // namespace muster

// Lets workers take turns. Some things are done in the order of one worker although several run handlers at the same
// time: timers get their ids, texts and types become known, handlers begin and end. A worker that comes to such a thing
// waits until everything before it is done.
#pragma once

namespace muster {

struct Handler;

class Turn {
 public:
  virtual ~Turn() = default;
  /// Returns when all is done that one worker would have done before this. Workers later in the order wait meanwhile.
  virtual void take() = 0;
};

/// The turn of the calling thread; null unless it runs a handler of a pass that is spread over workers.
Turn*& turn_here() noexcept;
/// The handler that this thread runs for such a pass.
const Handler*& running_here() noexcept;

/// Takes the calling thread's turn, if it has one.
inline void take_turn() {
  if (Turn* turn = turn_here()) turn->take();
}

}  // namespace muster

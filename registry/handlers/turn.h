// Lets workers take turns. Some actions must happen in the order in which one worker would perform
// them, although several run handlers at the same time: assigning timer ids, adding texts and
// types, starting and ending handlers. Before such an action, a worker waits until everything that
// precedes it in that order is done.
#pragma once

namespace muster {

struct Handler;

class Turn {
 public:
  virtual ~Turn() = default;
  /// Returns once everything that a single worker would have done earlier is done. Workers later in
  /// the order wait in the meantime.
  virtual void take() = 0;
};

/// The calling thread's turn; null unless the thread runs a handler of a pass that is spread over
/// workers.
Turn*& turn_here() noexcept;
/// The handler that this thread runs in a pass that is spread over workers.
const Handler*& running_here() noexcept;

/// Takes the calling thread's turn, if it has one.
inline void take_turn() {
  if (Turn* turn = turn_here()) turn->take();
}

}  // namespace muster

// Lets workers take turns. Although several workers run handlers at the same time, some actions
// must happen in the order in which a single worker would perform them: assigning timer ids, adding
// texts and types, and starting and ending handlers. Before such an action, a worker waits until
// everything that precedes it in that order has been done.
#pragma once

namespace muster {

struct Handler;

class Turn {
 public:
  virtual ~Turn() = default;
  /// Returns once everything that a single worker would have done earlier has been done. In the
  /// meantime, workers that come later in the order wait.
  virtual void take() = 0;
};

/// Returns the calling thread's turn. Null unless the thread is running a handler of a parallel
/// pass.
Turn*& turn_here() noexcept;
/// Returns the handler that this thread is running in a parallel pass.
const Handler*& running_here() noexcept;

/// Takes the calling thread's turn, if it has one.
inline void take_turn() {
  if (Turn* turn = turn_here()) turn->take();
}

}  // namespace muster

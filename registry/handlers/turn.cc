#include "registry/handlers/turn.h"

namespace muster {

namespace {
thread_local Turn* turn = nullptr;
thread_local const Handler* running = nullptr;
}  // namespace

Turn*& turn_here() noexcept { return turn; }
const Handler*& running_here() noexcept { return running; }

}  // namespace muster

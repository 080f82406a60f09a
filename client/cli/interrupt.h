// Commands that run until somebody ends them.
#pragma once

namespace muster::cli {

/// From now on SIGINT and SIGTERM do not kill the process but make interrupted() true.
void end_on_interrupt();
bool interrupted() noexcept;

}  // namespace muster::cli

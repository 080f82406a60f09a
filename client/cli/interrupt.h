// Makes commands end cleanly on a signal.
#pragma once

#include <string>

namespace muster::cli {

/// From now on, SIGINT, SIGTERM and SIGHUP do not kill the process; instead, interrupted() returns
/// true. A SIGHUP that was already ignored (nohup) stays ignored.
void end_on_interrupt();
bool interrupted() noexcept;
/// Returns the signal that arrived, or 0 if none did.
int interrupt_signal() noexcept;
/// Throws a Failure that makes the program die of the signal after printing `text`.
[[noreturn]] void fail_of_interrupt(std::string text);

}  // namespace muster::cli

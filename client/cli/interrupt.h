// Commands that end in good order when a signal asks them to.
#pragma once

#include <string>

namespace muster::cli {

/// From now on SIGINT, SIGTERM and SIGHUP do not kill the process but make interrupted() true. A
/// SIGHUP that was ignored before (nohup) stays ignored.
void end_on_interrupt();
bool interrupted() noexcept;
/// The signal that came, 0 if none did.
int interrupt_signal() noexcept;
/// Throws a Failure by which the program dies of the signal once it has said `text`.
[[noreturn]] void fail_of_interrupt(std::string text);

}  // namespace muster::cli

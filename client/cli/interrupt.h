// Lets commands exit cleanly after a signal arrives.
#pragma once

#include <string>

namespace muster::cli {

/// After this call, SIGINT, SIGTERM, and SIGHUP no longer terminate the process. Instead, they make
/// interrupted() return true. If SIGHUP is already ignored, as it is under nohup, it stays ignored.
void end_on_interrupt();
bool interrupted() noexcept;
/// Returns the signal that arrived, or 0 if none did.
int interrupt_signal() noexcept;
/// Throws a Failure. When main() catches the Failure, it prints the Failure's `text` and then
/// terminates the program with the signal that arrived.
[[noreturn]] void fail_of_interrupt(std::string text);

}  // namespace muster::cli

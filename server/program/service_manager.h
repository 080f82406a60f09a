// Tells systemd, or another service manager with the same protocol, about the state of the process
// (sd_notify(3)).
#pragma once

#include <chrono>
#include <string>

namespace muster {

/// Sends a message such as "READY=1" to the socket that the environment names. Returns false if the
/// environment names none or if the message cannot be sent. Never blocks. May be called on any
/// thread.
bool notify_service_manager(const std::string& message);
/// Returns "RELOADING=1" with the time of the system's monotonic clock, which systemd requires.
std::string reloading_message();
/// Returns the longest time between two messages "WATCHDOG=1" that the service manager accepts from
/// this process, or 0 if it expects none.
std::chrono::microseconds watchdog_time();

}  // namespace muster

// What must hold of a server that is abused.
#pragma once

#include "tests/abuse/abuse.h"
#include "tests/abuse/one_user.h"
#include "tests/abuse/stopped_log.h"

namespace muster::abuse {

/// With the programs of this build, in a folder of its own; prints the report.
AbuseReport abused_for(std::chrono::nanoseconds time, std::uint64_t seed);
Reopened abused_and_reopened(std::chrono::nanoseconds time, std::uint64_t seed);

void check_that_it_lives(const AbuseReport& report);
void check_memory(const AbuseReport& report);
void check_times(const AbuseReport& report);
void check_reopened(const Reopened& reopened);

/// One user with each of the roles view, edit and control, one after another, for this time each.
std::vector<OneUserReport> abused_by_one_user(std::chrono::nanoseconds time, bool opens_copies);
/// The owner was answered, what the user left is gone, and most of its memory too.
void check_shares(const OneUserReport& report);
/// The owner was answered within a second, or on a slow machine within five times as long as
/// without the user. The server needs at most 10 % more memory than it needed before, apart from
/// what the world itself has grown.
void check_shares_strictly(const OneUserReport& report);

/// With a log that is not read for this time.
StoppedLogReport abused_with_stopped_log(std::chrono::nanoseconds time);
void check_stopped_log(const StoppedLogReport& report);

}  // namespace muster::abuse

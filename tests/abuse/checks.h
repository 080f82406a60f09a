// What must hold of a server that is abused.
#pragma once

#include "tests/abuse/abuse.h"
#include "tests/abuse/one_user.h"

namespace muster::abuse {

/// With the programs of this build, in a folder of its own; prints the report.
AbuseReport abused_for(std::chrono::nanoseconds time, std::uint64_t seed);
Reopened abused_and_reopened(std::chrono::nanoseconds time, std::uint64_t seed);

void check_that_it_lives(const AbuseReport& report);
void check_memory(const AbuseReport& report);
void check_times(const AbuseReport& report);
void check_reopened(const Reopened& reopened);

/// One user with each of the roles view, edit and control, one after another, for this time each.
std::vector<OneUserReport> abused_by_one_user(std::chrono::nanoseconds time);
/// The owner was answered, and what the user left is gone.
void check_shares(const OneUserReport& report);

}  // namespace muster::abuse

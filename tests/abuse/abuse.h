// A server that is abused with well-formed requests by many sessions at once, and what is found out about it meanwhile.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "messages/session.h"
#include "tests/abuse/requests.h"

namespace muster::abuse {

struct AbuseOptions {
  std::uint64_t seed = 1;
  std::chrono::nanoseconds time = std::chrono::seconds(60);
  std::uint32_t sessions = 20;
  std::uint32_t entities = 20'000;  ///< of the world
  double hz = 60;
  /// Requests that one session sends between two looks of the client at all of them; each look is followed by a rest.
  std::uint32_t requests_per_look = 3;
  std::chrono::nanoseconds rest = std::chrono::milliseconds(2);
  std::uint32_t visits = 1;  ///< of one user, in equal parts of the time
  std::string server, plugin, folder;
  /// So small that they are reached, and what the server may use has a sum that says something.
  std::map<std::string, std::uint64_t> limits = {
      {"all_request_bytes_max", 64u << 20},
      {"left_sessions_max", 100},
      {"outgoing.control_bytes_max", 2u << 20},
      {"request_bytes_max", 16u << 20},
      {"sessions_max", 400},
      {"templates_bytes_max", 8u << 20},
      {"texts_bytes_max", 4u << 20},
      {"texts_max", 20'000},
      {"watched_entities_max", 1'000'000},
      {"world_entities_max", 150'000},
      {"world_rows_bytes_max", 16u << 20},
      {"world_texts_bytes_max", 16u << 20},
      {"world_texts_max", 100'000},
      {"world_timers_bytes_max", 8u << 20},
      {"world_timers_max", 10'000},
  };
};

/// A distribution as session::Load tells it.
struct Times {
  std::map<std::uint64_t, std::uint64_t> counts;  // by the end of the class, ns
  std::uint64_t longest_ns = 0;
  std::uint64_t all() const;
  /// So many of all were shorter than this; the end of a class. ns.
  std::uint64_t within_ns(double share) const;
};

struct AbuseReport {
  DrawnCounts drawn;                            ///< requests by kind
  std::map<std::string, std::uint64_t> faults;  ///< by reason
  std::uint64_t sessions = 0, cut = 0;          ///< begun; ended by the server
  std::uint64_t malformed = 0;                  ///< requests that were none: a fault of the test's own
  std::uint64_t acks = 0, frames = 0, bytes = 0;
  std::uint64_t honest_edits = 0, honest_questions = 0;
  std::chrono::nanoseconds honest_silence_max{};  ///< of the wall clock, while it waited for an answer
  std::uint64_t clocks_set_right = 0;  ///< others had stopped the clock or changed its speed, and it had it run again
  Times ticks, honest_waits;
  std::uint64_t memory_begin = 0, memory_max = 0, memory_max_first_half = 0, memory_end = 0;  ///< bytes
  std::uint64_t memory_sum = 0;  ///< what the limits allow (server/session/server_limits.h), cascades included
  session::Load last;
  int exit_code = -1;  ///< of the server, stopped while all sessions go on

  std::string text() const;
};

/// Serves a new world and abuses it. Throws std::runtime_error where the server goes away.
AbuseReport abuse(const AbuseOptions& options);

/// What a quiet world (no tick comes) says of itself after some abuse, before it is stopped, and when it was opened again.
struct Reopened {
  std::uint64_t hash_before = 0, hash_after = 0;
  std::uint64_t sequence_before = 0, sequence_after = 0;
  std::uint32_t entities = 0;
  int exit_code = -1;
};
Reopened abuse_and_reopen(const AbuseOptions& options);

}  // namespace muster::abuse

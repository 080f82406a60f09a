// Statistics about a running world, for monitoring.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

struct Figures {
  std::uint64_t sequence = 0, durable_sequence = 0, saved_sequence = 0, clock_ns = 0;
  double hz = 0;
  std::uint64_t uptime_ns = 0, processor_ns = 0, memory_bytes = 0;
  std::uint64_t ticks = 0;  ///< number of ticks measured
  std::uint64_t tick_p50_ns = 0, tick_p99_ns = 0,
                tick_max_ns = 0;               ///< processor time; classes are an eighth wide
  std::uint64_t edits = 0, edits_refused = 0;  ///< counted since the server started

  /// Total size of the answers, in all sessions, that clients have not read yet.
  std::uint64_t answers_waiting_bytes = 0;
  /// Total size of the requests, in all sessions, that the world has not handled yet.
  std::uint64_t requests_waiting_bytes = 0;
  std::uint32_t sessions = 0, watches = 0, questions = 0;  ///< questions: those not yet answered
  std::uint32_t entities = 0, archetypes = 0, texts = 0, timers = 0, templates = 0;
  std::uint64_t journal_bytes = 0;  ///< size of the journal after the saved state
  std::string disk_error = {};      ///< the reason why edits are refused, or empty
  std::string save_error = {};      ///< the error of the last automatic save, or empty
};

class TimeCounts;

/// Returns the percentile `share` (0.5 for the median) of the counted times in ns, or 0 if no times
/// have been counted.
std::uint64_t below_share(const TimeCounts& times, double share);
/// Returns the resident memory of this process in bytes, or 0 if it is unknown.
std::uint64_t resident_bytes();

}  // namespace muster

// Defines statistics about a running world, for use by monitoring systems.
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
                tick_max_ns = 0;               ///< processor times; each class of the histogram is
                                               ///< an eighth wide
  std::uint64_t edits = 0, edits_refused = 0;  ///< counted since the server started

  /// Total size of the answers of all sessions that clients have not read yet.
  std::uint64_t answers_waiting_bytes = 0;
  /// Total size of the requests of all sessions that the world has not handled yet.
  std::uint64_t requests_waiting_bytes = 0;
  std::uint32_t sessions = 0, watches = 0, questions = 0;  ///< number of questions that have not
                                                           ///< been answered yet
  std::uint32_t entities = 0, archetypes = 0, texts = 0, timers = 0, templates = 0;
  std::uint64_t journal_bytes = 0;  ///< size of the journal since the last save
  /// See RegistryCounters::carried and dropped, and RegistryReader::carried_bytes.
  std::uint64_t cascades_cut = 0, carried_dropped = 0, carried_bytes = 0;
  std::uint64_t log_lines_lost = 0, audit_lines_lost = 0;
  std::string disk_error = {};  ///< the reason why edits are refused, or empty
  std::string save_error = {};  ///< the error of the last automatic save, or empty
};

class TimeCounts;

/// Returns the quantile `share` (0.5 for the median) of the counted times, in ns, or 0 if no times
/// have been counted.
std::uint64_t below_share(const TimeCounts& times, double share);
/// Returns the resident memory of this process in bytes, or 0 if the size is unknown.
std::uint64_t resident_bytes();

}  // namespace muster

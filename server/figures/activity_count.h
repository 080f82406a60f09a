// Measures the world's work for sessions that repeatedly request the results, such as those of
// `muster top`.
#pragma once

#include <cstdint>

#include "server/figures/observation.h"
#include "server/session/session.h"

namespace muster {

/// Counting starts with the first request and stops once no request has arrived for quiet_ns. Must
/// be used on the world thread, between inputs.
class ActivityCount {
 public:
  /// Time without a request after which counting stops.
  static constexpr std::uint64_t quiet_ns = 10'000'000'000;
  static constexpr std::uint32_t rows_default = 1000;

  ActivityCount(const EntityRegistry& registry, Observation& observation)
      : registry_(registry), observation_(observation) {}
  ~ActivityCount() { end(); }
  ActivityCount(const ActivityCount&) = delete;
  ActivityCount& operator=(const ActivityCount&) = delete;

  /// Returns the counts, excluding the threads' times, for at most `rows` messages and handlers,
  /// namely those that took the most time.
  session::Activity ask(std::uint32_t rows, std::uint64_t steady_now_ns);
  /// Stops counting if there has been no request for quiet_ns.
  void rest(std::uint64_t steady_now_ns) {
    if (counts_ && steady_now_ns - asked_ns_ > quiet_ns) end();
  }
  bool counts() const noexcept { return counts_; }

 private:
  void end() {
    if (counts_) observation_.end();
    counts_ = false;
  }

  const EntityRegistry& registry_;
  Observation& observation_;
  bool counts_ = false;
  std::uint64_t begun_ns_ = 0, asked_ns_ = 0;
};

}  // namespace muster

// Handles refused strangers (streams without an accepted Hello): delays the answer to a wrong
// token, and writes log lines. No I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

namespace muster {

/// One thread at a time. Remembers at most addresses_max addresses.
class Refusals {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t addresses_max = 1024;
  static constexpr std::uint32_t free_attempts = 3;  ///< wrong tokens answered at once

  /// Delay of the first wrong token after the free attempts. Each further one doubles the delay.
  static constexpr std::chrono::milliseconds first_delay{100};
  /// Time after which one wrong token is forgotten.
  static constexpr std::chrono::seconds forgotten_after{1};
  static constexpr std::chrono::seconds told_every{1};

  /// `log` is occasionally called with one line; may be empty. `delay_max` limits the delay of an
  /// answer.
  Refusals(std::function<void(const std::string&)> log, std::chrono::nanoseconds delay_max)
      : log_(std::move(log)), delay_max_(delay_max) {}

  /// Records a wrong token from `address`, and returns the delay of its answer.
  std::chrono::nanoseconds wrong_token(const std::string& address, Clock::time_point now);
  /// Records the refusal of a stranger from `address` for the reason `why`. Logs it immediately, or
  /// together with other refusals if told_every has not yet passed since the last line.
  void note(const std::string& address, const std::string& why, Clock::time_point now);
  /// Logs refusals that note() held back. Call it regularly.
  void tell(Clock::time_point now);

 private:
  struct Attempts {
    std::uint32_t wrong = 0;  // not yet forgotten
    Clock::time_point last;
  };
  void forgive(Attempts& attempts, Clock::time_point now) const;

  std::function<void(const std::string&)> log_;
  std::chrono::nanoseconds delay_max_;
  std::unordered_map<std::string, Attempts> by_address_;
  std::uint64_t untold_ = 0, untold_tokens_ = 0;
  std::string last_line_;  // line of the last refusal: "127.0.0.1: the token is not valid here"
  Clock::time_point told_{};
};

}  // namespace muster

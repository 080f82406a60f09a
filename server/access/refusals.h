// Handles strangers (streams without an accepted Hello) that are refused. Delays the answer to a
// wrong token, and writes log lines. Does not perform I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

namespace muster {

/// Must be used by only one thread at a time. Remembers at most addresses_max addresses.
class Refusals {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t addresses_max = 1024;
  /// Number of wrong tokens from an address that are answered without delay.
  static constexpr std::uint32_t free_attempts = 3;

  /// Delay for the first wrong token after the free attempts. Each further wrong token doubles the
  /// delay.
  static constexpr std::chrono::milliseconds first_delay{100};
  /// Interval after which one of an address's wrong tokens is forgotten.
  static constexpr std::chrono::seconds forgotten_after{1};
  static constexpr std::chrono::seconds told_every{1};

  /// `log` is called with each line for the log, and may be empty. `delay_max` is the longest time
  /// for which an answer is delayed.
  Refusals(std::function<void(const std::string&)> log, std::chrono::nanoseconds delay_max)
      : log_(std::move(log)), delay_max_(delay_max) {}

  /// Records a wrong token from `address`. Returns how long to delay the answer.
  std::chrono::nanoseconds wrong_token(const std::string& address, Clock::time_point now);
  /// Records that a stranger from `address` was refused for the reason `why`. Logs the refusal
  /// immediately, unless less than told_every has passed since the previous line; in that case, the
  /// refusal is logged later, together with others.
  void note(const std::string& address, const std::string& why, Clock::time_point now);
  /// Logs refusals that note() has held back. Must be called regularly.
  void tell(Clock::time_point now);

 private:
  struct Attempts {
    std::uint32_t wrong = 0;  // wrong tokens not yet forgotten
    Clock::time_point last;
  };
  void forgive(Attempts& attempts, Clock::time_point now) const;

  std::function<void(const std::string&)> log_;
  std::chrono::nanoseconds delay_max_;
  std::unordered_map<std::string, Attempts> by_address_;
  std::uint64_t untold_ = 0, untold_tokens_ = 0;
  std::string last_line_;  // most recent line: "127.0.0.1: the token is not valid here"
  Clock::time_point told_{};
};

}  // namespace muster

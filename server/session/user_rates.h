// Counts what users send, and slows users down that send faster than they may.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "server/session/server_limits.h"

namespace muster {

enum class RateOf : std::uint8_t { bytes, requests, edits };

/// Must be used by only one thread at a time. All sessions of a user share the user's rates.
class UserRates {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t rates = 3;

  /// Amounts that a user has sent since the server was started. Its address stays valid.
  struct User {
    std::string name;
    bool is_limited = true;
    std::uint64_t sessions = 0;  ///< number of sessions that have begun
    std::array<std::uint64_t, rates> total = {};
    std::array<std::uint64_t, rates> waits = {};  ///< how often a rate was reached
    std::uint64_t refused = 0;                    ///< number of Faults that the user's messages got
    std::chrono::system_clock::time_point seen = {};

   private:
    friend class UserRates;
    std::array<double, rates> left = {};  // may be below 0, because a message is taken as a whole
    std::array<bool, rates> is_waiting = {};
    Clock::time_point filled = {};
  };

  /// Records that a session of the user has begun. User 0 stands for the server's own token.
  /// `is_limited` is false for users with the right `admin`.
  User& begin(std::uint64_t user, const std::string& name, bool is_limited);
  /// Returns true if the user may send something now. Otherwise, the user has sent a second's worth
  /// more than the rate, and must wait.
  static bool may(User& user, RateOf what, const ServerLimits& limits, Clock::time_point now);
  /// Counts what the user has sent.
  static void count(User& user, RateOf what, std::uint64_t amount, const ServerLimits& limits) noexcept;

  /// Returns the time at which the user's last session began or ended, in seconds since 1970 (UTC),
  /// or 0 if the user was not there since the server was started.
  std::uint64_t seen_s(std::uint64_t user) const;

  /// Returns metrics in the text format of Prometheus, one for each user that was there since the
  /// server was started.
  std::string metrics() const;

 private:
  std::map<std::uint64_t, User> users_;
};

}  // namespace muster

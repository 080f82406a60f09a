// A client that wants little: one edit at a time, a question now and then. It sees what others do to it, and has the world's clock
// run again where somebody paused it or gave it another speed: else a measure of ticks would end there.
#pragma once

#include <chrono>
#include <optional>

#include "tests/abuse/abuse.h"
#include "tests/abuse/connection.h"

namespace muster::abuse {

class Honest {
 public:
  using Clock = std::chrono::steady_clock;

  Honest(const std::string& address, const std::string& token, Knowledge& known, AbuseReport& report)
      : connection_(address, token, "honest"), known_(known), report_(report) {}
  /// Sends what is due, reads what came. Throws where the server closed the session.
  void go_on();

 private:
  void hear(const WireFrame& frame);
  void ask();

  Connection connection_;
  Knowledge& known_;
  AbuseReport& report_;
  Entity own_;
  std::uint64_t edits_ = 0;
  std::optional<std::uint64_t> waits_for_;
  Clock::time_point asked_{}, load_due_{};
  bool follows_clock_ = false;
  std::optional<Clock::time_point> odd_since_;  // the clock is paused or has another speed than 1
  std::uint64_t next_request_ = 2;
};

}  // namespace muster::abuse

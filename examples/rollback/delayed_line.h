// A line that delivers packets late, in another order, or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "examples/rollback/packet.h"

/// One direction of a line. Draws the same losses in each run.
class DelayedLine {
 public:
  DelayedLine(double delay_ms, double jitter_ms, double loss, unsigned seed)
      : delay_ms_(delay_ms), jitter_ms_(jitter_ms), loss_(loss), random_(seed) {}

  void send(Packet packet, double now_ms) {
    ++sent_;
    if (part() < loss_) return void(++lost_);
    on_the_way_.push_back({now_ms + delay_ms_ + part() * jitter_ms_, std::move(packet)});
  }
  /// Returns a packet that has arrived, or no value.
  std::optional<Packet> receive(double now_ms) {
    for (auto each = on_the_way_.begin(); each != on_the_way_.end(); ++each) {
      if (each->first > now_ms) continue;
      std::optional<Packet> packet(std::move(each->second));
      on_the_way_.erase(each);
      return packet;
    }
    return std::nullopt;
  }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t lost() const { return lost_; }

 private:
  double part() { return static_cast<double>(random_()) / 4294967296.0; }

  const double delay_ms_, jitter_ms_, loss_;
  std::mt19937 random_;
  std::vector<std::pair<double, Packet>> on_the_way_;
  std::uint64_t sent_ = 0, lost_ = 0;
};

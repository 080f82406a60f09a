// Limits the number of bytes that a watch sends per second.
#pragma once

#include <algorithm>
#include <cstdint>

namespace muster {

/// All times are steady-clock times. Spending is never refused. Instead, it postpones the time at
/// which bytes may next be spent.
class ByteBudget {
 public:
  /// Sets the number of bytes per second, where 0 means no limit. If a wait is in progress, it
  /// continues at the new rate.
  void set(std::uint32_t rate, std::uint64_t now_ns) noexcept {
    const double ahead_ns = free_ns_ > now_ns ? static_cast<double>(free_ns_ - now_ns) : 0;
    free_ns_ = rate == 0 ? 0 : now_ns + static_cast<std::uint64_t>(ahead_ns * rate_ / rate);
    rate_ = rate;
  }
  bool is_free(std::uint64_t now_ns) const noexcept { return free_ns_ <= now_ns; }
  /// Returns the earliest steady-clock time at which bytes may be spent again.
  std::uint64_t free_ns() const noexcept { return free_ns_; }
  void spend(std::size_t bytes, std::uint64_t now_ns) noexcept {
    if (rate_ > 0) free_ns_ = std::max(free_ns_, now_ns) + bytes * 1'000'000'000 / rate_;
  }
  /// Returns the number of bytes, at most `bytes`, to spend at once so that several pieces are sent
  /// per second.
  std::size_t piece(std::size_t bytes) const noexcept {
    return rate_ == 0 ? bytes : std::clamp<std::size_t>(rate_ / 10, std::min<std::size_t>(1024, bytes), bytes);
  }

 private:
  std::uint32_t rate_ = 0;
  std::uint64_t free_ns_ = 0;
};

}  // namespace muster

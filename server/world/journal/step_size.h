// How much a step of a save writes, where edits wait for the disk between its steps: so much that a step takes about as long as it takes to
// write what such an edit waits for, and much where nobody waits.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace muster {

/// One thread, that which writes.
class StepSize {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;
  /// Of less than the least a disk that takes its time for every sync would be asked for too many: a save must get on.
  static constexpr std::uint64_t least = 64u << 10, most = 256u << 10;

  /// A group of so many bytes was written. How long a small one takes is what others wait at least.
  void wrote_group(std::size_t bytes, Time begun, Time now) noexcept {
    last_group_ = now;
    if (bytes > small) return;
    const Duration took = now - begun;
    if (group_.count() == 0) group_ = took;
    // What other programs do makes some longer, none shorter.
    group_ += (took - group_) / (took < group_ ? 2 : 16);
  }
  /// A step of bytes() was made.
  void made_step(Time begun, Time now) noexcept {
    if (group_.count() == 0 || !is_awaited(begun)) return;
    bytes_ = now - begun > group_ * 2 ? std::max(least, bytes_ / 2) : std::min(most, bytes_ + bytes_ / 4);
  }
  std::uint64_t bytes(Time now) const noexcept { return is_awaited(now) ? bytes_ : most; }

 private:
  static constexpr std::size_t small = 64u << 10;
  static constexpr auto soon = std::chrono::milliseconds(100);
  /// Groups came lately, so another may come during the next step.
  bool is_awaited(Time now) const noexcept { return last_group_ != Time{} && now - last_group_ < soon; }

  Time last_group_ = {};
  Duration group_{0};  // what a small one takes
  std::uint64_t bytes_ = most;
};

}  // namespace muster

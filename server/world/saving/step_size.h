// Chooses the size of a save's steps. If edits wait for the disk between the steps, a step takes
// about as long as writing a group. Otherwise, steps are large.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace muster {

/// Must be used on the writing thread.
class StepSize {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;
  /// With smaller steps, a slow disk would spend its time on syncs, and the save would make hardly
  /// any progress.
  static constexpr std::uint64_t least = 64u << 10, most = 256u << 10;

  /// Must be called after a group of `bytes` bytes has been written. Any edit must wait at least as
  /// long as it takes to write a small group.
  void wrote_group(std::size_t bytes, Time begun, Time now) noexcept {
    last_group_ = now;
    if (bytes > small) return;
    const Duration took = now - begun;
    if (group_.count() == 0) group_ = took;
    // Other programs can slow down the writing of a group, but never speed it up.
    group_ += (took - group_) / (took < group_ ? 2 : 16);
  }
  /// Must be called after each step whose size was bytes().
  void made_step(Time begun, Time now) noexcept {
    if (group_.count() == 0 || !is_awaited(begun)) return;
    bytes_ = now - begun > group_ * 2 ? std::max(least, bytes_ / 2) : std::min(most, bytes_ + bytes_ / 4);
  }
  std::uint64_t bytes(Time now) const noexcept { return is_awaited(now) ? bytes_ : most; }

 private:
  static constexpr std::size_t small = 64u << 10;
  static constexpr auto soon = std::chrono::milliseconds(100);
  /// Returns true if a group was written recently, in which case another group may arrive during
  /// the next step.
  bool is_awaited(Time now) const noexcept { return last_group_ != Time{} && now - last_group_ < soon; }

  Time last_group_ = {};
  Duration group_{0};  // estimated time that it takes to write a small group
  std::uint64_t bytes_ = most;
};

}  // namespace muster

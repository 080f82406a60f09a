// Determines how fast a world's time passes and when its next tick is due. Never affects what a
// tick does.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

namespace muster {

/// The pace of a world's clock.
struct Pace {
  static constexpr double speed_min = 0.01, speed_max = 100;
  static constexpr std::uint32_t steps_max = 100'000;

  double speed = 1;  ///< speed relative to the wall clock, from speed_min to speed_max
  bool paused = false;
  /// Number of ticks to make while paused, at most steps_max. In a world without hz, the number of
  /// frames.
  std::uint32_t steps = 0;
  friend bool operator==(const Pace&, const Pace&) noexcept = default;
};

/// Describes why a pace is invalid.
struct PaceFault {
  std::string field;  ///< the invalid field of Pace: "speed" or "steps"

  /// A stable identifier: "out_of_range", "not_finite", "not_paused", or "no_ticks".
  std::string reason;
  std::string text;  ///< a message that describes the fault
};

/// Does not read any clock. Callers pass in the current time, which must never decrease.
class Pacer {
 public:
  using Clock = std::chrono::steady_clock;

  /// `hz` is the number of ticks per second at speed 1. If `hz` is 0, the world's clock is advanced
  /// by timers or by frames of any length.
  explicit Pacer(double hz) noexcept : hz_(hz) {}

  const Pace& pace() const noexcept { return pace_; }
  /// Sets the pace. If the pace is invalid, nothing changes. The current tick becomes due after its
  /// remaining time has passed at the new speed. After a pause, the first tick is due a full tick
  /// later.
  [[nodiscard]] std::expected<void, PaceFault> set(const Pace& pace, Clock::time_point now);

  // --- with hz

  /// Returns the time at which the next tick is due. For a step, returns `now`. If no tick is due
  /// at any time, returns no value. The first call starts the first tick.
  std::optional<Clock::time_point> next_tick(Clock::time_point now);
  /// Begins the tick that is due, and returns its delay in ns. If the caller is late, the missed
  /// ticks are due immediately, one after another. If the caller is more than a quarter of a second
  /// late, the ticks in between are skipped.
  std::uint64_t begin_tick(Clock::time_point now);

  // --- without hz, polled

  /// Permits steps that are one frame each. Has no effect on a clock with hz.
  void begin_polling() noexcept { polled_ = true; }
  /// Returns the length of the frame for `elapsed`, in ns of the world's clock, or 0 if there is no
  /// frame. Carries a remainder below 1 ns over to the next frame. Treats NaN and negative times as
  /// 0, and times longer than a year as a year. While the clock is paused, each frame is a step.
  std::uint64_t frame_ns(std::chrono::duration<double, std::nano> elapsed);

  // --- without hz, driven by events

  /// Makes the world's clock follow the wall clock, starting at `now`.
  void begin_following(Clock::time_point now) noexcept;
  /// Returns the number of ns by which the world's clock has advanced since the previous call. If
  /// `move` is false, discards that time and returns 0.
  std::uint64_t passed(Clock::time_point now, bool move);
  /// Returns the time at which the world's clock will have advanced by `ahead_ns` since the last
  /// call to passed(), at most a year in the future. Returns no value if the clock is paused.
  std::optional<Clock::time_point> when(std::uint64_t ahead_ns) const;

 private:
  Clock::duration period() const noexcept;

  double hz_;
  Pace pace_;
  std::optional<Clock::time_point> next_tick_;
  Clock::time_point followed_{};
  double owed_ns_ = 0;  // ns of the world's clock since the previous passed()
  double rest_ns_ = 0;  // remainder of frame_ns(), below 1 ns
  bool polled_ = false;
};

}  // namespace muster

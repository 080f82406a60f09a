// How fast the time of a world goes by, and when its next tick is due. It decides when a tick is made, never what it does.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

namespace muster {

/// How the clock of a world runs.
struct Pace {
  static constexpr double speed_min = 0.01, speed_max = 100;
  static constexpr std::uint32_t steps_max = 100'000;

  double speed = 1;  ///< so many times as fast as the wall clock: speed_min to speed_max
  bool paused = false;
  std::uint32_t steps =
      0;  ///< while paused: ticks (frames, if the world has no hz) still to be made, at most steps_max
  friend bool operator==(const Pace&, const Pace&) noexcept = default;
};

/// Why a clock cannot run so.
struct PaceFault {
  std::string field;   ///< of Pace: "speed" or "steps"
  std::string reason;  ///< short and stable: "out_of_range", "not_finite", "not_paused", "no_ticks"
  std::string text;    ///< a sentence
};

/// Reads no clock itself: whoever uses it says what time it is, never an earlier one than before.
class Pacer {
 public:
  using Clock = std::chrono::steady_clock;

  /// hz: ticks per second at speed 1; 0: none, timers alone move the world's clock, or frames of any length do.
  explicit Pacer(double hz) noexcept : hz_(hz) {}

  const Pace& pace() const noexcept { return pace_; }
  /// On a fault nothing is changed. A tick that was under way is due after the rest of its time at the new speed; the first one
  /// after a pause a whole tick later.
  [[nodiscard]] std::expected<void, PaceFault> set(const Pace& pace, Clock::time_point now);

  // --- with hz

  /// When the next tick is due: `now` where it is a step, no value while there is none. The first call begins the first tick.
  std::optional<Clock::time_point> next_tick(Clock::time_point now);
  /// The tick that was due is made. How long after its time, in ns. Who comes late gets the ticks one after another; where
  /// that is more than a quarter of a second, the ticks in between are left out.
  std::uint64_t begin_tick(Clock::time_point now);

  // --- without hz, polled

  /// From now on there can be steps, each of one frame. It changes nothing for a clock with hz.
  void begin_polling() noexcept { polled_ = true; }
  /// Returns how long the frame is of a host for which `elapsed` passed, in ns of the world's
  /// clock; 0: there is none. What is less than a ns is kept for the next frame. Not a number and
  /// less than 0 are nothing, more than a year is a year. While the clock is paused each frame is a
  /// step.
  std::uint64_t frame_ns(std::chrono::duration<double, std::nano> elapsed);

  // --- without hz, driven by events

  /// From now on the world's clock follows the wall clock: passed() counts from here.
  void begin_following(Clock::time_point now) noexcept;
  /// How far the world's clock has to move since the last call, in ns, where it had to `move` since then.
  std::uint64_t passed(Clock::time_point now, bool move);
  /// When `ahead_ns` of the world's clock will have passed since the last call of passed(), or a year from
  /// there; no value: never, because it is paused.
  std::optional<Clock::time_point> when(std::uint64_t ahead_ns) const;

 private:
  Clock::duration period() const noexcept;

  double hz_;
  Pace pace_;
  std::optional<Clock::time_point> next_tick_;
  Clock::time_point followed_{};
  double owed_ns_ = 0;  // of the world's clock, at the speeds there were since passed() was called
  double rest_ns_ = 0;  // of frame_ns(), less than 1
  bool polled_ = false;
};

}  // namespace muster

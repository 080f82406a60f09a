// Defines steps, the units in which work on the world thread is measured. A step takes about a
// tenth of a microsecond, which is enough time to examine one entity, pass one ancestor, or copy 64
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster {

/// Nominal duration of a step. For work whose duration cannot be estimated, such as a game's
/// handlers, the number of steps is derived from the time that the work takes.
constexpr std::uint64_t step_ns = 100;

/// The remaining budget for a slice of work. The work does not stop automatically when the budget
/// is exhausted; the code that does the work must call left() between small pieces.
class Steps {
 public:
  explicit Steps(std::uint64_t allowed) noexcept : allowed_(allowed) {}
  void spend(std::uint64_t steps) noexcept { spent_ += steps; }
  void spend_bytes(std::size_t bytes) noexcept { spent_ += bytes / 64 + 1; }
  bool left() const noexcept { return spent_ < allowed_; }
  std::uint64_t allowed() const noexcept { return allowed_; }
  std::uint64_t spent() const noexcept { return spent_; }

 private:
  std::uint64_t allowed_;
  std::uint64_t spent_ = 0;
};

}  // namespace muster

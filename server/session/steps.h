// Units of work on the world thread. A step is about a tenth of a microsecond: examining one
// entity, passing one ancestor, or copying 64 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster {

/// Duration of a step if the estimate is right. Work that takes longer (handlers of a game) is
/// counted by its time.
constexpr std::uint64_t step_ns = 100;

/// The remaining budget of a slice of work. The budget never stops work; the worker calls `left`
/// between two small pieces.
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

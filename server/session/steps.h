// Units of work on the world thread. A step takes about a tenth of a microsecond, for example to
// examine one entity, pass one ancestor, or copy 64 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster {

/// Duration of a step if the estimate is accurate. For work that takes longer, such as a game's
/// handlers, steps are counted by time.
constexpr std::uint64_t step_ns = 100;

/// The remaining budget for a slice of work. Exceeding it does not stop the work; the code that
/// does the work calls left() between two small pieces.
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

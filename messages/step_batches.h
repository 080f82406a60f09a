// Converts the batches in a Step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "messages/batch.h"
#include "schema/muster.h"

namespace muster {

/// Returns consecutive batches as the value of Step::batches.
inline std::vector<std::uint8_t> step_bytes(std::span<const std::byte> batches) {
  const auto* const first = reinterpret_cast<const std::uint8_t*>(batches.data());
  return {first, first + batches.size()};
}

/// A copy of the batches in a Step that was verified (messages/judge/verifier.h). A copy is needed
/// because batches are aligned to 16 bytes, and the table aligns them to 4.
class StepBatches {
 public:
  explicit StepBatches(StepView step) {
    const auto bytes = std::as_bytes(step.batches());
    bytes_.assign(bytes.begin(), bytes.end());
  }
  explicit StepBatches(std::span<const std::byte> table) : StepBatches(StepView::from(table)) {}
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// Calls f(BatchView) for each batch. Stops the program if the bytes end inside a batch.
  template <class F>
  void for_each(F&& f) const {
    for_each_batch(bytes_, std::forward<F>(f));
  }

 private:
  std::vector<std::byte> bytes_;  // operator new aligns this to 16 bytes
};

}  // namespace muster

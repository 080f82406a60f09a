// Builds batches outside an arena, for clients, tests, and single pushes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "messages/batch_writer.h"

namespace muster {

/// A growing buffer of consecutive batches, aligned to 16 bytes. Not thread-safe. Views of its
/// batches are valid until the next append.
class BatchBuilder final : public BatchWriter {
 public:
  /// `batch_bytes` limits the size of each batch so that the batch stays within a receiver's
  /// limits. A larger message gets its own batch.
  explicit BatchBuilder(std::size_t batch_bytes = 1u << 20) noexcept : BatchWriter(batch_bytes & ~std::size_t{15}) {}
  ~BatchBuilder();

  /// Seals the open batch and returns all batches.
  std::span<const std::byte> bytes() noexcept {
    seal();
    return {memory_, static_cast<std::size_t>(write_ - memory_)};
  }
  std::size_t batches() const noexcept { return batches_; }
  bool empty() const noexcept { return batches_ == 0; }
  /// Seals the open batch and returns the first batch, which must exist.
  BatchView front() noexcept {
    seal();
    return BatchView(memory_);
  }
  /// Calls f(BatchView) for every batch in order.
  template <class F>
  void for_each(F&& f) {
    for_each_batch(bytes(), f);
  }
  /// Removes all batches but keeps the memory.
  void clear() noexcept;

 private:
  void make_room(std::size_t bytes) override;
  bool grow_open(std::size_t bytes) override;
  void reserve(std::size_t bytes);

  std::byte* memory_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace muster

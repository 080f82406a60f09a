// Batches outside an arena: what a client sends, what a test compares, what a push hands over as one piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "messages/batch_writer.h"

namespace muster {

/// One growing, 16-aligned buffer of batches, one behind the other. Not thread-safe. What was read from it is valid
/// until the next append.
class BatchBuilder final : public BatchWriter {
 public:
  /// A batch is closed and a new one begun before it exceeds `batch_bytes`, so that it fits the limits of a receiver; a
  /// single message that is larger still gets a batch of its own.
  explicit BatchBuilder(std::size_t batch_bytes = 1u << 20) noexcept : BatchWriter(batch_bytes & ~std::size_t{15}) {}
  ~BatchBuilder();

  /// All batches. Seals the open one.
  std::span<const std::byte> bytes() noexcept {
    seal();
    return {memory_, static_cast<std::size_t>(write_ - memory_)};
  }
  std::size_t batches() const noexcept { return batches_; }
  bool empty() const noexcept { return batches_ == 0; }
  /// The first batch; there must be one. Seals the open one.
  BatchView front() noexcept {
    seal();
    return BatchView(memory_);
  }
  /// Calls f(BatchView) for every batch in order.
  template <class F>
  void for_each(F&& f) {
    for_each_batch(bytes(), f);
  }
  /// Forgets all batches and keeps the memory.
  void clear() noexcept;

 private:
  void make_room(std::size_t bytes) override;
  bool grow_open(std::size_t bytes) override;
  void reserve(std::size_t bytes);

  std::byte* memory_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace muster

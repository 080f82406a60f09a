// Writes the messages of an undo to the place from which they are delivered, because a copy of a
// large undo takes as long as the writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "messages/batch_writer.h"
#include "schema/muster.h"

namespace muster::history {

/// A growing buffer of consecutive batches, aligned to 16 bytes. They can be the batches of a Step.
/// Not thread-safe. Spans are valid until the next append.
class StepWriter final : public BatchWriter {
 public:
  StepWriter() noexcept : BatchWriter(1u << 20) {}
  ~StepWriter();

  /// Makes the batches that follow those of a Step with these fields. May be called once, before
  /// anything is appended.
  void begin_step(std::string_view label, StepAct act, std::uint64_t of);
  /// Makes room for `bytes` more bytes, so that appending them does not move the batches.
  void expect(std::size_t bytes) { reserve(bytes); }
  /// Items of the open batch, which the caller must write completely.
  struct Items {
    std::byte* at = nullptr;
    std::uint32_t count = 0, bytes = 0;  ///< bytes of an item
  };
  /// Appends up to `count` items like the newest one, which must have been appended to an entity.
  /// The result has fewer items if the batch has no room for more, and may have none.
  Items append_like_last(std::size_t count) noexcept;

  /// Returns the batches.
  std::span<const std::byte> batches() noexcept {
    seal();
    return {memory_ + head_, static_cast<std::size_t>(write_ - memory_) - head_};
  }
  /// Returns the batch that contains the Step. begin_step() must have been called.
  std::span<const std::byte> step() noexcept;

 private:
  void make_room(std::size_t bytes) override { reserve(bytes); }
  bool grow_open(std::size_t bytes) override;
  void reserve(std::size_t bytes);

  std::byte* memory_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t head_ = 0;  // size of the Step before its batches
};

}  // namespace muster::history

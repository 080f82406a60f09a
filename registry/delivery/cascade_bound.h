// Keeps the messages that wait in a cascade within a bound that holds over inputs. Whatever a
// cascade's limits cut off waits, and handlers may post more than is delivered. If more messages
// wait than the bound allows, the newest are dropped.
//
// The bound affects the state. Inputs therefore applies it at places that depend only on messages:
// at the beginning and the end of each run of a cascade, and after every 8192 messages of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "messages/arena.h"
#include "messages/batch_builder.h"
#include "registry/apply/registry_state.h"
#include "registry/apply/structure.h"

namespace muster {

/// True if the limits on a cascade count the batch as a single message, as they do for a span.
inline bool counts_once(const BatchView& batch) noexcept {
  return batch.kind() == BatchKind::shared || batch.kind() == BatchKind::timed;
}
/// Returns the number of payload bytes in messages [begin, end). For a table, `offset` is the
/// position of the first message in the body. The payload of a span is counted once. The limits on
/// a cascade count these bytes, because the result must depend only on the messages, not on how
/// they are stored in batches.
std::uint64_t payload_bytes(const BatchView& batch, std::uint64_t begin, std::uint64_t end,
                            std::size_t offset) noexcept;

/// Owned by Inputs.
class CascadeBound {
 public:
  CascadeBound(RegistryState& state, Structure& structure) : state_(state), structure_(structure) {}

  /// Drops the newest messages if more wait than the bound allows. Returns the number of messages
  /// dropped. Costs a comparison while the queue is small.
  std::uint64_t hold() {
    const CascadeBounds& most = state_.bounds;
    // No message takes less than 8 bytes.
    if (state_.cascade.capacity() <= std::min(most.carried_bytes_max, most.carried_messages_max * 8)) [[likely]] {
      if (counted_ != 0) [[unlikely]]
        forget();
      return 0;
    }
    return hold_large();
  }
  /// Drops all messages except, if `delivering` is true, those of the front batch.
  void drop(bool delivering);
  /// Must be called before the front batch is popped.
  void popping(const BatchView& front) noexcept {
    if (counted_ != 0) [[unlikely]]
      uncount(front);
  }
  /// Must be called after the queue was changed in any other way than by appending to it.
  void forget() noexcept { counted_ = messages_ = bytes_ = 0; }
  /// Returns the first message type dropped by the last call of hold() that dropped any.
  TypeId first_dropped() const noexcept { return first_dropped_; }

 private:
  std::uint64_t hold_large();
  void uncount(const BatchView& front) noexcept;
  /// Counts a batch whose messages starting at `from` are dropped, and takes back the ids that they
  /// would have created. Keeps requests about handlers, which concern the program.
  void lose(const BatchView& batch, std::uint32_t from, std::uint64_t& messages);
  void append_requests();

  RegistryState& state_;
  Structure& structure_;
  // The oldest `counted_` batches were counted: their messages and payload bytes, including those
  // of the front batch that were delivered.
  std::size_t counted_ = 0;
  std::uint64_t messages_ = 0, bytes_ = 0;
  Arena::Place end_;  // position after them
  std::vector<Entity> made_;
  BatchBuilder requests_;
  TypeId first_dropped_ = 0;
};

}  // namespace muster

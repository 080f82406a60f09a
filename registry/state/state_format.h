// The byte format of the rows of a saved state, shared by the writer and the reader. All numbers
// are little-endian, as they are in memory.
//
//   registry    one RegistryRow; in format 1, the counts at its end may be missing and are then not
//               checked; the limits after them may also be missing, and the reader's own then apply.
//               The numbers after those are missing if they are those of a new registry
//   schema      a binary schema (.bfbs), key: its ordinal
//   directory   page of 4096 ids: | count 4 | zero 4 | generation 4 x count | state 1 x count |   (state 255: alive)
//   free_queue  | index 4 ... | front first
//   archetypes  | count 4 | zero 4 | { type id 4, size 4, fingerprint 8 } x count |   ascending by type id
//   chunks      | ChunkRow |   in format 1: | ChunkRow | version 8 x slots |
//   columns     the bytes of one column's rows; column 0: entity ids, 1: parents, else the component's
//               type id. An enableable component has another, hash32 of its name and ":enabled":
//               | 1 or 0 4 | per row, whether it is present; if not, its value is all zero
//   hierarchy   page of 1024 Links, by index
//   texts       page of 256: { length 4, bytes } ...
//   pending     | PendingRow | one batch |
//   timers      one timed batch, key: timer id
//   managers    | version 4 | name length 4 | name | the manager's own bytes |   key: hash64 of the name
//               bit 31 of version: the state is in parts, and the name is followed by: | parts 4 |
//   manager_parts  the manager's own bytes, key: hash64 of the name, column: the part's number
//   templates   one batch with one DefineTemplate message
//   disabled    | hash of a handler's name 8 ... | ascending
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "messages/arena.h"
#include "messages/batch.h"
#include "messages/batch_builder.h"
#include "messages/causes.h"
#include "registry/apply/registry_state.h"
#include "schema/muster.h"

namespace muster {

/// Format 1 also stored the version at which each column last changed. Versions are counted from
/// the creation of the registry, so equal states had different rows. Format 1 can still be read;
/// the versions are skipped.
struct RegistryRow {
  std::uint64_t format = 2;
  std::uint64_t sequence = 0;
  std::uint64_t now_ns = 0;
  std::uint64_t next_timer = 1;
  std::uint64_t next_chunk_uid = 1;
  std::uint64_t next_archetype = 0;
  std::uint64_t zero = 0;     ///< the newest version in format 1
  std::uint64_t indices = 0;  ///< number of ids ever used, including index 0
  std::uint64_t retired = 0;
  std::uint64_t messages = 0, unhandled = 0, dead = 0, refused = 0, carried = 0, overtaken = 0;
  std::uint64_t texts = 0, pending = 0, timers = 0;  ///< row counts, which reveal missing rows

  // These counts were added later, so that missing rows are detected. A row of registry_row_first
  // bytes ends here.
  std::uint64_t templates = 0, disabled = 0, archetypes = 0, schemas = 0;
  // These limits were added later. They determine which messages are carried over. A row of
  // registry_row_counted bytes ends here.
  std::uint64_t cascade_messages_max = 0, cascade_bytes_max = 0;
  // These numbers were added later. If they have the values of a new registry, the row ends here,
  // after registry_row_bounded bytes.
  std::uint64_t carried_messages_max = CascadeBounds{}.carried_messages_max;
  std::uint64_t carried_bytes_max = CascadeBounds{}.carried_bytes_max;
  std::uint64_t dropped = 0;
  std::uint64_t resumed = 0;  ///< Envelope::resumed of the next input, as far as it is known
  /// Returns the size with which the row is saved.
  std::size_t bytes() const noexcept;
};
static_assert(sizeof(RegistryRow) == 28 * 8);
constexpr std::size_t registry_row_first = 18 * 8, registry_row_counted = 22 * 8, registry_row_bounded = 24 * 8;
inline std::size_t RegistryRow::bytes() const noexcept {
  const RegistryRow usual;
  const bool ends = carried_messages_max == usual.carried_messages_max &&
                    carried_bytes_max == usual.carried_bytes_max && dropped == usual.dropped &&
                    resumed == usual.resumed;
  return ends ? registry_row_bounded : sizeof *this;
}

struct ChunkRow {
  std::uint32_t archetype = 0, depth = 0, place = 0, rows = 0;
};
static_assert(sizeof(ChunkRow) == 16);

enum class PendingQueue : std::uint32_t { input = 0, cascade = 1 };
struct PendingRow {
  PendingQueue queue = PendingQueue::input;
  /// Number of messages in this batch that have already been delivered. Now always 0, because
  /// delivered messages are omitted.
  std::uint32_t message = 0;
  std::uint64_t offset = 0;  ///< offset in the body of a table's next item
  std::uint64_t open = 0;    ///< 1 for the last posted batch, which the next post may extend
  std::uint64_t zero = 0;
};
static_assert(sizeof(PendingRow) == 32);

constexpr std::uint8_t state_alive = 255;
constexpr std::uint32_t texts_per_page = 256;

/// Passes a posted batch to `take` in the form in which it is saved and hashed: without the
/// ordinals of handlers that other handlers subscribed, because they have no meaning in another
/// process.
template <class F>
void as_saved(const BatchView& batch, F&& take) {
  if (batch.type() != TypeTraits<HandlerRequest>::id || batch.kind() != BatchKind::world) return take(batch.bytes());
  std::vector<std::byte> copy(batch.bytes().begin(), batch.bytes().end());
  for (std::uint32_t i = 0; i < batch.count(); ++i) {
    HandlerRequest request;
    std::byte* const at = copy.data() + (batch.payload(i) - batch.bytes().data());
    std::memcpy(&request, at, sizeof request);
    request.ordinal = 0;
    std::memcpy(at, &request, sizeof request);
  }
  take(std::span<const std::byte>(copy));
}

/// The carried messages of a cut cascade in the form in which they are saved and hashed: without
/// causes and without the messages already delivered. Batch boundaries depend only on the messages,
/// because the boundaries in the arena must not be observable.
class CarriedOver {
 public:
  /// `delivered` is the number of messages of the first batch that have already been delivered.
  CarriedOver(const Arena& cascade, std::uint32_t delivered, const TypeTable& types) {
    cascade.for_each(
        [&](const BatchView& batch) { append_without_causes(batches_, batch, types, std::exchange(delivered, 0)); });
  }
  std::size_t batches() const noexcept { return batches_.batches(); }
  template <class F>
  void for_each(F&& take) {
    batches_.for_each([&](const BatchView& batch) { as_saved(batch, take); });
  }

 private:
  BatchBuilder batches_{Arena::batch_bytes_default};
};

}  // namespace muster

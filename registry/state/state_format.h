// The bytes of the rows of saved state, shared by their writer and their reader. All numbers little-endian, as in memory.
//
//   registry    one RegistryRow
//   schema      a binary schema (.bfbs), key: its ordinal
//   directory   page of 4096 ids: | count 4 | zero 4 | generation 4 x count | state 1 x count |   (state 255: alive)
//   free_queue  | index 4 ... | front first
//   archetypes  | count 4 | zero 4 | { type id 4, size 4, fingerprint 8 } x count |   ascending by type id
//   chunks      | ChunkRow | version 8 x slots |
//   columns     the bytes of one column's rows; column 0: entity ids, 1: parents, else the component's type id
//   hierarchy   page of 1024 Links, by index
//   texts       page of 256: { length 4, bytes } ...
//   pending     | PendingRow | one batch |
//   timers      one timed batch, key: timer id
//   managers    | version 4 | name length 4 | name | the manager's own bytes |   key: hash64 of the name
//   templates   one batch with one DefineTemplate message
//   disabled    | hash of a handler's name 8 ... | ascending
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "messages/batch.h"
#include "messages/batch_builder.h"
#include "messages/causes.h"
#include "schema/muster.h"

namespace muster {

struct RegistryRow {
  std::uint64_t format = 1;
  std::uint64_t sequence = 0;
  std::uint64_t now_ns = 0;
  std::uint64_t next_timer = 1;
  std::uint64_t next_chunk_uid = 1;
  std::uint64_t next_archetype = 0;
  std::uint64_t version = 1;
  std::uint64_t indices = 0;  ///< ids ever used, index 0 counted
  std::uint64_t retired = 0;
  std::uint64_t messages = 0, unhandled = 0, dead = 0, refused = 0, carried = 0, overtaken = 0;
  std::uint64_t texts = 0, pending = 0, timers = 0;  ///< how many there are: nothing else would miss a lost one
};
static_assert(sizeof(RegistryRow) == 18 * 8);

struct ChunkRow {
  std::uint32_t archetype = 0, depth = 0, place = 0, rows = 0;
};
static_assert(sizeof(ChunkRow) == 16);

enum class PendingQueue : std::uint32_t { input = 0, cascade = 1 };
struct PendingRow {
  PendingQueue queue = PendingQueue::input;
  std::uint32_t message = 0;  ///< messages of this batch that were delivered before
  std::uint64_t offset = 0;   ///< of tables: where the next item begins in the body
  std::uint64_t open = 0;     ///< 1: the last posted batch, which the next post may still extend
  std::uint64_t zero = 0;
};
static_assert(sizeof(PendingRow) == 32);

constexpr std::uint8_t state_alive = 255;
constexpr std::uint32_t texts_per_page = 256;

/// A waiting batch as it is saved and hashed. The numbers of subscriptions that were asked for inside handlers are left
/// out: they mean nothing in another process; so are causes, which are no state.
template <class F>
void as_saved(const BatchView& batch, const TypeTable& types, F&& take) {
  if (batch.has_causes()) {
    BatchBuilder plain(batch_bytes_max);
    append_without_causes(plain, batch, types);
    plain.for_each([&](const BatchView& without) { as_saved(without, types, take); });
    return;
  }
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

}  // namespace muster

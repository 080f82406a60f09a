// Defines the byte layout of every kind of batch. The bytes are identical in the arena, at the
// input sink, on a socket, in the journal, and in saved state. All numbers are little-endian. A
// batch starts on a 16-byte boundary, and its length is a multiple of 16. Bytes not described below
// are zero.
//
//   header   0        4        8    9    10           11              12
//            | bytes  | type   |kind|flags|header_units|payload_offset| count |
//            16             20           24                32
//            | payload_bytes | item_bytes | argument       | (row set, if flag rows) ... up to header_units * 16
//
//   each     items of item_bytes:  | target 8 | [cause 8] | payload | pad |       payload at payload_offset in the item
//   world    items of item_bytes:  | [cause 8] | payload | pad |                  to every matching entity: a pass
//   subtree  as `each`; argument is the mask of SubtreeParts
//   shared   | [cause 8, zero 8] | payload, padded to 16 | count targets of 8 |   one payload for a span; item_bytes is 8
//   table    count items of their own length, each padded to 16:
//            | target 8 | length 4 | zero 4 | [cause 8, zero 8] | FlatBuffer, 16-aligned |
//            item_bytes and payload_bytes are 0; a nil target is the world; argument is a SubtreeParts mask or 0
//   timed    | timer id 8 | zero 8 | one batch of any other kind |  argument is the due time, ns of the registry's clock
//
//   row set  | components 4 | zero 4 | components x { type id 4, offset in the payload 4 } | pad |
//            With flag rows (kinds each and shared), the payload is the message struct followed by one value of each
//            component named here, each at its offset, aligned. Create and Set use this layout. Type ids are unique.
//            A tag (a component without data bytes of its own) still has its struct's bytes.
//
//   payload_offset: each, subtree: 8, or 16 if the payload is aligned to 16; with causes 16.
//                   world: 0, with causes 8 (16 if aligned to 16). shared: 0, with causes 16. table: 16, with causes 32.
//                   timed: 16.
//   item_bytes: payload_offset + payload_bytes, rounded up to the larger of 8 and the alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "messages/require.h"
#include "schema/descriptor.h"

namespace muster {

enum class BatchKind : std::uint8_t { each = 1, shared = 2, table = 3, world = 4, subtree = 5, timed = 6 };

/// Bits of BatchHeader::flags.
enum BatchFlags : std::uint8_t { batch_causes = 1, batch_rows = 2 };

/// Bits of a subtree batch's argument. The bits select the targets, which are, in this order:
/// ancestors from the root down, the entity itself, and descendants in pre-order.
enum SubtreeParts : std::uint64_t { subtree_ancestors = 1, subtree_self = 2, subtree_descendants = 4 };

struct BatchHeader {
  std::uint32_t bytes = 0;  ///< size of header and body, a multiple of 16
  TypeId type = 0;          ///< the message's type
  BatchKind kind = BatchKind::each;
  std::uint8_t flags = 0;
  std::uint8_t header_units = 2;  ///< size of this header and its row set, in units of 16 bytes
  std::uint8_t payload_offset = 0;
  std::uint32_t count = 0;          ///< number of messages (shared: number of targets; timed: 1)
  std::uint32_t payload_bytes = 0;  ///< size of one payload; 0 for tables and timed
  std::uint32_t item_bytes = 0;     ///< distance between the starts of consecutive items; 0 for
                                    ///< tables and timed, 8 for shared
  std::uint64_t argument = 0;
};
static_assert(sizeof(BatchHeader) == 32);

/// One component of a row set.
struct RowSetEntry {
  TypeId type = 0;
  std::uint32_t offset = 0;  ///< offset of the component's value in the payload
};

constexpr std::uint32_t batch_alignment = 16;
constexpr std::uint32_t batch_bytes_max = 1u << 30;

constexpr std::uint32_t round_up(std::uint32_t value, std::uint32_t alignment) noexcept {
  return (value + alignment - 1) & ~(alignment - 1);
}
constexpr std::uint32_t row_set_bytes(std::uint32_t components) noexcept { return round_up(8 + 8 * components, 16); }
constexpr std::uint32_t payload_offset_for(BatchKind kind, bool causes, std::uint32_t align) noexcept {
  switch (kind) {
    case BatchKind::each:
    case BatchKind::subtree: return causes || align > 8 ? 16 : 8;
    case BatchKind::world: return !causes ? 0 : align > 8 ? 16 : 8;
    case BatchKind::shared: return causes ? 16 : 0;
    case BatchKind::table: return causes ? 32 : 16;
    case BatchKind::timed: return 16;
  }
  return 0;
}
constexpr std::uint32_t item_bytes_for(std::uint32_t payload_offset, std::uint32_t payload_bytes,
                                       std::uint32_t align) noexcept {
  return round_up(payload_offset + payload_bytes, align > 8 ? align : 8);
}

/// Reads a complete, well-formed batch that was created by a BatchWriter or accepted by
/// verify_batch(). The view does not own the bytes, and is valid only while the bytes are valid.
/// Views are cheap to copy, and any thread may use them.
class BatchView {
 public:
  BatchView() = default;
  explicit BatchView(const std::byte* batch) noexcept : base_(batch) {}
  explicit BatchView(std::span<const std::byte> batch) noexcept : base_(batch.data()) {}

  const BatchHeader& header() const noexcept { return *reinterpret_cast<const BatchHeader*>(base_); }
  std::span<const std::byte> bytes() const noexcept { return {base_, header().bytes}; }
  TypeId type() const noexcept { return header().type; }
  BatchKind kind() const noexcept { return header().kind; }
  std::uint32_t count() const noexcept { return header().count; }
  bool has_causes() const noexcept { return (header().flags & batch_causes) != 0; }
  bool has_rows() const noexcept { return (header().flags & batch_rows) != 0; }
  const std::byte* body() const noexcept { return base_ + std::size_t{header().header_units} * 16; }

  /// Returns the components of a batch with rows, or an empty span for other batches.
  std::span<const RowSetEntry> row_set() const noexcept {
    if (!has_rows()) return {};
    std::uint32_t count;
    std::memcpy(&count, base_ + sizeof(BatchHeader), sizeof count);
    return {reinterpret_cast<const RowSetEntry*>(base_ + sizeof(BatchHeader) + 8), count};
  }
  /// Returns item i. Valid only for kinds each, subtree, and world.
  const std::byte* item(std::uint32_t i) const noexcept { return body() + std::size_t{i} * header().item_bytes; }
  /// Returns the target of item i for kinds each and subtree, or target i for kind shared.
  Entity target(std::uint32_t i) const noexcept {
    const std::byte* at = kind() == BatchKind::shared ? shared_targets() + std::size_t{i} * 8 : item(i);
    Entity entity;
    std::memcpy(&entity, at, sizeof entity);
    return entity;
  }
  /// Returns the payload of item i for kinds each, subtree, and world, or the single payload for
  /// kind shared.
  const std::byte* payload(std::uint32_t i) const noexcept {
    return (kind() == BatchKind::shared ? body() : item(i)) + header().payload_offset;
  }
  /// Returns a pointer to the first of count() 8-byte targets. Valid only for kind shared.
  const std::byte* shared_targets() const noexcept {
    return body() + header().payload_offset + round_up(header().payload_bytes, 16);
  }
  /// Returns the timer's id. Valid only for kind timed. inner() returns the batch that the timer
  /// delivers.
  std::uint64_t timer() const noexcept {
    std::uint64_t id;
    std::memcpy(&id, body(), sizeof id);
    return id;
  }
  BatchView inner() const noexcept { return BatchView(body() + 16); }

 private:
  const std::byte* base_ = nullptr;
};

/// Calls f(BatchView) for each of the consecutive batches in `bytes`, which must be aligned to 16.
/// Stops the program if `bytes` ends inside a batch.
template <class F>
void for_each_batch(std::span<const std::byte> bytes, F&& f) {
  while (!bytes.empty()) {
    std::uint32_t first = 0;
    if (bytes.size() >= sizeof(BatchHeader)) std::memcpy(&first, bytes.data(), sizeof first);
    require(first >= sizeof(BatchHeader) && first <= bytes.size(), "these bytes end inside a batch");
    f(BatchView(bytes.data()));
    bytes = bytes.subspan(first);
  }
}

/// One message of a table batch.
struct TableItem {
  Entity target;
  std::span<const std::byte> table;
  const std::byte* next = nullptr;  ///< start of the next item
};
/// Reads the table item at `at`. For the first item, pass body() of the batch; for subsequent
/// items, pass TableItem::next.
inline TableItem table_item(const BatchView& batch, const std::byte* at) noexcept {
  TableItem item;
  std::uint32_t length;
  std::memcpy(&item.target, at, 8);
  std::memcpy(&length, at + 8, 4);
  const std::byte* data = at + batch.header().payload_offset;
  item.table = {data, length};
  item.next = data + round_up(length, 16);
  return item;
}

}  // namespace muster

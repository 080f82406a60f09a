// Makes batches as messages/batch.h draws them. The one maker: the registry's arena, the outboxes of handlers, clients
// and tests write through it; Arena and BatchBuilder say where the memory comes from.
//
// Consecutive messages of one type, kind and argument go into one batch, the open one. While a batch is open, its
// header's count and bytes are behind; whoever reads through Arena or BatchBuilder sees them right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "messages/batch.h"
#include "messages/row_set.h"

namespace muster {

/// Not thread-safe. No function here fails: a message over batch_bytes_max, or no memory, stops the program.
class BatchWriter {
 public:
  BatchWriter(const BatchWriter&) = delete;
  BatchWriter& operator=(const BatchWriter&) = delete;

  // --- Messages of types known to the compiler. About 1 ns while the open batch fits.

  /// To one entity.
  template <MessageType M>
  void append(Entity target, const M& message) {
    put<M, BatchKind::each>(target, 0, message);
  }
  /// To everyone who matches: a pass.
  template <MessageType M>
  void append_world(const M& message) {
    put<M, BatchKind::world>({}, 0, message);
  }
  /// To the `parts` (a mask of SubtreeParts) of one entity's line.
  template <MessageType M>
  void append_subtree(Entity target, std::uint64_t parts, const M& message) {
    put<M, BatchKind::subtree>(target, parts, message);
  }
  /// To many entities, one payload. Always a batch of its own; nothing is appended for an empty span.
  template <MessageType M>
  void append_shared(std::span<const Entity> targets, const M& message) {
    if (std::byte* at = append_shared(PayloadShape::of<M>(), targets)) std::memcpy(at, &message, sizeof(M));
  }
  /// Create or Set with components, to one entity.
  template <MessageType M, ComponentType... Cs>
  void append_rows(Entity target, const M& message, const Cs&... components) {
    using Rows = StaticRowSet<M, Cs...>;
    constexpr Item item(BatchKind::each, Rows::shape);
    constexpr std::uint64_t key = run_key(Rows::shape.type, BatchKind::each, batch_rows, 0);
    std::byte* payload;
    if (open_key_ == key && room() >= item.bytes && open_rows_are(Rows::layout.entries)) [[likely]]
      payload = take<item.offset, item.bytes, Rows::shape.bytes, true>(target);
    else
      payload = append_item(BatchKind::each, Rows::shape, target, 0, Rows::entries(), true);
    Rows::put(payload, message, components...);
  }
  /// The same set of values to many entities, for instance to create a crowd. Nothing for an empty span.
  template <MessageType M, ComponentType... Cs>
  void append_rows_shared(std::span<const Entity> targets, const M& message, const Cs&... components) {
    using Rows = StaticRowSet<M, Cs...>;
    if (std::byte* at = append_shared_item(Rows::shape, targets, Rows::entries(), true))
      Rows::put(at, message, components...);
  }

  // --- The same by run-time types. Each returns where the payload goes, zeroed: fill all `bytes` of its shape before
  // the next call of this writer; padding inside must stay zero.

  std::byte* append(PayloadShape shape, Entity target) {
    return append_item(BatchKind::each, shape, target, 0, {}, false);
  }
  std::byte* append_world(PayloadShape shape) { return append_item(BatchKind::world, shape, {}, 0, {}, false); }
  std::byte* append_subtree(PayloadShape shape, Entity target, std::uint64_t parts) {
    return append_item(BatchKind::subtree, shape, target, parts, {}, false);
  }
  /// Null for an empty span.
  std::byte* append_shared(PayloadShape shape, std::span<const Entity> targets) {
    return append_shared_item(shape, targets, {}, false);
  }
  std::byte* append_rows(const RowSet& rows, Entity target) {
    return append_item(BatchKind::each, rows.shape(), target, 0, rows.entries(), true);
  }
  /// Null for an empty span.
  std::byte* append_rows_shared(const RowSet& rows, std::span<const Entity> targets) {
    return append_shared_item(rows.shape(), targets, rows.entries(), true);
  }

  // --- The other kinds.

  /// A finished FlatBuffer. A nil target is the world; `parts` as for append_subtree, 0: the target alone.
  void append_table(TypeId type, Entity target, std::span<const std::byte> table, std::uint64_t parts = 0);
  /// `inner` is copied whole; it must not be timed itself. `due` in ns of the registry's clock.
  void append_timed(std::uint64_t due, std::uint64_t timer, BatchView inner);
  /// Copies a whole batch, made by a writer or judged by the Verifier.
  void append_batch(BatchView batch);

  /// Ends the open batch: what comes next starts a new one.
  void seal() noexcept {
    if (open_key_ != 0) close();
  }

  /// Whether each item carries the number of the message that caused it, and which. Takes effect with the next message.
  void set_causes(bool on) noexcept {
    causes_ = on;
    seal();
  }
  bool causes() const noexcept { return causes_; }
  void set_cause(std::uint64_t cause) noexcept { cause_ = cause; }

 protected:
  BatchWriter() = default;
  ~BatchWriter() = default;

  /// Points write_ and limit_ at memory for a new batch of at least `bytes` (a multiple of 16), 16-aligned, limit_ too.
  /// No batch is open.
  virtual void make_room(std::size_t bytes) = 0;
  /// Tries to make room for `bytes` more behind the open batch, perhaps moving it; false: it cannot grow.
  virtual bool grow_open(std::size_t bytes) = 0;
  /// A batch of `bytes` is finished.
  virtual void on_sealed(std::size_t bytes) noexcept = 0;

  /// Brings the open batch's header up to date; it stays open.
  void finish_header() const noexcept;
  std::size_t open_bytes() const noexcept {
    return open_key_ == 0 ? 0 : (static_cast<std::size_t>(write_ - open_) + 15) & ~std::size_t{15};
  }
  void swap_state(BatchWriter& other) noexcept;

  std::byte* write_ = nullptr;  // where the next item goes
  std::byte* limit_ = nullptr;  // end of the memory it may use
  std::byte* open_ = nullptr;   // header of the open batch
  std::uint64_t open_key_ = 0;  // 0: no batch is open

 private:
  /// Where the payload lies in an item, and the item's length, as batch.h says; without causes.
  struct Item {
    constexpr Item(BatchKind kind, PayloadShape shape, bool causes = false) noexcept
        : offset(payload_offset_for(kind, causes, shape.align)),
          bytes(item_bytes_for(offset, shape.bytes, shape.align)) {}
    std::uint32_t offset, bytes;
  };
  /// What messages of one batch have in common, as one number; never 0. Only row sets must be compared beside it.
  static constexpr std::uint64_t run_key(TypeId type, BatchKind kind, std::uint32_t flags,
                                         std::uint64_t parts) noexcept {
    return type | (std::uint64_t{static_cast<std::uint8_t>(kind)} << 32) | (std::uint64_t{flags} << 40) | (parts << 48);
  }
  std::size_t room() const noexcept { return static_cast<std::size_t>(limit_ - write_); }

  /// The next item of the open batch, known to fit: target and zero padding are written, the payload is not.
  template <std::uint32_t Offset, std::uint32_t Bytes, std::uint32_t Payload, bool HasTarget>
  std::byte* take(Entity target) noexcept {
    std::byte* const at = write_;
    write_ = at + Bytes;
    if constexpr (HasTarget) std::memcpy(at, &target, 8);
    constexpr std::uint32_t head = HasTarget ? 8 : 0;
    if constexpr (Offset > head) std::memset(at + head, 0, Offset - head);
    if constexpr (Bytes > Offset + Payload) std::memset(at + Offset + Payload, 0, Bytes - Offset - Payload);
    return at + Offset;
  }

  template <class M, BatchKind Kind>
  void put(Entity target, std::uint64_t parts, const M& message) {
    constexpr PayloadShape shape = PayloadShape::of<M>();
    constexpr Item item(Kind, shape);
    std::byte* payload;
    if (open_key_ == run_key(shape.type, Kind, 0, parts) && room() >= item.bytes) [[likely]]
      payload = take < item.offset, item.bytes, shape.bytes, Kind != BatchKind::world > (target);
    else
      payload = append_item(Kind, shape, target, parts, {}, false);
    std::memcpy(payload, &message, sizeof(M));
  }

  template <std::size_t N>
  bool open_rows_are(const std::array<RowSetEntry, N>& entries) const noexcept {
    std::uint32_t count;
    std::memcpy(&count, open_ + sizeof(BatchHeader), sizeof count);
    return count == N && std::memcmp(open_ + sizeof(BatchHeader) + 8, entries.data(), N * sizeof(RowSetEntry)) == 0;
  }

  std::byte* append_item(BatchKind kind, PayloadShape shape, Entity target, std::uint64_t parts,
                         std::span<const RowSetEntry> rows, bool has_rows);
  std::byte* append_shared_item(PayloadShape shape, std::span<const Entity> targets, std::span<const RowSetEntry> rows,
                                bool has_rows);
  BatchHeader& start(const BatchHeader& header, std::uint64_t key, std::span<const RowSetEntry> rows, std::size_t body);
  void close() noexcept;

  bool causes_ = false;
  std::uint64_t cause_ = 0;
};

}  // namespace muster

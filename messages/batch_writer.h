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
    constexpr Run run(BatchKind::each, Rows::shape, false, true, Rows::count);
    std::byte* payload;
    if (causes_) [[unlikely]] {
      payload = rows_item(Rows::shape, target, Rows::entries());
    } else {
      if (open_key_ != run.key() || room() < run.item_bytes || !open_rows_are(Rows::layout.entries)) [[unlikely]]
        next_item(run, 0, Rows::entries());
      payload = take<run.payload_offset, run.item_bytes, Rows::shape.bytes, true>(target);
    }
    Rows::put(payload, message, components...);
  }
  /// The same set of values to many entities, for instance to create a crowd. Nothing for an empty span.
  template <MessageType M, ComponentType... Cs>
  void append_rows_shared(std::span<const Entity> targets, const M& message, const Cs&... components) {
    using Rows = StaticRowSet<M, Cs...>;
    if (std::byte* at = shared_item(Rows::shape, targets, Rows::entries(), true)) Rows::put(at, message, components...);
  }

  // --- The same by run-time types. Each returns where the payload goes: write all `bytes` of its shape before the next
  // call of this writer, padding as zero. Only payloads with rows are zeroed already.

  std::byte* append(PayloadShape shape, Entity target) { return item(BatchKind::each, shape, target, 0); }
  std::byte* append_world(PayloadShape shape) { return item(BatchKind::world, shape, {}, 0); }
  std::byte* append_subtree(PayloadShape shape, Entity target, std::uint64_t parts) {
    return item(BatchKind::subtree, shape, target, parts);
  }
  /// Null for an empty span.
  std::byte* append_shared(PayloadShape shape, std::span<const Entity> targets) {
    return shared_item(shape, targets, {}, false);
  }
  std::byte* append_rows(const RowSet& rows, Entity target) { return rows_item(rows.shape(), target, rows.entries()); }
  /// Null for an empty span.
  std::byte* append_rows_shared(const RowSet& rows, std::span<const Entity> targets) {
    return shared_item(rows.shape(), targets, rows.entries(), true);
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
  /// `batch_bytes`: how large a batch may get by extending it.
  explicit BatchWriter(std::size_t batch_bytes) noexcept : batch_bytes_(batch_bytes) {}
  ~BatchWriter() = default;

  /// Points write_ and end_ at memory for a new batch of at least `bytes` (a multiple of 16), both 16-aligned. No batch
  /// is open.
  virtual void make_room(std::size_t bytes) = 0;
  /// Tries to make room for `bytes` more behind the open batch, perhaps moving it, and sets limit_ and end_; false:
  /// it cannot grow.
  virtual bool grow_open(std::size_t bytes) = 0;

  /// Brings the open batch's header up to date; it stays open.
  void finish_header() const noexcept;
  std::size_t open_bytes() const noexcept {
    return open_key_ == 0 ? 0 : (static_cast<std::size_t>(write_ - open_) + 15) & ~std::size_t{15};
  }
  void swap_state(BatchWriter& other) noexcept;

  std::byte* write_ = nullptr;  // where the next item goes
  std::byte* limit_ = nullptr;  // how far the open batch may extend
  std::byte* end_ = nullptr;    // of the memory at write_
  std::byte* open_ = nullptr;   // header of the open batch
  std::uint64_t open_key_ = 0;  // Run::key of the open batch; 0: none is open
  std::size_t batch_bytes_;
  std::size_t sealed_bytes_ = 0;
  std::size_t sealed_batches_ = 0;

 private:
  /// What the messages of one batch have in common: its header, all but the counts. The rules are those of batch.h.
  struct Run {
    constexpr Run(BatchKind k, PayloadShape shape, bool causes, bool rows, std::size_t components) noexcept
        : type(shape.type),
          kind(k),
          flags(static_cast<std::uint8_t>((causes ? batch_causes : 0) | (rows ? batch_rows : 0))),
          header_bytes(static_cast<std::uint32_t>(sizeof(BatchHeader) +
                                                  (rows ? row_set_bytes(static_cast<std::uint32_t>(components)) : 0))),
          payload_offset(payload_offset_for(k, causes, shape.align)),
          payload_bytes(shape.bytes),
          item_bytes(k == BatchKind::shared ? 8 : item_bytes_for(payload_offset, shape.bytes, shape.align)) {}
    /// Of tables and timed, whose items have no common length.
    constexpr Run(BatchKind k, TypeId t, bool causes) noexcept
        : type(t),
          kind(k),
          flags(causes ? batch_causes : 0),
          header_bytes(sizeof(BatchHeader)),
          payload_offset(payload_offset_for(k, causes, 16)),
          payload_bytes(0),
          item_bytes(0) {}

    /// Type, kind, flags (and parts) as one number, never 0. Only row sets must be compared beside it.
    constexpr std::uint64_t key(std::uint64_t parts = 0) const noexcept {
      return type | (std::uint64_t{static_cast<std::uint8_t>(kind)} << 32) | (std::uint64_t{flags} << 40) |
             (parts << 48);
    }

    TypeId type;
    BatchKind kind;
    std::uint8_t flags;
    std::uint32_t header_bytes, payload_offset, payload_bytes, item_bytes;
  };

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
  /// The same where the layout is known at run time only, causes included.
  std::byte* take(const Run& run, Entity target) noexcept {
    std::byte* const at = write_;
    write_ = at + run.item_bytes;
    std::memset(write_ - 8, 0, 8);  // padding behind the payload is less than 16, and less than 8 up to alignment 8
    if (run.item_bytes >= 16) std::memset(write_ - 16, 0, 8);
    if (run.payload_offset == 16) std::memset(at, 0, 16);
    std::byte* head = at;
    if (run.kind != BatchKind::world) {
      std::memcpy(head, &target, 8);
      head += 8;
    }
    if ((run.flags & batch_causes) != 0) std::memcpy(head, &cause_, 8);
    return at + run.payload_offset;
  }

  template <class M, BatchKind Kind>
  void put(Entity target, std::uint64_t parts, const M& message) {
    constexpr PayloadShape shape = PayloadShape::of<M>();
    constexpr Run run(Kind, shape, false, false, 0);
    std::byte* payload;
    if (open_key_ != run.key(parts) || room() < run.item_bytes) [[unlikely]] {
      if (causes_) {
        std::memcpy(item(Kind, shape, target, parts), &message, sizeof(M));
        return;
      }
      next_item(run, parts, {});
    }
    payload = take < run.payload_offset, run.item_bytes, shape.bytes, Kind != BatchKind::world > (target);
    std::memcpy(payload, &message, sizeof(M));
  }

  std::byte* item(BatchKind kind, PayloadShape shape, Entity target, std::uint64_t parts) {
    const Run run(kind, shape, causes_, false, 0);
    if (open_key_ != run.key(parts) || room() < run.item_bytes) [[unlikely]]
      next_item(run, parts, {});
    return take(run, target);
  }

  template <std::size_t N>
  bool open_rows_are(const std::array<RowSetEntry, N>& entries) const noexcept {
    std::uint32_t count;
    std::memcpy(&count, open_ + sizeof(BatchHeader), sizeof count);
    return count == N && std::memcmp(open_ + sizeof(BatchHeader) + 8, entries.data(), N * sizeof(RowSetEntry)) == 0;
  }

  std::byte* rows_item(PayloadShape shape, Entity target, std::span<const RowSetEntry> rows);
  std::byte* shared_item(PayloadShape shape, std::span<const Entity> targets, std::span<const RowSetEntry> rows,
                         bool has_rows);
  void next_item(const Run& run, std::uint64_t parts, std::span<const RowSetEntry> rows);
  void start(const Run& run, std::uint64_t parts, std::uint64_t argument, std::uint32_t count,
             std::span<const RowSetEntry> rows, std::size_t body);
  void close() noexcept;

  bool causes_ = false;
  std::uint64_t cause_ = 0;
};

}  // namespace muster

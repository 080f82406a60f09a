// Writes batches in the layout shown in messages/batch.h. The registry's arena, the outboxes of
// handlers, clients, and tests all use this class. Arena and BatchBuilder provide the memory.
//
// Consecutive messages with the same type, kind, and argument share a batch. The batch to which
// messages can still be added is called the open batch. While a batch is open, the count and size
// in its header are stale. Arena and BatchBuilder update these fields before returning the batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "messages/batch.h"
#include "messages/require.h"
#include "messages/row_set.h"

namespace muster {

/// Appends messages to batches. Not thread-safe. The functions do not return errors. If a message
/// is larger than batch_bytes_max, or if memory runs out, the program stops.
class BatchWriter {
 public:
  BatchWriter(const BatchWriter&) = delete;
  BatchWriter& operator=(const BatchWriter&) = delete;

  // --- Messages of types known at compile time. Appending a message takes about 1 ns if the
  // message fits in the open batch.

  /// Appends a message to one entity.
  template <MessageType M>
  void append(Entity target, const M& message) {
    put<M, BatchKind::each>(target, 0, message);
  }
  /// Appends the message if the open batch has room for it; otherwise returns false and does
  /// nothing. The caller may read the batch in the same function, unlike after extend_or().
  template <MessageType M>
  bool extend(Entity target, const M& message) noexcept {
    static constexpr Run run(BatchKind::each, PayloadShape::of<M>(), false, false, 0);
    std::byte* const at = write_;
    if (open_key_ != run.key() || static_cast<std::size_t>(limit_ - at) < run.item_bytes()) [[unlikely]]
      return false;
    write_ = at + run.item_bytes();
    put_item<run.payload_offset(), run.item_bytes(), true>(at, target, message);
    return true;
  }
  /// Appends the message if the open batch has room for it. Otherwise calls `otherwise`, which must
  /// return the result of calling begin().
  template <MessageType M, class F>
  void extend_or(Entity target, const M& message, F&& otherwise) {
    static constexpr Run run(BatchKind::each, PayloadShape::of<M>(), false, false, 0);
    // Use only one branch. If write_ is read after a second branch, the compiler does not reuse the
    // value of write_ from the previous post.
    std::byte* const at = write_;
    const auto room = reinterpret_cast<std::uintptr_t>(limit_) - reinterpret_cast<std::uintptr_t>(at);
    const unsigned same = open_key_ == run.key(), fits = room >= run.item_bytes();
    if (same & fits) [[likely]] {
      write_ = at + run.item_bytes();
      put_words<run.payload_offset(), run.item_bytes()>(at, target, message);
      return;
    }
    // This assignment serves only to inform the compiler, so that write_ stays in a register on
    // both paths of a loop of posts. A load from memory would have to wait for the store of the
    // previous post.
    write_ = otherwise();
  }
  /// Starts a new batch with the message. The new batch directly follows the open batch in memory.
  /// Returns the place of the next item. Returns null and does nothing if no batch that can be
  /// extended is open, or if the open batch's memory has no room for another batch.
  template <MessageType M>
  [[gnu::always_inline]] std::byte* begin_next(Entity target, const M& message) {
    static constexpr Run run(BatchKind::each, PayloadShape::of<M>(), false, false, 0);
    if (open_key_ == 0 || causes_) [[unlikely]]
      return nullptr;
    std::byte* const end = write_;
    const std::size_t closed = up_to_16(static_cast<std::size_t>(end - open_));
    std::byte* const at = open_ + closed;
    const std::size_t room = std::min(static_cast<std::size_t>(end_ - at), batch_bytes_);
    if (room < sizeof(BatchHeader) + 16 + run.item_bytes()) [[unlikely]]
      return nullptr;
    finish_header(end);
    begin_at(run, at, room);
    std::byte* const item = at + sizeof(BatchHeader);
    put_item<run.payload_offset(), run.item_bytes(), true>(item, target, message);
    std::byte* const next = item + run.item_bytes();
    if (next == nullptr)
      __builtin_unreachable();  // tells the compiler that callers do not need to
                                // check the result for null
    return next;
  }
  /// Appends a message and returns the place of the next item.
  template <MessageType M>
  std::byte* append_and_tell(Entity target, const M& message) {
    append(target, message);
    return write_;
  }
  /// Appends a message to all matching entities (a pass).
  template <MessageType M>
  void append_world(const M& message) {
    put<M, BatchKind::world>({}, 0, message);
  }
  /// Appends a message to ancestors, self, or descendants of an entity. `parts` is a mask of
  /// SubtreeParts.
  template <MessageType M>
  void append_subtree(Entity target, std::uint64_t parts, const M& message) {
    put<M, BatchKind::subtree>(target, parts, message);
  }
  /// Appends one payload for several entities, always as a separate batch. Appends nothing for an
  /// empty span.
  template <MessageType M>
  void append_shared(std::span<const Entity> targets, const M& message) {
    if (std::byte* at = append_shared(PayloadShape::of<M>(), targets)) std::memcpy(at, &message, sizeof(M));
  }
  /// Like the function above, but for `count` > 0 targets, which the caller must write to the
  /// returned span before the next call.
  template <MessageType M>
  std::span<Entity> append_shared(std::size_t count, const M& message) {
    Entity* targets = nullptr;
    std::memcpy(begin_shared(PayloadShape::of<M>(), count, {}, false, targets), &message, sizeof(M));
    return {targets, count};
  }
  /// Appends a Create or Set message that has components and is addressed to one entity.
  template <MessageType M, ComponentType... Cs>
  void append_rows(Entity target, const M& message, const Cs&... components) {
    using Rows = StaticRowSet<M, Cs...>;
    static constexpr Run run(BatchKind::each, Rows::shape, false, true, Rows::count);
    std::byte* payload;
    if (causes_) [[unlikely]] {
      payload = rows_item(Rows::shape, target, Rows::entries());
    } else {
      std::byte* at = write_;
      if (open_key_ == run.key() && static_cast<std::size_t>(limit_ - at) >= run.item_bytes() &&
          open_rows_are(Rows::entries())) [[likely]]
        write_ = at + run.item_bytes();
      else
        at = next_item(run, Rows::entries());
      payload = fill<run.payload_offset(), run.item_bytes(), Rows::shape.bytes, true>(at, target);
    }
    Rows::put(payload, message, components...);
  }
  /// Appends a Create or Set message with one set of values for several entities. Appends nothing
  /// for an empty span.
  template <MessageType M, ComponentType... Cs>
  void append_rows_shared(std::span<const Entity> targets, const M& message, const Cs&... components) {
    using Rows = StaticRowSet<M, Cs...>;
    if (std::byte* at = shared_item(Rows::shape, targets, Rows::entries(), true)) Rows::put(at, message, components...);
  }

  /// Like the function above, but for `count` > 0 targets, which the caller must write to the
  /// returned span before the next call.
  template <MessageType M, ComponentType... Cs>
  std::span<Entity> append_rows_shared(std::size_t count, const M& message, const Cs&... components) {
    using Rows = StaticRowSet<M, Cs...>;
    Entity* targets = nullptr;
    Rows::put(begin_shared(Rows::shape, count, Rows::entries(), true, targets), message, components...);
    return {targets, count};
  }

  // --- Messages of types known at run time. Each function returns the place of the payload. Before
  // the next call, the caller must write all `bytes` of the payload's shape, with zero padding.
  // Only payloads with rows are zeroed in advance.

  std::byte* append(PayloadShape shape, Entity target) { return item<BatchKind::each>(shape, target, 0); }
  std::byte* append_world(PayloadShape shape) { return item<BatchKind::world>(shape, {}, 0); }
  std::byte* append_subtree(PayloadShape shape, Entity target, std::uint64_t parts) {
    return item<BatchKind::subtree>(shape, target, parts);
  }
  /// Returns null if `targets` is empty.
  std::byte* append_shared(PayloadShape shape, std::span<const Entity> targets) {
    return shared_item(shape, targets, {}, false);
  }
  std::byte* append_rows(const RowSet& rows, Entity target) { return rows_item(rows.shape(), target, rows.entries()); }
  /// Returns null if `targets` is empty.
  std::byte* append_rows_shared(const RowSet& rows, std::span<const Entity> targets) {
    return shared_item(rows.shape(), targets, rows.entries(), true);
  }

  // --- Other kinds.

  /// Appends a finished FlatBuffer. A nil target means the world. `parts` is a mask as in
  /// append_subtree(), or 0 for the target alone.
  void append_table(TypeId type, Entity target, std::span<const std::byte> table, std::uint64_t parts = 0);
  /// Appends a copy of `inner`, which must not be timed, to be delivered at `due`, in ns of the
  /// registry's clock.
  void append_timed(std::uint64_t due, std::uint64_t timer, BatchView inner);
  /// Appends a copy of a complete batch that was created by a writer or accepted by verify_batch().
  void append_batch(BatchView batch);
  /// Appends the messages of another writer's batch one by one, so that the batch boundaries are
  /// the same as if the messages had originally been appended to this writer.
  void append_messages(BatchView batch);

  /// Seals the open batch. The next message starts a new one.
  void seal() noexcept {
    if (open_ != nullptr) close();
  }

  /// A place in a writer's memory, behind everything that was appended.
  struct Written {
    const std::byte* at = nullptr;
    const std::byte* memory_end = nullptr;  ///< tells whether two places are in the same memory
  };
  /// Returns the place behind the newest message, and brings the header of the open batch up to
  /// date. The bytes between two such places in the same memory depend only on what was appended.
  Written written() const noexcept {
    if (open_ != nullptr) finish_header();
    return {write_, end_};
  }

  /// Makes every extend_or() call invoke `otherwise`, until let_go() is called with the value
  /// returned here. Nothing may be appended in the meantime.
  std::uint64_t hold() noexcept {
    const std::uint64_t key = open_key_;
    open_key_ = 0;
    return key;
  }
  void let_go(std::uint64_t key) noexcept { open_key_ = key; }

  /// Sets whether each item carries its cause, which is the number passed to set_cause(). Takes
  /// effect with the next message.
  void set_causes(bool on) noexcept {
    causes_ = on;
    seal();
  }
  bool causes() const noexcept { return causes_; }
  std::uint64_t cause() const noexcept { return cause_; }
  void set_cause(std::uint64_t cause) noexcept { cause_ = cause; }

 protected:
  /// `batch_bytes` limits the size of a batch that can still be extended.
  explicit BatchWriter(std::size_t batch_bytes) noexcept : batch_bytes_(batch_bytes) {}
  ~BatchWriter() = default;

  /// Makes write_ and end_ point to memory for a new batch of at least `bytes` (a multiple of 16).
  /// Both must be 16-byte-aligned. 8 bytes after end_ must be writable, because padding is written
  /// without checking for room. Called only if no batch is open.
  virtual void make_room(std::size_t bytes) = 0;
  /// Makes room for another `bytes` bytes in the open batch, moving the batch if necessary, and
  /// sets limit_ and end_. Returns false if the batch cannot grow.
  virtual bool grow_open(std::size_t bytes) = 0;
  /// Adjusts pointers before the open batch is moved by `by` bytes.
  void move_open(std::ptrdiff_t by) noexcept {
    if (open_ == nullptr) return;
    open_ += by;
    body_ += by;
  }

  /// Updates the open batch's header and trailing padding. The batch stays open.
  void finish_header() const noexcept { finish_header(write_); }
  void close() noexcept {
    write_ = finish_header(write_);
    open_ = nullptr;
    open_key_ = 0;
  }
  /// Returns the size of the open batch in bytes.
  std::size_t open_bytes() const noexcept { return (static_cast<std::size_t>(write_ - open_) + 15) & ~std::size_t{15}; }
  void swap_state(BatchWriter& other) noexcept;

  std::byte* write_ = nullptr;  // place of the next item
  std::byte* limit_ = nullptr;  // position up to which the open batch can grow
  std::byte* end_ = nullptr;    // end of the memory at write_
  std::byte* open_ = nullptr;   // header of the open batch, or null
  std::size_t batch_bytes_;
  std::size_t batches_ = 0;  // number of batches begun and not yet popped, including the open one

 private:
  /// The properties that all messages of a batch share. For types known at compile time, the Run is
  /// a constant, and each new batch begins with a copy of its header.
  struct Run {
    constexpr Run(BatchKind kind, PayloadShape shape, bool causes, bool rows, std::size_t components) noexcept {
      header.type = shape.type;
      header.kind = kind;
      header.flags = static_cast<std::uint8_t>((causes ? batch_causes : 0) | (rows ? batch_rows : 0));
      if (rows)
        header.header_units = static_cast<std::uint8_t>(2 + row_set_bytes(static_cast<std::uint32_t>(components)) / 16);
      header.payload_offset = static_cast<std::uint8_t>(payload_offset_for(kind, causes, shape.align));
      header.payload_bytes = shape.bytes;
      header.item_bytes =
          kind == BatchKind::shared ? 8 : item_bytes_for(header.payload_offset, shape.bytes, shape.align);
      // 2^32 / item_bytes, rounded up. Multiplying the total size of all items in bytes by this
      // value and dividing by 2^32 yields exactly the number of items.
      if (kind != BatchKind::shared) reciprocal = 0xffffffffu / header.item_bytes + 1;
      key_without_parts = key_of(header.type, kind, header.flags, 0);
    }
    /// Describes tables and timed batches, whose items vary in length.
    constexpr Run(BatchKind kind, TypeId type, bool causes) noexcept {
      header.type = type;
      header.kind = kind;
      header.flags = causes ? batch_causes : 0;
      header.payload_offset = static_cast<std::uint8_t>(payload_offset_for(kind, causes, 16));
      key_without_parts = key_of(type, kind, header.flags, 0);
    }

    /// Describes messages that have the same properties as those of an existing batch.
    explicit Run(const BatchHeader& like) noexcept : header(like) {
      header.bytes = header.count = 0;
      header.argument = 0;
      if (header.item_bytes != 0) reciprocal = 0xffffffffu / header.item_bytes + 1;
      key_without_parts = key_of(header.type, header.kind, header.flags, 0);
    }

    constexpr std::uint64_t key(std::uint64_t parts = 0) const noexcept { return key_without_parts | (parts << 48); }
    /// Combines type, kind, flags, and parts into one number, which is never 0. The key does not
    /// include row sets.
    static constexpr std::uint64_t key_of(TypeId type, BatchKind kind, std::uint8_t flags,
                                          std::uint64_t parts) noexcept {
      return type | (std::uint64_t{static_cast<std::uint8_t>(kind)} << 32) | (std::uint64_t{flags} << 40) |
             (parts << 48);
    }
    constexpr std::uint32_t header_bytes() const noexcept { return header.header_units * 16u; }
    constexpr std::uint32_t payload_offset() const noexcept { return header.payload_offset; }
    constexpr std::uint32_t item_bytes() const noexcept { return header.item_bytes; }

    BatchHeader header;  // the batch header, with count, bytes, and argument set to 0
    std::uint64_t key_without_parts = 0;
    std::uint32_t reciprocal = 0;  // reciprocal of item_bytes; 0 if the count is stored in
                                   // open_count_
  };

  static constexpr std::size_t up_to_16(std::size_t bytes) noexcept { return (bytes + 15) & ~std::size_t{15}; }
  /// Begins a batch of `run` at `at`, where `room` bytes are free, and reserves room for one item.
  /// `run` must have neither a row set nor an argument.
  [[gnu::always_inline]] void begin_at(const Run& run, std::byte* at, std::size_t room) noexcept {
    std::memcpy(at, &run.header, sizeof run.header);
    std::byte* const begin = at + sizeof(BatchHeader);
    write_ = begin + run.item_bytes();
    limit_ = at + room;
    open_ = at;
    body_ = begin;
    open_key_ = run.key();
    reciprocal_ = run.reciprocal;
    open_count_ = 0;
    ++batches_;
  }
  /// Updates the header of the open batch, whose items end at `end`. Returns the end of the padding
  /// that follows the items.
  std::byte* finish_header(std::byte* end) const noexcept {
    // Store each field at the width at which it will be loaded later. A load that spans two recent
    // stores would have to wait for both.
    std::byte* const open = open_;
    const auto count =
        open_count_ + static_cast<std::uint32_t>((static_cast<std::uint64_t>(end - body_) * reciprocal_) >> 32);
    const std::size_t bytes = up_to_16(static_cast<std::size_t>(end - open));
    const auto bytes_field = static_cast<std::uint32_t>(bytes);
    std::memset(end, 0, 8);  // the padding, if any; the length of every body is a multiple of 8
    std::memcpy(open + offsetof(BatchHeader, bytes), &bytes_field, sizeof bytes_field);
    std::memcpy(open + offsetof(BatchHeader, count), &count, sizeof count);
    return open + bytes;
  }
  /// Returns the header of the open batch. Its count and bytes are stale.
  const BatchHeader& open_header() const noexcept { return *reinterpret_cast<const BatchHeader*>(open_); }
  std::size_t room() const noexcept { return static_cast<std::size_t>(limit_ - write_); }

  /// Writes the target and the zero padding of the item at `at`, but not the payload. Returns the
  /// place of the payload.
  template <std::uint32_t Offset, std::uint32_t Bytes, std::uint32_t Payload, bool HasTarget>
  static std::byte* fill(std::byte* at, Entity target) noexcept {
    if constexpr (HasTarget) std::memcpy(at, &target, 8);
    constexpr std::uint32_t head = HasTarget ? 8 : 0;
    if constexpr (Offset > head) std::memset(at + head, 0, Offset - head);
    if constexpr (Bytes > Offset + Payload) std::memset(at + Offset + Payload, 0, Bytes - Offset - Payload);
    return at + Offset;
  }
  /// Returns eight bytes of a message, padded with zeros past its end, so that a small message and
  /// its padding can be written with a single store.
  template <class M>
  static std::uint64_t word_of(const M& message, std::size_t at) noexcept {
    std::uint64_t word = 0;
    if (at < sizeof(M))
      std::memcpy(&word, reinterpret_cast<const std::byte*>(&message) + at, std::min<std::size_t>(8, sizeof(M) - at));
    return word;
  }
  static constexpr std::uint32_t words_max = 32;  // Size limit in bytes. Longer payloads are copied
                                                  // with memcpy.
  /// Writes a whole item.
  template <std::uint32_t Offset, std::uint32_t Bytes, bool HasTarget, class M>
  static void put_item(std::byte* at, Entity target, const M& message) noexcept {
    if constexpr (Bytes - Offset > words_max) {
      std::memcpy(fill<Offset, Bytes, sizeof(M), HasTarget>(at, target), &message, sizeof(M));
    } else {
      std::byte* const payload = fill<Offset, Bytes, Bytes - Offset, HasTarget>(at, target);
      for (std::uint32_t i = 0; i < Bytes - Offset; i += 8) {
        const std::uint64_t word = word_of(message, i);
        std::memcpy(payload + i, &word, 8);
      }
    }
  }
  /// Writes a whole item using std::uint64_t stores. The compiler knows that such stores do not
  /// change pointers, so write_ stays in a register during a loop. The batch must not be read in
  /// the same function, because readers may access it as other types.
  template <std::uint32_t Offset, std::uint32_t Bytes, class M>
  static void put_words(std::byte* at, Entity target, const M& message) noexcept {
    if constexpr (Bytes - Offset > words_max) {
      put_item<Offset, Bytes, true>(at, target, message);
    } else {
      auto* const words = reinterpret_cast<std::uint64_t*>(at);
      words[0] = target.index | std::uint64_t{target.generation} << 32;
      if constexpr (Offset > 8) words[1] = 0;
      for (std::uint32_t i = 0; i < Bytes - Offset; i += 8) words[(Offset + i) / 8] = word_of(message, i);
    }
  }
  /// Like fill() above, but for a layout known at run time, including causes.
  template <BatchKind Kind>
  std::byte* fill(std::byte* at, Entity target) const noexcept {
    const std::uint32_t payload_offset = open_header().payload_offset, item_bytes = open_header().item_bytes;
    const bool causes = causes_;
    std::byte* const end = at + item_bytes;
    std::memset(end - 8, 0, 8);  // the padding is shorter than 16 bytes, and shorter than 8 bytes
                                 // for alignments up to 8
    if (Kind != BatchKind::world || item_bytes >= 16) std::memset(end - 16, 0, 8);
    if (payload_offset == 16) std::memset(at, 0, 16);
    std::byte* head = at;
    if constexpr (Kind != BatchKind::world) {
      std::memcpy(head, &target, 8);
      head += 8;
    }
    if (causes) std::memcpy(head, &cause_, 8);
    return at + payload_offset;
  }

  template <class M, BatchKind Kind>
  void put(Entity target, std::uint64_t parts, const M& message) {
    static constexpr PayloadShape shape = PayloadShape::of<M>();
    static constexpr Run run(Kind, shape, false, false, 0);
    std::byte* at = write_;
    if (open_key_ == run.key(parts) && static_cast<std::size_t>(limit_ - at) >= run.item_bytes()) [[likely]] {
      write_ = at + run.item_bytes();
    } else if (!causes_) {
      at = parts == 0 && open_key_ != run.key() ? first_item(run) : next_item(run, parts);
    } else {
      std::memcpy(item<Kind>(shape, target, parts), &message, sizeof(M));
      return;
    }
    constexpr bool has_target = Kind != BatchKind::world;
    put_item<run.payload_offset(), run.item_bytes(), has_target>(at, target, message);
  }

  template <BatchKind Kind>
  std::byte* item(PayloadShape shape, Entity target, std::uint64_t parts) {
    // Batches with equal keys have equal layouts, so the item size can be read from the header of
    // the open batch.
    const std::uint64_t key = Run::key_of(shape.type, Kind, causes_ ? batch_causes : 0, parts);
    std::byte* at = write_;
    if (open_key_ == key && static_cast<std::size_t>(limit_ - at) >= open_header().item_bytes) [[likely]]
      write_ = at + open_header().item_bytes;
    else
      at = next_item(Run(Kind, shape, causes_, false, 0), parts);
    require(open_header().payload_bytes == shape.bytes, "one message type was passed with two sizes");
    return fill<Kind>(at, target);
  }

  /// Returns true if the row set of the open batch, which must have rows, equals `rows`.
  bool open_rows_are(std::span<const RowSetEntry> rows) const noexcept {
    if (open_ == nullptr) __builtin_unreachable();  // avoids a GCC warning
    std::uint32_t count;
    std::memcpy(&count, open_ + sizeof(BatchHeader), sizeof count);
    return count == rows.size() &&
           (count == 0 || std::memcmp(open_ + sizeof(BatchHeader) + 8, rows.data(), rows.size_bytes()) == 0);
  }

  std::byte* rows_item(PayloadShape shape, Entity target, std::span<const RowSetEntry> rows);
  std::byte* shared_item(PayloadShape shape, std::span<const Entity> targets, std::span<const RowSetEntry> rows,
                         bool has_rows);
  /// Begins a shared batch. The caller must write its targets.
  std::byte* begin_shared(PayloadShape shape, std::size_t count, std::span<const RowSetEntry> rows, bool has_rows,
                          Entity*& targets);
  /// Returns the place of the next item of a batch of `run`: in the open batch if it can be
  /// extended, otherwise in a new batch.
  std::byte* next_item(const Run& run, std::uint64_t parts);
  std::byte* next_item(const Run& run, std::span<const RowSetEntry> rows);
  /// Returns the place of the first item of a new batch of `run`, which must have neither a row set
  /// nor an argument.
  std::byte* first_item(const Run& run);
  /// Begins a batch of `run` with room for `body` bytes, and returns the place of its body. The
  /// caller must set write_ and write the row set.
  std::byte* start(const Run& run, std::uint64_t parts, std::size_t body);

  std::uint64_t open_key_ = 0;    // Run::key_of() of an open batch that can be extended, or 0
  std::byte* body_ = nullptr;     // body of the open batch
  std::uint32_t reciprocal_ = 0;  // reciprocal of the open batch's item_bytes
  std::uint32_t open_count_ = 0;  // number of messages in the open batch, if division cannot count
                                  // them
  bool causes_ = false;
  std::uint64_t cause_ = 0;
};

}  // namespace muster

// Makes batches as messages/batch.h draws them. The one maker: the registry's arena, the outboxes of handlers, clients
// and tests write through it; Arena and BatchBuilder say where the memory comes from.
//
// Consecutive messages of one type, kind and argument go into one batch, the open one. While a batch is open, its
// header's count and bytes are behind; whoever reads through Arena or BatchBuilder sees them right.
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
  /// Appends where the open batch can take it; false, and nothing done, where it cannot. For callers that may read the batch.
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
  /// Appends where the open batch can take it; else `otherwise` is called, and returns what its call of begin() returned.
  template <MessageType M, class F>
  void extend_or(Entity target, const M& message, F&& otherwise) {
    static constexpr Run run(BatchKind::each, PayloadShape::of<M>(), false, false, 0);
    // One branch: where write_ is read behind another, the compiler will not take it from the post before.
    std::byte* const at = write_;
    const auto room = reinterpret_cast<std::uintptr_t>(limit_) - reinterpret_cast<std::uintptr_t>(at);
    const unsigned same = open_key_ == run.key(), fits = room >= run.item_bytes();
    if (same & fits) [[likely]] {
      write_ = at + run.item_bytes();
      put_words<run.payload_offset(), run.item_bytes()>(at, target, message);
      return;
    }
    // Says nothing new but to the compiler: in a loop of posts, write_ is known from the one before, whichever way that
    // took. To read it back from memory would make each post wait for the one before.
    write_ = otherwise();
  }
  /// The same as the first message of a new batch behind one that could be extended with others of its type. Returns where the
  /// next item would go; null, and nothing done, where no such batch is open, or there is no room in this memory.
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
    if (next == nullptr) __builtin_unreachable();  // so that the caller need not ask
    return next;
  }
  /// As append(), and returns where the next item would go.
  template <MessageType M>
  std::byte* append_and_tell(Entity target, const M& message) {
    append(target, message);
    return write_;
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
  /// The same to `count` > 0 targets that the caller writes, to where it says, before the next call.
  template <MessageType M>
  std::span<Entity> append_shared(std::size_t count, const M& message) {
    Entity* targets = nullptr;
    std::memcpy(begin_shared(PayloadShape::of<M>(), count, {}, false, targets), &message, sizeof(M));
    return {targets, count};
  }
  /// Create or Set with components, to one entity.
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
  /// The same set of values to many entities, for instance to create a crowd. Nothing for an empty span.
  template <MessageType M, ComponentType... Cs>
  void append_rows_shared(std::span<const Entity> targets, const M& message, const Cs&... components) {
    using Rows = StaticRowSet<M, Cs...>;
    if (std::byte* at = shared_item(Rows::shape, targets, Rows::entries(), true)) Rows::put(at, message, components...);
  }

  /// The same to `count` > 0 targets that the caller writes, to where it says, before the next call.
  template <MessageType M, ComponentType... Cs>
  std::span<Entity> append_rows_shared(std::size_t count, const M& message, const Cs&... components) {
    using Rows = StaticRowSet<M, Cs...>;
    Entity* targets = nullptr;
    Rows::put(begin_shared(Rows::shape, count, Rows::entries(), true, targets), message, components...);
    return {targets, count};
  }

  // --- The same by run-time types. Each returns where the payload goes: write all `bytes` of its shape before the next
  // call of this writer, padding as zero. Only payloads with rows are zeroed already.

  std::byte* append(PayloadShape shape, Entity target) { return item<BatchKind::each>(shape, target, 0); }
  std::byte* append_world(PayloadShape shape) { return item<BatchKind::world>(shape, {}, 0); }
  std::byte* append_subtree(PayloadShape shape, Entity target, std::uint64_t parts) {
    return item<BatchKind::subtree>(shape, target, parts);
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
  /// Appends what another writer was given, message by message: batches end where they would had it been given here.
  void append_messages(BatchView batch);

  /// Ends the open batch: what comes next starts a new one.
  void seal() noexcept {
    if (open_ != nullptr) close();
  }

  /// Until let_go() of what this returns, extend_or() takes the other way whatever the open batch; nothing may be appended.
  std::uint64_t hold() noexcept {
    const std::uint64_t key = open_key_;
    open_key_ = 0;
    return key;
  }
  void let_go(std::uint64_t key) noexcept { open_key_ = key; }

  /// Whether each item carries the number of the message that caused it, and which. Takes effect with the next message.
  void set_causes(bool on) noexcept {
    causes_ = on;
    seal();
  }
  bool causes() const noexcept { return causes_; }
  std::uint64_t cause() const noexcept { return cause_; }
  void set_cause(std::uint64_t cause) noexcept { cause_ = cause; }

 protected:
  /// `batch_bytes`: how large a batch may get by extending it.
  explicit BatchWriter(std::size_t batch_bytes) noexcept : batch_bytes_(batch_bytes) {}
  ~BatchWriter() = default;

  /// Points write_ and end_ at memory for a new batch of at least `bytes` (a multiple of 16), both 16-aligned. Behind
  /// end_ there must be 8 bytes more: padding is written without asking whether there is room for it. No batch is open.
  virtual void make_room(std::size_t bytes) = 0;
  /// Tries to make room for `bytes` more behind the open batch, perhaps moving it, and sets limit_ and end_; false:
  /// it cannot grow.
  virtual bool grow_open(std::size_t bytes) = 0;
  /// Told of the open batch before it is moved: `by` bytes.
  void move_open(std::ptrdiff_t by) noexcept {
    if (open_ == nullptr) return;
    open_ += by;
    body_ += by;
  }

  /// Brings the open batch's header up to date, and the padding behind it; the batch stays open.
  void finish_header() const noexcept { finish_header(write_); }
  void close() noexcept {
    write_ = finish_header(write_);
    open_ = nullptr;
    open_key_ = 0;
  }
  /// Of the batch that is open.
  std::size_t open_bytes() const noexcept { return (static_cast<std::size_t>(write_ - open_) + 15) & ~std::size_t{15}; }
  void swap_state(BatchWriter& other) noexcept;

  std::byte* write_ = nullptr;  // where the next item goes
  std::byte* limit_ = nullptr;  // how far the open batch may extend
  std::byte* end_ = nullptr;    // of the memory at write_
  std::byte* open_ = nullptr;   // header of the open batch; null: none is open
  std::size_t batch_bytes_;
  std::size_t batches_ = 0;  // begun and not yet dropped, the open one included

 private:
  /// What the messages of one batch have in common. Of types known to the compiler it is a constant, and to begin a
  /// batch is to copy its header.
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
      // 2^32 / item_bytes, rounded up: bytes of whole items times this, divided by 2^32, is exactly how many they are.
      if (kind != BatchKind::shared) reciprocal = 0xffffffffu / header.item_bytes + 1;
      key_without_parts = key_of(header.type, kind, header.flags, 0);
    }
    /// Of tables and timed, whose items have no common length.
    constexpr Run(BatchKind kind, TypeId type, bool causes) noexcept {
      header.type = type;
      header.kind = kind;
      header.flags = causes ? batch_causes : 0;
      header.payload_offset = static_cast<std::uint8_t>(payload_offset_for(kind, causes, 16));
      key_without_parts = key_of(type, kind, header.flags, 0);
    }

    /// Of a batch that there is.
    explicit Run(const BatchHeader& like) noexcept : header(like) {
      header.bytes = header.count = 0;
      header.argument = 0;
      if (header.item_bytes != 0) reciprocal = 0xffffffffu / header.item_bytes + 1;
      key_without_parts = key_of(header.type, header.kind, header.flags, 0);
    }

    constexpr std::uint64_t key(std::uint64_t parts = 0) const noexcept { return key_without_parts | (parts << 48); }
    /// Type, kind, flags (and parts) as one number, never 0. Only row sets must be compared beside it.
    static constexpr std::uint64_t key_of(TypeId type, BatchKind kind, std::uint8_t flags,
                                          std::uint64_t parts) noexcept {
      return type | (std::uint64_t{static_cast<std::uint8_t>(kind)} << 32) | (std::uint64_t{flags} << 40) |
             (parts << 48);
    }
    constexpr std::uint32_t header_bytes() const noexcept { return header.header_units * 16u; }
    constexpr std::uint32_t payload_offset() const noexcept { return header.payload_offset; }
    constexpr std::uint32_t item_bytes() const noexcept { return header.item_bytes; }

    BatchHeader header;  // count, bytes and argument are 0
    std::uint64_t key_without_parts = 0;
    std::uint32_t reciprocal = 0;  // of item_bytes; 0 where the count is not found by dividing
  };

  static constexpr std::size_t up_to_16(std::size_t bytes) noexcept { return (bytes + 15) & ~std::size_t{15}; }
  /// Begins a batch of `run`, which has neither row set nor argument, where `room` bytes are free; room for one item is taken.
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
  /// Of the open batch, whose items end at `end`. Gives the end of its padding.
  std::byte* finish_header(std::byte* end) const noexcept {
    // Each field is stored with the width that readers load it with: a load that spans two fresh stores waits for both.
    std::byte* const open = open_;
    const auto count =
        open_count_ + static_cast<std::uint32_t>((static_cast<std::uint64_t>(end - body_) * reciprocal_) >> 32);
    const std::size_t bytes = up_to_16(static_cast<std::size_t>(end - open));
    const auto bytes_field = static_cast<std::uint32_t>(bytes);
    std::memset(end, 0, 8);  // the padding, if there is any: every body is a multiple of 8 long
    std::memcpy(open + offsetof(BatchHeader, bytes), &bytes_field, sizeof bytes_field);
    std::memcpy(open + offsetof(BatchHeader, count), &count, sizeof count);
    return open + bytes;
  }
  /// What it says but for count and bytes, which are behind.
  const BatchHeader& open_header() const noexcept { return *reinterpret_cast<const BatchHeader*>(open_); }
  std::size_t room() const noexcept { return static_cast<std::size_t>(limit_ - write_); }

  /// Fills the item at `at`: target and zero padding, all but the payload.
  template <std::uint32_t Offset, std::uint32_t Bytes, std::uint32_t Payload, bool HasTarget>
  static std::byte* fill(std::byte* at, Entity target) noexcept {
    if constexpr (HasTarget) std::memcpy(at, &target, 8);
    constexpr std::uint32_t head = HasTarget ? 8 : 0;
    if constexpr (Offset > head) std::memset(at + head, 0, Offset - head);
    if constexpr (Bytes > Offset + Payload) std::memset(at + Offset + Payload, 0, Bytes - Offset - Payload);
    return at + Offset;
  }
  /// Eight bytes of a message, zero behind its end: a small message and its padding are one store.
  template <class M>
  static std::uint64_t word_of(const M& message, std::size_t at) noexcept {
    std::uint64_t word = 0;
    if (at < sizeof(M))
      std::memcpy(&word, reinterpret_cast<const std::byte*>(&message) + at, std::min<std::size_t>(8, sizeof(M) - at));
    return word;
  }
  static constexpr std::uint32_t words_max = 32;  // bytes; what is longer is copied
  /// The whole item.
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
  /// The same in stores that the compiler knows to change no pointer, so that write_ stays in a register from one message of
  /// a loop to the next. Only where nobody reads the batch in the same function: readers may read other types.
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
  /// The same where the layout is known at run time only, causes included.
  template <BatchKind Kind>
  std::byte* fill(std::byte* at, Entity target) const noexcept {
    const std::uint32_t payload_offset = open_header().payload_offset, item_bytes = open_header().item_bytes;
    const bool causes = causes_;
    std::byte* const end = at + item_bytes;
    std::memset(end - 8, 0, 8);  // padding behind the payload is less than 16, and less than 8 up to alignment 8
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
    // A batch of one key has one layout, which its header holds.
    const std::uint64_t key = Run::key_of(shape.type, Kind, causes_ ? batch_causes : 0, parts);
    std::byte* at = write_;
    if (open_key_ == key && static_cast<std::size_t>(limit_ - at) >= open_header().item_bytes) [[likely]]
      write_ = at + open_header().item_bytes;
    else
      at = next_item(Run(Kind, shape, causes_, false, 0), parts);
    require(open_header().payload_bytes == shape.bytes, "one message type was given with two sizes");
    return fill<Kind>(at, target);
  }

  /// To be asked of an open batch with rows only.
  bool open_rows_are(std::span<const RowSetEntry> rows) const noexcept {
    if (open_ == nullptr) __builtin_unreachable();  // GCC warns of that otherwise
    std::uint32_t count;
    std::memcpy(&count, open_ + sizeof(BatchHeader), sizeof count);
    return count == rows.size() &&
           (count == 0 || std::memcmp(open_ + sizeof(BatchHeader) + 8, rows.data(), rows.size_bytes()) == 0);
  }

  std::byte* rows_item(PayloadShape shape, Entity target, std::span<const RowSetEntry> rows);
  std::byte* shared_item(PayloadShape shape, std::span<const Entity> targets, std::span<const RowSetEntry> rows,
                         bool has_rows);
  /// The same; the targets are still to be written.
  std::byte* begin_shared(PayloadShape shape, std::size_t count, std::span<const RowSetEntry> rows, bool has_rows,
                          Entity*& targets);
  /// The next item of a batch of `run`: of the open one, if that can be extended, or of a new one.
  std::byte* next_item(const Run& run, std::uint64_t parts);
  std::byte* next_item(const Run& run, std::span<const RowSetEntry> rows);
  /// The first item of a new batch of `run`, which has neither row set nor argument.
  std::byte* first_item(const Run& run);
  /// Begins a batch of `run` with room for `body` bytes behind its header, which is where it says the body begins;
  /// write_ is left to the caller. A row set is still to be written.
  std::byte* start(const Run& run, std::uint64_t parts, std::size_t body);

  std::uint64_t open_key_ = 0;    // Run::key of the open batch; 0: none is open that could be extended
  std::byte* body_ = nullptr;     // of the open batch
  std::uint32_t reciprocal_ = 0;  // of the open batch's item_bytes
  std::uint32_t open_count_ = 0;  // messages of it that are not counted by dividing
  bool causes_ = false;
  std::uint64_t cause_ = 0;
};

}  // namespace muster

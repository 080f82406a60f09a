// The columns of a save as they were when it was begun, though the world goes on: each is read where it lies, and is copied only if it
// changes before it was read.
//
//   the world's thread     add ... | before_write: copies what waits     | before_recycle
//   the writer's thread            | take: reads where it lies, or the copy, and gives that back
//
// A column's state says whose turn it is: the one who takes it out of `waits` reads its memory, and the other waits for those few
// microseconds. After Usagi's and fork()'s copy on write; here it is by column and not by page.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "registry/storage/storage.h"
#include "server/world/rows/spare_blocks.h"

namespace muster {

class PreservedColumns final : public ColumnPreserver {
 public:
  /// Keeps at most so many bytes of copies. What would be more is not kept, and the rest is worth nothing: see given_up(). Their
  /// memory may be half more; an eighth as much may be kept for the next copies.
  explicit PreservedColumns(std::uint64_t bytes_max) : bytes_max_(bytes_max), spare_(bytes_max / 8) {}
  PreservedColumns(const PreservedColumns&) = delete;
  PreservedColumns& operator=(const PreservedColumns&) = delete;

  /// A column that is to be read, of a chunk: all of one chunk's one after the other. `bytes` stay where they are until before_write() or
  /// before_recycle() is called for them. Gives its number, from 0 on. Owner of the world; nothing is taken meanwhile.
  std::uint32_t add(std::uint64_t chunk_uid, std::uint32_t column, std::span<const std::byte> bytes);
  /// As new, but memory for as many columns stays, and what copies needed for the next ones. Owner of the world; nothing is taken meanwhile.
  void clear();
  /// Owner of the world.
  void before_write(const Chunk& chunk, std::uint32_t slot) override;
  void before_recycle(const Chunk& chunk) override;

  /// Its `column`, as it was added. Any thread, while nothing is added.
  std::uint32_t column(std::uint32_t number) const { return columns_[number].column; }
  /// The bytes as they were, valid until the next call; none where they were taken before, or given up. Any one thread.
  std::optional<std::span<const std::byte>> take(std::uint32_t number);
  /// The same, into memory that has room for it. False: nothing was written there.
  bool take(std::uint32_t number, std::byte* to);
  /// A column changed that there was no room to keep: bytes that were not taken are lost. Any thread.
  bool given_up() const noexcept { return given_up_.load(std::memory_order_acquire); }
  /// Of the copies that are kept now, and of all that were ever made. Any thread.
  std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  std::uint64_t copied() const noexcept { return copied_.load(std::memory_order_relaxed); }
  std::uint64_t bytes_max() const noexcept { return bytes_max_; }
  /// Of memory that waits for copies. Any thread.
  std::uint64_t spare_bytes() const noexcept { return spare_.bytes(); }

 private:
  enum class State : std::uint8_t { waits, is_read, is_kept, is_over };
  struct Column {
    const std::byte* at;      // where it lies
    SpareBlocks::Block copy;  // where it is kept
    std::uint64_t chunk_uid;
    std::uint32_t column, size;
    State state = State::waits;  // by atomic_ref once something is taken
  };
  /// False: it does not wait, and will not be read where it lies any more.
  static bool claim(Column& column) noexcept;
  /// Where first_ has the chunk, or would have it. It is not empty.
  std::size_t place_of(std::uint64_t chunk_uid) const noexcept;
  void add_first(std::uint64_t chunk_uid, std::uint32_t number);
  /// Number of the chunk's first column; of none that has none.
  std::optional<std::uint32_t> first_of(std::uint64_t chunk_uid) const noexcept;
  void keep(Column& column);
  /// What take() gave last is not looked at any more.
  void give_back();

  const std::uint64_t bytes_max_;
  SpareBlocks spare_;
  std::vector<Column> columns_;
  std::vector<std::uint32_t>
      first_;  // a hash table by chunk_uid: the number of its first column and 1 more, 0 where there is none
  std::size_t chunks_ = 0;        // in first_, of which they are at most half
  std::vector<std::byte> taken_;  // of the one who takes
  SpareBlocks::Block given_;      // the same
  std::uint32_t given_size_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0, copied_ = 0;
  std::atomic<bool> given_up_ = false;
};

}  // namespace muster

// Preserves the columns of a save as they were when the save began, while the world continues. Each
// column is read in place, and is copied only if it changes before it has been read.
//
//   world thread           add ... | before_write: copies waiting columns  | before_recycle
//   writing thread                 | take: reads in place, or takes the copy and gives it back
//
// The thread that moves a column out of the state `waits` accesses the column's memory, and the
// other thread waits for the few microseconds that the access takes. The technique is
// copy-on-write, as in Usagi and fork(), but it is applied to columns instead of pages.
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
  /// `bytes_max` limits the total size of copies. Beyond the limit, no further copies are made, and
  /// the save is abandoned; see given_up(). The memory used for copies may exceed the limit by
  /// half, and memory of up to an eighth of `bytes_max` may be kept for later copies.
  explicit PreservedColumns(std::uint64_t bytes_max) : bytes_max_(bytes_max), spare_(bytes_max / 8) {}
  PreservedColumns(const PreservedColumns&) = delete;
  PreservedColumns& operator=(const PreservedColumns&) = delete;

  /// Adds a column to be read. All columns of a chunk must be added consecutively. `bytes` must
  /// stay in place until before_write() or before_recycle() is called for them. Returns the
  /// column's index, starting at 0. Must be called on the world thread, while take() is not
  /// running.
  std::uint32_t add(std::uint64_t chunk_uid, std::uint32_t column, std::span<const std::byte> bytes);
  /// Removes all columns, but keeps the memory for columns and copies. Must be called on the world
  /// thread, while take() is not running.
  void clear();
  /// Must be called on the world thread.
  void before_write(const Chunk& chunk, std::uint32_t slot) override;
  void before_recycle(const Chunk& chunk) override;

  /// Returns the `column` that was passed to add(). May be called on any thread, but not during
  /// add().
  std::uint32_t column(std::uint32_t number) const { return columns_[number].column; }
  /// Returns the original bytes, which are valid until the next call. Returns nothing if the bytes
  /// were already taken or could not be preserved. May be called on any thread, but always on the
  /// same one.
  std::optional<std::span<const std::byte>> take(std::uint32_t number);
  /// Copies the bytes to `to`, which must have room for them. Returns false if no bytes were
  /// copied.
  bool take(std::uint32_t number, std::byte* to);
  /// Returns true if a column changed when there was no room for a copy, and its original bytes
  /// were therefore lost. May be called on any thread.
  bool given_up() const noexcept { return given_up_.load(std::memory_order_acquire); }
  /// Returns the number of bytes in current copies. copied(), by contrast, counts all copies ever
  /// made. May be called on any thread.
  std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  std::uint64_t copied() const noexcept { return copied_.load(std::memory_order_relaxed); }
  std::uint64_t bytes_max() const noexcept { return bytes_max_; }
  /// Returns the number of bytes reserved for copies. May be called on any thread.
  std::uint64_t spare_bytes() const noexcept { return spare_.bytes(); }

 private:
  enum class State : std::uint8_t { waits, is_read, is_kept, is_over };
  struct Column {
    const std::byte* at;      // the original bytes
    SpareBlocks::Block copy;  // the copy, if any
    std::uint64_t chunk_uid;
    std::uint32_t column, size;
    State state = State::waits;  // accessed through atomic_ref after the first take()
  };
  /// Moves a column out of the state `waits`. If the column was not in that state, and is therefore
  /// no longer read in place, returns false.
  static bool claim(Column& column) noexcept;
  /// Returns the chunk's slot in the hash table first_, which must not be empty.
  std::size_t place_of(std::uint64_t chunk_uid) const noexcept;
  void add_first(std::uint64_t chunk_uid, std::uint32_t number);
  /// Returns the index of the chunk's first column, if the chunk has any columns.
  std::optional<std::uint32_t> first_of(std::uint64_t chunk_uid) const noexcept;
  void keep(Column& column);
  /// Releases the result of the previous take().
  void give_back();

  const std::uint64_t bytes_max_;
  SpareBlocks spare_;
  std::vector<Column> columns_;
  std::vector<std::uint32_t> first_;  // hash table by chunk_uid: first column + 1, or 0
  std::size_t chunks_ = 0;            // number of chunks in first_; the table is at most half full
  std::vector<std::byte> taken_;      // for take()
  SpareBlocks::Block given_;          // for take()
  std::uint32_t given_size_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0, copied_ = 0;
  std::atomic<bool> given_up_ = false;
};

}  // namespace muster

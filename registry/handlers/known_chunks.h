// A message route's cache of chunks, by chunk number. Holds the call site for messages to a chunk's
// rows, and the start of the handler's first column. A push can then get from the entity's
// directory entry to its row without reading the chunk or its archetype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "registry/handlers/handler.h"

namespace muster {

/// Valid while the storage's stamp is the same: the chunk exists, and the columns that a single
/// handler writes are touched.
struct KnownChunk {
  std::uint64_t stamp = 0;         ///< Storage::stamp() at that time, or 0 if unknown
  const CallSite* site = nullptr;  ///< calls at least one handler
  Chunk* chunk = nullptr;
  std::byte* base = nullptr;  ///< start of the column that Handler::known_base names
};

/// Owned by a route and used only by the registry's thread.
class KnownChunks {
 public:
  /// `place` is from Storage::locate(). Returns null if `place` is not a row, or if its chunk is
  /// not in the cache.
  [[gnu::always_inline]] const KnownChunk* find(std::uint64_t place, std::uint64_t stamp) const noexcept {
    // Places without a row give numbers above size_max.
    const std::uint64_t number = place >> Locator::row_bits;
    static_assert(Locator::no_row >> Locator::row_bits > size_max);
    if (number >= size_) return nullptr;
    const KnownChunk& known = chunks_[number];
    return known.stamp == stamp ? &known : nullptr;
  }
  /// Remembers `site` for messages to rows of `chunk`, and touches the columns that a single
  /// handler writes. The result is valid until the next call of learn() or forget().
  const KnownChunk* learn(Storage& storage, const CallSite& site, Chunk& chunk);
  /// Must be called after call sites changed or moved.
  void forget() noexcept {
    chunks_.reset();
    size_ = 0;
  }

 private:
  static constexpr std::uint32_t size_min = 16, size_max = 1u << 15;
  std::unique_ptr<KnownChunk[]> chunks_;
  std::uint64_t size_ = 0;
  KnownChunk last_;  // used for a chunk whose number is too large for the table
};

}  // namespace muster

// A cache of chunks that belongs to a message route and is indexed by chunk number. Holds the call
// site for messages to the rows of a chunk, and the start of the handler's first column. With this
// cache, a push can get from an entity's directory entry to its row without reading the chunk or
// its archetype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "registry/handlers/handler.h"

namespace muster {

/// Valid until the storage's stamp changes. Until then, the chunk exists, and the columns that a
/// single handler writes remain touched.
struct KnownChunk {
  std::uint64_t stamp = 0;         ///< Storage::stamp() when learn() was called; 0 if unknown
  const CallSite* site = nullptr;  ///< calls at least one handler
  Chunk* chunk = nullptr;
  std::byte* base = nullptr;  ///< start of the column that Handler::known_base identifies
};

/// Owned by a route. Used only on the registry's thread.
class KnownChunks {
 public:
  /// Looks up the chunk that contains `place`, a result of Storage::locate(). Returns null if
  /// `place` is not a row or its chunk is not in the cache.
  [[gnu::always_inline]] const KnownChunk* find(std::uint64_t place, std::uint64_t stamp) const noexcept {
    // A place that is not a row yields a number above size_max.
    const std::uint64_t number = place >> Locator::row_bits;
    static_assert(Locator::no_row >> Locator::row_bits > size_max);
    if (number >= size_) return nullptr;
    const KnownChunk& known = chunks_[number];
    return known.stamp == stamp ? &known : nullptr;
  }
  /// Remembers `site` for messages to rows of `chunk`, and touches the columns that a single
  /// handler writes. The result is valid until the next call to learn() or forget().
  const KnownChunk* learn(Storage& storage, const CallSite& site, Chunk& chunk);
  /// Must be called after call sites have changed or moved.
  void forget() noexcept {
    chunks_.reset();
    size_ = 0;
  }

 private:
  static constexpr std::uint32_t size_min = 16, size_max = 1u << 15;
  std::unique_ptr<KnownChunk[]> chunks_;
  std::uint64_t size_ = 0;
  KnownChunk last_;  // used for a chunk whose number exceeds the size of the table
};

}  // namespace muster

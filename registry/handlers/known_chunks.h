// What a message type's route remembers of chunks, by their numbers: whom a message to one of their rows calls, and where the handler's
// first values are. So a push goes from the entity's entry in the directory to its row, and asks neither the chunk nor its archetype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "registry/handlers/handler.h"

namespace muster {

/// Good as long as the storage's stamp is the same: the chunk is there, and the columns that a single handler writes are touched.
struct KnownChunk {
  std::uint64_t stamp = 0;         ///< Storage::stamp() then; 0: nothing is known
  const CallSite* site = nullptr;  ///< of a handler at least
  Chunk* chunk = nullptr;
  std::byte* base = nullptr;  ///< of the column that Handler::known_base names, at the chunk's first row
};

/// Owned by a route, used by the registry's thread.
class KnownChunks {
 public:
  /// `place` is what Storage::locate() gives. Null where it is no row, or its chunk is not known.
  [[gnu::always_inline]] const KnownChunk* find(std::uint64_t place, std::uint64_t stamp) const noexcept {
    const std::uint64_t number = place >> Locator::row_bits;  // what is no row is more than any size
    static_assert(Locator::no_row >> Locator::row_bits > size_max);
    if (number >= size_) return nullptr;
    const KnownChunk& known = chunks_[number];
    return known.stamp == stamp ? &known : nullptr;
  }
  /// Learns whom a message to a row of `chunk` calls, `site`, and touches the columns that a single handler writes. Valid until the next
  /// call of this or forget().
  const KnownChunk* learn(Storage& storage, const CallSite& site, Chunk& chunk);
  /// To be called when call sites changed or moved.
  void forget() noexcept {
    chunks_.reset();
    size_ = 0;
  }

 private:
  static constexpr std::uint32_t size_min = 16, size_max = 1u << 15;
  std::unique_ptr<KnownChunk[]> chunks_;
  std::uint64_t size_ = 0;
  KnownChunk last_;  // of a chunk of a greater number
};

}  // namespace muster

// Caches the rows that have been encoded since the previous Look, so that several watches can share
// one encoding of a component's rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "schema/builtin.h"
#include "schema/descriptor.h"

namespace muster {

/// Must be used by only one thread. Uses at most bytes_max of memory, plus one slice of rows.
class EqualRows {
 public:
  static constexpr std::size_t bytes_max = 8u << 20;

  struct Key {
    std::uint64_t look = 0;  ///< number of the Look from which the rows come
    TypeId component = 0;
    const void* sight = nullptr;  ///< the rules for what the watch's user may see
    friend bool operator==(const Key&, const Key&) = default;
  };
  /// Consecutive batches, whose bytes are shared with the senders.
  using Batches = std::shared_ptr<const std::vector<std::byte>>;
  /// Returns the batches for exactly these entities, or null if they have not been encoded.
  Batches find(const Key& key, std::span<const Entity> entities) const;
  Batches keep(const Key& key, std::span<const Entity> entities, std::span<const std::byte> batches);
  void clear();
  /// Returns the number of successful calls to find().
  std::uint64_t hits() const noexcept { return hits_; }

 private:
  struct Kept {
    Key key;
    std::vector<Entity> entities;
    Batches batches;
    std::size_t bytes() const noexcept { return entities.size() * sizeof(Entity) + (batches ? batches->size() : 0); }
  };
  std::unordered_map<std::uint64_t, Kept> kept_;  // keyed by a hash of the key and the entities
  std::size_t bytes_ = 0;
  mutable std::uint64_t hits_ = 0;
};

}  // namespace muster

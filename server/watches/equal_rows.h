// What was encoded of rows since the last look: watches that tell the same rows of one component have them encoded once.
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

/// One thread only. Memory: bytes_max, and one slice of rows.
class EqualRows {
 public:
  static constexpr std::size_t bytes_max = 8u << 20;

  struct Key {
    std::uint64_t look = 0;  ///< of the state that they are told of
    TypeId component = 0;
    bool as_values = false;  ///< as session::Values; else as Set
    friend bool operator==(const Key&, const Key&) = default;
  };
  /// One behind the other; whoever sends them may keep them.
  using Batches = std::shared_ptr<const std::vector<std::byte>>;
  /// Null: nobody told just these entities.
  Batches find(const Key& key, std::span<const Entity> entities) const;
  Batches keep(const Key& key, std::span<const Entity> entities, std::span<const std::byte> batches);
  void clear();
  /// How often find() found some.
  std::uint64_t hits() const noexcept { return hits_; }

 private:
  struct Kept {
    Key key;
    std::vector<Entity> entities;
    Batches batches;
    std::size_t bytes() const noexcept { return entities.size() * sizeof(Entity) + (batches ? batches->size() : 0); }
  };
  std::unordered_map<std::uint64_t, Kept> kept_;  // by a hash of the key and the entities
  std::size_t bytes_ = 0;
  mutable std::uint64_t hits_ = 0;
};

}  // namespace muster

#include "server/watches/equal_rows.h"

#include <algorithm>
#include <cstring>

namespace muster {
namespace {

/// This hash is optimized for speed rather than quality. find() detects collisions by comparing
/// keys, and a collision costs only one additional encoding.
std::uint64_t hash_of(const EqualRows::Key& key, std::span<const Entity> entities) {
  std::uint64_t hash = key.look * 0x9e3779b97f4a7c15 ^ (std::uint64_t{key.component} << 1);
  for (const Entity e : entities) {
    std::uint64_t bits;
    std::memcpy(&bits, &e, sizeof bits);
    hash = (hash ^ bits) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

EqualRows::Batches EqualRows::find(const Key& key, std::span<const Entity> entities) const {
  if (kept_.empty()) return {};
  const auto at = kept_.find(hash_of(key, entities));
  if (at == kept_.end() || at->second.key != key || !std::ranges::equal(at->second.entities, entities)) return {};
  ++hits_;
  return at->second.batches;
}

EqualRows::Batches EqualRows::keep(const Key& key, std::span<const Entity> entities,
                                   std::span<const std::byte> batches) {
  if (bytes_ > bytes_max) clear();
  Kept& kept = kept_[hash_of(key, entities)];
  bytes_ -= kept.bytes();
  kept = {key,
          {entities.begin(), entities.end()},
          std::make_shared<std::vector<std::byte>>(batches.begin(), batches.end())};
  bytes_ += kept.bytes();
  return kept.batches;
}

void EqualRows::clear() {
  kept_.clear();
  bytes_ = 0;
}

}  // namespace muster

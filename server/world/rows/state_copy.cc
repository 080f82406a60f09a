#include "server/world/rows/state_copy.h"

#include <algorithm>
#include <cstring>

namespace muster {

bool StateCopy::has(const StateKey& key, std::uint64_t version) {
  const KeptRow* const kept = known_ ? known_->find(key) : nullptr;
  if (!kept || !kept->given || kept->given_version != version) return false;
  rows_.push_back({key, version, {}, true});
  return true;
}

void StateCopy::row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) {
  constexpr std::size_t block_bytes = 256u << 10;
  if (bytes.empty()) return rows_.push_back({key, version, {}, false});
  if (bytes.size() > left_) {
    left_ = std::max(block_bytes, bytes.size());
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(left_));
    end_ = blocks_.back().get() + left_;
  }
  std::byte* const at = end_ - left_;
  std::memcpy(at, bytes.data(), bytes.size());
  left_ -= bytes.size();
  rows_.push_back({key, version, {at, bytes.size()}, false});
}

bool StateCopy::give(StateSink& to) const {
  std::size_t at = 0;
  return give(to, at, [] { return false; });
}

bool StateCopy::give_row(StateSink& to, const Row& row) {
  if (row.known) return to.has(row.key, row.version);
  to.row(row.key, row.version, row.bytes);
  return true;
}

}  // namespace muster

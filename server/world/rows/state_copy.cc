#include "server/world/rows/state_copy.h"

#include <algorithm>
#include <cstring>

namespace muster {

namespace {

/// Whether versions of rows are those of Storage.
bool is_of_storage(StateSection section) noexcept {
  switch (section) {
    case StateSection::directory:
    case StateSection::free_queue:
    case StateSection::chunks:
    case StateSection::columns:
    case StateSection::hierarchy: return true;
    default: return false;
  }
}

}  // namespace

bool StateCopy::is_known(const StateKey& key, std::uint64_t version) const {
  if (!known_) return false;
  if (saved_ != 0 && is_of_storage(key.section)) return version <= saved_;
  const KeptRow* const kept = known_->find(key);
  return kept && kept->given && kept->given_version == version;
}

bool StateCopy::has(const StateKey& key, std::uint64_t version) {
  if (!is_known(key, version)) return false;
  rows_.push_back({key, version, {}, 0, Row::From::known});
  return true;
}

void StateCopy::row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) {
  if (columns_ && key.section == StateSection::columns)
    return rows_.push_back({key, version, {}, columns_->add(key.key, key.column, bytes), Row::From::columns});
  constexpr std::size_t block_bytes = 256u << 10;
  if (bytes.empty()) return rows_.push_back({key, version, {}, 0, Row::From::here});
  if (bytes.size() > left_) {
    left_ = std::max(block_bytes, bytes.size());
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(left_));
    end_ = blocks_.back().get() + left_;
  }
  std::byte* const at = end_ - left_;
  std::memcpy(at, bytes.data(), bytes.size());
  left_ -= bytes.size();
  rows_.push_back({key, version, {at, bytes.size()}, 0, Row::From::here});
}

bool StateCopy::give(StateSink& to) const {
  std::size_t at = 0;
  return give(to, at, [] { return false; });
}

bool StateCopy::give_row(StateSink& to, const Row& row) const {
  if (row.from == Row::From::known) return to.has(row.key, row.version);
  if (row.from == Row::From::here) {
    to.row(row.key, row.version, row.bytes);
    return true;
  }
  const auto bytes = columns_->take(row.column);
  if (bytes) to.row(row.key, row.version, *bytes);
  return bytes.has_value();
}

}  // namespace muster

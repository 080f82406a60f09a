#include "server/world/rows/state_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace muster {

namespace {

/// Returns true if the section's rows are versioned by Storage.
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

StateCopy::StateCopy(const KeptRows* known, std::uint64_t saved, StateCopy&& used)
    : known_(known),
      saved_(saved),
      columns_(std::move(used.columns_)),
      rows_(std::move(used.rows_)),
      here_(std::move(used.here_)) {}

void StateCopy::clear() {
  columns_->clear();
  rows_.clear();
  here_.clear();
  blocks_.clear();
  left_ = 0;
}

bool StateCopy::has(const StateKey& key, std::uint64_t version) {
  if (!is_known(key, version)) return false;
  add(key, version, key.column, From::known);
  return true;
}

void StateCopy::add_here(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) {
  add(key, version, static_cast<std::uint32_t>(here_.size()), From::here);
  here_.push_back({bytes, key.column});
}

void StateCopy::row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) {
  if (key.section == StateSection::columns)
    return add(key, version, columns_->add(key.key, key.column, bytes), From::columns);
  constexpr std::size_t block_bytes = 256u << 10;
  if (bytes.empty()) return add_here(key, version, {});
  if (bytes.size() > left_) {
    left_ = std::max(block_bytes, bytes.size());
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(left_));
    end_ = blocks_.back().get() + left_;
  }
  std::byte* const at = end_ - left_;
  std::memcpy(at, bytes.data(), bytes.size());
  left_ -= bytes.size();
  add_here(key, version, {at, bytes.size()});
}

bool StateCopy::give(StateSink& to) const {
  std::size_t at = 0;
  return give(to, at, [] { return false; });
}

bool StateCopy::give_row(StateSink& to, const Row& row) const {
  switch (row.from) {
    case From::known: return to.has({row.section, row.key, row.number}, row.version);
    case From::here: {
      const Here& here = here_[row.number];
      to.row({row.section, row.key, here.column}, row.version, here.bytes);
      return true;
    }
    case From::columns: break;
  }
  const std::uint32_t column = columns_->column(row.number);
  const auto bytes = columns_->take(row.number);
  if (bytes) to.row({row.section, row.key, column}, row.version, *bytes);
  return bytes.has_value();
}

}  // namespace muster

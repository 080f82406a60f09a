#include "registry/moments/copies.h"

#include <cstring>
#include <utility>

namespace muster {

namespace {

/// Memory for `bytes` bytes that start at a cache line.
SpareCopies::Block make(std::size_t bytes) { return std::make_unique_for_overwrite<std::byte[]>(bytes + 63); }

std::byte* first_line(std::byte* block) noexcept {
  return block + (-reinterpret_cast<std::uintptr_t>(block) & std::uintptr_t{63});
}

}  // namespace

SpareCopies::Block SpareCopies::take() {
  if (spare_.empty()) return make(block_bytes);
  Block block = std::move(spare_.back());
  spare_.pop_back();
  return block;
}

std::size_t Copies::growth(std::size_t bytes) const noexcept {
  bytes = to_line(bytes);
  return bytes <= left_ ? 0 : bytes > SpareCopies::block_bytes / 2 ? bytes : SpareCopies::block_bytes;
}

const std::byte* Copies::add(const void* from, std::size_t bytes) {
  const std::size_t lines = to_line(bytes);
  std::byte* to;
  bytes_ += growth(bytes);
  if (lines <= left_ || lines <= SpareCopies::block_bytes / 2) {
    if (lines > left_) {
      blocks_.push_back(spare_->take());
      at_ = first_line(blocks_.back().get());
      left_ = SpareCopies::block_bytes;
    }
    to = at_;
    at_ += lines;
    left_ -= lines;
  } else {
    to = first_line(large_.emplace_back(make(lines)).get());
  }
  if (bytes) std::memcpy(to, from, bytes);
  return to;
}

void Copies::clear() noexcept {
  for (SpareCopies::Block& block : blocks_) spare_->give(std::move(block));
  blocks_.clear();
  large_.clear();
  at_ = nullptr;
  left_ = bytes_ = 0;
}

}  // namespace muster

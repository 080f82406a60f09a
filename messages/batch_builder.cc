#include "messages/batch_builder.h"

#include <algorithm>
#include <new>

namespace muster {
namespace {

constexpr std::size_t slack = 16;  // Room for the writer's padding after end_.
// Initial size, which is large enough for a builder that holds a single answer. The GNU allocator
// caches freed blocks of up to this size, but it must search for larger blocks.
constexpr std::size_t first_bytes = 1024;
// For any larger alignment, operator new would need an alignment argument.
static_assert(batch_alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

}  // namespace

BatchBuilder::~BatchBuilder() { ::operator delete(memory_); }

void BatchBuilder::clear() noexcept {
  seal();
  write_ = memory_;
  end_ = memory_ + capacity_;
  batches_ = 0;
}

void BatchBuilder::make_room(std::size_t bytes) { reserve(bytes); }

bool BatchBuilder::grow_open(std::size_t bytes) {
  if (static_cast<std::size_t>(write_ - open_) + bytes > batch_bytes_) return false;
  reserve(bytes);
  limit_ = open_ + std::min(static_cast<std::size_t>(end_ - open_), batch_bytes_);
  return true;
}

/// Makes room for `bytes` after write_, moving all batches to larger memory if necessary.
void BatchBuilder::reserve(std::size_t bytes) {
  const auto used = static_cast<std::size_t>(write_ - memory_);
  const std::size_t needed = (used + 15 + bytes) & ~std::size_t{15};
  if (needed <= capacity_) return;
  const std::size_t capacity = std::max({needed, capacity_ * 2, first_bytes - slack});
  auto* const memory = static_cast<std::byte*>(::operator new(capacity + slack));
  if (used != 0) std::memcpy(memory, memory_, used);
  move_open(memory - memory_);
  write_ = memory + used;
  end_ = memory + capacity;
  ::operator delete(memory_);
  memory_ = memory;
  capacity_ = capacity;
}

}  // namespace muster

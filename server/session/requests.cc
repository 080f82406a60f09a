#include "server/session/requests.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "messages/batch.h"
#include "system/mutex.h"

namespace muster {
namespace {

constexpr std::size_t pile_min = 1024, pile_max = 16384;  // sizes in bytes

/// Returns true if both batches contain one message of the same type for the same single target.
bool same_place(const BatchView& a, const BatchView& b) noexcept {
  const BatchHeader &x = a.header(), &y = b.header();
  if (x.type != y.type || x.kind != y.kind || x.flags != y.flags || x.argument != y.argument || x.count != 1 ||
      y.count != 1)
    return false;
  switch (x.kind) {
    case BatchKind::world: return true;
    case BatchKind::each:
    case BatchKind::subtree: return a.target(0) == b.target(0);
    case BatchKind::table: return table_item(a, a.body()).target == table_item(b, b.body()).target;
    default: return false;
  }
}

}  // namespace

Requests::~Requests() {
  if (all_) all_->bytes.fetch_sub(bytes(), std::memory_order_relaxed);
}

bool Requests::add(std::span<const std::byte> batch, std::uint64_t request, bool for_world, std::uint64_t came_ns,
                   bool latest) {
  if (latest && overtakes(batch, request, came_ns)) return true;
  if (!has_room(batch.size())) return false;
  const std::size_t size = (batch.size() + 15) / 16 * 16;
  if (filling_.size - filling_.used < size) {
    // A session that sends a lot gets larger piles. A large request gets a pile of its own.
    const bool full = pass_on();
    was_full_ |= full;
    pile_bytes_ = full ? std::clamp(pile_bytes_ * 4, pile_min, pile_max) : pile_min;
    const std::size_t bytes = std::max(pile_bytes_, size);
    if (kept_.size == bytes) {
      filling_ = std::exchange(kept_, {});
    } else {
      filling_.bytes = std::make_unique_for_overwrite<std::byte[]>(bytes);
      filling_.size = bytes;
      if (size < pile_max) filling_.requests.reserve(bytes / 64);
    }
  }
  std::byte* const to = filling_.bytes.get() + filling_.used;
  std::memcpy(to, batch.data(), batch.size());
  filling_.used += size;
  filling_.counted += batch.size();
  filling_.requests.push_back({request, for_world, latest, came_ns, {to, batch.size()}});
  return true;
}

bool Requests::pass_on() {
  if (filling_.requests.empty()) return false;
  const std::size_t bytes = filling_.counted;
  if (all_) all_->bytes.fetch_add(bytes, std::memory_order_relaxed);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  if (came_.empty() || !came_.back().takes(filling_)) came_.push_back(std::move(filling_));
  filling_ = {};
  if (kept_.size == 0) kept_ = std::exchange(spare_, {});
  return true;
}

/// Merges piles. Without merging, a session that sends a little at a time while many requests are
/// pending would leave a mostly empty pile for each read.
bool Requests::Pile::takes(Pile& other) {
  if (size - used < other.used) return false;
  std::byte* const to = bytes.get() + used;
  std::memcpy(to, other.bytes.get(), other.used);
  for (Request& request : other.requests) {
    request.batch = {to + (request.batch.data() - other.bytes.get()), request.batch.size()};
    requests.push_back(std::move(request));
  }
  used += other.used;
  counted += other.counted;
  return true;
}

/// Reuses a small pile, because a session that sends one edit at a time needs only one pile, and
/// freeing a pile on another thread is expensive. Large piles are rare, so they are freed.
Requests::Pile Requests::Pile::emptied() {
  if (size != pile_min) return {};
  requests.clear();
  used = done = counted = 0;
  return std::exchange(*this, {});
}

/// Replaces the newest request in the pile, provided that it may be replaced. `room` is the number
/// of bytes that may still be added. On success, sets `more` to the number of bytes added to the
/// pile and returns true.
bool Requests::overtake(Pile& pile, std::span<const std::byte> batch, std::uint64_t request, std::uint64_t came_ns,
                        std::size_t room, std::ptrdiff_t& more) {
  Request& last = pile.requests.back();
  if (!last.latest || batch.size() > last.batch.size() || !same_place(BatchView(last.batch), BatchView(batch)))
    return false;
  more = static_cast<std::ptrdiff_t>(batch.size()) - static_cast<std::ptrdiff_t>(last.batch.size());
  if (last.request != 0) {
    if (last.overtaken.size() == overtaken_max || room < sizeof last.request) return false;
    last.overtaken.push_back(last.request);
    more += sizeof last.request;
  }
  std::ranges::copy(batch, last.batch.begin());
  last.batch = last.batch.first(batch.size());
  last.request = request;
  last.came_ns = came_ns;
  return true;
}

bool Requests::overtakes(std::span<const std::byte> batch, std::uint64_t request, std::uint64_t came_ns) {
  std::ptrdiff_t more = 0;
  if (!filling_.requests.empty()) {
    if (!overtake(filling_, batch, request, came_ns, room(), more)) return false;
    filling_.counted += static_cast<std::size_t>(more);
    return true;
  }
  const MutexLock lock(mutex_);
  if (came_.empty() || !overtake(came_.back(), batch, request, came_ns, room(), more)) return false;
  bytes_.fetch_add(static_cast<std::size_t>(more), std::memory_order_relaxed);
  if (all_) all_->bytes.fetch_add(static_cast<std::size_t>(more), std::memory_order_relaxed);
  return true;
}

/// Returns the number of bytes that may be added. If requests are taken in the meantime, the number
/// only increases.
std::size_t Requests::room() const noexcept {
  const auto left = [](std::size_t max, std::size_t waiting) { return max - std::min(max, waiting); };
  const std::size_t own = left(bytes_max_, bytes() + filling_.counted);
  if (!all_) return own;
  return std::min(own, left(all_->bytes_max, all_->bytes.load(std::memory_order_relaxed) + filling_.counted));
}

bool Requests::has_room(std::size_t more) const noexcept {
  return room() >= more || (filling_.counted == 0 && bytes() == 0);
}

std::size_t Requests::memory_bytes() const noexcept {
  listener_thread.is_here();  // no other thread uses this object
  world_thread.is_here();
  const auto of = [](const Pile& pile) { return sizeof pile + pile.size + pile.requests.capacity() * sizeof(Request); };
  std::size_t sum = of(filling_) + of(kept_) + of(emptied_);
  for (const Pile& pile : taken_) sum += of(pile);
  const MutexLock lock(mutex_);
  for (const Pile& pile : came_) sum += of(pile);
  return sum + of(spare_);
}

Request* Requests::take_over() {
  const MutexLock lock(mutex_);
  if (spare_.size == 0) spare_ = std::exchange(emptied_, {});
  if (came_.empty()) return nullptr;
  std::swap(taken_, came_);
  return &taken_.front().requests[taken_.front().done];
}

std::vector<std::byte> Requests::take() {
  const std::span<const std::byte> batch = front()->batch;
  std::vector<std::byte> made(batch.begin(), batch.end());
  drop_first();
  return made;
}

void Requests::release(std::size_t bytes) noexcept {
  bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  if (all_) all_->bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace muster

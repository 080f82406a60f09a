#include "server/session/requests.h"

namespace muster {

bool Requests::put(std::span<const std::byte> batch, std::uint64_t request, bool for_world, std::uint64_t came_ns) {
  // What is taken meanwhile makes it less only.
  const std::size_t waiting = bytes();
  if (waiting > 0 && waiting + batch.size() > bytes_max_) return false;
  Request made{request, for_world, came_ns, {batch.begin(), batch.end()}};
  const std::lock_guard lock(mutex_);
  bytes_.fetch_add(batch.size(), std::memory_order_relaxed);
  came_.push_back(std::move(made));
  return true;
}

Request* Requests::front() {
  if (taken_.empty()) {
    const std::lock_guard lock(mutex_);
    taken_.swap(came_);
  }
  return taken_.empty() ? nullptr : &taken_.front();
}

void Requests::pop() {
  bytes_.fetch_sub(taken_.front().batch.size(), std::memory_order_relaxed);
  taken_.pop_front();
}

}  // namespace muster

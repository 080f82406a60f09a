#include "server/session/requests.h"

#include <utility>

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

std::vector<std::byte> Requests::take() {
  std::vector<std::byte> batch = std::move(taken_.front().batch);
  bytes_.fetch_sub(batch.size(), std::memory_order_relaxed);
  taken_.pop_front();
  return batch;
}

void Requests::pop() { (void)take(); }

}  // namespace muster

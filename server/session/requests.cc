#include "server/session/requests.h"

#include <utility>

namespace muster {

Requests::~Requests() {
  if (all_) all_->bytes.fetch_sub(bytes(), std::memory_order_relaxed);
}

bool Requests::put(std::span<const std::byte> batch, std::uint64_t request, bool for_world, std::uint64_t came_ns) {
  // What is taken meanwhile makes it less only.
  const std::size_t waiting = bytes();
  if (waiting > 0 && waiting + batch.size() > bytes_max_) return false;
  if (all_) {
    const std::size_t others = all_->bytes.fetch_add(batch.size(), std::memory_order_relaxed);
    if (waiting > 0 && others + batch.size() > all_->bytes_max) {
      all_->bytes.fetch_sub(batch.size(), std::memory_order_relaxed);
      return false;
    }
  }
  Request made{request, for_world, came_ns, {batch.begin(), batch.end()}};
  const std::lock_guard lock(mutex_);
  bytes_.fetch_add(batch.size(), std::memory_order_relaxed);
  came_.push_back(std::move(made));
  return true;
}

bool Requests::has_room(std::size_t more) const noexcept {
  const std::size_t waiting = bytes();
  if (waiting == 0) return true;
  return waiting + more <= bytes_max_ &&
         (!all_ || all_->bytes.load(std::memory_order_relaxed) + more <= all_->bytes_max);
}

Request* Requests::front() {
  if (taken_.empty()) {
    const std::lock_guard lock(mutex_);
    taken_.swap(came_);
  }
  return taken_.empty() ? nullptr : &taken_.front();
}

void Requests::pop() { release(take().batch.size()); }

Request Requests::take() {
  Request made = std::move(taken_.front());
  taken_.pop_front();
  return made;
}

void Requests::release(std::size_t bytes) noexcept {
  bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  if (all_) all_->bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace muster

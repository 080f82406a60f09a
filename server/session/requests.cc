#include "server/session/requests.h"

#include <utility>

#include "messages/batch.h"

namespace muster {
namespace {

std::size_t bytes_of(const Request& request) noexcept {
  return request.batch.size() + request.overtaken.size() * sizeof(std::uint64_t);
}

/// One message to one target each, the same, and of one type.
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

bool Requests::put(std::span<const std::byte> batch, std::uint64_t request, bool for_world, std::uint64_t came_ns,
                   bool latest) {
  if (latest && overtake(batch, request, came_ns)) return true;
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
  Request made{request, for_world, latest, came_ns, {batch.begin(), batch.end()}};
  const std::lock_guard lock(mutex_);
  bytes_.fetch_add(batch.size(), std::memory_order_relaxed);
  came_.push_back(std::move(made));
  return true;
}

bool Requests::overtake(std::span<const std::byte> batch, std::uint64_t request, std::uint64_t came_ns) {
  const std::lock_guard lock(mutex_);
  if (came_.empty()) return false;
  Request& last = came_.back();
  if (!last.latest || batch.size() > last.batch.size() || !same_place(BatchView(last.batch), BatchView(batch)))
    return false;
  std::size_t more = 0;
  if (last.request != 0) {
    more = sizeof last.request;
    if (last.overtaken.size() == overtaken_max || !has_room(more)) return false;
    last.overtaken.push_back(last.request);
  }
  const std::size_t less = last.batch.size() - batch.size();
  last.batch.assign(batch.begin(), batch.end());
  last.request = request;
  last.came_ns = came_ns;
  bytes_.fetch_add(more, std::memory_order_relaxed);
  if (all_) all_->bytes.fetch_add(more, std::memory_order_relaxed);
  release(less);
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

void Requests::pop() { release(bytes_of(take())); }

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

#include "server/session/requests.h"

#include <algorithm>
#include <utility>

#include "messages/batch.h"

namespace muster {
namespace {

constexpr std::size_t block_bytes = 16384;
constexpr std::size_t requests_kept = 1024;  // room for so many stays

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
  // What is large is copied before the lock: the owner's thread wants it, too.
  Block own;
  if (batch.size() > block_bytes / 4) {
    own = {std::make_unique_for_overwrite<std::byte[]>(batch.size()), batch.size(), batch.size(), 1};
    std::ranges::copy(batch, own.bytes.get());
  }
  const std::lock_guard lock(mutex_);
  bytes_.fetch_add(batch.size(), std::memory_order_relaxed);
  came_.add({request, for_world, latest, came_ns}, batch, own);
  return true;
}

void Requests::Pile::add(Request made, std::span<const std::byte> batch, Block& own) {
  if (own.bytes) {
    made.batch = {own.bytes.get(), batch.size()};
    blocks.push_back(std::move(own));
  } else {
    if (blocks.empty() || blocks.back().size - blocks.back().used < batch.size())
      blocks.push_back({std::make_unique_for_overwrite<std::byte[]>(block_bytes), block_bytes});
    Block& last = blocks.back();
    made.batch = {last.bytes.get() + last.used, batch.size()};
    std::ranges::copy(batch, made.batch.begin());
    last.used += (batch.size() + 15) / 16 * 16;
    ++last.requests;
  }
  requests.push_back(std::move(made));
}

void Requests::Pile::drop_first() {
  ++done;
  if (--blocks.front().requests == 0) blocks.pop_front();
  if (done < requests.size()) return;
  done = 0;
  requests.clear();
  blocks.clear();
  if (requests.capacity() > requests_kept) std::vector<Request>().swap(requests);
}

bool Requests::overtake(std::span<const std::byte> batch, std::uint64_t request, std::uint64_t came_ns) {
  const std::lock_guard lock(mutex_);
  if (came_.requests.empty()) return false;
  Request& last = came_.requests.back();
  if (!last.latest || batch.size() > last.batch.size() || !same_place(BatchView(last.batch), BatchView(batch)))
    return false;
  std::size_t more = 0;
  if (last.request != 0) {
    more = sizeof last.request;
    if (last.overtaken.size() == overtaken_max || !has_room(more)) return false;
    last.overtaken.push_back(last.request);
  }
  const std::size_t less = last.batch.size() - batch.size();
  std::ranges::copy(batch, last.batch.begin());
  last.batch = last.batch.first(batch.size());
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
  if (taken_.requests.empty()) {
    const std::lock_guard lock(mutex_);
    std::swap(taken_, came_);
  }
  return taken_.requests.empty() ? nullptr : &taken_.requests[taken_.done];
}

void Requests::pop() {
  release(bytes_of(taken_.requests[taken_.done]));
  taken_.drop_first();
}

std::vector<std::byte> Requests::take() {
  const std::span<const std::byte> batch = taken_.requests[taken_.done].batch;
  std::vector<std::byte> made(batch.begin(), batch.end());
  taken_.drop_first();
  return made;
}

void Requests::release(std::size_t bytes) noexcept {
  bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  if (all_) all_->bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace muster

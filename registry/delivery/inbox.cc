#include "registry/delivery/inbox.h"

#include <algorithm>
#include <cstring>

namespace muster {

bool InboxLane::put(std::span<const std::byte> batch, std::uint64_t request) {
  {
    const std::scoped_lock lock(mutex_);
    const std::size_t at = bytes_.size();
    if (at + batch.size() > bytes_max_) return false;
    bytes_.resize(at + batch.size());  // batches are multiples of 16 bytes, so the next one is aligned too
    std::memcpy(bytes_.data() + at, batch.data(), batch.size());
    entries_.push_back({request, at, batch.size()});
  }
  inbox_->arrived();
  return true;
}

std::shared_ptr<InboxLane> Inbox::open_lane(std::uint64_t author, std::size_t bytes_max) {
  auto lane = std::make_shared<InboxLane>();
  lane->inbox_ = this;
  lane->author_ = author;
  lane->bytes_max_ = bytes_max;
  const std::scoped_lock lock(mutex_);
  lanes_.push_back(lane);
  return lane;
}

void Inbox::on_arrival(std::function<void()> wake) {
  const std::scoped_lock lock(mutex_);
  wake_ = std::move(wake);
}

bool Inbox::empty() const noexcept {
  const std::scoped_lock lock(mutex_);
  return !pending_;
}

void Inbox::arrived() {
  std::function<void()> wake;
  {
    const std::scoped_lock lock(mutex_);
    if (pending_) return;
    pending_ = true;
    wake = wake_;
  }
  if (wake) wake();
}

std::vector<Inbox::Taken> Inbox::take_all() {
  std::vector<Taken> taken;
  const std::scoped_lock lock(mutex_);
  if (!pending_) return taken;
  pending_ = false;
  for (const auto& lane : lanes_) {
    const std::scoped_lock lane_lock(lane->mutex_);
    if (lane->entries_.empty()) continue;
    taken.push_back({lane->author_, std::move(lane->entries_), std::move(lane->bytes_)});
    lane->entries_.clear();
    lane->bytes_.clear();
  }
  std::erase_if(lanes_, [](const auto& lane) {
    if (lane.use_count() != 1) return false;
    const std::scoped_lock lane_lock(lane->mutex_);
    return lane->entries_.empty();  // its writer may have put something and gone since
  });
  return taken;
}

}  // namespace muster

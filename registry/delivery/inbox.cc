#include "registry/delivery/inbox.h"

#include <algorithm>
#include <cstring>

#include "messages/batch.h"
#include "system/mutex.h"

namespace muster {

bool InboxLane::put(std::span<const std::byte> batches, std::uint64_t request) {
  if (batches.empty()) return true;
  {
    const MutexLock lock(mutex_);
    const std::size_t at = bytes_.size();
    if (batches.size() > bytes_max_ - at) return false;
    bytes_.resize(at + batches.size());  // keeps batches aligned to 16 bytes
    std::memcpy(bytes_.data() + at, batches.data(), batches.size());
    // The lock is held, but the thread-safety analysis cannot see that inside a lambda.
    for_each_batch(std::span<const std::byte>(bytes_).subspan(at), [&](const BatchView& batch) MUSTER_NOT_CHECKED {
      const auto offset = static_cast<std::size_t>(batch.bytes().data() - bytes_.data());
      entries_.push_back({request, offset, batch.bytes().size()});
    });
  }
  inbox_->arrived();
  return true;
}

std::shared_ptr<InboxLane> Inbox::open_lane(std::uint64_t session, std::size_t bytes_max, std::uint64_t user) {
  auto lane = std::make_shared<InboxLane>();
  lane->inbox_ = this;
  lane->session_ = session;
  lane->user_ = user;
  lane->bytes_max_ = bytes_max;
  const MutexLock lock(mutex_);
  lanes_.push_back(lane);
  return lane;
}

void Inbox::on_arrival(std::function<void()> wake) {
  const MutexLock lock(mutex_);
  wake_ = std::move(wake);
}

bool Inbox::empty() const noexcept {
  const MutexLock lock(mutex_);
  return !pending_ && taken_.empty();
}

void Inbox::arrived() {
  std::function<void()> wake;
  {
    const MutexLock lock(mutex_);
    if (pending_) return;
    pending_ = true;
    wake = wake_;
  }
  if (wake) wake();
}

void Inbox::take_all() {
  const MutexLock lock(mutex_);
  if (!pending_) return;
  pending_ = false;
  for (const auto& lane : lanes_) {
    const MutexLock lane_lock(lane->mutex_);
    if (lane->entries_.empty()) continue;
    taken_.push_back({lane->session_, lane->user_, std::move(lane->entries_), std::move(lane->bytes_)});
    lane->entries_.clear();
    lane->bytes_.clear();
  }
  std::erase_if(lanes_, [](const auto& lane) {
    if (lane.use_count() != 1) return false;
    const MutexLock lane_lock(lane->mutex_);
    return lane->entries_.empty();  // a batch may have been added before the lane was closed
  });
}

}  // namespace muster

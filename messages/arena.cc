#include "messages/arena.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace muster {
namespace {

// Limit on the total size of the large segments kept for reuse. Segments beyond the limit are
// returned to the system immediately.
constexpr std::size_t spare_large_bytes_max = 64u << 20;

}  // namespace

Arena::Arena(std::size_t segment_bytes) noexcept : BatchWriter(batch_bytes_default), segment_bytes_(segment_bytes) {
  static_assert(batch_bytes_default == segment_bytes_default - sizeof(Segment) - segment_slack);
  require(segment_bytes % 64 == 0 && segment_bytes >= 1024,
          "an arena's segment size must be a multiple of 64 and at least 1024 bytes");
}

Arena::~Arena() {
  for (Segment* list : {head_, spare_, spare_large_})
    while (list != nullptr) free(std::exchange(list, list->next));
}

std::size_t Arena::bytes() const noexcept {
  std::size_t sum = 0;
  for (const Segment* segment = head_; segment != nullptr; segment = segment->next)
    sum += static_cast<std::size_t>(written_end(*segment) - (segment == head_ ? read_ : segment->begin()));
  return (sum + 15) & ~std::size_t{15};
}

void Arena::make_room(std::size_t bytes) {
  if (tail_ != nullptr) tail_->end = write_;
  Segment* const segment = acquire(bytes);
  if (tail_ == nullptr) {
    head_ = segment;
  } else if (empty()) {  // the arena's only segment is too small for the batch
    release(head_);
    head_ = segment;
  } else {
    tail_->next = segment;
    if (head_ == tail_) head_end_ = head_->end;
  }
  tail_ = segment;
  write_ = segment->begin();
  end_ = write_ + segment->bytes;
  if (head_ == segment) read_ = write_;
}

bool Arena::grow_open(std::size_t bytes) {
  const auto used = static_cast<std::size_t>(write_ - open_);
  if (used + bytes > batch_bytes_) return false;
  Segment* const old = tail_;
  Segment* const segment = acquire(
      std::min(batch_bytes_,
               std::max(2 * used, std::size_t{round_up(static_cast<std::uint32_t>(used + bytes), batch_alignment)})));
  std::memcpy(segment->begin(), open_, used);
  std::byte* const from = open_;
  const bool alone = read_ == from || from == old->begin();  // no other batch remains in the
                                                             // segment
  move_open(segment->begin() - from);
  write_ = open_ + used;
  end_ = segment->begin() + segment->bytes;
  limit_ = open_ + std::min(static_cast<std::size_t>(end_ - open_), batch_bytes_);
  tail_ = segment;
  if (!alone) {
    old->end = from;
    old->next = segment;
    if (head_ == old) head_end_ = from;
    poison(from, used);
    return true;
  }
  if (head_ == old) {
    head_ = segment;
    read_ = segment->begin();
  } else {
    Segment* before = head_;
    while (before->next != old) before = before->next;
    before->next = segment;
  }
  release(old);
  return true;
}

void Arena::leave_segment() noexcept {
  if (head_ != tail_) {
    release(std::exchange(head_, head_->next));
    read_ = head_->begin();
    head_end_ = head_ == tail_ ? nullptr : head_->end;
    // Release large segments so that they are available for the next large batch.
  } else if (poisons || head_->bytes != usual_bytes()) {
    release(head_);
    head_ = tail_ = nullptr;
    read_ = write_ = end_ = nullptr;
  } else {
    write_ = read_ = head_->begin();  // reuse the segment from its beginning, whose cache lines are
                                      // still warm
    unpoison(read_, head_->bytes);
  }
}

void Arena::drop(std::size_t count, Place end) noexcept {
  require(count <= batches_, "drop: more batches than the arena holds");
  if (count == 0) return;
  batches_ -= count;
  while (head_ != end.segment) {
    poison(read_, static_cast<std::size_t>(written_end(*head_) - read_));
    leave_segment();
  }
  poison(read_, static_cast<std::size_t>(end.at - read_));
  read_ = end.at;
  if (read_ == write_ || read_ == head_end_) leave_segment();
}

void Arena::cut(const Mark& mark) noexcept {
  require(mark.batches <= batches_, "cut: batches were popped since the mark");
  if (mark.batches == batches_) return;
  if (mark.batches == 0) return clear();
  // The newest batch before the mark is still queued, and so is its segment.
  for (Segment* after = std::exchange(mark.end.segment->next, nullptr); after != nullptr;)
    release(std::exchange(after, after->next));
  tail_ = mark.end.segment;
  write_ = mark.end.at;
  end_ = tail_->begin() + tail_->bytes;
  unpoison(write_, static_cast<std::size_t>(end_ - write_));
  if (head_ == tail_) head_end_ = nullptr;
  batches_ = mark.batches;
}

void Arena::set_targets(std::span<const Entity> targets) noexcept {
  const BatchView batch = front();
  require(batch.count() == targets.size(), "set_targets: the batch has a different number of targets");
  const auto at = [&](const std::byte* in) { return read_ + (in - read_); };
  if (batch.kind() == BatchKind::shared) {
    std::memcpy(at(batch.shared_targets()), targets.data(), targets.size_bytes());
  } else {
    require(batch.kind() == BatchKind::each, "set_targets: the batch is not of kind each");
    for (std::uint32_t i = 0; i < batch.count(); ++i) std::memcpy(at(batch.item(i)), &targets[i], sizeof(Entity));
  }
}

void Arena::clear() noexcept {
  seal();
  while (!empty()) pop_front();
}

void Arena::trim(std::size_t kept) noexcept {
  for (Segment** list : {&spare_large_, &spare_})
    while (*list != nullptr && capacity_ > kept) {
      Segment* const segment = *list;
      *list = segment->next;
      if (list == &spare_large_) spare_large_bytes_ -= segment->bytes;
      free(segment);
    }
}

void Arena::swap(Arena& other) noexcept {
  swap_state(other);
  std::swap(read_, other.read_);
  std::swap(head_end_, other.head_end_);
  std::swap(head_, other.head_);
  std::swap(tail_, other.tail_);
  std::swap(spare_, other.spare_);
  std::swap(spare_large_, other.spare_large_);
  std::swap(spare_large_bytes_, other.spare_large_bytes_);
  std::swap(segment_bytes_, other.segment_bytes_);
  std::swap(capacity_, other.capacity_);
  std::swap(in_use_, other.in_use_);
  std::swap(most_in_use_, other.most_in_use_);
  std::swap(most_before_, other.most_before_);
}

void Arena::end_burst() noexcept {
  const std::size_t most = std::exchange(most_in_use_, in_use_);
  const std::size_t before = std::exchange(most_before_, most);
  const std::size_t needed = std::min(most, before);
  for (Segment** list : {&spare_large_, &spare_})
    for (Segment** link = list; *link != nullptr && capacity_ > std::max(kept_after_burst, needed);) {
      Segment* const segment = *link;
      if (capacity_ - sizeof(Segment) - segment->bytes - segment_slack < needed) {
        link = &segment->next;
        continue;
      }
      *link = segment->next;
      if (list == &spare_large_) spare_large_bytes_ -= segment->bytes;
      free(segment);
    }
}

Arena::Segment* Arena::acquire(std::size_t bytes) {
  const std::size_t usual = usual_bytes();
  Segment* segment = nullptr;
  if (bytes <= usual) {
    bytes = usual;
    if (spare_ != nullptr) segment = std::exchange(spare_, spare_->next);
  } else {
    for (Segment** link = &spare_large_; *link != nullptr; link = &(*link)->next)
      if ((*link)->bytes >= bytes) {
        segment = std::exchange(*link, (*link)->next);
        spare_large_bytes_ -= segment->bytes;
        break;
      }
  }
  if (segment == nullptr) {
    if (bytes != usual) bytes = (bytes + segment_slack + 63) / 64 * 64 - segment_slack;
    void* const memory = ::operator new(sizeof(Segment) + bytes + segment_slack, std::align_val_t{alignof(Segment)});
    segment = new (memory) Segment;
    segment->bytes = bytes;
    capacity_ += sizeof(Segment) + bytes + segment_slack;
  }
  segment->next = nullptr;
  in_use_ += sizeof(Segment) + segment->bytes + segment_slack;
  most_in_use_ = std::max(most_in_use_, in_use_);
  unpoison(segment->begin(), segment->bytes);
  return segment;
}

void Arena::release(Segment* segment) noexcept {
  in_use_ -= sizeof(Segment) + segment->bytes + segment_slack;
  if (segment->bytes == usual_bytes()) {
    segment->next = std::exchange(spare_, segment);
  } else if (spare_large_bytes_ + segment->bytes <= spare_large_bytes_max) {
    spare_large_bytes_ += segment->bytes;
    segment->next = std::exchange(spare_large_, segment);
  } else {
    return free(segment);
  }
  poison(segment->begin(), segment->bytes);
}

void Arena::free(Segment* segment) noexcept {
  capacity_ -= sizeof(Segment) + segment->bytes + segment_slack;
  unpoison(segment->begin(), segment->bytes);
  segment->~Segment();
  ::operator delete(static_cast<void*>(segment), std::align_val_t{alignof(Segment)});
}

}  // namespace muster

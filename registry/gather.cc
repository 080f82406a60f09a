#include "registry/gather.h"

#include <algorithm>
#include <cstring>

namespace muster {

bool apart(const MessageRoute& a, const MessageRoute& b) noexcept {
  const auto pushes = [](const MessageRoute& route) { return std::ranges::any_of(route.active, &Handler::pushes); };
  if (pushes(a) && pushes(b)) return false;
  for (const Handler* first : a.active)
    for (const Handler* second : b.active)
      if (conflict(*first, *second)) return false;
  return true;
}

void Gather::clear() noexcept {
  for (std::size_t i = 0; i < used_; ++i) {
    places_[buckets_[i].route->type->id % places_.size()] = {};
    buckets_[i].route = nullptr;
    buckets_[i].count = 0;
    buckets_[i].used = 0;
  }
  used_ = batches_ = 0;
  messages_ = 0;
}

Gather::Bucket* Gather::new_bucket(MessageRoute* route, const BatchHeader& header) {
  if (used_ == types_max || !route || route->builtin || !route->whole_runs) return nullptr;
  Place& place = places_[header.type % places_.size()];
  if (place.type != 0) return nullptr;
  for (std::size_t i = 0; i < used_; ++i)
    if (!apart(*buckets_[i].route, *route)) return nullptr;
  place = {header.type, static_cast<std::uint8_t>(used_)};
  Bucket& bucket = buckets_[used_++];
  bucket.route = route;
  bucket.item_bytes = header.item_bytes;
  bucket.payload_offset = header.payload_offset;
  return &bucket;
}

bool Gather::add(const BatchView& batch, TypesKnown& types) {
  const BatchHeader& header = batch.header();
  if (header.kind != BatchKind::each || header.flags != 0 || header.count > batch_messages_max ||
      messages_ + header.count > messages_max)
    return false;
  const Place place = places_[header.type % places_.size()];
  Bucket* const bucket =
      place.type == header.type ? &buckets_[place.bucket] : new_bucket(types.route(header.type), header);
  if (!bucket) return false;
  const std::size_t bytes = std::size_t{header.count} * header.item_bytes;
  if (bucket->used + bytes + least_copy > bucket->items.size()) [[unlikely]]
    bucket->items.resize(std::max(bucket->items.size() * 2, std::size_t{4096} + bytes));
  std::byte* const to = bucket->items.data() + bucket->used;
  // Behind an arena's batch there is room to read. One or two messages at random would be guessed wrong.
  if (bytes <= least_copy) [[likely]]
    std::memcpy(to, batch.body(), least_copy);
  else
    std::memcpy(to, batch.body(), bytes);
  bucket->used += bytes;
  bucket->count += header.count;
  messages_ += header.count;
  ++batches_;
  return true;
}

}  // namespace muster

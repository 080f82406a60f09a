#include "registry/delivery/gather.h"

#include <algorithm>

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
  Bucket& bucket = buckets_[used_++];
  place = {header.type, &bucket};
  bucket.route = route;
  bucket.item_bytes = header.item_bytes;
  bucket.payload_offset = header.payload_offset;
  bucket.to = bucket.items.data();
  return &bucket;
}

std::byte* Gather::make_room(Bucket& bucket, std::size_t bytes) {
  const auto used = static_cast<std::size_t>(bucket.to - bucket.items.data());
  bucket.items.resize(std::max(bucket.items.size() * 2, used + bytes + least_copy + 4096));
  bucket.limit = bucket.items.data() + bucket.items.size() - least_copy;
  return bucket.items.data() + used;
}

}  // namespace muster

#include "server/edits/timer_ids.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "registry/handlers/builtin_messages.h"
#include "registry/host.h"

namespace muster {

TimerIds::TimerIds(EntityRegistry& registry) : registry_(registry) {
  for (const auto& [key, waiting] : registry.host().timers().waiting()) keep(key, waiting.batch);
}

std::vector<std::uint32_t> TimerIds::granted_ids(std::span<const std::byte> batch) const {
  std::vector<Entity> named;
  add_made(BatchView(batch), named);
  std::vector<std::uint32_t> ids;
  for (const Entity e : named)
    if (registry_.host().storage().in_state(e, IdState::granted)) ids.push_back(e.index);
  return ids;
}

void TimerIds::keep(const Timers::Key& key, std::span<const std::byte> batch) {
  std::vector<std::uint32_t> ids = granted_ids(batch);
  if (ids.empty() || !due_.emplace(key.id, key.due_ns).second) return;
  for (const std::uint32_t id : ids) ++uses_[id];
  kept_.emplace(key, std::move(ids));
}

void TimerIds::keep(std::span<const TimerId> timers) {
  for (const TimerId timer : timers)
    if (const auto timed = registry_.host().timers().find(timer); !timed.empty())
      keep({BatchView(timed).header().argument, timer}, timed);
}

std::vector<Entity> TimerIds::named_by(std::span<const TimerId> timers) const {
  std::vector<Entity> named;
  for (const TimerId timer : timers)
    if (const auto timed = registry_.host().timers().find(timer); !timed.empty())
      for (const std::uint32_t id : granted_ids(timed)) named.push_back({id, 1});
  std::ranges::sort(named);
  return named;
}

void TimerIds::note(const BatchView& batch) {
  if (batch.type() != TypeTraits<CancelTimer>::id || batch.header().payload_bytes == 0) return;
  for (std::uint32_t i = 0; i < batch.count(); ++i) {
    CancelTimer cancel;
    std::memcpy(&cancel, batch.payload(i), sizeof cancel);
    if (due_.contains(cancel.timer)) cancelled_.push_back(cancel.timer);
  }
}

void TimerIds::give_back() {
  std::vector<std::uint32_t> over;
  const auto ends = [&](std::map<Timers::Key, std::vector<std::uint32_t>>::iterator kept) {
    for (const std::uint32_t id : kept->second) {
      const auto uses = uses_.find(id);
      if (--uses->second > 0) continue;
      uses_.erase(uses);
      over.push_back(id);
    }
    due_.erase(kept->first.id);
    return kept_.erase(kept);
  };
  for (const TimerId timer : std::exchange(cancelled_, {}))
    if (const auto due = due_.find(timer); due != due_.end() && !registry_.host().timers().waits(timer))
      ends(kept_.find({due->second, timer}));
  const auto waits = [&](const Timers::Key& key) { return registry_.host().timers().waiting().contains(key); };
  for (auto kept = kept_.begin();
       kept != kept_.end() && kept->first.due_ns <= registry_.now_ns() && !waits(kept->first);)
    kept = ends(kept);
  if (std::exchange(sequence_, registry_.sequence()) != registry_.sequence() ||
      std::exchange(now_ns_, registry_.now_ns()) != registry_.now_ns())
    looks_left_ = kept_.size();
  for (std::size_t looks = std::min(looks_left_, looks_max); looks > 0 && !kept_.empty(); --looks, --looks_left_) {
    auto kept = kept_.upper_bound(looked_at_);
    if (kept == kept_.end()) kept = kept_.begin();
    looked_at_ = kept->first;
    if (!waits(kept->first)) ends(kept);
  }
  std::ranges::sort(over);
  for (std::size_t i = 0; i < over.size();) {
    const std::uint32_t first = over[i];
    std::uint32_t count = 1;
    for (++i; i < over.size() && over[i] == first + count; ++i) ++count;
    registry_.host().return_grant({first, 1}, count);
  }
}

}  // namespace muster

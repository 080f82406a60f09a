#include "server/session/watch_events.h"

#include <algorithm>
#include <utility>

#include "messages/causes.h"

namespace muster {
namespace {

// Kept between two flushes: in all, and of what was pushed.
constexpr std::size_t bytes_max = 64u << 20;
constexpr std::size_t pushed_bytes_max = 4u << 20;

/// Calls f(target) for every target that a batch names; a nil one stands for the world.
template <class F>
void for_each_target(BatchView batch, F&& f) {
  switch (batch.kind()) {
    case BatchKind::world: return f(Entity{});
    case BatchKind::timed: return for_each_target(batch.inner(), f);
    case BatchKind::shared:
    case BatchKind::each:
    case BatchKind::subtree:
      for (std::uint32_t i = 0; i < batch.count(); ++i) f(batch.target(i));
      return;
    case BatchKind::table: {
      const std::byte* at = batch.body();
      for (std::uint32_t i = 0; i < batch.count(); ++i) {
        const TableItem item = table_item(batch, at);
        f(item.target);
        at = item.next;
      }
      return;
    }
  }
}

TypeId told_type(BatchView batch) { return batch.kind() == BatchKind::timed ? batch.inner().type() : batch.type(); }

}  // namespace

WatchEvents::~WatchEvents() {
  if (!pushed_.empty()) registry_.set_pushed_sink(nullptr);
}

void WatchEvents::want(Watch& watch, bool anew) {
  if (anew) {
    watch.first_event = events_.size();
    watch.event_sequence = registry_.sequence();
  }
  if (!watch.asked().wants_events()) return;
  watches_.push_back(&watch);
  if (watch.asked().pushed.empty()) return;
  for (const TypeId type : watch.asked().pushed) ++pushed_[type];
  last_ = {registry_.sequence(), 0, 0, registry_.now_ns()};
  registry_.set_pushed_sink(this);
}

void WatchEvents::drop(const Watch& watch, const WatchAsked& asked) {
  std::erase(watches_, &watch);
  for (const TypeId type : asked.pushed)
    if (const auto at = pushed_.find(type); --at->second == 0) pushed_.erase(at);
  if (pushed_.empty()) registry_.set_pushed_sink(nullptr);
}

void WatchEvents::on_input(const Envelope& envelope, std::span<const std::byte> bytes, std::uint64_t clock_ns) {
  if (watches_.empty()) return;
  last_ = {envelope.sequence, envelope.author, envelope.request, clock_ns};
  if (bytes.empty()) return;
  const TypeId type = told_type(BatchView(bytes));
  if (std::ranges::any_of(watches_, [&](const Watch* watch) { return watch->asked().wants_input(type); }))
    keep(bytes, last_, false);
}

void WatchEvents::on_pushed(const BatchView& batch) noexcept {
  // A timer is told when it is due.
  if (batch.kind() == BatchKind::timed || !pushed_.contains(batch.type())) return;
  if (pushed_bytes_ + batch.bytes().size() > pushed_bytes_max || pushed_overflow_ > 0) {
    ++pushed_overflow_;
    pushed_overflow_through_ = last_.sequence;
    return;
  }
  pushed_bytes_ += sizeof(Event) + batch.bytes().size();
  if (!batch.has_causes()) return keep(batch.bytes(), last_, true);
  plain_.clear();
  append_without_causes(plain_, batch, registry_.types());
  plain_.for_each([&](BatchView plain) { keep(plain.bytes(), last_, true); });
}

void WatchEvents::keep(std::span<const std::byte> batch, const FrameEnvelope& envelope, bool pushed) {
  Event event{.envelope = envelope, .offset = bytes_.size(), .type = told_type(BatchView(batch)), .pushed = pushed};
  event.lost = bytes_.size() + batch.size() > bytes_max;
  if (!event.lost) bytes_.insert(bytes_.end(), batch.begin(), batch.end());
  events_.push_back(event);
}

void WatchEvents::send(Watch& watch, bool time_is_left) {
  Outgoing& out = *watch.to().outgoing;
  const auto tell_gap = [&] {
    session::Gap gap;
    gap.after = watch.event_sequence;
    gap.through = watch.lost_through;
    gap.lost = watch.lost;
    BatchBuilder builder;
    builder.append_world(gap);
    out.data(builder.bytes(), watch.request(), frame_event, nullptr);
    watch.event_sequence = watch.lost_through;
    watch.lost = 0;
  };
  const std::size_t first = std::exchange(watch.first_event, 0);
  for (std::size_t i = first; i < events_.size(); ++i) {
    const Event& event = events_[i];
    if (event.pushed ? !watch.asked().wants_pushed(event.type) : !watch.asked().wants_input(event.type)) continue;
    const auto lose = [&] {
      ++watch.lost;
      watch.lost_through = event.envelope.sequence;
    };
    if (event.lost || !time_is_left) {
      lose();
      continue;
    }
    const BatchView batch(bytes_.data() + event.offset);
    bool concerned = watch.is_of_everyone();
    if (!concerned) for_each_target(batch, [&](Entity e) { concerned = concerned || !e || watch.concerns(e); });
    if (!concerned) continue;
    if (!out.has_room()) {
      lose();
      continue;
    }
    if (watch.lost > 0) tell_gap();
    send_texts(watch.to(), registry_, registry_.types(), batch);
    const std::uint32_t flags = frame_event | (event.pushed ? std::uint32_t{frame_pushed} : 0);
    out.data(batch.bytes(), watch.request(), flags, &event.envelope);
    watch.event_sequence = event.envelope.sequence;
  }
  if (pushed_overflow_ > 0 && !watch.asked().pushed.empty()) {
    watch.lost += pushed_overflow_;
    watch.lost_through = pushed_overflow_through_;
  }
  if (watch.lost > 0 && out.has_room()) tell_gap();
}

void WatchEvents::clear() {
  events_.clear();
  bytes_.clear();
  pushed_bytes_ = 0;
  pushed_overflow_ = 0;
  if (bytes_.capacity() > (1u << 20)) bytes_.shrink_to_fit();
}

}  // namespace muster

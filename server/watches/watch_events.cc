#include "server/watches/watch_events.h"
#include "server/watches/told_texts.h"

#include <algorithm>
#include <utility>

#include "messages/causes.h"
#include "registry/host.h"
#include "registry/observe/clock.h"
#include "schema/kinds.h"
#include "server/watches/seen_events.h"

namespace muster {
namespace {

// Limit on the number of pushed messages between two flushes.
constexpr std::size_t pushed_bytes_max = 4u << 20;
constexpr std::size_t event_texts_max =
    // Limit on the size of the interned texts sent with one event. Texts count as answers, and a
    // session with too many unread answers is ended.
    2u << 20;

/// Calls f(target) for each target of a batch. A nil target stands for the world.
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

EventKeeper::~EventKeeper() {
  if (!pushed_.empty()) registry_.host().set_pushed_sink(nullptr);
}

void EventKeeper::want(const WatchAsked& asked) {
  if (!asked.wants_events()) return;
  ++users_;
  if (asked.inputs) {
    WatchAsked& inputs = inputs_.emplace_back();
    inputs.inputs = true;
    inputs.input_types = asked.input_types;
    inputs.inputs_except = asked.inputs_except;
  }
  if (asked.pushed.empty()) return;
  for (const TypeId type : asked.pushed) ++pushed_[type];
  last_ = {registry_.sequence(), 0, 0, registry_.now_ns()};
  registry_.host().set_pushed_sink(this);
}

void EventKeeper::drop(const WatchAsked& asked) {
  if (!asked.wants_events()) return;
  --users_;
  const auto same = [&](const WatchAsked& each) {
    return each.input_types == asked.input_types && each.inputs_except == asked.inputs_except;
  };
  if (const auto at = std::ranges::find_if(inputs_, same); asked.inputs && at != inputs_.end()) inputs_.erase(at);
  for (const TypeId type : asked.pushed)
    if (const auto at = pushed_.find(type); --at->second == 0) pushed_.erase(at);
  if (pushed_.empty()) registry_.host().set_pushed_sink(nullptr);
}

bool EventKeeper::wants_input(TypeId type) const {
  return std::ranges::any_of(inputs_, [&](const WatchAsked& asked) { return asked.wants_input(type); });
}

void EventKeeper::note(const Envelope& envelope, std::span<const std::byte> bytes, std::uint64_t clock_ns) {
  last_ = {envelope.sequence, envelope.session, envelope.request, clock_ns};
  if (bytes.empty()) return;
  if (wants_input(told_type(BatchView(bytes)))) keep(bytes, last_, false);
}

void EventKeeper::on_pushed(const BatchView& batch) noexcept {
  // Timed messages are reported as events when they become due.
  if (batch.kind() == BatchKind::timed || !pushed_.contains(batch.type())) return;
  if (pushed_bytes_ + batch.bytes().size() > pushed_bytes_max || news_.pushed_overflow > 0) {
    ++news_.pushed_overflow;
    news_.pushed_overflow_through = last_.sequence;
    return;
  }
  pushed_bytes_ += sizeof(EventNews::Event) + batch.bytes().size();
  if (!batch.has_causes()) return keep(batch.bytes(), last_, true);
  plain_.clear();
  append_without_causes(plain_, batch, registry_.types());
  plain_.for_each([&](BatchView plain) { keep(plain.bytes(), last_, true); });
}

void EventKeeper::keep(std::span<const std::byte> batch, const FrameEnvelope& envelope, bool pushed) {
  EventNews::Event event{
      .envelope = envelope, .offset = news_.bytes.size(), .type = told_type(BatchView(batch)), .pushed = pushed};
  event.lost = news_.bytes.size() + batch.size() > room_;
  if (!event.lost) news_.bytes.insert(news_.bytes.end(), batch.begin(), batch.end());
  news_.events.push_back(event);
}

EventNews EventKeeper::take(std::size_t room) {
  room_ = room;
  pushed_bytes_ = 0;
  if (news_.empty()) return {};
  // The sender uses its own table of types, because the registry's table may grow in the meantime.
  if (const auto schemas = registry_.types().schemas(); !types_ || schemas.size() != schemas_known_) {
    auto made = std::make_shared<TypeTable>();
    for (const auto& schema : schemas) require(made->add_schema(schema).has_value(), "a known schema is refused");
    schemas_known_ = schemas.size();
    types_ = std::move(made);
  }
  news_.types = types_;
  return std::exchange(news_, {});
}

void tell_gap(Watch& watch) {
  if (watch.lost == 0 || !watch.outgoing().has_room() || !watch.budget.is_free(steady_ns())) return;
  session::Gap gap;
  gap.after = watch.event_sequence;
  gap.through = watch.lost_through;
  gap.lost = watch.lost;
  BatchBuilder builder;
  builder.append_world(gap);
  watch.outgoing().data(builder.bytes(), watch.request(), frame_event, nullptr);
  watch.budget.spend(frame_overhead_max + builder.bytes().size(), steady_ns());
  watch.event_sequence = watch.lost_through;
  watch.lost = 0;
}

void tell_events(Watch& watch, const SeenState& world, const EventNews& news) {
  const WatchSight* const sight = watch.asked().sight.get();
  std::vector<std::byte> part;
  for (const EventNews::Event& event : news.events) {
    if (event.pushed ? !watch.asked().wants_pushed(event.type) : !watch.asked().wants_input(event.type)) continue;
    if (sight && !tells_events_of(event.type, *sight, *news.types)) continue;
    const auto lose = [&] {
      ++watch.lost;
      watch.lost_through = event.envelope.sequence;
    };
    if (event.lost) {
      lose();
      continue;
    }
    BatchView batch(news.bytes.data() + event.offset);
    if (sight) {
      const auto visible = visible_part(batch, *sight, world, part);
      if (!visible) continue;
      batch = *visible;
    }
    bool concerned = watch.is_of_everyone();
    if (!concerned) for_each_target(batch, [&](Entity e) { concerned = concerned || !e || watch.concerns(e); });
    if (!concerned) continue;
    const std::uint64_t now_ns = steady_ns();
    const std::size_t text_bytes = unsent_bytes(watch.to(), world, *news.types, batch);
    Outgoing& out = watch.outgoing();
    if (!out.has_room() || !watch.budget.is_free(now_ns) || (text_bytes > 0 && !out.has_text_room(text_bytes)) ||
        text_bytes > event_texts_max) {
      lose();
      continue;
    }
    tell_gap(watch);
    send_texts(watch.to(), world, *news.types, batch);
    const std::uint32_t flags = frame_event | (event.pushed ? std::uint32_t{frame_pushed} : 0);
    out.data(batch.bytes(), watch.request(), flags, &event.envelope);
    watch.budget.spend(frame_overhead_max + batch.bytes().size() + text_bytes, now_ns);
    watch.event_sequence = event.envelope.sequence;
  }
  if (news.pushed_overflow > 0 && !watch.asked().pushed.empty()) {
    watch.lost += news.pushed_overflow;
    watch.lost_through = news.pushed_overflow_through;
  }
  tell_gap(watch);
}

}  // namespace muster

// Rules for what watches send:
//
// - A watch that is opened or changed sends the world as of a single sequence number, no matter how
//   slowly its client reads. The state is sent from a copy that consists of pointers (SeenState),
//   and later changes are sent afterwards. If the copies exceed 256 MiB, they are released, and the
//   rest is sent with the values that are current at that time.
// - A later change is sent as of the most recent Look, so a value that changed twice is sent only
//   once.
// - The watch that has waited longest goes first. A watch goes through its marked rows in rounds,
//   component by component.
// - Opening a watch is treated as a change from nothing, so opening and changing a watch take the
//   same steps, and both send consistent data. Frames about the change are sent in order, after
//   earlier rows, which may still be in transit.
// - The entities affected by a change are found by searching either all changes or the watch's
//   members, whichever set is smaller.
// - A child's row names the previous sibling. Therefore, a new order of siblings can be sent by
//   sending only the rows whose predecessor is new, and a watch need not store lists of children.
#include "server/watches/watch_turns.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "registry/observe/clock.h"

namespace muster {
namespace {

// Limit on the number of dead entities that are recorded for watches that are waiting for room.
constexpr std::size_t dead_max = 1u << 18;
// Time limit for sending the state of a watch that was opened or changed.
constexpr std::uint64_t opening_ns = 1'000'000;
// Limit on the total size of the blocks that belong to states still being sent.
constexpr std::size_t states_bytes_max = 256u << 20;

}  // namespace

void WatchTurns::take_in(WatchNews news) {
  const auto take = [&](auto& what) {
    using What = std::remove_cvref_t<decltype(what)>;
    if constexpr (std::is_same_v<What, std::shared_ptr<Look>>) {
      take_in(*what, {});
    } else if constexpr (std::is_same_v<What, SeenLook>) {
      take_in(*what.look, what.sights);
    } else if constexpr (std::is_same_v<What, TextNews>) {
      world_.take_in(std::move(what));
    } else if constexpr (std::is_same_v<What, EventNews>) {
      for (const auto& watch : watches_)
        if (watch->asked().wants_events()) tell_events(*watch, world_, what);
    } else if constexpr (std::is_same_v<What, WatchOrder>) {
      obey(what);
    } else {
      world_.clear();
      equal_rows_.clear();
      recent_.clear();
    }
  };
  std::visit(take, news);
}

void WatchTurns::take_in(Look& look, std::span<const std::shared_ptr<const WatchSight>> sights) {
  equal_rows_.clear();
  if (const SeenWorld::Found& found = world_.take_in(look); !found.empty()) recent_.note(found);
  for (const auto& sight : sights)
    for (const auto& watch : watches_)
      if (watch->asked().sight && watch->asked().sight->rules == sight->rules) watch->see(sight);
  for (const TypeId component : look.learned)
    for (const auto& watch : watches_) watch->learn(component);
  bound_memory();
}

std::unique_ptr<Watch>* WatchTurns::find(std::uint64_t number) {
  const auto at = std::ranges::lower_bound(watches_, number, {}, [](const auto& watch) { return watch->number(); });
  return at != watches_.end() && (*at)->number() == number ? &*at : nullptr;
}

void WatchTurns::obey(WatchOrder& order) {
  if (auto* const open = std::get_if<WatchOrder::Open>(&order.what)) {
    auto watch = std::make_unique<Watch>(shared_, std::move(open->session), open->request, order.watch,
                                         std::move(open->figures));
    watch->event_sequence = order.sequence;
    order_.opened(watch->to());
    watch->become(std::move(open->asked));
    watch->begin(open->resumed);
    send(*watch);
    watches_.push_back(std::move(watch));
    shared_.is_alone = watches_.size() == 1;
    return;
  }
  std::unique_ptr<Watch>* const found = find(order.watch);
  if (!found) return;
  if (std::holds_alternative<WatchOrder::Resume>(order.what)) return resume(*found, order);
  Watch* const watch = found->get();
  // Send the result immediately, regardless of the watch's rate.
  const auto end_change = [&](std::uint64_t request) {
    watch->promise(request);
    if (watch->outgoing().has_room()) send(*watch);
  };
  if (auto* const become = std::get_if<WatchOrder::Become>(&order.what)) {
    if (!watch->asked().wants_events()) watch->event_sequence = order.sequence;
    watch->become(std::move(become->asked));
    end_change(become->request);
  } else if (const auto* const change = std::get_if<WatchOrder::Change>(&order.what)) {
    watch->change(change->what.add, change->what.drop, change->what.open, change->what.close);
    end_change(change->request);
  } else {
    const auto& close = std::get<WatchOrder::Close>(order.what);
    if (close.request) tell_of_watch(watch->to(), *close.request, session::Unwatched{.watch = watch->request()});
    order_.closed(watch->to());
    std::erase_if(watches_, [&](const auto& each) { return each.get() == watch; });
    shared_.is_alone = watches_.size() <= 1;
  }
}

void WatchTurns::send(Watch& watch) {
  const std::uint64_t begun_ns = processor_ns();
  if (!watch.send(steady_ns(), [&] { return processor_ns() - begun_ns < opening_ns; })) more_ = true;
}

/// If a client reads a state too slowly, sends the remainder with current values.
void WatchTurns::bound_memory() {
  if (world_.copied() <= states_bytes_max && recent_.dead() < dead_max) return;
  for (const auto& watch : watches_)
    if (watch->tells_state()) watch->let_state_go();
}

/// Forgets the changes that no watch needs. Those that only a resumed watch would need are
/// forgotten if they are too many.
void WatchTurns::forget_changes() {
  const bool too_many = recent_.dead() >= dead_max / 2;
  std::uint64_t needed = recent_.now();
  for (const auto& watch : watches_)
    if (!watch->is_paused()) needed = std::min(needed, watch->seen());
  if (!too_many)
    for (const auto& watch : watches_)
      if (watch->can_resume()) needed = std::min(needed, watch->needs_since());
  recent_.forget(needed + 1);
  if (!too_many) return;
  for (const auto& watch : watches_) watch->give_up_before(recent_.forgotten());
}

void WatchTurns::resume(std::unique_ptr<Watch>& watch, WatchOrder& order) {
  auto& resume = std::get<WatchOrder::Resume>(order.what);
  if (resume.sequence == 0 || !watch->resume(resume.sequence)) {
    watch->figures()->promises.store(0, std::memory_order_relaxed);
    watch->figures()->is_open.store(false, std::memory_order_relaxed);
    watch = std::make_unique<Watch>(shared_, resume.session, watch->request(), watch->number(), watch->figures());
    watch->event_sequence = order.sequence;
    watch->become(std::move(resume.asked));
    watch->begin(true);
  }
  send(*watch);
}

std::size_t WatchTurns::marks() const {
  std::size_t sum = 0;
  for (const auto& watch : watches_) sum += watch->marks();
  return sum;
}

std::uint64_t WatchTurns::look_due_ns() const {
  std::uint64_t due = ~std::uint64_t{0};
  for (const auto& watch : watches_)
    if (!watch->is_paused() && (!watch->pending() || watch->outgoing().has_room()))
      due = std::min(due, std::max(watch->due_ns, watch->budget.free_ns()));
  return due;
}

WatchTurns::Turn WatchTurns::turn(std::uint64_t now_ns, std::uint64_t ns_max) {
  const std::uint64_t begun_ns = processor_ns();
  const auto time_is_left = [&] { return processor_ns() - begun_ns < ns_max; };
  Turn turn{.more = std::exchange(more_, false)};
  const auto due_ns = [](const Watch& watch) { return std::max(watch.due_ns, watch.budget.free_ns()); };
  const auto wait_for = [&](const Watch& watch) {
    const std::uint64_t in = due_ns(watch) - now_ns;
    turn.due_in_ns = turn.due_in_ns == 0 ? in : std::min(turn.due_in_ns, in);
  };
  order_.begin();
  for (const auto& each : watches_) {
    Watch& watch = *each;
    if (watch.is_paused()) {
      watch.pause();
      continue;
    }
    tell_gap(watch);
    if (!watch.pending() && watch.seen() == recent_.now()) continue;
    if (due_ns(watch) > now_ns)
      wait_for(watch);
    else
      order_.add(watch);
  }
  std::uint64_t turns = 0;
  while (Watch* const next = order_.next()) {
    Watch& watch = *next;
    // Look for changes only if there is room to send them.
    if (!watch.outgoing().has_room() && recent_.dead() < dead_max) continue;
    if (turns > 0 && !time_is_left()) {
      turn.more = true;
      break;
    }
    turns_max_ = std::max(turns_max_, turn.watches = ++turns);
    const std::uint64_t turn_ns = processor_ns(), sent_before = watch.frames_sent;
    watch.catch_up();
    const bool concerned = watch.pending();
    if (concerned && !watch.send(now_ns, time_is_left)) turn.more = true;
    // A turn because of something that the user may not see must not change what is sent later.
    const bool counts = !watch.asked().sight || watch.frames_sent != sent_before;
    order_.took(processor_ns() - turn_ns, counts);
    if (!concerned) continue;
    // Sending a state that has not been sent completely continues immediately, regardless of the
    // watch's rate.
    if (!watch.pending() && counts) watch.due_ns = now_ns + watch.interval_ns();
    if (watch.pending()) {
      if (due_ns(watch) > now_ns) wait_for(watch);  // wait for its budget
      continue;
    }
    // A state was sent. The next turn will find any changes made in the meantime.
    if (watch.seen() == recent_.now()) continue;
    if (due_ns(watch) > now_ns)
      wait_for(watch);
    else
      turn.more = true;
  }
  forget_changes();
  return turn;
}

}  // namespace muster

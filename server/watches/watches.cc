#include "server/watches/watches.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <unordered_set>
#include <utility>

#include "registry/observe/clock.h"
#include "schema/muster.h"
#include "server/world/time/work_time.h"
#include "system/mutex.h"

namespace muster {
namespace {

// Limit on the number of a watch's changes for which Followed has not been sent.
constexpr std::size_t promises_max = 256;
// Limit on the total size of pending events: those collected, and those passed on but not yet sent.
constexpr std::size_t events_bytes_max = 64u << 20;

// Processor time that the watch thread uses before it checks for new work again.
constexpr std::uint64_t turn_ns = 2'000'000;
constexpr std::uint64_t never = ~std::uint64_t{0};

session::Fault in_use(std::uint64_t request) {
  return fault_of(session::FaultCode::request_in_use, "request_in_use",
                  "request " + std::to_string(request) + " is a watch that is still open");
}

/// Returns a function that reads the processor clock of its calling thread.
std::function<std::uint64_t()> own_processor_clock() {
  return [clock = std::shared_ptr<FrequentProcessorClock>()]() mutable {
    if (!clock) clock = std::make_shared<FrequentProcessorClock>();
    return clock->now_ns();
  };
}

}  // namespace

Watches::Watches(EntityRegistry& registry, std::function<std::uint64_t()> processor_ns)
    : registry_(registry),
      looks_(registry),
      events_(registry),
      seen_(registry),
      turns_(std::move(processor_ns)),
      has_thread_(false) {}

Watches::Watches(EntityRegistry& registry, Threaded threaded)
    : registry_(registry),
      looks_(registry),
      events_(registry),
      seen_(registry),
      turns_(own_processor_clock()),
      has_thread_(true),
      wake_(std::move(threaded.wake)) {}

Watches::~Watches() {
  {
    const MutexLock lock(mutex_);
    stops_ = true;
  }
  came_.notify_one();
  if (thread_.joinable()) thread_.join();
}

const Watches::Entry* Watches::find(const Session& session, std::uint64_t request) const {
  const auto at = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.session.get() == &session && entry.request == request; });
  return at == entries_.end() ? nullptr : &*at;
}

Watches::Entry* Watches::find(const Session& session, std::uint64_t request) {
  return const_cast<Entry*>(std::as_const(*this).find(session, request));
}

std::optional<session::Fault> Watches::may_open(const Session& session, std::uint64_t request,
                                                std::size_t watches_max) const {
  if (request == 0) return bad_watch("request", "a watch needs a request id: its frames carry it");
  if (find(session, request)) return in_use(request);
  const auto own = std::ranges::count_if(entries_, [&](const Entry& entry) { return entry.session.get() == &session; });
  if (static_cast<std::size_t>(own) >= watches_max)
    return fault_of(session::FaultCode::bad_question, "watches_max",
                    "this session has " + std::to_string(own) + " watches open, which is the limit");
  return std::nullopt;
}

std::optional<session::Fault> Watches::follow(std::shared_ptr<Session> session, std::uint64_t request,
                                              const session::Follow& asked, std::size_t watches_max) {
  if (asked.watch == 0) {
    if (auto fault = may_open(*session, request, watches_max)) return fault;
    const std::shared_ptr<SeenNow> seen = seen_by(*session);
    auto what = asked_of(asked, registry_, sight_of(seen.get()));
    if (!what) return what.error();
    add(std::move(session), request, std::move(*what));
    return std::nullopt;
  }
  const auto found = find_to_change(*session, asked.watch, request);
  if (!found) return found.error();
  Entry& entry = **found;
  auto what = asked_of(asked, registry_, sight_of(entry.seen.get()));
  if (!what) return what.error();
  ask(entry, *what);
  entry.figures->promises.fetch_add(1, std::memory_order_relaxed);
  give(entry.number, WatchOrder::Become{request, std::move(*what)});
  return std::nullopt;
}

void Watches::ask(Entry& entry, const WatchAsked& asked) {
  const Wants wants = wants_of(asked, !asked.open.empty());
  want(wants);
  drop(std::exchange(entry.wants, wants));
  pass_on_news();
  events_.want(asked);
  events_.drop(entry.asked);
  entry.asked = asked;
  entry.asked.entities.clear();
  entry.asked.open.clear();
}

session::WatchesResumed Watches::resume(const std::shared_ptr<Session>& session, const session::ResumeWatches& asked,
                                        std::size_t watches_max,
                                        const std::function<std::optional<session::Fault>()>& may_open_more) {
  session::WatchesResumed resumed;
  std::unordered_set<std::uint64_t> named(asked.watches.begin(), asked.watches.end());
  const auto refuse = [&](std::uint64_t watch, const session::Fault& fault) {
    resumed.refused.push_back(watch);
    resumed.reasons.push_back(fault.reason);
    resumed.texts.push_back(fault.text);
    (void)close(*session, watch);
  };
  const std::shared_ptr<SeenNow> seen = seen_by(*session);
  for (std::size_t i = 0; i < asked.watches.size(); ++i) {
    const std::uint64_t watch = asked.watches[i];
    auto what = asked_of(asked.follows[i], registry_, sight_of(seen.get()));
    if (!what) {
      refuse(watch, what.error());
      continue;
    }
    if (Entry* const entry = find(*session, watch)) {
      // With a limited sight, the client may know entities that are hidden now.
      const bool anew = seen || entry->seen;
      entry->seen = seen;
      ask(*entry, *what);
      give(entry->number, WatchOrder::Resume{session, anew ? 0 : asked.sequences[i], std::move(*what)});
      continue;
    }
    auto fault = may_open(*session, watch, watches_max);
    if (!fault) fault = may_open_more();
    if (fault)
      refuse(watch, *fault);
    else
      add(session, watch, std::move(*what), true);
  }
  std::vector<std::uint64_t> others;
  for (const Entry& entry : entries_)
    if (!asked.more && entry.session == session && !named.contains(entry.request)) others.push_back(entry.request);
  for (const std::uint64_t watch : others) (void)close(*session, watch);
  resumed.sequence = registry_.sequence();
  resumed.clock_ns = registry_.now_ns();
  return resumed;
}

std::optional<session::Fault> Watches::follow_more(const Session& session, std::uint64_t request,
                                                   const session::FollowMore& asked) {
  const auto found = find_to_change(session, asked.watch, request);
  if (!found) return found.error();
  Entry& entry = **found;
  if (entry.asked.world && !(asked.add.empty() && asked.drop.empty()))
    return bad_watch(asked.add.empty() ? "drop" : "add", "a watch of the whole world cannot name entities");
  if (!asked.open.empty()) {
    const Wants wants = wants_of(entry.asked, true);
    want(wants);
    drop(std::exchange(entry.wants, wants));
  }
  pass_on_news();
  entry.figures->promises.fetch_add(1, std::memory_order_relaxed);
  give(entry.number, WatchOrder::Change{request, asked});
  return std::nullopt;
}

std::expected<Watches::Entry*, session::Fault> Watches::find_to_change(const Session& session, std::uint64_t id,
                                                                       std::uint64_t request) {
  Entry* const entry = find(session, id);
  if (!entry) return std::unexpected(unknown_watch(id));
  if (request == 0)
    return std::unexpected(bad_watch("request", "a change needs a request id: Following and Followed name it"));
  if (find(session, request)) return std::unexpected(in_use(request));
  if (entry->figures->promises.load(std::memory_order_relaxed) >= promises_max)
    return std::unexpected(fault_of(session::FaultCode::busy, "busy",
                                    std::to_string(promises_max) + " changes of this watch are waiting to be sent"));
  return entry;
}

void Watches::add(std::shared_ptr<Session> session, std::uint64_t request, WatchAsked asked, bool resumed) {
  Entry entry{.session = session,
              .request = request,
              .number = ++opened_,
              .asked = asked,
              .entities = asked.world || asked.subtree ? registry_.entity_count() : asked.entities.size(),
              .wants = wants_of(asked, !asked.open.empty()),
              .figures = std::make_shared<WatchFigures>(),
              .seen = seen_by(*session)};
  entry.asked.entities.clear();
  entry.asked.open.clear();
  want(entry.wants);
  pass_on_news();
  events_.want(entry.asked);
  const std::shared_ptr<WatchFigures> figures = entry.figures;
  entries_.push_back(std::move(entry));
  give(opened_, WatchOrder::Open{std::move(session), request, std::move(asked), figures, resumed});
}

/// `listing` is true if the watch lists the children of any node.
Watches::Wants Watches::wants_of(const WatchAsked& asked, bool listing) const {
  Wants wants{.components = asked.components,
              .links = asked.structure || asked.subtree || listing || asked.has_places(),
              .texts = asked.structure || listing || asked.wants_events()};
  if (asked.structure || listing) wants.components.push_back(TypeTraits<Name>::id);
  for (const TypeId component : asked.components) {
    const TypeDescriptor* const type = registry_.types().find(component);
    wants.texts = wants.texts || (type && !type->text_offsets.empty());
  }
  return wants;
}

void Watches::want(const Wants& wants) {
  for (const TypeId component : wants.components) looks_.want(component);
  if (wants.links) looks_.want_links();
  if (wants.texts) looks_.want_texts();
}

void Watches::drop(const Wants& wants) {
  for (const TypeId component : wants.components) looks_.drop(component);
  if (wants.links) looks_.drop_links();
  if (wants.texts) looks_.drop_texts();
}

void Watches::forget(Entry& entry) {
  drop(entry.wants);
  events_.drop(entry.asked);
}

bool Watches::close(const Session& session, std::uint64_t request, std::optional<std::uint64_t> answered) {
  Entry* const entry = find(session, request);
  if (!entry) return false;
  pass_on_events();
  const std::uint64_t number = entry->number;
  forget(*entry);
  entries_.erase(entries_.begin() + (entry - entries_.data()));
  give(number, WatchOrder::Close{answered});
  return true;
}

void Watches::close_all(const Session& session) {
  std::erase_if(entries_, [&](Entry& entry) {
    if (entry.session.get() != &session) return false;
    forget(entry);
    give(entry.number, WatchOrder::Close{});
    return true;
  });
}

std::uint64_t Watches::entities_of(const Entry& entry) {
  const bool is_open = entry.figures->is_open.load(std::memory_order_acquire);
  if (is_open) return entry.figures->entities.load(std::memory_order_relaxed);
  return entry.seen ? 0 : entry.entities;  // an estimate would count hidden entities
}

std::uint64_t Watches::entities() const {
  std::uint64_t all = 0;
  for (const Entry& entry : entries_) all += entities_of(entry);
  return all;
}

Watches::OfSession Watches::of_user(std::uint64_t user) const {
  OfSession of;
  for (const Entry& entry : entries_) {
    if (entry.session->user != user) continue;
    ++of.watches;
    of.entities += entities_of(entry);
  }
  return of;
}

std::unordered_map<const Session*, Watches::OfSession> Watches::by_session() const {
  std::unordered_map<const Session*, OfSession> all;
  const std::uint64_t now_ns = steady_ns();
  for (const Entry& entry : entries_) {
    OfSession& of = all[entry.session.get()];
    const WatchFigures& figures = *entry.figures;
    ++of.watches;
    of.entities += entities_of(entry);
    if (const std::uint64_t since_ns = figures.owed_since_ns.load(std::memory_order_relaxed);
        since_ns != 0 && since_ns < now_ns)
      of.oldest_ns = std::max(of.oldest_ns, now_ns - since_ns);
  }
  return all;
}

void Watches::note(const Slice& slice) {
  const MutexLock lock(mutex_);
  if (slices_.size() < slices_max) slices_.push_back(slice);
}

std::vector<Watches::Slice> Watches::take_slices() {
  const MutexLock lock(mutex_);
  return std::exchange(slices_, {});
}

// --- passing news on

void Watches::pass_on_events() {
  if (!events_.wanted()) return;
  const std::size_t told = event_bytes_.load(std::memory_order_relaxed);
  EventNews news = events_.take(events_bytes_max - std::min(events_bytes_max, told));
  if (news.empty()) return;
  if (TextNews texts = looks_.take_texts(); !texts.empty()) put(std::move(texts));
  event_bytes_.fetch_add(news.bytes.size(), std::memory_order_relaxed);
  put(std::move(news));
}

void Watches::pass_on_news() {
  pass_on_events();
  const auto types = registry_.types().types();
  std::vector<TypeId> learned;
  for (; types_known_ < types.size(); ++types_known_)
    if (types[types_known_]->role == TypeRole::component) learned.push_back(types[types_known_]->id);
  auto sights = notice_sights();
  for (Entry& entry : entries_) {
    if (!entry.asked.every_component) continue;
    for (const TypeId component : learned) {
      if (std::ranges::binary_search(entry.asked.components, component)) continue;
      if (entry.asked.sight && entry.asked.sight->hidden->contains(component)) continue;
      entry.asked.components.insert(std::ranges::upper_bound(entry.asked.components, component), component);
      const Wants wants = wants_of(entry.asked, entry.wants.links);
      want(wants);
      drop(std::exchange(entry.wants, wants));
    }
  }
  auto look = looks_.take();
  look->learned = std::move(learned);
  chunks_listed_ = look->chunks.size();
  if (!sights.empty())
    put(SeenLook{std::move(look), std::move(sights)});
  else if (!look->empty())
    put(std::move(look));
  told_any_ = true;
}

std::shared_ptr<const WatchSight> Watches::sight_of(SeenNow* seen) {
  if (!seen) return nullptr;
  return std::make_shared<const WatchSight>(WatchSight{seen->sight(), seen->places(), seen->hidden()});
}

std::vector<std::shared_ptr<const WatchSight>> Watches::notice_sights() {
  std::vector<std::shared_ptr<const WatchSight>> changed;
  for (Entry& entry : entries_) {
    if (!entry.seen) continue;
    const WatchSight& known = *entry.asked.sight;
    if (entry.seen->places() == known.places && entry.seen->hidden() == known.hidden) continue;
    auto now = std::ranges::find(changed, known.rules, [](const auto& sight) { return sight->rules; });
    if (now == changed.end()) now = changed.insert(now, sight_of(entry.seen.get()));
    entry.asked.sight = *now;
  }
  return changed;
}

bool Watches::orders_done() {
  if (!has_thread_ || orders_done_ == orders_given_) return true;
  orders_wanted_ = true;
  return orders_done_ == orders_given_;
}

void Watches::give(std::uint64_t watch, decltype(WatchOrder::what) what) {
  ++orders_given_;
  put(WatchOrder{.watch = watch, .sequence = registry_.sequence(), .what = std::move(what)});
}

void Watches::put(WatchNews news) {
  if (!has_thread_) {
    turns_.take_in(std::move(news));
    can_go_on_ = can_go_on_ || turns_.more();
    return;
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  bool was_empty = false;
  {
    const MutexLock lock(mutex_);
    was_empty = news_.empty();
    if (std::holds_alternative<std::shared_ptr<Look>>(news) || std::holds_alternative<SeenLook>(news))
      world_waits_until_ = 0;
    news_.push_back(std::move(news));
  }
  if (was_empty) came_.notify_one();
}

std::uint64_t Watches::after_flush(std::uint64_t now_ns, std::uint64_t ns_max) {
  can_go_on_ = false;
  const bool is_free = looks_.is_free();
  if (entries_.empty()) {
    if (std::exchange(told_any_, false)) put(NoWatches{});
    looks_.forget();
    types_known_ = registry_.types().types().size();
    return 0;
  }
  if (!has_thread_) look_due_ns_ = turns_.look_due_ns();
  const std::uint64_t due_ns = look_due_ns_.load(std::memory_order_acquire);
  if (!is_free || due_ns > now_ns) {
    pass_on_events();
    if (has_thread_) {
      const MutexLock lock(mutex_);
      world_waits_until_ = is_free ? due_ns : never;
    }
    return is_free && due_ns != never ? due_ns - now_ns : 0;
  }
  const std::uint64_t begun_ns = recording_ ? steady_ns() : 0;
  pass_on_news();
  if (begun_ns > 0) note({.begin_ns = begun_ns, .ns = steady_ns() - begun_ns, .count = chunks_listed_});
  if (has_thread_) return 0;
  const WatchTurns::Turn turn = turns_.turn(now_ns, ns_max);
  can_go_on_ = turn.more;
  return turn.due_in_ns;
}

bool Watches::room_came() {
  if (!has_thread_) return false;
  {
    const MutexLock lock(mutex_);
    room_ = true;
  }
  came_.notify_one();
  return true;
}

void Watches::run() {
  const ProcessorClock clock = ProcessorClock::of_this_thread();
  WatchTurns::Turn turn;
  std::uint64_t turned_ns = steady_ns();
  MutexLock lock(mutex_);
  while (true) {
    if (turn.more) {
    } else if (turn.due_in_ns > 0) {
      const std::uint64_t due_ns = turned_ns + turn.due_in_ns;
      const std::chrono::steady_clock::time_point due{std::chrono::nanoseconds(due_ns)};
      while (!stops_ && !room_ && news_.empty() && steady_ns() < due_ns) came_.wait_until(lock, due);
    } else {
      while (!stops_ && !room_ && news_.empty()) came_.wait(lock);
    }
    if (stops_) return;
    std::vector<WatchNews> news = std::exchange(news_, {});
    room_ = false;
    lock.unlock();
    turned_ns = steady_ns();
    for (WatchNews& each : news) {
      const auto* const events = std::get_if<EventNews>(&each);
      const std::size_t bytes = events ? events->bytes.size() : 0;
      const bool is_order = std::holds_alternative<WatchOrder>(each);
      const std::uint64_t begun_ns = is_order ? clock.now_ns() : 0;
      turns_.take_in(std::move(each));
      event_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
      if (!is_order) continue;
      orders_ns_.fetch_add(clock.now_ns() - begun_ns, std::memory_order_relaxed);
      ++orders_done_;
    }
    if (orders_wanted_.exchange(false)) wake_();
    const std::uint64_t woken_ns = turned_ns;
    turned_ns = steady_ns();
    turn = turns_.turn(turned_ns, turn_ns);
    thread_ns_.store(clock.now_ns(), std::memory_order_relaxed);
    if (recording_) note({.begin_ns = woken_ns, .ns = steady_ns() - woken_ns, .count = turn.watches, .beside = true});
    const std::uint64_t due_ns = turns_.look_due_ns();
    look_due_ns_.store(due_ns, std::memory_order_release);
    lock.lock();
    const bool wakes = world_waits_until_ > due_ns;
    if (wakes) world_waits_until_ = 0;
    if (!wakes) continue;
    lock.unlock();
    wake_();
    lock.lock();
  }
}

}  // namespace muster

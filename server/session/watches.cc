#include "server/session/watches.h"

#include <algorithm>
#include <string>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t dead_max = 1u << 18;       // remembered for watches that wait for room
constexpr std::uint64_t opening_ns = 1'000'000;  // of telling the state of a watch when it is opened or changed
constexpr std::size_t promises_max = 256;        // changes of one watch whose end was not told yet
// A look that takes so many times what watches may take has a flush for itself.
constexpr std::uint64_t long_look = 2;
constexpr std::uint64_t long_look_max = ~std::uint64_t{0} / long_look;

session::Fault in_use(std::uint64_t request) {
  return fault_of(session::FaultCode::request_in_use, "request_in_use",
                  "request " + std::to_string(request) + " is a watch that is still open");
}

}  // namespace

Watches::Watches(EntityRegistry& registry, std::function<std::uint64_t()> processor_ns)
    : registry_(registry),
      processor_ns_(std::move(processor_ns)),
      changes_(registry),
      recent_(registry),
      events_(registry) {}
Watches::~Watches() = default;

Watch* Watches::find(const Session& session, std::uint64_t request) const {
  const auto at = std::ranges::find_if(
      watches_, [&](const auto& watch) { return &watch->to() == &session && watch->request() == request; });
  return at == watches_.end() ? nullptr : at->get();
}

std::optional<session::Fault> Watches::may_open(const Session& session, std::uint64_t request,
                                                std::size_t watches_max) const {
  if (request == 0) return bad_watch("request", "a watch needs a request id: it is what its changes carry");
  if (find(session, request)) return in_use(request);
  const auto own = std::ranges::count_if(watches_, [&](const auto& watch) { return &watch->to() == &session; });
  if (static_cast<std::size_t>(own) >= watches_max)
    return fault_of(session::FaultCode::bad_question, "watches_max",
                    "this session has " + std::to_string(own) + " watches open, as many as are allowed");
  return std::nullopt;
}

std::optional<session::Fault> Watches::open(std::shared_ptr<Session> session, std::uint64_t request,
                                            const session::Watch& asked, std::size_t watches_max) {
  if (auto fault = may_open(*session, request, watches_max)) return fault;
  auto what = asked_of(asked, registry_);
  if (!what) return what.error();
  add(std::move(session), request, std::move(*what));
  return std::nullopt;
}

std::size_t Watches::add(std::shared_ptr<Session> session, std::uint64_t request, WatchAsked asked) {
  auto watch = std::make_unique<Watch>(registry_, changes_, recent_, std::move(session), request, ++opened_);
  const std::size_t work = watch->become(std::move(asked));
  events_.want(*watch, true);
  watch->begin();
  send(*watch);
  watches_.push_back(std::move(watch));
  return work;
}

std::expected<std::size_t, session::Fault> Watches::follow(std::shared_ptr<Session> session, std::uint64_t request,
                                                           const session::Follow& asked, std::size_t watches_max) {
  if (asked.watch == 0) {
    if (auto fault = may_open(*session, request, watches_max)) return std::unexpected(*fault);
    auto what = asked_of(asked, registry_);
    if (!what) return std::unexpected(what.error());
    return add(std::move(session), request, std::move(*what));
  }
  const auto watch = find_changeable(*session, asked.watch, request);
  if (!watch) return std::unexpected(watch.error());
  auto what = asked_of(asked, registry_);
  if (!what) return std::unexpected(what.error());
  Watch& changed = **watch;
  const bool told_events = changed.asked().wants_events();
  events_.drop(changed, changed.asked());
  changed.catch_up();
  const std::size_t work = changed.become(std::move(*what));
  events_.want(changed, !told_events);
  end_change(changed, request);
  return work;
}

std::expected<std::size_t, session::Fault> Watches::follow_more(const Session& session, std::uint64_t request,
                                                                const session::FollowMore& asked) {
  const auto watch = find_changeable(session, asked.watch, request);
  if (!watch) return std::unexpected(watch.error());
  Watch& changed = **watch;
  if (changed.asked().world && !(asked.add.empty() && asked.drop.empty()))
    return std::unexpected(
        bad_watch(asked.add.empty() ? "drop" : "add", "a watch of the whole world names no entities"));
  changed.catch_up();
  const std::size_t work =
      changed.change_entities(asked.add, asked.drop) + changed.change_nodes(asked.open, asked.close);
  end_change(changed, request);
  return work;
}

std::expected<Watch*, session::Fault> Watches::find_changeable(const Session& session, std::uint64_t id,
                                                               std::uint64_t request) const {
  Watch* watch = find(session, id);
  if (!watch) return std::unexpected(unknown_watch(id));
  if (!watch->asked().changeable)
    return std::unexpected(bad_watch("watch", "a watch that Watch opened cannot be changed"));
  if (request == 0)
    return std::unexpected(bad_watch("request", "a change needs a request id: Following and Followed name it"));
  if (find(session, request)) return std::unexpected(in_use(request));
  if (watch->promises() >= promises_max)
    return std::unexpected(fault_of(session::FaultCode::busy, "busy",
                                    std::to_string(promises_max) + " changes of this watch wait to be told"));
  return watch;
}

/// Told at once, whatever its rate.
void Watches::end_change(Watch& watch, std::uint64_t request) {
  watch.promise(request);
  if (watch.to().outgoing->has_room()) send(watch);
}

void Watches::send(Watch& watch) {
  const std::uint64_t begun_ns = processor_ns();
  if (!watch.send([&] { return processor_ns() - begun_ns < opening_ns; })) can_go_on_ = true;
}

std::uint64_t Watches::entities() const {
  std::uint64_t all = 0;
  for (const auto& watch : watches_) all += watch->entities();
  return all;
}

std::size_t Watches::marks() const {
  std::size_t sum = 0;
  for (const auto& watch : watches_) sum += watch->marks();
  return sum;
}

bool Watches::close(const Session& session, std::uint64_t request) {
  Watch* watch = find(session, request);
  if (!watch) return false;
  events_.drop(*watch, watch->asked());
  std::erase_if(watches_, [&](const auto& each) { return each.get() == watch; });
  return true;
}

void Watches::close_all(const Session& session) {
  std::erase_if(watches_, [&](const auto& watch) {
    if (&watch->to() != &session) return false;
    events_.drop(*watch, watch->asked());
    return true;
  });
}

std::uint64_t Watches::after_flush(std::uint64_t now_ns, std::uint64_t ns_max) {
  can_go_on_ = false;
  if (watches_.empty()) {
    changes_.look();
    recent_.clear();
    types_known_ = registry_.types().types().size();
    return 0;
  }
  const std::uint64_t begun_ns = processor_ns();
  const auto time_is_left = [&](std::uint64_t of_ns) { return processor_ns() - begun_ns < of_ns; };
  if (const std::uint64_t due_in = next_turn_in(now_ns); due_in > 0) {
    tell_events([&] { return time_is_left(ns_max / 2); });
    return due_in;
  }
  if (const Changes::Found& found = changes_.look(); !found.empty()) recent_.note(found);
  if (const auto types = registry_.types().types(); types.size() != types_known_) {
    types_known_ = types.size();
    for (const auto& watch : watches_)
      for (const TypeDescriptor* type : types)
        if (type->role == TypeRole::component) watch->learn(type->id);
  }
  tell_events([&] { return time_is_left(ns_max / 2); });

  // Edits that came meanwhile wait for this long look, and not for turns as well.
  turns_put_off_ = !turns_put_off_ && ns_max < long_look_max && !time_is_left(long_look * ns_max);
  if (turns_put_off_) {
    can_go_on_ = true;
    return 0;
  }

  std::uint64_t due_in = 0;
  std::uint64_t turns = 0;
  const auto after_last =
      std::ranges::find_if(watches_, [&](const auto& watch) { return watch->number() > last_turn_; });
  const auto first = static_cast<std::size_t>(after_last - watches_.begin());
  for (std::size_t i = 0; i < watches_.size(); ++i) {
    Watch& watch = *watches_[(first + i) % watches_.size()];
    if (!watch.pending() && watch.seen() == recent_.now()) continue;
    if (watch.due_ns > now_ns) {
      const std::uint64_t in = watch.due_ns - now_ns;
      due_in = due_in == 0 ? in : std::min(due_in, in);
      continue;
    }
    // What changes while there is no room is found later.
    if (!watch.to().outgoing->has_room() && recent_.dead() < dead_max) continue;
    if (turns > 0 && !time_is_left(ns_max)) {
      can_go_on_ = true;
      break;
    }
    turns_max_ = std::max(turns_max_, ++turns);
    last_turn_ = watch.number();
    watch.catch_up();
    if (!watch.pending()) continue;
    if (!watch.send([&] { return time_is_left(ns_max); })) can_go_on_ = true;
    // What there was no time or no room for does not wait for the watch's rate: no state was told yet.
    if (!watch.pending()) watch.due_ns = now_ns + watch.interval_ns();
  }
  if (recent_.dead() > 0) {
    std::uint64_t seen = recent_.now();
    for (const auto& watch : watches_) seen = std::min(seen, watch->seen());
    recent_.forget(seen + 1);
  }
  return due_in;
}

/// 0: some watch may have a turn now. Before that nobody needs to know what changed.
std::uint64_t Watches::next_turn_in(std::uint64_t now_ns) const {
  std::uint64_t due_in = 0;
  for (const auto& watch : watches_) {
    if (watch->due_ns <= now_ns) return 0;
    const std::uint64_t in = watch->due_ns - now_ns;
    due_in = due_in == 0 ? in : std::min(due_in, in);
  }
  return due_in;
}

void Watches::tell_events(const std::function<bool()>& time_is_left) {
  if (events_.wanted())
    for (const auto& watch : watches_)
      if (watch->asked().wants_events()) events_.send(*watch, events_.empty() || time_is_left());
  events_.clear();
}

}  // namespace muster

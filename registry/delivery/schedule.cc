#include "registry/delivery/schedule.h"

#include <algorithm>
#include <unordered_map>

#include "registry/handlers/handler_table.h"

namespace muster {

namespace {

bool contains(const std::vector<std::string>& list, std::string_view name) noexcept {
  return std::ranges::find(list, name) != list.end();
}

bool declares(const Handler& h) noexcept {
  return !h.options.external_reads.empty() || !h.options.external_writes.empty();
}

bool hides_state(const Handler& h) noexcept { return (h.has_state || h.options.on_begin) && !declares(h); }

bool from_ancestors(Source source) noexcept {
  return source == Source::parent || source == Source::self_or_parent || source == Source::parent_with ||
         source == Source::up_to;
}

/// True if there cannot be an entity on whose own row both handlers run.
bool never_meet(const Handler& a, const Handler& b) noexcept {
  const auto asks_what_excludes = [](const Handler& asks, const Handler& excludes) {
    for (const Term& s : asks.terms)
      for (const Term& t : excludes.terms)
        if (s.type == t.type && s.source == Source::self && t.source == Source::self &&
            s.presence == Presence::required && t.presence == Presence::excluded)
          return true;
    return false;
  };
  return asks_what_excludes(a, b) || asks_what_excludes(b, a);
}

}  // namespace

bool reads_directory(const Handler& handler) noexcept {
  return handler.has_state || handler.options.on_begin ||
         std::ranges::any_of(handler.terms, [](const Term& term) { return term.source != Source::self; });
}

std::vector<Conflict> conflicts(const Handler& a, const Handler& b) {
  std::vector<Conflict> found;
  const bool apart = never_meet(a, b);
  for (const Term& s : a.terms)
    for (const Term& t : b.terms) {
      if (s.type != t.type || !s.value || !t.value) continue;
      if (s.access == Access::read && t.access == Access::read) continue;
      if (apart && s.source == Source::self && t.source == Source::self) continue;
      found.push_back({.kind = ConflictKind::component,
                       .component = s.type,
                       .first_writes = s.access == Access::write,
                       .second_writes = t.access == Access::write,
                       .first_source = s.source,
                       .second_source = t.source,
                       .first_anchor = s.anchor,
                       .second_anchor = t.anchor});
    }
  const HandlerOptions& x = a.options;
  const HandlerOptions& y = b.options;
  for (const std::string& resource : x.external_writes)
    if (const bool writes = contains(y.external_writes, resource); writes || contains(y.external_reads, resource))
      found.push_back(
          {.kind = ConflictKind::external, .first_writes = true, .second_writes = writes, .resource = resource});
  for (const std::string& resource : x.external_reads)
    if (!contains(x.external_writes, resource) && contains(y.external_writes, resource))
      found.push_back({.kind = ConflictKind::external, .second_writes = true, .resource = resource});
  if (hides_state(a) && hides_state(b)) found.push_back({.kind = ConflictKind::hidden_state});
  if ((a.spawns && (b.spawns || reads_directory(b))) || (b.spawns && reads_directory(a)))
    found.push_back({.kind = ConflictKind::ids, .first_writes = a.spawns, .second_writes = b.spawns});
  return found;
}

Splitting splitting(const Handler& h) noexcept {
  if (h.once) return {.split = Split::whole, .because = WholeBecause::once};
  if (h.spawns) return {.split = Split::whole, .because = WholeBecause::spawns};
  if (h.has_state && !declares(h)) return {.split = Split::whole, .because = WholeBecause::hidden_state};
  if (!h.options.external_writes.empty()) return {.split = Split::whole, .because = WholeBecause::external_write};
  Splitting result;
  for (const Term& s : h.terms) {
    if (s.access != Access::write) continue;
    for (const Term& t : h.terms) {
      if (s.type != t.type || !t.value || t.source == Source::self) continue;
      if (!from_ancestors(t.source))
        return {.split = Split::whole, .because = WholeBecause::reads_by_id, .component = t.type, .source = t.source};
      result = {.split = Split::branches, .component = t.type, .source = t.source};
    }
  }
  return result;
}

namespace {

/// The terms that determine which handlers this handler can never_meet(): the components of its own
/// row that it requires and some other handler excludes, and those that it excludes and some other
/// handler requires. Both lists are in ascending order.
struct Selection {
  std::vector<TypeId> requires_, excludes;
  bool empty() const noexcept { return requires_.empty() && excludes.empty(); }
};
bool apart(const Selection& a, const Selection& b) noexcept {
  const auto meet = [](const std::vector<TypeId>& x, const std::vector<TypeId>& y) {
    return std::ranges::any_of(x, [&](TypeId type) { return std::ranges::binary_search(y, type); });
  };
  return meet(a.requires_, b.excludes) || meet(b.requires_, a.excludes);
}
/// True if every handler that can never meet `a` can never meet `b` either.
bool within(const Selection& a, const Selection& b) noexcept {
  return std::ranges::includes(b.requires_, a.requires_) && std::ranges::includes(b.excludes, a.excludes);
}

std::vector<Selection> selections(std::span<Handler* const> handlers) {
  std::vector<TypeId> required, excluded;
  const auto each = [](const Handler& handler, auto f) {
    for (const Term& term : handler.terms)
      if (term.source == Source::self) f(term);
  };
  for (const Handler* handler : handlers)
    each(*handler, [&](const Term& term) {
      if (term.presence == Presence::required) required.push_back(term.type);
      if (term.presence == Presence::excluded) excluded.push_back(term.type);
    });
  std::ranges::sort(required);
  std::ranges::sort(excluded);
  std::vector<Selection> all(handlers.size());
  for (std::size_t i = 0; i < handlers.size(); ++i) {
    each(*handlers[i], [&](const Term& term) {
      if (term.presence == Presence::required && std::ranges::binary_search(excluded, term.type))
        all[i].requires_.push_back(term.type);
      if (term.presence == Presence::excluded && std::ranges::binary_search(required, term.type))
        all[i].excludes.push_back(term.type);
    });
    std::ranges::sort(all[i].requires_);
    std::ranges::sort(all[i].excludes);
  }
  return all;
}

/// Adds handlers in order and determines which handlers each one must wait for: the most recent
/// users of each component and resource. A writer replaces an earlier user if everything that
/// conflicts with that user also conflicts with the writer.
class Waiting {
 public:
  explicit Waiting(std::span<Handler* const> handlers) : handlers_(handlers), selections_(selections(handlers)) {}

  /// Returns the handlers that handler `number` must wait for, in ascending order. Numbers must be
  /// consecutive.
  std::vector<std::uint32_t> next(std::uint32_t number) {
    const Handler& h = *handlers_[number];
    found_.clear();
    covers_all_ = selections_[number].empty();
    for (const Term& term : h.terms)
      if (term.value) use(components_[term.type], {number, term.source == Source::self}, term.access == Access::write);
    for (const std::string& resource : h.options.external_writes) use(externals_[resource], {number, false}, true);
    for (const std::string& resource : h.options.external_reads) use(externals_[resource], {number, false}, false);
    if (hides_state(h)) use(hidden_state_, {number, false}, true);
    if (h.spawns)
      use(ids_, {number, false}, true);
    else if (reads_directory(h))
      use(ids_, {number, false}, false);
    std::ranges::sort(found_);
    const auto doubles = std::ranges::unique(found_);
    found_.erase(doubles.begin(), doubles.end());
    return found_;
  }
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  struct User {
    std::uint32_t number;
    bool own_row;  // true if a component is accessed in the handler's own rows
  };
  struct Users {
    std::vector<User> readers, writers;
  };

  bool conflict(User before, User now) const noexcept {
    return before.number != now.number &&
           !(before.own_row && now.own_row && apart(selections_[before.number], selections_[now.number]));
  }
  /// True if all later handlers that conflict with `before` over a component or resource also
  /// conflict with `now`. `now` must write that component or resource and conflict with `before`.
  bool stands_for(User before, User now) const noexcept {
    return covers_all_ || !now.own_row ||
           (before.own_row && within(selections_[now.number], selections_[before.number]));
  }
  void wait_for(std::vector<User>& users, User now, bool writes) {
    std::erase_if(users, [&](User before) {
      ++steps_;
      if (!conflict(before, now)) return false;
      found_.push_back(before.number);
      return writes && stands_for(before, now);
    });
  }
  void use(Users& users, User now, bool writes) {
    wait_for(users.writers, now, writes);
    if (writes) wait_for(users.readers, now, true);
    (writes ? users.writers : users.readers).push_back(now);
  }

  std::span<Handler* const> handlers_;
  std::vector<Selection> selections_;
  std::unordered_map<TypeId, Users> components_;
  std::unordered_map<std::string, Users> externals_;
  Users hidden_state_, ids_;
  std::vector<std::uint32_t> found_;
  bool covers_all_ = false;
  std::uint64_t steps_ = 0;
};

}  // namespace

PassSchedule make_schedule(std::span<Handler* const> active) {
  PassSchedule schedule;
  Waiting waiting(active);
  for (const Handler* handler : active) {
    const auto number = static_cast<std::uint32_t>(schedule.nodes.size());
    PassSchedule::Node node{
        .handler = handler, .splitting = splitting(*handler), .earlier = waiting.next(number), .later = {}};
    for (const std::uint32_t earlier : node.earlier) {
      node.group = std::max(node.group, schedule.nodes[earlier].group + 1);
      schedule.nodes[earlier].later.push_back(number);
    }
    schedule.groups = std::max(schedule.groups, node.group + 1);
    schedule.nodes.push_back(std::move(node));
  }
  schedule.steps = waiting.steps();
  return schedule;
}

}  // namespace muster

#include "registry/delivery/schedule.h"

#include <algorithm>

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

/// Whether no entity can have both handlers run on its own row.
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

PassSchedule make_schedule(std::span<Handler* const> active) {
  PassSchedule schedule;
  for (const Handler* handler : active) {
    PassSchedule::Node node{.handler = handler, .splitting = splitting(*handler), .earlier = {}};
    for (std::uint32_t i = 0; i < schedule.nodes.size(); ++i)
      if (const PassSchedule::Node& other = schedule.nodes[i]; !conflicts(*other.handler, *handler).empty()) {
        node.earlier.push_back(i);
        node.group = std::max(node.group, other.group + 1);
      }
    schedule.groups = std::max(schedule.groups, node.group + 1);
    schedule.nodes.push_back(std::move(node));
  }
  return schedule;
}

}  // namespace muster

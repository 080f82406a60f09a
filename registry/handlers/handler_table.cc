#include "registry/handlers/handler_table.h"

#include <algorithm>
#include <ranges>

#include "messages/require.h"
#include "registry/handlers/builtin_messages.h"

namespace muster {

namespace {
bool names(const std::vector<std::string>& list, const Handler& handler) {
  return std::ranges::find(list, handler.name) != list.end();
}
}  // namespace

std::vector<Handler*> ordered(std::vector<Handler*> handlers) {
  std::ranges::sort(handlers, [](const Handler* a, const Handler* b) {
    if (a->options.priority != b->options.priority) return a->options.priority < b->options.priority;
    if (a->name != b->name) return a->name < b->name;
    if (a->part != b->part) return a->part < b->part;
    return a->ordinal < b->ordinal;
  });
  const std::size_t count = handlers.size();
  std::vector<std::vector<std::size_t>> later(count);  // i runs before each of later[i]
  std::vector<std::size_t> waits(count, 0);
  const auto edge = [&](std::size_t first, std::size_t second) {
    later[first].push_back(second);
    ++waits[second];
  };
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < count; ++j) {
      if (names(handlers[i]->options.before, *handlers[j])) edge(i, j);
      if (names(handlers[i]->options.after, *handlers[j])) edge(j, i);
    }
  std::vector<Handler*> result;
  std::vector<bool> taken(count, false);
  while (result.size() < count) {
    std::size_t next = 0;
    while (next < count && (taken[next] || waits[next] != 0)) ++next;
    if (next == count) {
      std::string names;
      for (std::size_t i = 0; i < count; ++i)
        if (!taken[i]) names += (names.empty() ? "" : ", ") + handlers[i]->name;
      throw SetupError("the order of these handlers contradicts itself: " + names);
    }
    taken[next] = true;
    result.push_back(handlers[next]);
    for (const std::size_t other : later[next]) --waits[other];
  }
  return result;
}

MessageRoute& HandlerTable::add_message(const TypeDescriptor& type) {
  if (MessageRoute* known = route(type.id)) return *known;
  by_type_.put(type.id, static_cast<std::uint32_t>(routes_.size()));
  routes_.push_back(std::make_unique<MessageRoute>());
  routes_.back()->type = &type;
  routes_.back()->builtin = is_builtin(type.id);
  routes_.back()->calls.resize(archetypes_);
  return *routes_.back();
}

Handler& HandlerTable::add(std::unique_ptr<Handler> handler, std::span<const std::unique_ptr<Archetype>> archetypes,
                           bool filter_stops) {
  MessageRoute* route = this->route(handler->message);
  require(route, "HandlerTable::add: the message type was not added");
  if (!handler->name.empty())
    for (const Handler* other : route->order)
      if (other->name == handler->name)
        throw SetupError("message " + route->type->name + " has a handler named \"" + handler->name + "\" already");
  for (const Term& term : handler->terms)
    if (term.type == TypeTraits<Name>::id && term.access == Access::write)
      throw SetupError("handler \"" + handler->name +
                       "\" writes muster.Name, which siblings and saved state depend on; names are changed by Rename");
  const bool fresh = handler->ordinal == 0;
  if (fresh) {
    handler->ordinal = next_ordinal_;
    handler->part = part_;
  }
  handler->enabled = !std::ranges::binary_search(disabled_, text_of(handler->name));
  // First, because a filter may throw.
  handler->bound.resize(archetypes.size(), nullptr);
  for (const auto& archetype : archetypes) {
    if (!archetype) continue;
    if (filter_stops)
      bind_or_stop(*handler, *archetype);
    else
      handler->bind(*archetype);
  }
  std::vector<Handler*> order = route->order;
  order.push_back(handler.get());
  order = ordered(std::move(order));
  if (fresh) ++next_ordinal_;
  handlers_.push_back(std::move(handler));
  Handler& added = *handlers_.back();
  refresh(*route, std::move(order));
  return added;
}

void HandlerTable::remove(std::uint64_t ordinal) {
  std::erase_if(kept_, [&](const auto& h) { return h->ordinal == ordinal; });
  const auto at = std::ranges::find_if(handlers_, [&](const auto& h) { return h->ordinal == ordinal; });
  if (at == handlers_.end()) return;
  MessageRoute& route = *this->route((*at)->message);
  std::vector<Handler*> order = route.order;
  std::erase(order, at->get());
  refresh(route,
          ordered(std::move(order)));  // whom it kept apart may change places: the order is that of those who are there
  handlers_.erase(at);
}

void HandlerTable::end(std::uint64_t ordinal) {
  if (std::erase(ending_, ordinal)) remove(ordinal);
}

void HandlerTable::enable(Text name, bool enabled) {
  const auto at = std::ranges::lower_bound(disabled_, name);
  const bool known = at != disabled_.end() && *at == name;
  if (known != enabled) return;
  if (enabled)
    disabled_.erase(at);
  else
    disabled_.insert(at, name);
  for (const auto& handler : handlers_) {
    if (text_of(handler->name) != name) continue;
    handler->enabled = enabled;
    MessageRoute& route = *this->route(handler->message);
    refresh(route, std::vector<Handler*>(route.order));
  }
}

Handler& HandlerTable::keep(std::unique_ptr<Handler> handler) {
  handler->ordinal = next_ordinal_++;
  handler->part = part_;
  return *kept_.emplace_back(std::move(handler));
}

bool HandlerTable::begin(std::uint64_t ordinal, std::span<const std::unique_ptr<Archetype>> archetypes) {
  const auto at = std::ranges::find_if(kept_, [&](const auto& h) { return h->ordinal == ordinal; });
  if (at == kept_.end()) return false;
  std::unique_ptr<Handler> handler = std::move(*at);
  kept_.erase(at);
  add(std::move(handler), archetypes, true);
  return true;
}

void HandlerTable::find_followed() {
  followed_changes_ = 0;
  for (const auto& route : routes_)
    if (route->change != ChangeKind::none && !route->active.empty()) ++followed_changes_;
  for (const auto& handler : handlers_) {
    std::vector<FollowedColumn> followed;
    std::uint16_t column = 0;
    for (const Term& term : handler->terms) {
      if (term.source != Source::self || !term.value) continue;
      if (term.access == Access::write && follower(ChangeKind::changed, term.type))
        followed.push_back({column, term.type});
      ++column;
    }
    if (followed.empty() == handler->followed.empty()) {
      handler->followed = std::move(followed);
      continue;
    }
    handler->followed = std::move(followed);
    // Its message may go in whole runs now, or no longer may.
    MessageRoute& route = *this->route(handler->message);
    if (std::ranges::find(route.order, handler.get()) != route.order.end())
      refresh(route, std::vector<Handler*>(route.order));
  }
}

void HandlerTable::refresh(MessageRoute& route, std::vector<Handler*> order) {
  route.order = std::move(order);
  route.active.clear();
  for (Handler* handler : route.order)
    if (handler->enabled) route.active.push_back(handler);
  route.schedule.reset();
  route.writes_message = std::ranges::any_of(route.active, &Handler::writes_message);
  find_followed();
  const auto followed = [](const Handler* h) { return !h->followed.empty(); };
  route.whole_runs = !route.writes_message && std::ranges::none_of(route.active, followed) &&
                     std::ranges::count_if(route.active, &Handler::pushes) <= 1;
  for (std::size_t i = 0; i < route.active.size() && route.whole_runs; ++i) {
    // Its own rows: a handler that reads by id or from ancestors what it writes must see each message's effect.
    for (std::size_t j = 0; j < i; ++j)
      if (conflict(*route.active[i], *route.active[j])) route.whole_runs = false;
  }
  find_calls(route);
  find_told();
}

void HandlerTable::find_told() noexcept {
  const auto any = [&](auto... types) {
    const auto has = [&](TypeId type) {
      const MessageRoute* route = this->route(type);
      return route && !route->active.empty();
    };
    return follows() || (has(types) || ...);
  };
  told_ = {.create = any(TypeTraits<Create>::id, TypeTraits<Activated>::id, TypeTraits<Loaded>::id),
           .set = any(TypeTraits<Set>::id),
           .remove = any(TypeTraits<Remove>::id),
           .destroy = any(TypeTraits<Destroy>::id, TypeTraits<Deactivated>::id)};
}

CallSite HandlerTable::call_site(MessageRoute& route, std::size_t archetype) const {
  const Handler* only = nullptr;
  std::size_t matching = 0;
  for (const Handler* handler : route.active)
    if (archetype < handler->bound.size() && handler->bound[archetype]) {
      only = handler;
      ++matching;
    }
  if (matching == 0) return {};
  if (matching > 1 || !is_called_straight(*only)) return {.run = &run_several, .route = &route};
  return {only->one, only, only->bound[archetype], &route};
}

void HandlerTable::find_calls(MessageRoute& route) const {
  for (std::size_t i = 0; i < route.calls.size(); ++i) route.calls[i] = call_site(route, i);
  const bool straight = !route.builtin && route.active.size() == 1 && is_called_straight(*route.active.front());
  route.few_handler = straight ? route.active.front() : nullptr;
  route.few = straight ? route.few_handler->few : nullptr;
  route.few_bytes = route.few ? route.few_handler->few_bytes : 0;
}

void HandlerTable::observe_calls(bool on) {
  calls_observed_ = on;
  for (const auto& route : routes_) find_calls(*route);
}

void HandlerTable::bind_or_stop(Handler& handler, Archetype& archetype) const noexcept {
  const auto stop = [&](std::string_view what) {
    fatal("handler \"" + handler.name + "\" of " + route(handler.message)->type->name +
          ": its filter threw when it was shown an archetype: " + std::string(what));
  };
  try {
    handler.bind(archetype);
  } catch (const std::exception& error) {
    stop(error.what());
  } catch (...) {
    stop("something unknown");
  }
}

void HandlerTable::bind(Archetype& archetype) {
  archetypes_ = std::max<std::size_t>(archetypes_, archetype.number + 1);
  for (const auto& handler : handlers_) bind_or_stop(*handler, archetype);
  for (const auto& route : routes_) {
    route->calls.resize(archetypes_);
    route->calls[archetype.number] = call_site(*route, archetype.number);
  }
}

void HandlerTable::bind_again(Archetype& archetype) {
  for (const auto& handler : handlers_) {
    if (!handler->bound[archetype.number]) continue;
    const std::vector<const std::uint16_t*>& bound = handler->bound;
    const auto columns = std::ranges::find_if(handler->column_lists,
                                              [&](const auto& list) { return list.get() == bound[archetype.number]; });
    std::size_t at = 0;
    for (const Term& term : handler->terms)
      if (term.source == Source::self && term.value) (*columns)[at++] = archetype.column(term.type);
  }
}

Handler* HandlerTable::find(std::string_view name) noexcept {
  const auto at = std::ranges::find_if(handlers_, [&](const auto& h) { return h->name == name; });
  return at == handlers_.end() ? nullptr : at->get();
}

}  // namespace muster

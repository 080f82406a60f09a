#include "registry/handlers/handler_table.h"

#include <algorithm>
#include <cstring>
#include <ranges>
#include <utility>

#include "messages/require.h"
#include "registry/handlers/builtin_messages.h"
#include "registry/storage/storage.h"
#include "system/mutex.h"

namespace muster {

HandlerTable::~HandlerTable() {
  for (const Handler* handler : handlers_) by_ordinal_.erase(handler->ordinal);
}

MessageRoute& HandlerTable::add_message(const TypeDescriptor& type) {
  if (MessageRoute* known = route(type.id)) return *known;
  const MutexLock shown(shown_);
  by_type_.put(type.id, static_cast<std::uint32_t>(routes_.size()));
  routes_.push_back(std::make_unique<MessageRoute>());
  routes_.back()->type = &type;
  routes_.back()->builtin = is_builtin(type.id);
  routes_.back()->order.shuffle(shuffle_seed_);
  routes_.back()->calls.resize(archetypes_);
  routes_.back()->receivers.resize(archetypes_);
  return *routes_.back();
}

Handler& HandlerTable::add(std::unique_ptr<Handler> handler, std::span<const std::unique_ptr<Archetype>> archetypes,
                           bool filter_stops) {
  MessageRoute* route = this->route(handler->message);
  require(route, "HandlerTable::add: the message type was not added");
  if (!handler->name.empty() && route->order.has(handler->name))
    throw SetupError("message " + route->type->name + " already has a handler named \"" + handler->name + "\"");
  if (!handler->name.empty() && !text_of(handler->name))
    throw SetupError("a handler cannot be named \"" + handler->name +
                     "\", because the hash of this text is 0, which means no text; choose another name");
  for (const Term& term : handler->terms)
    if (term.type == TypeTraits<Name>::id && term.access == Access::write)
      throw SetupError("handler \"" + handler->name +
                       "\" writes muster.Name, which siblings and saved state depend on; use Rename to change names");
  unkept_.check(*handler, *route->type, handlers_);
  if (handler->options.skip_when_repeated) check_skipped(*handler, *route->type);
  const bool fresh = handler->ordinal == 0;
  if (fresh) {
    handler->ordinal = next_ordinal_;
    handler->part = part_;
  }
  handler->enabled = !std::ranges::binary_search(states_.disabled, text_of(handler->name));
  // Binds the handler first, because a filter may throw an exception.
  handler->bound.resize(archetypes_, nullptr);
  for (const auto& archetype : archetypes) {
    if (!archetype) continue;
    if (filter_stops)
      bind_or_stop(*handler, *archetype);
    else
      handler->bind(*archetype);
  }
  const std::optional<std::size_t> place = route->order.add(*handler);
  if (fresh) ++next_ordinal_;
  Handler& added = *handler;
  by_ordinal_[added.ordinal] = std::move(handler);
  {
    const MutexLock shown(shown_);
    handlers_.push_back(&added);
  }
  if (is_unkept(*route->type)) unkept_.add(added);
  set_stand_in(added);
  added.followed = followed_by(added);
  handler_came(*route, added, place);
  return added;
}

void HandlerTable::remove(std::uint64_t ordinal) {
  std::erase_if(kept_, [&](const auto& h) { return h->ordinal == ordinal; });
  const auto known = by_ordinal_.find(ordinal);
  if (known == by_ordinal_.end()) return;
  const std::unique_ptr<Handler> gone = std::move(known->second);
  {
    const MutexLock shown(shown_);
    handlers_.erase(std::ranges::find(handlers_, gone.get()));
  }
  by_ordinal_.erase(known);
  MessageRoute& route = *this->route(gone->message);
  if (is_unkept(*route.type)) unkept_.remove(*gone);
  const std::optional<std::size_t> place = route.order.remove(*gone);
  handler_left(route, *gone, place);
}

std::optional<HandlerTable::Called> HandlerTable::called(const Handler* handler) const {
  const MutexLock shown(shown_);
  if (std::ranges::find(handlers_, handler) == handlers_.end()) return {};
  const MessageRoute& route = *this->route(handler->message);
  return Called{handler->name, route.type->name};
}

void HandlerTable::end(std::uint64_t ordinal) {
  if (std::erase(states_.ending, ordinal)) remove(ordinal);
}

void HandlerTable::enable(Text name, bool enabled) {
  const auto at = std::ranges::lower_bound(states_.disabled, name);
  const bool known = at != states_.disabled.end() && *at == name;
  if (known != enabled) return;
  if (enabled)
    states_.disabled.erase(at);
  else
    states_.disabled.insert(at, name);
  std::vector<MessageRoute*> changed;
  for (Handler* const handler : handlers_) {
    if (text_of(handler->name) != name) continue;
    handler->enabled = enabled;
    changed.push_back(this->route(handler->message));
  }
  refresh_all(std::move(changed));
}

Handler& HandlerTable::keep(std::unique_ptr<Handler> handler) {
  handler->ordinal = next_ordinal_++;
  handler->part = part_;
  states_.beginning.push_back(handler->ordinal);
  return *kept_.emplace_back(std::move(handler));
}

bool HandlerTable::begin(std::uint64_t ordinal, std::span<const std::unique_ptr<Archetype>> archetypes) {
  if (!std::erase(states_.beginning, ordinal)) return false;
  const auto at = std::ranges::find_if(kept_, [&](const auto& h) { return h->ordinal == ordinal; });
  if (at == kept_.end()) return false;
  std::unique_ptr<Handler> handler = std::move(*at);
  kept_.erase(at);
  add(std::move(handler), archetypes, true);
  return true;
}

std::vector<FollowedColumn> HandlerTable::followed_by(const Handler& handler) const {
  std::vector<FollowedColumn> followed;
  if (!follows()) return followed;
  std::uint16_t column = 0;
  for (const Term& term : handler.terms) {
    ++steps_;
    if (term.source != Source::self || !term.value) continue;
    if (term.access == Access::write && follower(ChangeKind::changed, term.type))
      followed.push_back({column, term.type});
    ++column;
  }
  return followed;
}

void HandlerTable::find_followed() {
  std::vector<MessageRoute*> changed;
  for (Handler* const handler : handlers_) {
    std::vector<FollowedColumn> followed = followed_by(*handler);
    ++steps_;
    // Whether `followed` is empty determines whether the handler's messages may be delivered in
    // whole runs.
    if (followed.empty() != handler->followed.empty()) changed.push_back(this->route(handler->message));
    handler->followed = std::move(followed);
  }
  refresh_all(std::move(changed));
}

void HandlerTable::refresh_all(std::vector<MessageRoute*> routes) {
  std::ranges::sort(routes);
  const auto doubles = std::ranges::unique(routes);
  routes.erase(doubles.begin(), doubles.end());
  for (MessageRoute* route : routes) refresh(*route);
}

void HandlerTable::handler_came(MessageRoute& route, Handler& handler, std::optional<std::size_t> place) {
  if (!place) return refresh(route);
  if (!handler.enabled) return;
  if (route.active.size() + 1 != route.order.size()) {  // some handlers are disabled
    const auto before = std::span(route.order.begin(), *place);
    place = static_cast<std::size_t>(std::ranges::count_if(before, &Handler::enabled));
  }
  const bool was_followed = is_followed(route);
  route.active.insert(route.active.begin() + static_cast<std::ptrdiff_t>(*place), &handler);
  route.rules.add(handler);
  for (const Archetype* archetype : handler.matched) {
    ++steps_;
    const std::uint32_t index = archetype->index;
    if (++route.receivers[index] <= 2)
      route.calls[index] = route.receivers[index] == 1 ? site_of(route, handler, index) : site_of_several(route);
  }
  active_changed(route, was_followed);
}

void HandlerTable::handler_left(MessageRoute& route, Handler& handler, std::optional<std::size_t> place) {
  if (!place) return refresh(route);
  if (!handler.enabled) return;
  const bool was_followed = is_followed(route);
  if (route.active.size() == route.order.size() + 1)  // no handler is disabled
    route.active.erase(route.active.begin() + static_cast<std::ptrdiff_t>(*place));
  else
    std::erase(route.active, &handler);
  route.rules.remove(handler);
  for (const Archetype* archetype : handler.matched) {
    ++steps_;
    const std::uint32_t left = --route.receivers[archetype->index];
    if (left == 0) route.calls[archetype->index] = {};
    if (left == 1) find_site(route, archetype->index);
  }
  active_changed(route, was_followed);
}

void HandlerTable::refresh(MessageRoute& route) {
  const bool was_followed = is_followed(route);
  route.active.clear();
  for (Handler* handler : route.order)
    if (handler->enabled) route.active.push_back(handler);
  steps_ += route.order.size() + route.rules.steps();
  route.rules = {};
  for (const Handler* handler : route.active) route.rules.add(*handler);
  find_sites(route);
  active_changed(route, was_followed);
  find_told();
}

void HandlerTable::active_changed(MessageRoute& route, bool was_followed) {
  route.schedule.reset();
  route.chunks.forget();
  const bool change = is_followed(route) != was_followed;
  if (change) {
    was_followed ? --followed_changes_ : ++followed_changes_;
    find_followed();
  }
  route.writes_message = route.rules.writes_message();
  route.whole_runs = route.rules.whole_runs();
  set_few(route);
  // Only the first handler of a message, and the last to leave, change whether it is told.
  if (change || route.active.size() <= 1) find_told();
}

void HandlerTable::shuffle(std::uint64_t seed) noexcept {
  shuffle_seed_ = seed;
  for (const auto& route : routes_) route->order.shuffle(seed);
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
           .destroy = any(TypeTraits<Destroy>::id, TypeTraits<Deactivated>::id),
           .spawn = any(TypeTraits<Spawn>::id, TypeTraits<Activated>::id, TypeTraits<Loaded>::id)};
}

CallSite HandlerTable::site_of(MessageRoute& route, const Handler& handler, std::size_t archetype) const {
  if (!is_called_straight(handler)) return site_of_several(route);
  return {handler.one, &handler, handler.bound[archetype], &route, handler.one_known, inside_of(handler)};
}

CallSite HandlerTable::site_of_several(MessageRoute& route) {
  return {.run = &run_several, .route = &route, .run_known = &run_uncached};
}

void HandlerTable::find_site(MessageRoute& route, std::size_t archetype) const {
  CallSite& site = route.calls[archetype];
  site = {};
  std::uint32_t& receivers = route.receivers[archetype];
  receivers = 0;
  for (const Handler* handler : route.active) {
    ++steps_;
    if (archetype >= handler->bound.size() || !handler->bound[archetype]) continue;
    if (++receivers == 1) site = site_of(route, *handler, archetype);
  }
  if (receivers > 1) site = site_of_several(route);
}

void HandlerTable::find_sites(MessageRoute& route) const {
  std::ranges::fill(route.receivers, 0u);
  std::ranges::fill(route.calls, CallSite{});
  for (const Handler* handler : route.active)
    for (const Archetype* archetype : handler->matched) {
      ++steps_;
      const std::uint32_t index = archetype->index;
      route.calls[index] = ++route.receivers[index] == 1 ? site_of(route, *handler, index) : site_of_several(route);
    }
}

void HandlerTable::set_few(MessageRoute& route) const noexcept {
  const bool straight = !route.builtin && route.active.size() == 1 && is_called_straight(*route.active.front());
  route.few_handler = straight ? route.active.front() : nullptr;
  route.few = straight ? route.few_handler->few : nullptr;
  route.few_bytes = route.few ? route.few_handler->few_bytes : 0;
}

void HandlerTable::observe_calls(bool on) {
  calls_observed_ = on;
  for (const auto& route : routes_) {
    find_sites(*route);
    route->chunks.forget();
    set_few(*route);
  }
}

// --- stand-ins ---

namespace {

bool skipped_rows(RunContext&, const Handler&, void*, Chunk&, std::uint32_t, std::uint32_t, const std::uint16_t*) {
  return false;
}
/// Counts the targets as if the handler had been called for them.
ItemCounts skipped_items(RunContext& context, const Handler& handler, const ItemRun& run) {
  ItemCounts counts;
  for (std::uint32_t i = 0; i < run.count; ++i) {
    Entity target;
    std::memcpy(&target, run.first + std::size_t{i} * run.bytes, sizeof target);
    const Row row = context.storage.find(target);
    if (!row)
      ++counts.dead;
    else if (handler.columns(*row.chunk->archetype))
      ++counts.handled;
  }
  return counts;
}
bool probed_rows(RunContext& context, const Handler& handler, void* message, Chunk& chunk, std::uint32_t begin,
                 std::uint32_t end, const std::uint16_t* columns) {
  const StandIn& own = *handler.stand_in;
  return own.probe->rows(own.rows, context, handler, message, chunk, begin, end, columns);
}
ItemCounts probed_items(RunContext& context, const Handler& handler, const ItemRun& run) {
  const StandIn& own = *handler.stand_in;
  return own.probe->items(own.items, context, handler, run);
}

}  // namespace

void HandlerTable::check_skipped(const Handler& handler, const TypeDescriptor& message) {
  const bool writes = std::ranges::find(handler.terms, Access::write, &Term::access) != handler.terms.end();
  const char* const does = handler.pushes || handler.spawns             ? "takes an Outbox or a Spawner"
                           : writes                                     ? "writes a component"
                           : handler.of_manager                         ? "may change a manager, whose state is saved"
                           : handler.consumes || handler.writes_message ? "changes or consumes the message"
                                                                        : nullptr;
  if (does)
    throw SetupError("handler \"" + handler.name + "\" of " + message.name + " " + does +
                     ", but it is skipped when inputs are done again (skip_when_repeated), so it may only read");
}

void HandlerTable::set_stand_in(Handler& handler) const {
  if (const std::unique_ptr<StandIn> own = std::move(handler.stand_in)) {
    handler.rows = own->rows;
    handler.items = own->items;
    if (!own->probe) handler.options.on_begin = std::move(own->on_begin);
  }
  const bool skips = repeated_ && handler.options.skip_when_repeated;
  if (!skips && !probe_) return;
  handler.stand_in = std::make_unique<StandIn>();
  handler.stand_in->rows = handler.rows;
  handler.stand_in->items = handler.items;
  if (skips)
    handler.stand_in->on_begin = std::exchange(handler.options.on_begin, {});
  else
    handler.stand_in->probe = probe_;
  handler.rows = skips ? &skipped_rows : &probed_rows;
  handler.items = skips ? &skipped_items : &probed_items;
}

void HandlerTable::set_stand_ins(bool all) {
  std::vector<MessageRoute*> changed;
  for (Handler* const handler : handlers_) {
    if (!all && !handler->options.skip_when_repeated) continue;
    set_stand_in(*handler);
    changed.push_back(this->route(handler->message));
  }
  std::ranges::sort(changed);
  const auto doubles = std::ranges::unique(changed);
  changed.erase(doubles.begin(), doubles.end());
  for (MessageRoute* const route : changed) {
    find_sites(*route);
    route->chunks.forget();
    set_few(*route);
  }
}

void HandlerTable::set_repeated(bool on) {
  repeated_ = on;
  set_stand_ins(false);
}

void HandlerTable::set_probe(CallProbe* probe) {
  probe_ = probe;
  set_stand_ins(true);
}

std::uint64_t HandlerTable::steps() const noexcept {
  std::uint64_t sum = steps_ + unkept_.steps();
  for (const auto& route : routes_) sum += route->order.steps() + route->rules.steps();
  return sum;
}

void HandlerTable::bind_or_stop(Handler& handler, Archetype& archetype) const noexcept {
  const auto stop = [&](std::string_view what) {
    fatal("handler \"" + handler.name + "\" of " + route(handler.message)->type->name +
          ": its filter threw while testing an archetype: " + std::string(what));
  };
  try {
    handler.bind(archetype);
  } catch (const std::exception& error) {
    stop(error.what());
  } catch (...) {
    stop("an unknown exception");
  }
}

void HandlerTable::bind(Archetype& archetype) {
  archetypes_ = std::max<std::size_t>(archetypes_, archetype.index + 1);
  for (Handler* const handler : handlers_) bind_or_stop(*handler, archetype);
  for (const auto& route : routes_) {
    if (route->calls.size() < archetypes_) route->chunks.forget();
    route->calls.resize(archetypes_);
    route->receivers.resize(archetypes_);
    find_site(*route, archetype.index);
  }
}

void HandlerTable::bind_again(Archetype& archetype) {
  for (Handler* const handler : handlers_) {
    if (!handler->bound[archetype.index]) continue;
    const std::vector<const std::uint16_t*>& bound = handler->bound;
    const auto columns = std::ranges::find_if(handler->column_lists,
                                              [&](const auto& list) { return list.get() == bound[archetype.index]; });
    std::size_t at = 0;
    for (const Term& term : handler->terms)
      if (term.source == Source::self && term.value) (*columns)[at++] = archetype.column(term.type);
  }
}

void HandlerTable::forget(std::span<Archetype* const> leaving) {
  std::vector<std::uint8_t> leaves(archetypes_);
  for (const Archetype* archetype : leaving) leaves[archetype->index] = 1;
  for (Handler* const handler : handlers_) {
    std::size_t stay = 0;
    for (std::size_t i = 0; i < handler->matched.size(); ++i) {
      const std::uint32_t index = handler->matched[i]->index;
      if (leaves[index]) {
        handler->bound[index] = nullptr;
        continue;
      }
      handler->matched[stay] = handler->matched[i];
      handler->column_lists[stay++] = std::move(handler->column_lists[i]);
    }
    handler->matched.resize(stay);
    handler->column_lists.resize(stay);
  }
  for (const auto& route : routes_)
    for (const Archetype* archetype : leaving) {
      route->calls[archetype->index] = {};
      route->receivers[archetype->index] = 0;
    }
}

void HandlerTable::bind_all(std::span<const std::unique_ptr<Archetype>> archetypes) {
  archetypes_ = 0;
  for (const auto& archetype : archetypes) archetypes_ = std::max<std::size_t>(archetypes_, archetype->index + 1);
  for (Handler* const handler : handlers_) {
    handler->enabled = !std::ranges::binary_search(states_.disabled, text_of(handler->name));
    handler->bound.assign(archetypes_, nullptr);
    handler->matched.clear();
    handler->column_lists.clear();
    for (const auto& archetype : archetypes) bind_or_stop(*handler, *archetype);
  }
  for (const auto& route : routes_) {
    route->calls.assign(archetypes_, {});
    route->receivers.assign(archetypes_, 0);
  }
  for (const auto& route : routes_) refresh(*route);  // this may refresh other routes
}

void HandlerTable::take_back_messages(std::size_t count) {
  const MutexLock shown(shown_);
  for (; routes_.size() > count; routes_.pop_back()) by_type_.erase(routes_.back()->type->id);
}

Handler* HandlerTable::find(std::string_view name) noexcept {
  const auto at = std::ranges::find_if(handlers_, [&](const auto& h) { return h->name == name; });
  return at == handlers_.end() ? nullptr : *at;
}

}  // namespace muster

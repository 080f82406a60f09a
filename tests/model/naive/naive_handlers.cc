// Which handlers the naive model has, in which order, and what handlers ask for.
#include <algorithm>
#include <tuple>
#include <utility>

#include "tests/model/naive/naive_kinds.h"
#include "tests/model/naive/naive_model.h"

namespace naive {

std::vector<Handler*> Model::ordered(std::vector<Handler*> handlers, bool& contradiction) const {
  const auto runs_before = [](const Handler& a, const Handler& b) {
    return std::ranges::count(a.before, b.name) > 0 || std::ranges::count(b.after, a.name) > 0;
  };
  std::vector<Handler*> order;
  while (!handlers.empty()) {
    // Of those whom nobody left must precede: the smallest by priority, name, age.
    Handler* next = nullptr;
    for (Handler* one : handlers) {
      const bool waits = std::ranges::any_of(handlers, [&](const Handler* other) {
        return runs_before(*other, *one);  // one that names itself waits for ever
      });
      if (waits) continue;
      const auto rank = [](const Handler& h) { return std::tuple(h.priority, h.name, h.ordinal); };
      if (!next || rank(*one) < rank(*next)) next = one;
    }
    if (!next) {
      contradiction = true;
      return {};
    }
    order.push_back(next);
    std::erase(handlers, next);
  }
  return order;
}

/// Puts a handler among those of its message; false where that contradicts itself or its name is taken.
bool Model::admit(Handler& handler) {
  auto& route = routes_[handler.message];
  if (!handler.name.empty())
    for (const Handler* other : route)
      if (other->name == handler.name) return false;
  std::vector<Handler*> all = route;
  all.push_back(&handler);
  bool contradiction = false;
  all = ordered(all, contradiction);
  if (contradiction)
    ++covered["order of handlers contradicts itself"];
  else
    route = all;
  return !contradiction;
}

std::uint64_t Model::subscribe(Handler handler) {
  const std::uint64_t ordinal = next_ordinal_;
  handler.ordinal = ordinal;
  if (!admit(handlers_[ordinal] = std::move(handler))) {
    handlers_.erase(ordinal);
    return 0;
  }
  ++next_ordinal_;
  return ordinal;
}

void Model::unsubscribe(std::uint64_t ordinal) {
  kept_.erase(ordinal);
  const auto at = handlers_.find(ordinal);
  if (at == handlers_.end()) return;
  auto& route = routes_[at->second.message];
  std::erase(route, &at->second);
  bool contradiction = false;
  route = ordered(route, contradiction);
  handlers_.erase(at);
}

std::vector<Handler*> Model::handlers_of(TypeId message) const {
  const auto at = routes_.find(message);
  if (at == routes_.end()) return {};
  std::vector<Handler*> enabled = at->second;
  std::erase_if(enabled, [&](const Handler* handler) { return disabled_.contains(text_of(handler->name)); });
  return enabled;
}

bool Model::requests_wait() const {
  return std::ranges::any_of(cascade_, [](const Message& m) { return m.type == id_of<muster::HandlerRequest>; });
}

void Model::request(const muster::HandlerRequest& request, Refusal& refusal) {
  if (request.ends) {
    if (ending_.erase(request.ordinal)) unsubscribe(request.ordinal), ++covered["handler ended inside a handler"];
    return;
  }
  const auto at = kept_.find(request.ordinal);
  if (at == kept_.end()) return;
  Handler handler = std::move(at->second);
  kept_.erase(at);
  if (admit(handlers_[request.ordinal] = std::move(handler))) {
    ++covered["handler begun inside a handler"];
    return;
  }
  handlers_.erase(request.ordinal);
  refusal = refuse(RefusalCode::name_taken, {}, id_of<muster::HandlerRequest>);
}

// --- what handlers say ---

void Outbox::add(Message message) { model_.cascade_.push_back(std::move(message)); }

std::uint64_t Outbox::add_later(std::uint64_t delay_ns, Message inner) {
  const std::uint64_t id = model_.next_timer++;
  add(later(model_.now_ns + delay_ns, id, std::move(inner)));
  return id;
}

void Outbox::rename(Entity target, std::string_view name) {
  add(one(target, muster::Rename{.name = model_.keep_text(name), .clash = muster::NameClash::suffix}));
}

std::uint64_t Outbox::subscribe(std::string name, Handler handler, int priority) {
  handler.name = std::move(name);
  handler.priority = priority;
  handler.ordinal = model_.next_ordinal_++;
  const std::uint64_t ordinal = handler.ordinal;
  model_.kept_[ordinal] = std::move(handler);
  add(world(muster::HandlerRequest{.ordinal = ordinal}));
  return ordinal;
}

void Outbox::end(std::uint64_t ordinal) {
  if (ordinal == 0) return;
  model_.ending_.insert(ordinal);
  add(world(muster::HandlerRequest{.ordinal = ordinal, .ends = true}));
}

void Outbox::set_handler_enabled(std::string_view name, bool enabled) {
  add(world(muster::EnableHandler{.name = model_.keep_text(name), .enabled = enabled}));
}

std::uint64_t Outbox::now_ns() const { return model_.now_ns; }

Entity Spawner::create(Entity parent, std::string_view name, RowValues rows) {
  const Entity made = model_.reserve();
  Message create =
      one(made, muster::Create{.parent = parent, .name = model_.keep_text(name), .clash = muster::NameClash::suffix});
  create.has_rows = true;
  create.rows = std::move(rows);
  model_.cascade_.push_back(std::move(create));
  return made;
}

Entity Spawner::spawn_rows(std::string_view what, const muster::SpawnOptions& options, RowValues rows) {
  const Text name = model_.keep_text(options.name);
  const auto known = model_.templates_.find(text_of(what));
  if (known == model_.templates_.end() || options.count == 0) return {};
  Message message = span(std::span<const Entity>(), muster::Spawn{.what = text_of(what),
                                                                  .parent = options.parent,
                                                                  .before = options.before,
                                                                  .name = name,
                                                                  .clash = options.clash});
  for (std::size_t i = Flat(known->second).nodes.size() * options.count; i > 0; --i)
    message.targets.push_back(model_.reserve());
  message.has_rows = !rows.empty();
  message.rows = std::move(rows);
  const Entity made = message.targets[0];
  model_.cascade_.push_back(std::move(message));
  ++model_.covered["tree spawned by a handler"];
  return made;
}

}  // namespace naive

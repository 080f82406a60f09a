// How the naive model takes a message to its handlers.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/model/naive/naive_kinds.h"
#include "tests/model/naive/naive_model.h"

namespace naive {

using muster::ChangeKind;

void Model::deliver(const Message& message, Receipt& receipt) {
  switch (message.to) {
    case Message::To::later: {
      const std::uint64_t id = message.timer ? message.timer : next_timer++;
      if (message.due_ns <= now_ns) {
        for (const Message& inner : message.inner) cascade_.push_back(inner);
      } else if (std::ranges::any_of(timers, [&](const auto& timer) { return timer.first.second == id; })) {
        note(refuse(RefusalCode::timer_chosen, {}, message.type), receipt);
        return;
      } else {
        timers[{message.due_ns, id}] = message.inner;
      }
      ++receipt.handled;
      return;
    }
    case Message::To::world: return to_world(message, receipt);
    case Message::To::line: {
      if (is_structural(message.type)) {
        // It says what becomes of one entity; who else is meant would be a guess.
        note(refuse(RefusalCode::wrong_targets, message.targets[0], message.type), receipt);
        return;
      }
      const Entity self = message.targets[0];
      if (!alive(self)) {
        ++receipt.dead;
        return;
      }
      std::vector<Entity> targets;
      static constexpr const char* parts[] = {"ancestors", "self", "descendants"};
      for (const std::uint64_t part : {muster::subtree_ancestors, muster::subtree_self, muster::subtree_descendants})
        if (message.parts & part)
          ++covered[std::string("message to parts of a line: ") + parts[part == muster::subtree_ancestors ? 0
                                                                        : part == muster::subtree_self    ? 1
                                                                                                          : 2]];
      if (message.parts & muster::subtree_ancestors) {
        targets = ancestors(self);
        std::ranges::reverse(targets);
      }
      if (message.parts & muster::subtree_self) targets.push_back(self);
      if (message.parts & muster::subtree_descendants) {
        const std::vector<Entity> all = below(self);
        targets.insert(targets.end(), all.begin() + 1, all.end());
      }
      return to_targets(message, targets, receipt);
    }
    case Message::To::one:
    case Message::To::span:
      if (is_tree(message.type)) return tree(message, receipt);
      if (is_structural(message.type) || (is_worldly(message.type) && !message.is_table)) {
        for (const Entity target : message.targets) builtin(message, target, receipt);
        return;
      }
      return to_targets(message, message.targets, receipt);
  }
}

void Model::to_targets(const Message& message, const std::vector<Entity>& targets, Receipt& receipt) {
  for (const Entity target : targets) {
    const Thing* thing = find(target);
    const auto route = handlers_of(message.type);
    if (!thing)
      ++receipt.dead;
    else if (std::ranges::any_of(route, [&](const Handler* handler) { return may_match(*handler, *thing); }))
      ++receipt.handled;
    else
      ++receipt.unhandled;
  }
  std::vector<Bytes> copies(targets.size(), message.payload);
  std::vector<bool> ended(targets.size(), false);
  for (Handler* handler : handlers_of(message.type))
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const Thing* thing = find(targets[i]);
      if (ended[i] || !thing || !matches(*handler, *thing)) continue;
      if (call(*handler, targets[i], copies[i])) {
        ended[i] = true;
        ++covered["message consumed"];
      }
    }
}

Refusal Model::builtin_world(const Message& message) {
  if (message.type == id_of<muster::Grant>) {
    const auto grant = as<muster::Grant>(message.payload);
    if (grant.first == generations.size()) {
      generations.resize(generations.size() + grant.count, 1);
      states.resize(states.size() + grant.count, IdState::granted);
    }
  } else if (message.type == id_of<muster::ReturnGrant>) {
    const auto grant = as<muster::ReturnGrant>(message.payload);
    for (std::uint32_t i = 0; i < grant.count; ++i) {
      const Entity e{grant.first + i, 1};
      if (!in_state(e, IdState::granted)) continue;
      states[e.index] = IdState::free;
      free_queue.push_back(e.index);
    }
  } else if (message.type == id_of<muster::CancelTimer>) {
    const auto id = as<muster::CancelTimer>(message.payload).timer;
    for (auto at = timers.begin(); at != timers.end(); ++at)
      if (at->first.second == id) {
        timers.erase(at);
        ++covered["timer cancelled"];
        break;
      }
  } else if (message.type == id_of<muster::DropCarried>) {
    if (!cascade_.empty()) ++covered["carried messages dropped"];
    drop_carried(0);
    carries_ = carries_ && !cascade_.empty();
  } else if (message.type == id_of<muster::InternText>) {
    keep_text(message.payload);
  } else if (message.type == id_of<muster::DefineTemplate>) {
    return define_template(*message.defines);
  } else if (message.type == id_of<muster::EnableHandler>) {
    const auto enable = as<muster::EnableHandler>(message.payload);
    if (enable.enabled ? disabled_.erase(Text{enable.name}) : disabled_.insert(Text{enable.name}).second)
      ++covered[enable.enabled ? "handlers of a name enabled" : "handlers of a name disabled"];
  } else if (message.type == id_of<muster::HandlerRequest>) {
    Refusal refusal;
    request(as<muster::HandlerRequest>(message.payload), refusal);
    return refusal;
  }
  return {};
}

void Model::to_world(const Message& message, Receipt& receipt) {
  if (is_structural(message.type)) {
    note(refuse(RefusalCode::wrong_targets, {}, message.type), receipt);
    return;
  }
  if (const Refusal refusal = builtin_world(message); refusal.code != RefusalCode::none) {
    note(refusal, receipt);
    return;
  }
  bool taken = is_worldly(message.type);
  Bytes payload = message.payload;
  if (std::ranges::any_of(handlers_of(message.type), [](const Handler* each) { return each->changes_message; })) {
    taken |= changed_pass(message.type, payload);
    ++(taken ? receipt.handled : receipt.unhandled);
    return;
  }
  for (Handler* handler : handlers_of(message.type)) {
    if (handler->on_begin && !handler->on_begin()) {
      ++covered["pass skipped by on_begin"];
      continue;
    }
    taken = true;
    if (handler->once) {
      call(*handler, {}, payload);
      continue;
    }
    for (const auto& [place, order] : rows)
      for (const Entity e : order)
        if (matches(*handler, things_.at(e))) call(*handler, e, payload);
  }
  ++(taken ? receipt.handled : receipt.unhandled);
}

bool Model::changed_pass(TypeId type, Bytes& payload) {
  ++covered["pass of a message that a handler changes"];
  bool taken = false;
  std::map<Entity, Bytes> copies;
  std::set<Entity> ended;
  const std::vector<Handler*> all = handlers_of(type);
  for (std::size_t at = 0; at < all.size();) {
    std::vector<Handler*> stretch;
    for (; at < all.size() && !all[at]->once; ++at)
      if (all[at]->on_begin && !all[at]->on_begin())
        ++covered["pass skipped by on_begin"];
      else
        stretch.push_back(all[at]);
    taken |= !stretch.empty();
    for (const auto& [place, order] : rows)
      for (const Entity e : order) {
        const Thing& thing = things_.at(e);
        const auto may = [&](const Handler* each) { return may_match(*each, thing); };
        if (ended.contains(e) || std::ranges::none_of(stretch, may)) continue;
        Bytes& copy = copies.try_emplace(e, payload).first->second;
        for (Handler* handler : stretch) {
          if (!matches(*handler, thing) || !call(*handler, e, copy)) continue;
          ++covered["pass consumed by an entity"];
          ended.insert(e);
          break;
        }
      }
    if (at == all.size()) break;
    Handler& once = *all[at++];
    if (once.on_begin && !once.on_begin()) continue;
    taken = true;
    if (!copies.empty()) ++covered["handler without components between an entity's handlers"];
    if (call(once, {}, payload)) break;
  }
  return taken;
}

void Model::handlers_at(const Message& message, Entity target, const Bytes& payload) {
  Bytes copy = payload;
  for (Handler* handler : handlers_of(message.type)) {
    const Thing* thing = find(target);
    if (!thing || !matches(*handler, *thing)) continue;
    ++covered["handler of a structure message"];
    if (call(*handler, target, copy)) return;
  }
}

void Model::tell(Entity target, TypeId type, const Bytes& payload) {
  Bytes copy = payload;
  for (Handler* handler : handlers_of(type)) {
    if (!matches(*handler, things_.at(target))) continue;
    if (type == id_of<muster::Activated>) ++covered["told: Activated"];
    if (type == id_of<muster::Loaded>)
      ++covered[as<muster::Loaded>(payload).previously ? "told: Loaded, of one that was there" : "told: Loaded"];
    if (type == id_of<muster::Deactivated>) ++covered["told: Deactivated"];
    if (call(*handler, target, copy)) return;
  }
}

void Model::builtin(const Message& message, Entity target, Receipt& receipt) {
  if (message.type != id_of<muster::Create> && !alive(target)) {
    ++receipt.dead;
    return;
  }
  if (message.type == id_of<muster::ComponentChanged>) {
    ++receipt.handled;
    const TypeId component = as<muster::ComponentChanged>(message.payload).component;
    if (find(target)->components.contains(component)) follow(ChangeKind::changed, target, component);
    return;
  }
  const RowValues before = find(target) ? find(target)->components : RowValues();
  if (message.type == id_of<muster::Destroy>) {
    std::vector<Entity> doomed = below(target);
    std::ranges::reverse(doomed);
    for (const Entity e : doomed) tell(e, id_of<muster::Deactivated>, bytes_of(muster::Deactivated{}));
    for (const Entity e : doomed) {
      handlers_at(message, e, message.payload);
      const RowValues going = find(e)->components;
      for (const auto& [type, value] : going) follow(ChangeKind::removed, e, type);
    }
  }
  // Neither of the two can be refused any more.
  if (message.type == id_of<muster::Remove>)
    if (const TypeId type = as<muster::Remove>(message.payload).component; before.contains(type))
      follow(ChangeKind::removed, target, type);
  if (message.type == id_of<muster::Rename> && !as<muster::Rename>(message.payload).name && before.contains(name_type))
    follow(ChangeKind::removed, target, name_type);
  const Refusal refusal = apply(message, target);
  if (refusal.code != RefusalCode::none) {
    note(refusal, receipt);
    return;
  }
  ++receipt.handled;
  if (message.type == id_of<muster::Destroy>) return;
  const RowValues after = find(target)->components;
  handlers_at(message, target, message.payload);
  if (message.type == id_of<muster::Create>) {
    tell(target, id_of<muster::Activated>, bytes_of(muster::Activated{}));
    tell(target, id_of<muster::Loaded>, bytes_of(muster::Loaded{}));
  }
  for (const auto& [type, value] : after) {
    const auto old = before.find(type);
    if (old == before.end())
      follow(ChangeKind::added, target, type);
    else if (old->second != value)
      follow(ChangeKind::changed, target, type);
  }
}

bool Model::may_match(const Handler& handler, const Thing& thing) const {
  const std::set<TypeId>& types = archetypes[thing.archetype];
  for (const Term& term : handler.terms) {
    if (term.source != muster::Source::self) continue;
    const bool has = types.contains(term.type);
    if (term.presence == muster::Presence::required && !has) return false;
    if (term.presence == muster::Presence::excluded && has && !types_.at(term.type).enableable) return false;
  }
  return !handler.filter || handler.filter(types);
}

bool Model::matches(const Handler& handler, const Thing& thing) const {
  for (const Term& term : handler.terms) {
    if (term.source != muster::Source::self) continue;
    const bool has = thing.components.contains(term.type);
    if (term.presence == muster::Presence::required && !has) {
      if (archetypes[thing.archetype].contains(term.type))
        ++covered["row passed over: it lacks an enableable component"];
      return false;
    }
    if (term.presence == muster::Presence::excluded && has) {
      if (types_.at(term.type).enableable) ++covered["row passed over: it has an enableable component"];
      return false;
    }
  }
  if (!handler.filter || handler.filter(archetypes[thing.archetype])) return true;
  ++covered["handler left out by its archetype filter"];
  return false;
}

bool Model::call(Handler& handler, Entity self, Bytes& message) {
  Outbox out(*this);
  Spawner spawner(*this);
  Call made{*this, handler.once ? Entity{} : self, message, {}, {}, out, spawner};
  const auto of = [&](Entity e, TypeId type) -> std::pair<bool, Bytes*> {
    Thing& thing = things_.at(e);
    const auto at = thing.components.find(type);
    if (at == thing.components.end()) return {false, nullptr};
    const KnownType& known = types_.at(type);
    return {true, known.tag && !known.runtime ? nullptr : &at->second};
  };
  for (const Term& term : handler.terms) {
    std::pair<bool, Bytes*> found{false, nullptr};
    switch (term.source) {
      case muster::Source::self: found = of(self, term.type); break;
      case muster::Source::self_or_parent: found = of(self, term.type); [[fallthrough]];
      case muster::Source::parent:
        if (found.first) break;
        for (const Entity up : ancestors(self)) {
          found = of(up, term.type);
          if (found.first) break;
        }
        if (found.first) ++covered["component read from an ancestor"];
        break;
      case muster::Source::parent_with:
        for (const Entity up : ancestors(self))
          if (of(up, term.anchor).first) {
            found = of(up, term.type);
            ++covered["component read from the ancestor with another"];
            break;
          }
        break;
      case muster::Source::up_to: {
        std::vector<Entity> line{self};
        for (const Entity up : ancestors(self)) line.push_back(up);
        for (const Entity at : line) {
          found = of(at, term.type);
          if (found.first && at != self) ++covered["component read from an ancestor, up to one with another"];
          if (found.first) break;
          if (of(at, term.anchor).first) {
            ++covered["component not looked for above one with another"];
            break;
          }
        }
        break;
      }
      case muster::Source::other: {
        const auto named = as<Entity>(message.substr(handler.other_offset, sizeof(Entity)));
        if (!alive(named)) break;
        found = of(named, term.type);
        if (found.first) ++covered["component read from the entity that a message names"];
        for (const Entity up : ancestors(named)) {
          if (found.first) break;
          found = of(up, term.type);
          if (found.first) ++covered["component read from an ancestor of the entity that a message names"];
        }
        break;
      }
      case muster::Source::any: break;
    }
    if (term.source != muster::Source::self && term.presence == muster::Presence::excluded && found.first) {
      ++covered["handler skipped: an ancestor has what it excludes"];
      return false;
    }
    if (term.source != muster::Source::self && term.source != muster::Source::any &&
        term.presence == muster::Presence::required && !found.first) {
      ++covered[term.source == muster::Source::other ? "handler skipped: the entity that a message names lacks it"
                                                     : "handler skipped: no such ancestor"];
      return false;
    }
    made.present.push_back(found.first);
    made.values.push_back(term.value ? found.second : nullptr);
  }
  std::vector<Bytes> before;
  for (const Bytes* value : made.values) before.push_back(value ? *value : Bytes());
  const Bytes received = message;
  const bool consumed = handler.run(made);
  if (message != received) ++covered["message changed for the handlers after"];
  // What it wrote is told where somebody follows it, behind what it pushed.
  for (std::size_t i = 0; i < handler.terms.size(); ++i) {
    const Term& term = handler.terms[i];
    if (term.source != muster::Source::self || !made.values[i] || *made.values[i] == before[i]) continue;
    if (types_.at(term.type).runtime) {
      ++covered["runtime component: written by a handler"];
      continue;
    }
    if (handlers_of(muster::change_id(ChangeKind::changed, term.type)).empty()) continue;
    cascade_.push_back(one(self, muster::ComponentChanged{.component = term.type}));
  }
  return consumed;
}

void Model::follow(ChangeKind kind, Entity e, TypeId component) {
  Bytes message = bytes_of(muster::ComponentChanged{.component = component});
  for (Handler* handler : handlers_of(muster::change_id(kind, component)))
    if (matches(*handler, things_.at(e))) {
      static constexpr const char* kinds[] = {"", "Added", "Removed", "Changed"};
      ++covered[std::string("followed: ") + kinds[static_cast<int>(kind)]];
      call(*handler, e, message);
    }
}

}  // namespace naive

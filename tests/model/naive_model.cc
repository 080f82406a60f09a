#include "tests/model/naive_model.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace naive {

using muster::ChangeKind;
using muster::InputKind;

namespace {

constexpr TypeId name_type = id_of<muster::Name>;
constexpr TypeId child_of_type = id_of<muster::ChildOf>;

/// Messages that change one entity, done by the registry itself.
bool is_structural(TypeId type) {
  static const std::set<TypeId> all{id_of<muster::ComponentChanged>,
                                    id_of<muster::Create>,
                                    id_of<muster::Destroy>,
                                    id_of<muster::Set>,
                                    id_of<muster::Remove>,
                                    id_of<muster::SetField>,
                                    id_of<muster::SetFieldIf>,
                                    id_of<muster::Reparent>,
                                    id_of<muster::Rename>};
  return all.contains(type);
}

/// Messages that the registry itself takes where they are sent to the world.
bool is_worldly(TypeId type) {
  static const std::set<TypeId> all{id_of<muster::InternText>, id_of<muster::Grant>, id_of<muster::ReturnGrant>,
                                    id_of<muster::CancelTimer>, id_of<muster::Advance>};
  return all.contains(type);
}

Refusal refuse(RefusalCode code, Entity e, TypeId type = 0, FieldId field = 0) { return {code, e, type, field}; }

void note(const Refusal& refusal, Receipt& receipt) {
  if (receipt.refused++ == 0) receipt.refusal = refusal;
}

void add(Receipt& sum, const Receipt& one) {
  if (sum.refused == 0) sum.refusal = one.refusal;
  sum.handled += one.handled;
  sum.unhandled += one.unhandled;
  sum.dead += one.dead;
  sum.refused += one.refused;
}

}  // namespace

bool same_run(const Message& a, const Message& b) {
  const auto kinds = [](const RowValues& rows) {
    std::set<TypeId> types;
    for (const auto& [type, value] : rows) types.insert(type);
    return types;
  };
  return a.to == b.to && a.to != Message::To::span && a.to != Message::To::later && a.type == b.type &&
         a.parts == b.parts && a.is_table == b.is_table && a.has_rows == b.has_rows && kinds(a.rows) == kinds(b.rows);
}

Model::Model(const Types& types, std::uint64_t cascade_messages_max)
    : types_(types), cascade_messages_max_(cascade_messages_max) {}

// --- inputs ---

Receipt Model::deliver_input(const Messages& run, InputKind kind, std::uint64_t author, std::uint64_t request) {
  Receipt receipt;
  receipt.sequence = ++sequence;
  const bool foreign = kind == InputKind::inbox || author != 0;
  for (const Message& message : run) {
    if (foreign && message.to == Message::To::later && message.timer != 0) {
      // Ids of timers are the registry's to give.
      note(refuse(RefusalCode::bad_value, {}, message.type), receipt);
      continue;
    }
    deliver(message, receipt);
  }
  counters.messages += receipt.handled + receipt.unhandled + receipt.dead + receipt.refused;
  counters.unhandled += receipt.unhandled;
  counters.dead += receipt.dead;
  counters.refused += receipt.refused;
  if (receipt.refused) ++covered[std::string("refused: ") + muster::name(receipt.refusal.code)];
  inputs.push_back({{receipt.sequence, author, request, kind}, receipt});
  return receipt;
}

Receipt Model::deliver_posts() {
  posts_open_ = false;
  Receipt sum;
  while (!posts_.empty()) {
    const Run run = std::move(posts_.front());
    posts_.pop_front();
    const Receipt one = deliver_input(run.messages, InputKind::post, 0, 0);
    add(sum, one);
    sum.sequence = one.sequence;
  }
  return sum;
}

bool Model::deliver_cascade() {
  std::uint64_t left = cascade_messages_max_;
  while (!cascade_.empty() && left > 0) {
    const Message message = std::move(cascade_.front());
    cascade_.pop_front();
    Receipt receipt;
    deliver(message, receipt);
    --left;
    counters.messages += receipt.handled + receipt.unhandled + receipt.dead + receipt.refused;
    counters.unhandled += receipt.unhandled;
    counters.dead += receipt.dead;
    counters.refused += receipt.refused;
    if (receipt.refused) ++covered[std::string("refused in a cascade: ") + muster::name(receipt.refusal.code)];
  }
  if (cascade_.empty()) return true;
  ++counters.carried;
  ++covered["cascade cut short"];
  return false;
}

void Model::deliver_carried() {
  if (cascade_.empty() || deliver_cascade()) return;
  ++counters.overtaken;
  ++covered["carried messages overtaken"];
}

Receipt Model::input(const Messages& batch, std::uint64_t author, std::uint64_t request) {
  deliver_posts();
  Receipt receipt = deliver_input(batch, InputKind::push, author, request);
  receipt.cut_short = !deliver_cascade();
  return receipt;
}

Receipt Model::push(Message message) {
  if (message.to == Message::To::span && message.targets.empty()) return {};
  posts_open_ = false;
  deliver_carried();
  return input({std::move(message)}, 0, 0);
}

void Model::post(Message message) {
  if (message.to == Message::To::span && message.targets.empty()) return;
  if (!posts_open_ || posts_.empty() || posts_.back().own || !same_run(posts_.back().messages.back(), message))
    posts_.emplace_back();
  const bool own = message.to == Message::To::span || message.to == Message::To::later;
  posts_.back().messages.push_back(std::move(message));
  posts_.back().own = own;
  posts_open_ = true;
}

std::uint64_t Model::post_later(std::uint64_t due_ns, Message inner) {
  const std::uint64_t id = next_timer++;
  post(later(due_ns, id, std::move(inner)));
  return id;
}

/// A replayed input of the host brings the ids that the host took when it made it.
void Model::claim(const Messages& batch) {
  for (const Message& message : batch) {
    if (message.to == Message::To::later) next_timer = std::max(next_timer, message.timer + 1);
    if (message.type != id_of<muster::Create> || message.to == Message::To::later) continue;
    for (const Entity target : message.targets)
      if (target == peek_id()) reserve();
  }
}

Receipt Model::push_foreign(const Messages& batch, std::uint64_t author, std::uint64_t request) {
  deliver_carried();
  deliver_posts();
  if (author == 0) claim(batch);
  return input(batch, author, request);
}

void Model::post_foreign(const Messages& batch) {
  claim(batch);
  posts_.push_back({batch, true});
  posts_open_ = false;
}

void Model::put(std::size_t lane, const Messages& batch, std::uint64_t request) {
  lanes[lane].second.emplace_back(batch, request);
}

Receipt Model::flush() {
  bool idle = !waiting();
  for (const auto& [author, batches] : lanes) idle = idle && batches.empty();
  Receipt sum;
  sum.sequence = sequence;
  if (idle) return sum;
  deliver_carried();
  sum = deliver_posts();
  for (auto& [author, batches] : lanes) {
    const auto taken = std::exchange(batches, {});
    for (const auto& [batch, request] : taken) add(sum, deliver_input(batch, InputKind::inbox, author, request));
  }
  inputs.push_back({{++sequence, 0, 0, InputKind::flush}, {}});
  sum.sequence = sequence;
  sum.cut_short = !deliver_cascade();
  return sum;
}

Receipt Model::advance(std::uint64_t ns) {
  deliver_carried();
  Receipt sum = deliver_posts();
  const Receipt own = deliver_input({world(muster::Advance{.ns = ns})}, InputKind::advance, 0, 0);
  add(sum, own);
  sum.sequence = own.sequence;
  deliver_cascade();
  const std::uint64_t until = now_ns + ns;
  while (!timers.empty() && timers.begin()->first.first <= until) {
    const std::uint64_t due = timers.begin()->first.first;
    now_ns = std::max(now_ns, due);
    while (!timers.empty() && timers.begin()->first.first == due) {
      for (const Message& message : timers.begin()->second) cascade_.push_back(message);
      timers.erase(timers.begin());
      ++covered["timer fell due"];
    }
    deliver_cascade();
  }
  now_ns = until;
  sum.cut_short = !cascade_.empty();
  return sum;
}

Text Model::intern(std::string_view text) {
  if (text.empty()) return {};
  const Text hash{muster::hash64(text)};
  if (knows(hash)) return hash;
  Message message{
      .to = Message::To::world, .type = id_of<muster::InternText>, .payload = Bytes(text), .is_table = true};
  push(std::move(message));
  return hash;
}

Entity Model::create(Entity parent, std::string_view name, const RowValues& rows_given) {
  const Text text = intern(name);
  const Entity made = reserve();
  Message message = one(made, muster::Create{.parent = parent, .name = text});
  message.has_rows = true;
  message.rows = rows_given;
  return push(std::move(message)).handled ? made : Entity{};
}

std::vector<Entity> Model::create_many(std::uint32_t count, const RowValues& rows_given) {
  std::vector<Entity> made;
  for (std::uint32_t i = 0; i < count; ++i) made.push_back(reserve());
  Message message = span(std::span<const Entity>(made), muster::Create{});
  message.has_rows = true;
  message.rows = rows_given;
  push(std::move(message));
  return made;
}

Entity Model::grant(std::uint32_t count, std::uint64_t author) {
  posts_open_ = false;
  deliver_carried();
  deliver_posts();
  const auto first = static_cast<std::uint32_t>(generations.size());
  input({world(muster::Grant{.first = first, .count = count, .author = author})}, 0, 0);
  return {first, 1};
}

void Model::return_grant(Entity first, std::uint32_t count) {
  push(world(muster::ReturnGrant{.first = first.index, .count = count}));
}

// --- delivery ---

void Model::deliver(const Message& message, Receipt& receipt) {
  switch (message.to) {
    case Message::To::later: {
      const std::uint64_t id = message.timer ? message.timer : next_timer++;
      if (message.due_ns <= now_ns) {
        for (const Message& inner : message.inner) cascade_.push_back(inner);
      } else if (std::ranges::any_of(timers, [&](const auto& timer) { return timer.first.second == id; })) {
        note(refuse(RefusalCode::bad_value, {}, message.type), receipt);
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
        note(refuse(RefusalCode::bad_value, message.targets[0], message.type), receipt);
        return;
      }
      const Entity self = message.targets[0];
      if (!alive(self)) {
        ++receipt.dead;
        return;
      }
      std::vector<Entity> targets;
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
    const auto& route = routes_[message.type];
    if (!thing)
      ++receipt.dead;
    else if (std::ranges::any_of(route, [&](const Handler* handler) { return matches(*handler, *thing); }))
      ++receipt.handled;
    else
      ++receipt.unhandled;
  }
  std::vector<Bytes> copies(targets.size(), message.payload);
  std::vector<bool> ended(targets.size(), false);
  for (Handler* handler : routes_[message.type])
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const Thing* thing = find(targets[i]);
      if (ended[i] || !thing || !matches(*handler, *thing)) continue;
      if (call(*handler, targets[i], copies[i])) {
        ended[i] = true;
        ++covered["message consumed"];
      }
    }
}

void Model::to_world(const Message& message, Receipt& receipt) {
  if (is_structural(message.type)) {
    note(refuse(RefusalCode::bad_value, {}, message.type), receipt);
    return;
  }
  for (const Handler* handler : routes_[message.type])
    if (handler->changes_message) {
      note(refuse(RefusalCode::bad_value, {}, message.type), receipt);
      ++covered["pass of a message that a handler changes"];
      return;
    }
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
  } else if (message.type == id_of<muster::InternText>) {
    keep_text(message.payload);
  }
  bool taken = is_worldly(message.type);
  Bytes payload = message.payload;
  for (Handler* handler : routes_[message.type]) {
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

void Model::handlers_at(const Message& message, Entity target, const Bytes& payload) {
  Bytes copy = payload;
  for (Handler* handler : routes_[message.type]) {
    const Thing* thing = find(target);
    if (!thing || !matches(*handler, *thing)) continue;
    ++covered["handler of a structure message"];
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
  for (const auto& [type, value] : after) {
    const auto old = before.find(type);
    if (old == before.end())
      follow(ChangeKind::added, target, type);
    else if (old->second != value)
      follow(ChangeKind::changed, target, type);
  }
}

bool Model::matches(const Handler& handler, const Thing& thing) const {
  for (const Term& term : handler.terms) {
    if (term.source != muster::Source::self) continue;
    const bool has = thing.components.contains(term.type);
    if (term.presence == muster::Presence::required && !has) return false;
    if (term.presence == muster::Presence::excluded && has) return false;
  }
  return !handler.filter || handler.filter(archetypes[thing.archetype]);
}

bool Model::call(Handler& handler, Entity self, Bytes& message) {
  Outbox out(*this);
  Spawner spawner(*this);
  Call made{*this, handler.once ? Entity{} : self, message, {}, {}, out, spawner};
  const auto of = [&](Entity e, TypeId type) -> std::pair<bool, Bytes*> {
    Thing& thing = things_.at(e);
    const auto at = thing.components.find(type);
    if (at == thing.components.end()) return {false, nullptr};
    return {true, types_.at(type).tag ? nullptr : &at->second};
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
      case muster::Source::any:
      case muster::Source::other: break;  // the random programs read nothing of entities that messages name
    }
    if (term.source != muster::Source::self && term.source != muster::Source::any &&
        term.presence == muster::Presence::required && !found.first) {
      ++covered["handler skipped: no such ancestor"];
      return false;
    }
    made.present.push_back(found.first);
    made.values.push_back(term.value ? found.second : nullptr);
  }
  std::vector<Bytes> before;
  for (const Bytes* value : made.values) before.push_back(value ? *value : Bytes());
  const bool consumed = handler.run(made);
  // What it wrote is told where somebody follows it, behind what it pushed.
  for (std::size_t i = 0; i < handler.terms.size(); ++i) {
    const Term& term = handler.terms[i];
    if (term.source != muster::Source::self || !made.values[i] || *made.values[i] == before[i]) continue;
    if (routes_[muster::change_id(ChangeKind::changed, term.type)].empty()) continue;
    cascade_.push_back(one(self, muster::ComponentChanged{.component = term.type}));
  }
  return consumed;
}

void Model::follow(ChangeKind kind, Entity e, TypeId component) {
  Bytes message = bytes_of(muster::ComponentChanged{.component = component});
  for (Handler* handler : routes_[muster::change_id(kind, component)])
    if (matches(*handler, things_.at(e))) {
      static constexpr const char* kinds[] = {"", "Added", "Removed", "Changed"};
      ++covered[std::string("followed: ") + kinds[static_cast<int>(kind)]];
      call(*handler, e, message);
    }
}

// --- structure ---

Refusal Model::apply(const Message& message, Entity target) {
  const TypeId type = message.type;
  if (type == id_of<muster::Create>) return create(target, message);
  if (type == id_of<muster::Destroy>) return destroy(target), Refusal{};
  if (type == id_of<muster::Set>) return set(target, message);
  if (type == id_of<muster::Remove>) return remove(target, as<muster::Remove>(message.payload).component);
  if (type == id_of<muster::SetField>) return set_field(target, as<muster::SetField>(message.payload), nullptr);
  if (type == id_of<muster::SetFieldIf>) {
    const auto both = as<muster::SetFieldIf>(message.payload);
    return set_field(target, both.set, both.expected.data());
  }
  if (type == id_of<muster::Reparent>) return reparent(target, as<muster::Reparent>(message.payload));
  if (type == id_of<muster::Rename>) return rename(target, as<muster::Rename>(message.payload));
  return refuse(RefusalCode::bad_value, target, type);
}

Refusal Model::check_rows(const RowValues& given) const {
  for (const auto& [type, value] : given) {
    if (type == name_type || type == child_of_type) return refuse(RefusalCode::bad_value, {}, type);
    const auto known = types_.find(type);
    if (known == types_.end() || !known->second.component) return refuse(RefusalCode::unknown_component, {}, type);
  }
  return {};
}

Refusal Model::create(Entity e, const Message& message) {
  const TypeId type = id_of<muster::Create>;
  const auto create = as<muster::Create>(message.payload);
  const bool reserved = in_state(e, IdState::reserved);
  if (!reserved && !in_state(e, IdState::granted)) return refuse(RefusalCode::id_not_granted, e);
  const auto refused = [&](Refusal refusal) {
    if (reserved) {
      states[e.index] = IdState::free;
      release(e);
    }
    refusal.entity = e;
    return refusal;
  };
  if (create.parent && !alive(create.parent))
    return refused(refuse(RefusalCode::dead_entity, e, type, muster::hash32("parent")));
  if (create.before && (!create.parent || !alive(create.before) || find(create.before)->parent != create.parent))
    return refused(refuse(RefusalCode::bad_value, e, type, muster::hash32("before")));
  Text name = create.name;
  if (name && !knows(name)) return refused(refuse(RefusalCode::bad_name, e, type, muster::hash32("name")));
  const bool clash = name && find_child(create.parent, name);
  if (clash && create.clash == muster::NameClash::refuse)
    return refused(refuse(RefusalCode::name_taken, e, type, muster::hash32("name")));
  if (const Refusal refusal = check_rows(message.rows); refusal.code != RefusalCode::none) return refused(refusal);
  if (clash) {
    name = free_name(create.parent, name);
    ++covered["name clash: suffix taken"];
  }
  Thing thing;
  thing.parent = create.parent;
  thing.depth = create.parent ? things_.at(create.parent).depth + 1 : 0;
  std::set<TypeId> types;
  for (const auto& [component, value] : message.rows) {
    thing.components[component] = stored(component, value);
    types.insert(component);
  }
  if (name) {
    thing.components[name_type] = bytes_of(muster::Name{.text = name});
    types.insert(name_type);
  }
  thing.archetype = archetype_of(types);
  states[e.index] = IdState::alive;
  put_row(e, thing);
  if (create.parent) {
    auto& siblings = things_.at(create.parent).children;
    siblings.insert(create.before ? std::ranges::find(siblings, create.before) : siblings.end(), e);
  }
  things_.emplace(e, std::move(thing));
  return {};
}

void Model::destroy(Entity top) {
  std::vector<Entity> doomed = below(top);
  std::ranges::reverse(doomed);
  if (doomed.size() > 1) ++covered["subtree destroyed"];
  for (const Entity e : doomed) {
    const Thing thing = things_.at(e);
    if (thing.parent) std::erase(things_.at(thing.parent).children, e);
    take_row(e, thing);
    things_.erase(e);
    states[e.index] = IdState::free;
    release(e);
  }
}

Refusal Model::set(Entity e, const Message& message) {
  Thing& thing = things_.at(e);
  if (Refusal refusal = check_rows(message.rows); refusal.code != RefusalCode::none) {
    refusal.entity = e;
    return refusal;
  }
  const auto mode = as<muster::Set>(message.payload).mode;
  for (const auto& [type, value] : message.rows) {
    const bool has = thing.components.contains(type);
    if (mode == muster::SetMode::replace && !has) return refuse(RefusalCode::missing_component, e, type);
    if (mode == muster::SetMode::add && has) return refuse(RefusalCode::bad_value, e, type);
  }
  std::set<TypeId> types = archetypes[thing.archetype];
  for (const auto& [type, value] : message.rows) {
    thing.components[type] = stored(type, value);
    types.insert(type);
  }
  // A row that stays in its archetype keeps its place.
  if (const std::uint32_t to = archetype_of(types); to != thing.archetype) {
    take_row(e, thing);
    thing.archetype = to;
    put_row(e, thing);
    ++covered["row moved by Set"];
  }
  return {};
}

Refusal Model::remove(Entity e, TypeId component) {
  Thing& thing = things_.at(e);
  if (component == child_of_type) return refuse(RefusalCode::bad_value, e, component);
  if (!thing.components.contains(component)) {
    const auto known = types_.find(component);
    return refuse(known != types_.end() && known->second.component ? RefusalCode::missing_component
                                                                   : RefusalCode::unknown_component,
                  e, component);
  }
  take_row(e, thing);
  std::set<TypeId> types = archetypes[thing.archetype];
  types.erase(component);
  thing.components.erase(component);
  thing.archetype = archetype_of(types);
  put_row(e, thing);
  return {};
}

Refusal Model::set_field(Entity e, const muster::SetField& message, const std::uint8_t* expected) {
  Thing& thing = things_.at(e);
  const auto known = types_.find(message.component);
  if (known == types_.end() || !known->second.component)
    return refuse(RefusalCode::unknown_component, e, message.component);
  if (message.component == name_type || message.component == child_of_type)
    return refuse(RefusalCode::bad_value, e, message.component, message.field);
  const auto component = thing.components.find(message.component);
  if (component == thing.components.end() || known->second.tag)
    return refuse(RefusalCode::missing_component, e, message.component);
  const auto spot = known->second.fields.find(message.field);
  if (spot == known->second.fields.end())
    return refuse(RefusalCode::unknown_field, e, message.component, message.field);
  const auto [offset, bytes] = spot->second;
  if (bytes != message.bytes || bytes > message.value.size())
    return refuse(RefusalCode::bad_value, e, message.component, message.field);
  if (expected && std::memcmp(component->second.data() + offset, expected, bytes) != 0)
    return refuse(RefusalCode::value_mismatch, e, message.component, message.field);
  Bytes changed = component->second;
  std::memcpy(changed.data() + offset, message.value.data(), bytes);
  if (known->second.good && !known->second.good(changed))
    return refuse(RefusalCode::bad_value, e, message.component, message.field);
  component->second = changed;
  ++covered[expected ? "SetFieldIf applied" : "SetField applied"];
  return {};
}

Refusal Model::reparent(Entity e, const muster::Reparent& message) {
  const TypeId type = id_of<muster::Reparent>;
  if (message.parent && !alive(message.parent))
    return refuse(RefusalCode::dead_entity, e, type, muster::hash32("parent"));
  if (message.parent && std::ranges::count(below(e), message.parent))
    return refuse(RefusalCode::cycle, e, type, muster::hash32("parent"));
  if (message.before && (message.before == e || !message.parent || !alive(message.before) ||
                         find(message.before)->parent != message.parent))
    return refuse(RefusalCode::bad_value, e, type, muster::hash32("before"));
  Thing& thing = things_.at(e);
  if (const Text name = name_of(e); name && message.parent != thing.parent && find_child(message.parent, name))
    return refuse(RefusalCode::name_taken, e, type, muster::hash32("parent"));
  if (thing.parent) std::erase(things_.at(thing.parent).children, e);
  thing.parent = message.parent;
  const std::uint32_t depth = message.parent ? things_.at(message.parent).depth + 1 : 0;
  if (depth != thing.depth) {
    const std::uint32_t by = depth - thing.depth;
    for (const Entity each : below(e)) move(each, things_.at(each).depth + by);
    ++covered["subtree moved to another depth"];
  }
  if (message.parent) {
    auto& siblings = things_.at(message.parent).children;
    siblings.insert(message.before ? std::ranges::find(siblings, message.before) : siblings.end(), e);
  }
  return {};
}

Refusal Model::rename(Entity e, const muster::Rename& message) {
  const TypeId type = id_of<muster::Rename>;
  const Text old = name_of(e);
  Thing& thing = things_.at(e);
  Text name = message.name;
  if (name == old) return {};
  if (name && !knows(name)) return refuse(RefusalCode::bad_name, e, type, muster::hash32("name"));
  if (name && find_child(thing.parent, name)) {
    if (message.clash == muster::NameClash::refuse)
      return refuse(RefusalCode::name_taken, e, type, muster::hash32("name"));
    name = free_name(thing.parent, name);
    ++covered["name clash: suffix taken"];
  }
  if (!old || !name) {
    take_row(e, thing);
    std::set<TypeId> types = archetypes[thing.archetype];
    if (name)
      types.insert(name_type);
    else
      types.erase(name_type), thing.components.erase(name_type);
    thing.archetype = archetype_of(types);
    put_row(e, thing);
  }
  if (name) thing.components[name_type] = bytes_of(muster::Name{.text = name});
  return {};
}

// --- ids ---

Entity Model::peek_id() const {
  if (free_queue.size() > 1024) return {free_queue.front(), generations[free_queue.front()]};
  return {static_cast<std::uint32_t>(generations.size()), 1};
}

Entity Model::reserve() {
  const Entity made = peek_id();
  if (made.index == generations.size()) {
    generations.push_back(1);
    states.push_back(IdState::free);
  } else {
    free_queue.pop_front();
    ++covered["id reused"];
  }
  states[made.index] = IdState::reserved;
  return made;
}

void Model::release(Entity e) {
  if (generations[e.index] == 0xfffffffeu) {
    generations[e.index] = 0;
    ++retired;
    ++covered["id retired"];
    return;
  }
  ++generations[e.index];
  free_queue.push_back(e.index);
}

bool Model::in_state(Entity e, IdState state) const {
  return e.index < generations.size() && e.generation != 0 && generations[e.index] == e.generation &&
         states[e.index] == state;
}

bool Model::alive(Entity e) const { return things_.contains(e); }

const Thing* Model::find(Entity e) const {
  const auto at = things_.find(e);
  return at == things_.end() ? nullptr : &at->second;
}

// --- rows ---

std::uint32_t Model::archetype_of(const std::set<TypeId>& types) {
  const auto at = std::ranges::find(archetypes, types);
  if (at != archetypes.end()) return static_cast<std::uint32_t>(at - archetypes.begin());
  archetypes.push_back(types);
  return static_cast<std::uint32_t>(archetypes.size() - 1);
}

/// The last row of the group fills the hole.
void Model::take_row(Entity e, const Thing& thing) {
  auto& group = rows[{thing.depth, thing.archetype}];
  *std::ranges::find(group, e) = group.back();
  group.pop_back();
  if (group.empty()) rows.erase({thing.depth, thing.archetype});
}

void Model::put_row(Entity e, Thing& thing) { rows[{thing.depth, thing.archetype}].push_back(e); }

void Model::move(Entity e, std::uint32_t depth) {
  Thing& thing = things_.at(e);
  take_row(e, thing);
  thing.depth = depth;
  put_row(e, thing);
}

Bytes Model::stored(TypeId component, const Bytes& value) const { return types_.at(component).tag ? Bytes() : value; }

std::vector<Entity> Model::row_order() const {
  std::vector<Entity> order;
  for (const auto& [place, group] : rows) order.insert(order.end(), group.begin(), group.end());
  return order;
}

std::vector<Entity> Model::ancestors(Entity e) const {
  std::vector<Entity> up;
  for (Entity at = things_.at(e).parent; at; at = things_.at(at).parent) up.push_back(at);
  return up;
}

std::vector<Entity> Model::below(Entity e) const {
  std::vector<Entity> all{e};
  for (const Entity child : things_.at(e).children) {
    const std::vector<Entity> more = below(child);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

// --- names and texts ---

Text Model::keep_text(std::string_view text) {
  if (text.empty()) return {};
  const Text hash{muster::hash64(text)};
  if (text_by_hash_.emplace(hash.hash, text).second) texts.emplace_back(text);
  return hash;
}

bool Model::knows(Text text) const { return text_by_hash_.contains(text.hash); }

std::string Model::text(Text text) const {
  const auto at = text_by_hash_.find(text.hash);
  return at == text_by_hash_.end() ? std::string() : at->second;
}

Text Model::name_of(Entity e) const {
  const Thing* thing = find(e);
  if (!thing) return {};
  const auto name = thing->components.find(name_type);
  return name == thing->components.end() ? Text{} : as<muster::Name>(name->second).text;
}

Entity Model::find_child(Entity parent, Text name) const {
  if (!name) return {};
  if (parent) {
    const Thing* thing = find(parent);
    if (!thing) return {};
    for (const Entity child : thing->children)
      if (name_of(child) == name) return child;
    return {};
  }
  for (const auto& [place, group] : rows)
    if (place.first == 0 && archetypes[place.second].contains(name_type))
      for (const Entity e : group)
        if (name_of(e) == name) return e;
  return {};
}

Text Model::free_name(Entity parent, Text name) {
  for (int suffix = 2;; ++suffix) {
    const std::string candidate = text(name) + "~" + std::to_string(suffix);
    if (!find_child(parent, Text{muster::hash64(candidate)})) return keep_text(candidate);
  }
}

std::string Model::path(Entity e) const {
  if (!alive(e)) return {};
  std::string shown;
  for (const char c : text(name_of(e))) {
    if (c == '/' || c == '\\') shown += '\\';
    shown += c;
  }
  if (shown.empty()) shown = "#" + std::to_string(e.index) + ":" + std::to_string(e.generation);
  return path(things_.at(e).parent) + "/" + shown;
}

// --- handlers ---

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

std::uint64_t Model::subscribe(Handler handler) {
  auto& route = routes_[handler.message];
  if (!handler.name.empty())
    for (const Handler* other : route)
      if (other->name == handler.name) return 0;
  const std::uint64_t ordinal = next_ordinal_;
  handler.ordinal = ordinal;
  Handler& added = handlers_[ordinal] = std::move(handler);
  std::vector<Handler*> all = route;
  all.push_back(&added);
  bool contradiction = false;
  all = ordered(all, contradiction);
  if (contradiction) {
    handlers_.erase(ordinal);
    ++covered["order of handlers contradicts itself"];
    return 0;
  }
  ++next_ordinal_;
  route = all;
  return ordinal;
}

void Model::unsubscribe(std::uint64_t ordinal) {
  const auto at = handlers_.find(ordinal);
  if (at == handlers_.end()) return;
  auto& route = routes_[at->second.message];
  std::erase(route, &at->second);
  bool contradiction = false;
  route = ordered(route, contradiction);
  handlers_.erase(at);
}

}  // namespace naive

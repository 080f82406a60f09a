#include "server/session/watches.h"

#include <algorithm>
#include <cstring>

#include "messages/row_set.h"
#include "schema/muster.h"

namespace muster {
namespace {

constexpr std::size_t slice_entities = 256;           // between two looks at the queue's room
constexpr std::size_t event_bytes_max = 64u << 20;    // kept between two flushes
constexpr std::size_t watch_batch_bytes = 64u << 10;  // so that a slow line is shared fairly
constexpr std::size_t dead_max = 1u << 18;            // remembered for watches that wait for room

void sort_unique(std::vector<Entity>& entities) {
  std::ranges::sort(entities);
  const auto doubles = std::ranges::unique(entities);
  entities.erase(doubles.begin(), doubles.end());
}

bool holds(const EntityRegistry& registry, Entity e, TypeId component) {
  return registry.find(e, component) != nullptr;
}

/// Calls f(target) for every target that a batch names; a nil one stands for the world.
template <class F>
void for_each_target(BatchView batch, F&& f) {
  switch (batch.kind()) {
    case BatchKind::world: return f(Entity{});
    case BatchKind::timed: return for_each_target(batch.inner(), f);
    case BatchKind::shared:
      for (std::uint32_t i = 0; i < batch.count(); ++i) {
        Entity target;
        std::memcpy(&target, batch.shared_targets() + std::size_t{i} * 8, 8);
        f(target);
      }
      return;
    case BatchKind::table: {
      const std::byte* at = batch.body();
      for (std::uint32_t i = 0; i < batch.count(); ++i) {
        const TableItem item = table_item(batch, at);
        f(item.target);
        at = item.next;
      }
      return;
    }
    case BatchKind::each:
    case BatchKind::subtree:
      for (std::uint32_t i = 0; i < batch.count(); ++i) {
        Entity target;
        std::memcpy(&target, batch.item(i), 8);
        f(target);
      }
      return;
  }
}

}  // namespace

struct Watches::Watch {
  struct Told {
    Entity parent;
    Text name;
  };

  std::shared_ptr<Session> to;
  std::uint64_t request = 0;
  session::Watch asked;
  bool whole = false;
  bool every_component = false;
  std::unordered_set<Entity> members;  // where not whole
  std::vector<TypeId> components;      // whose values are watched

  // Still to be told. Every list may name entities that died or changed again meanwhile: what is sent is what is true then.
  std::map<TypeId, std::vector<Entity>> values;
  std::vector<Entity> structure;
  std::vector<Entity> gone;  // left the watched subtree, or died
  std::unordered_map<Entity, Told> told;
  bool owes_end = false;  // the last frame sent had flag more
  std::uint64_t due_ns = 0;
  std::uint64_t number = 0;  // in the order they were opened
  std::uint64_t seen = 0;    // look: what changed after it was not looked at yet

  std::uint64_t event_sequence = 0;  // of the last event sent, or not sent and reported
  std::uint64_t lost_through = 0, lost = 0;

  bool concerns(Entity e) const { return whole || members.contains(e); }
  bool pending() const { return !values.empty() || !structure.empty() || !gone.empty() || owes_end; }
  std::uint64_t interval_ns() const {
    return asked.rate_max > 0 ? static_cast<std::uint64_t>(1e9 / static_cast<double>(asked.rate_max)) : 0;
  }
  void mark(TypeId component, Entity e) { values[component].push_back(e); }
};

Watches::Watches(EntityRegistry& registry, std::function<std::uint64_t()> processor_ns)
    : registry_(registry), processor_ns_(std::move(processor_ns)), changes_(registry), recent_(registry) {}
Watches::~Watches() = default;

std::optional<session::Fault> Watches::open(std::shared_ptr<Session> session, std::uint64_t request,
                                            const session::Watch& asked, std::size_t watches_max) {
  const auto bad = [](const char* field, std::string text) {
    session::Fault fault = fault_of(session::FaultCode::bad_question, "bad_question", std::move(text));
    fault.field = field;
    return fault;
  };
  if (request == 0) return bad("request", "a watch needs a request id: it is what its changes carry");
  std::size_t own = 0;
  for (const auto& watch : watches_) {
    if (watch->to != session) continue;
    ++own;
    if (watch->request == request)
      return fault_of(session::FaultCode::request_in_use, "request_in_use",
                      "request " + std::to_string(request) + " is a watch that is still open");
  }
  if (own >= watches_max)
    return fault_of(session::FaultCode::bad_question, "watches_max",
                    "this session has " + std::to_string(own) + " watches open, as many as are allowed");
  if (!asked.values && !asked.structure && !asked.events)
    return bad("values", "a watch of nothing: at least one of values, structure and events is needed");
  if (!(asked.rate_max >= 0) || asked.rate_max > 1e6f)
    return bad("rate_max", "a rate is between 0 and 1000000 per second");
  const TypeTable& types = registry_.types();
  for (const TypeId id : asked.components) {
    const TypeDescriptor* type = types.find(id);
    if (type && type->role == TypeRole::component) continue;
    session::Fault fault =
        fault_of(session::FaultCode::unknown_type, "unknown_type",
                 type ? type->name + " is no component" : "no type has the id " + std::to_string(id));
    fault.field = "components";
    fault.type = id;
    return fault;
  }
  for (const Entity e : asked.entities)
    if (!registry_.alive(e)) {
      session::Fault fault =
          fault_of(session::FaultCode::dead_entity, "dead_entity", "an entity to be watched is not alive");
      fault.field = "entities";
      fault.entity = e;
      return fault;
    }

  auto watch = std::make_unique<Watch>();
  watch->to = std::move(session);
  watch->request = request;
  watch->asked = asked;
  watch->whole = asked.entities.empty();
  watch->every_component = asked.values && asked.components.empty();
  std::ranges::sort(watch->asked.messages);
  if (watch->every_component) {
    for (const TypeDescriptor* type : types.types())
      if (type->role == TypeRole::component) watch->components.push_back(type->id);
  } else if (asked.values) {
    watch->components = asked.components;
    std::ranges::sort(watch->components);
    const auto doubles = std::ranges::unique(watch->components);
    watch->components.erase(doubles.begin(), doubles.end());
  }
  for (const TypeId component : watch->components) changes_.want(component);
  if (asked.structure) changes_.want(TypeTraits<Name>::id);
  if (asked.structure || !watch->whole) changes_.want_structure();
  if (asked.events) ++event_watches_;
  watch->event_sequence = registry_.sequence();
  watch->number = ++opened_;
  watch->seen = recent_.now();
  find_members(*watch);
  mark_all(*watch);

  session::Watching watching;
  watching.sequence = registry_.sequence();
  watching.clock_ns = registry_.now_ns();
  watching.entities = watch->whole ? static_cast<std::uint32_t>(registry_.entity_count())
                                   : static_cast<std::uint32_t>(watch->members.size());
  watch->owes_end = watch->pending();
  answer(*watch->to, request, watching, watch->owes_end ? std::uint32_t{frame_more} : 0);
  send(*watch);
  watches_.push_back(std::move(watch));
  return std::nullopt;
}

void Watches::forget(Watch& watch) {
  for (const TypeId component : watch.components) changes_.drop(component);
  if (watch.asked.structure) changes_.drop(TypeTraits<Name>::id);
  if (watch.asked.structure || !watch.whole) changes_.drop_structure();
  if (watch.asked.events) --event_watches_;
}

bool Watches::close(const Session& session, std::uint64_t request) {
  const auto at = std::ranges::find_if(
      watches_, [&](const auto& watch) { return watch->to.get() == &session && watch->request == request; });
  if (at == watches_.end()) return false;
  forget(**at);
  watches_.erase(at);
  return true;
}

void Watches::close_all(const Session& session) {
  std::erase_if(watches_, [&](const auto& watch) {
    if (watch->to.get() != &session) return false;
    forget(*watch);
    return true;
  });
}

void Watches::find_members(Watch& watch) {
  if (watch.whole) return;
  watch.members.clear();
  std::vector<Entity> open(watch.asked.entities.rbegin(), watch.asked.entities.rend());
  while (!open.empty()) {
    const Entity e = open.back();
    open.pop_back();
    if (!registry_.alive(e) || !watch.members.insert(e).second || !watch.asked.subtree) continue;
    for (Entity child = registry_.first_child(e); child; child = registry_.next_sibling(child)) open.push_back(child);
  }
}

void Watches::mark_all(Watch& watch) {
  if (watch.whole) {
    for (const auto& archetype : registry_.storage().archetypes()) {
      if (!archetype || archetype->rows() == 0) continue;
      for (const TypeId component : watch.components) {
        if (!archetype->has(component)) continue;
        std::vector<Entity>& values = watch.values[component];
        for (const Group& group : archetype->groups)
          for (const Chunk* chunk : group.chunks)
            values.insert(values.end(), chunk->ids(), chunk->ids() + chunk->count);
      }
      if (watch.asked.structure)
        for (const Group& group : archetype->groups)
          for (const Chunk* chunk : group.chunks)
            watch.structure.insert(watch.structure.end(), chunk->ids(), chunk->ids() + chunk->count);
    }
    return;
  }
  for (const Entity e : watch.members) {
    for (const TypeId component : watch.components)
      if (holds(registry_, e, component)) watch.mark(component, e);
    if (watch.asked.structure) watch.structure.push_back(e);
  }
  for (auto& [component, entities] : watch.values) std::ranges::sort(entities);
}

void Watches::on_input(const Envelope& envelope, std::span<const std::byte> bytes, std::uint64_t clock_ns) {
  if (event_watches_ == 0 || bytes.empty()) return;
  const BatchView batch(bytes);
  const TypeId type = batch.kind() == BatchKind::timed ? batch.inner().type() : batch.type();
  const bool wanted = std::ranges::any_of(watches_, [&](const auto& watch) {
    return watch->asked.events &&
           (watch->asked.messages.empty() || std::ranges::binary_search(watch->asked.messages, type));
  });
  if (!wanted) return;
  Event event;
  event.envelope = {envelope.sequence, envelope.author, envelope.request, clock_ns};
  event.offset = event_bytes_.size();
  event.bytes = bytes.size();
  event.lost = event_bytes_.size() + bytes.size() > event_bytes_max;
  if (!event.lost) event_bytes_.insert(event_bytes_.end(), bytes.begin(), bytes.end());
  events_.push_back(event);
}

std::uint64_t Watches::after_flush(std::uint64_t now_ns, std::uint64_t ns_max) {
  can_go_on_ = false;
  if (watches_.empty()) {
    changes_.look();
    recent_.clear();
    types_known_ = registry_.types().types().size();
    return 0;
  }
  const auto processor_ns = [&] { return processor_ns_ ? processor_ns_() : 0; };
  const std::uint64_t begun_ns = processor_ns();
  const auto time_is_left = [&](std::uint64_t of_ns) { return processor_ns() - begun_ns < of_ns; };
  if (const Changes::Found& found = changes_.look(); !found.empty()) recent_.note(found);
  const auto types = registry_.types().types();
  if (types.size() != types_known_) {
    types_known_ = types.size();
    for (const auto& watch : watches_) {
      if (!watch->every_component) continue;
      for (const TypeDescriptor* type : types) {
        if (type->role != TypeRole::component ||
            std::ranges::find(watch->components, type->id) != watch->components.end())
          continue;
        watch->components.push_back(type->id);
        changes_.want(type->id);
        registry_.each_entity([&](Entity e) {
          if (watch->concerns(e) && holds(registry_, e, type->id)) watch->mark(type->id, e);
        });
      }
    }
  }
  if (event_watches_ > 0)
    for (const auto& watch : watches_)
      if (watch->asked.events) send_events(*watch, events_.empty() || time_is_left(ns_max / 2));

  std::uint64_t due_in = 0;
  std::uint64_t turns = 0;
  const auto after_last = std::ranges::find_if(watches_, [&](const auto& watch) { return watch->number > last_turn_; });
  const auto first = static_cast<std::size_t>(after_last - watches_.begin());
  for (std::size_t i = 0; i < watches_.size(); ++i) {
    Watch& watch = *watches_[(first + i) % watches_.size()];
    if (!watch.pending() && watch.seen == recent_.now()) continue;
    if (watch.due_ns > now_ns) {
      const std::uint64_t in = watch.due_ns - now_ns;
      due_in = due_in == 0 ? in : std::min(due_in, in);
      continue;
    }
    // What changes while there is no room is found later.
    if (!watch.to->outgoing->has_room() && recent_.dead() < dead_max) continue;
    if (turns > 0 && !time_is_left(ns_max)) {
      can_go_on_ = true;
      break;
    }
    turns_max_ = std::max(turns_max_, ++turns);
    last_turn_ = watch.number;
    catch_up(watch);
    if (!watch.pending()) continue;
    watch.due_ns = now_ns + watch.interval_ns();
    send(watch);
  }
  if (recent_.dead() > 0) {
    std::uint64_t seen = recent_.now();
    for (const auto& watch : watches_) seen = std::min(seen, watch->seen);
    recent_.forget(seen + 1);
  }
  events_.clear();
  event_bytes_.clear();
  if (event_bytes_.capacity() > (1u << 20)) event_bytes_.shrink_to_fit();
  return due_in;
}

/// Finds out what of the changes since its last turn concerns the watch.
void Watches::catch_up(Watch& watch) {
  const std::uint64_t since = std::exchange(watch.seen, recent_.now());
  if (since == watch.seen) return;
  if (!watch.whole && recent_.structure_changed() > since) {
    std::unordered_set<Entity> before;
    before.swap(watch.members);
    find_members(watch);
    for (const Entity e : before)
      if (!watch.members.contains(e)) watch.gone.push_back(e);
    for (const Entity e : watch.members) {
      if (before.contains(e)) continue;
      for (const TypeId component : watch.components)
        if (holds(registry_, e, component)) watch.mark(component, e);
      if (watch.asked.structure) watch.structure.push_back(e);
    }
  }
  if (watch.asked.structure) {
    const auto note = [&](Entity e) {
      if (watch.concerns(e)) watch.structure.push_back(e);
    };
    recent_.each_structure(since, note);
    recent_.each(TypeTraits<Name>::id, since, note);
  }
  for (const TypeId component : watch.components) {
    std::vector<Entity>& pending = watch.values[component];
    const bool behind = !pending.empty();
    recent_.each(component, since, [&](Entity e) {
      if (watch.concerns(e)) pending.push_back(e);
    });
    if (behind) sort_unique(pending);
    if (pending.empty()) watch.values.erase(component);
  }
}

/// Where the session's queue is full, or the time for events is over, the rest is counted, and told by a Gap when there is room.
void Watches::send_events(Watch& watch, bool time_is_left) {
  const auto tell_gap = [&] {
    session::Gap gap;
    gap.after = watch.event_sequence;
    gap.through = watch.lost_through;
    gap.lost = watch.lost;
    BatchBuilder builder;
    builder.append_world(gap);
    watch.to->outgoing->data(builder.bytes(), watch.request, frame_event, nullptr);
    watch.event_sequence = watch.lost_through;
    watch.lost = 0;
  };
  for (const Event& event : events_) {
    if (event.envelope.sequence <= watch.event_sequence) continue;  // before the watch was opened
    const auto lose = [&] {
      ++watch.lost;
      watch.lost_through = event.envelope.sequence;
    };
    if (event.lost || !time_is_left) {
      lose();
      continue;
    }
    const BatchView batch(event_bytes_.data() + event.offset);
    const TypeId type = batch.kind() == BatchKind::timed ? batch.inner().type() : batch.type();
    if (!watch.asked.messages.empty() && !std::ranges::binary_search(watch.asked.messages, type)) continue;
    bool concerned = watch.whole;
    if (!concerned) for_each_target(batch, [&](Entity e) { concerned = concerned || !e || watch.members.contains(e); });
    if (!concerned) continue;
    if (!watch.to->outgoing->has_room()) {
      lose();
      continue;
    }
    if (watch.lost > 0) tell_gap();
    send_texts(*watch.to, registry_, registry_.types(), batch);
    watch.to->outgoing->data(batch.bytes(), watch.request, frame_event, &event.envelope);
    watch.event_sequence = event.envelope.sequence;
  }
  if (watch.lost > 0 && watch.to->outgoing->has_room()) tell_gap();
}

void Watches::send(Watch& watch) {
  Outgoing& out = *watch.to->outgoing;
  const FrameEnvelope envelope{registry_.sequence(), 0, 0, registry_.now_ns()};
  BatchBuilder builders[2] = {BatchBuilder(watch_batch_bytes), BatchBuilder(watch_batch_bytes)};
  BatchBuilder* building = &builders[0];
  BatchBuilder* ready = &builders[1];
  // One slice is held back, so that the very last frame can go without the flag.
  const auto flush = [&](bool last) {
    std::size_t left = ready->batches();
    ready->for_each([&](BatchView batch) {
      --left;
      out.data(batch.bytes(), watch.request, left > 0 || !last ? std::uint32_t{frame_more} : 0, &envelope);
    });
    if (!ready->empty()) watch.owes_end = !last;
    ready->clear();
  };
  const auto slice_done = [&] {
    if (building->empty()) return;
    flush(false);
    std::swap(building, ready);
  };
  const auto room = [&] {
    slice_done();
    return out.has_room();
  };
  std::unordered_set<Entity> destroyed;  // told in this round
  const auto destroy = [&](Entity e) {
    watch.told.erase(e);
    if (destroyed.insert(e).second) building->append(e, Destroy{});
  };

  bool held_back = false;
  /// Calls tell(entity) for the list, slice by slice; what there was no room for stays in it.
  const auto tell_all = [&](std::vector<Entity>& list, auto&& tell) {
    std::size_t done = 0;
    while (done < list.size()) {
      if (!room()) {
        held_back = true;
        break;
      }
      for (const std::size_t end = std::min(done + slice_entities, list.size()); done < end; ++done) tell(list[done]);
    }
    list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(done));
  };

  tell_all(watch.gone, [&](Entity e) {
    if (!registry_.alive(e)) return destroy(e);
    if (watch.concerns(e)) return;  // it came back
    watch.told.erase(e);
    building->append(e, session::Left{});
  });

  if (!held_back && !watch.structure.empty()) {
    sort_unique(watch.structure);
    std::vector<std::pair<std::uint32_t, Entity>> by_depth;
    by_depth.reserve(watch.structure.size());
    for (const Entity e : watch.structure) by_depth.emplace_back(registry_.alive(e) ? registry_.depth(e) + 1 : 0, e);
    std::ranges::sort(by_depth);
    for (std::size_t i = 0; i < by_depth.size(); ++i) watch.structure[i] = by_depth[i].second;
    tell_all(watch.structure, [&](Entity e) {
      const auto known = watch.told.find(e);
      if (!registry_.alive(e)) {
        if (known != watch.told.end()) destroy(e);
        return;
      }
      if (!watch.concerns(e)) return;
      Watch::Told now{registry_.parent(e), {}};
      if (const std::byte* name = registry_.find(e, TypeTraits<Name>::id))
        std::memcpy(&now.name, name, sizeof now.name);
      const auto name_text = [&] {
        if (now.name)
          send_texts(*watch.to, registry_, *registry_.types().find(TypeTraits<Name>::id),
                     reinterpret_cast<const std::byte*>(&now.name));
      };
      Entity before = registry_.next_sibling(e);
      if (before && !watch.told.contains(before)) before = {};
      if (known == watch.told.end()) {
        name_text();
        Create create;
        create.parent = now.parent;
        create.before = before;
        create.name = now.name;
        building->append(e, create);
        watch.told.emplace(e, now);
        return;
      }
      if (known->second.parent != now.parent) {
        Reparent reparent;
        reparent.parent = now.parent;
        reparent.before = before;
        building->append(e, reparent);
      }
      if (known->second.name != now.name) {
        name_text();
        Rename rename;
        rename.name = now.name;
        building->append(e, rename);
      }
      known->second = now;
    });
  }

  for (auto at = watch.values.begin(); at != watch.values.end() && !held_back;) {
    auto& [component, entities] = *at;
    const TypeDescriptor& type = *registry_.types().find(component);
    const PayloadShape shape = PayloadShape::of(type);
    const RowSet rows(PayloadShape::of<Set>(), std::span(&shape, 1));
    const std::uint32_t offset = rows.offset(component);
    const auto* stored = registry_.storage().component(component);
    const std::uint32_t size = stored ? stored->saved_size() : 0;
    tell_all(entities, [&](Entity e) {
      if (!registry_.alive(e)) return destroy(e);
      if (!watch.concerns(e)) return;
      if (!holds(registry_, e, component)) {
        Remove remove;
        remove.component = component;
        building->append(e, remove);
        return;
      }
      std::byte* payload = building->append_rows(rows, e);
      const Set set{};
      std::memcpy(payload, &set, sizeof set);
      if (size == 0) return;  // a tag, or a runtime component
      const std::byte* value = registry_.find(e, component);
      std::memcpy(payload + offset, value, size);
      if (!type.text_offsets.empty()) send_texts(*watch.to, registry_, type, value);
    });
    if (!entities.empty()) break;
    at = watch.values.erase(at);
  }

  slice_done();
  const bool complete = !watch.pending() || (watch.values.empty() && watch.structure.empty() && watch.gone.empty());
  flush(complete);
  if (complete && watch.owes_end) {
    // Everything still owed had become untrue meanwhile; the client waits for the end of the state.
    session::Watching end;
    end.sequence = registry_.sequence();
    end.clock_ns = registry_.now_ns();
    BatchBuilder builder;
    builder.append_world(end);
    out.data(builder.bytes(), watch.request, 0, &envelope);
    watch.owes_end = false;
  }
}

}  // namespace muster

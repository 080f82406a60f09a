// Rules that other code relies on:
//
// - A run of single-entity messages is passed through each handler in one loop if this cannot
//   change the results. That is the case with one handler, or with several whose reads and writes
//   cannot conflict, if at most one of them posts and none of them ends a delivery. Handlers that
//   change messages then work on a copy of the run. Otherwise, messages are delivered one at a
//   time.
// - If there are several targets (a span, a subtree, a pass), handlers run one after another, each
//   for all targets in order. A pass whose message a handler changes or consumes goes entity by
//   entity instead (registry/delivery/world_delivery.cc).
// - Handlers of a structure message run after the message was applied, except that handlers of
//   Destroy run before, for each entity to be destroyed. Added, Removed, and Changed follow, in
//   ascending order of type ids. A change that a handler makes by writing to a component is
//   reported by a separate message, ComponentChanged, after everything that the handler posted for
//   the row. It is sent only if a handler is subscribed to it.
// - If the registry refuses a message, the message is counted as refused and its handlers are not
//   called.
#include "registry/delivery/delivery.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "messages/require.h"
#include "registry/handlers/item_loops.h"
#include "registry/observe/clock.h"

namespace muster {

void Delivery::note(const Refusal& refusal, Receipt& receipt) const noexcept {
  if (receipt.refused++ == 0) receipt.refusal = refusal;
}

bool Delivery::deliver(const BatchView& batch, BatchCursor& cursor, std::uint64_t messages_max, Receipt& receipt) {
  const BatchHeader& header = batch.header();
  if (header.kind == BatchKind::timed) {
    const TimerId id = batch.timer() ? batch.timer() : next_timer_;
    if (header.argument <= now_ns_)
      cascade_.append_batch(batch.inner());
    else if (!timers_.add(id, batch, context_.storage.version())) {
      note({RefusalCode::timer_chosen, {}, header.type}, receipt);
      return true;
    }
    if (!batch.timer()) ++next_timer_;
    ++receipt.handled;
    return true;
  }
  MessageRoute* route = types_.route(header.type);
  require(route, "an unverified message has a type that the registry does not know");
  const std::uint32_t begin = cursor.message;
  switch (header.kind) {
    case BatchKind::shared:
      begin_message();
      if (is_tree(header.type))
        tree(batch, *route, {reinterpret_cast<const Entity*>(batch.shared_targets()), header.count}, batch.payload(0),
             receipt);
      else if (route->builtin)
        builtin_span(batch, *route, receipt);
      else
        to_span(*route, {reinterpret_cast<const Entity*>(batch.shared_targets()), header.count}, batch.payload(0),
                header.payload_bytes, false, receipt);
      return true;
    case BatchKind::each: {
      const std::uint32_t end =
          begin + static_cast<std::uint32_t>(std::min<std::uint64_t>(header.count - begin, messages_max));
      each(batch, *route, begin, end, receipt);
      cursor.message = end;
      return end == header.count;
    }
    case BatchKind::subtree: {
      const std::uint32_t end =
          begin + static_cast<std::uint32_t>(std::min<std::uint64_t>(header.count - begin, messages_max));
      for (std::uint32_t i = begin; i < end; ++i) {
        begin_message();
        if (is_structural(header.type)) {
          note({RefusalCode::wrong_targets, batch.target(i), header.type}, receipt);
          continue;
        }
        to_subtree(*route, batch.target(i), header.argument, batch.payload(i), header.payload_bytes, false, receipt);
      }
      cursor.message = end;
      return end == header.count;
    }
    case BatchKind::world: {
      const std::uint32_t end =
          begin + static_cast<std::uint32_t>(std::min<std::uint64_t>(header.count - begin, messages_max));
      for (std::uint32_t i = begin; i < end; ++i) {
        begin_message();
        if (refused_as_pass(*route, receipt)) continue;
        if (route->builtin && !builtin_world(*route, batch.payload(i), {}, receipt)) continue;
        to_world(*route, const_cast<std::byte*>(batch.payload(i)), receipt);
      }
      cursor.message = end;
      return end == header.count;
    }
    case BatchKind::table: {
      const std::byte* at = batch.body() + cursor.offset;
      for (std::uint64_t left = messages_max; cursor.message < header.count && left > 0; --left, ++cursor.message) {
        TableItem item = table_item(batch, at);
        at = item.next;
        begin_message();
        const auto* bytes = reinterpret_cast<const std::byte*>(&item.table);
        if (header.argument)
          to_subtree(*route, item.target, header.argument, bytes, sizeof(std::span<const std::byte>), true, receipt);
        else if (item.target)
          to_entity(*route, item.target, &item.table, receipt);
        else if (header.type == TypeTraits<Step>::id)
          step(*route, item.table, receipt);
        else if (!refused_as_pass(*route, receipt) &&
                 (!route->builtin || builtin_world(*route, nullptr, item.table, receipt)))
          to_world(*route, &item.table, receipt);
      }
      cursor.offset = static_cast<std::size_t>(at - batch.body());
      return cursor.message == header.count;
    }
    case BatchKind::timed: break;
  }
  return true;
}

void Delivery::long_run(MessageRoute& route, const ItemRun& run, Receipt& receipt) {
  // If causes are recorded, each message in a run must have its own cause.
  const bool one_by_one = !route.whole_runs || cascade_.causes();
  if (route.active.empty() && !one_by_one) {
    const std::uint32_t alive = detail::count_alive(context_.storage, run);
    receipt.unhandled += alive;
    receipt.dead += run.count - alive;
    return;
  }
  if (one_by_one) {
    const std::byte* const end = run.first + std::size_t{run.count} * run.bytes;
    for (const std::byte* item = run.first; item != end; item += run.bytes) {
      begin_message();
      to_entity(route, detail::target_of(item), const_cast<std::byte*>(item + run.offset), receipt);
    }
    return;
  }
  if (!route.writes_message) return whole_run(route, run, receipt);
  // Handlers change a copy of part of the run. The part must be small enough for the core's L1
  // cache, and large enough to make up for the cost of looking up columns.
  constexpr std::uint32_t copied_bytes_max = 256 * 1024;
  const std::uint32_t step = std::max(1u, copied_bytes_max / run.bytes);
  for (std::uint32_t begin = 0; begin < run.count; begin += step) {
    const std::uint32_t count = std::min(step, run.count - begin);
    const std::byte* const first = run.first + std::size_t{begin} * run.bytes;
    scratch_.assign(first, first + std::size_t{count} * run.bytes);
    whole_run(route, {scratch_.data(), count, run.bytes, run.offset}, receipt);
  }
}

void Delivery::whole_run(MessageRoute& route, const ItemRun& run, Receipt& receipt) {
  if (route.active.size() == 1) {
    const ItemCounts counts = call(*route.active.front(), run);
    receipt.handled += counts.handled;
    receipt.dead += counts.dead;
    receipt.unhandled += run.count - counts.handled - counts.dead;
    return;
  }
  // Structure changes are queued, so all entities remain alive and keep their components during a
  // run.
  if (!detail::jumps(context_.storage, run)) {
    const std::byte* const end = run.first + std::size_t{run.count} * run.bytes;
    for (const std::byte* item = run.first; item != end; item += run.bytes)
      count_target(route, detail::target_of(item), receipt);
    for (const Handler* handler : route.active) call(*handler, run);
    return;
  }
  // Rows do not move either, so the places of rows are looked up once for all handlers. The run is
  // processed in parts whose places fit into the core's own cache.
  constexpr std::uint32_t placed_max = 16 * 1024;
  if (places_.size() < std::min(run.count, placed_max)) places_.resize(std::min(run.count, placed_max));
  for (std::uint32_t begin = 0; begin < run.count; begin += placed_max) {
    ItemRun some = run;
    some.first += std::size_t{begin} * run.bytes;
    some.count = std::min(placed_max, run.count - begin);
    detail::find_places(context_.storage, some, places_.data());
    std::uint32_t dead = 0, handled = 0;
    for (std::uint32_t i = 0; i < some.count; ++i) {
      const std::uint32_t place = places_[i];
      if (place >= Locator::no_row)
        ++dead;
      else
        handled += route.somebody(*context_.storage.chunk(Locator::from_bits(place).chunk()));
    }
    receipt.dead += dead;
    receipt.handled += handled;
    receipt.unhandled += some.count - dead - handled;
    some.places = places_.data();
    for (const Handler* handler : route.active) call(*handler, some);
  }
}

void run_several(RunContext& context, const CallSite& site, void* message, Chunk& chunk, std::uint32_t row) {
  context.delivery->several(*site.route, message, chunk, row);
  context.entity = 0;
}

void Delivery::several(MessageRoute& route, void* message, Chunk& chunk, std::uint32_t row) {
  if (route.writes_message && !route.type->is_table) {
    const auto* payload = static_cast<const std::byte*>(message);
    scratch_.assign(payload, payload + route.type->size);
    message = scratch_.data();
  }
  one(route, {&chunk, row}, message);
}

void Delivery::one(MessageRoute& route, Row row, void* message) {
  context_.entity = row.chunk->ids()[row.row].bits();
  for (const Handler* handler : route.active)
    if (const std::uint16_t* columns = handler->columns(*row.chunk->archetype))
      if (call(*handler, message, *row.chunk, row.row, row.row + 1, columns)) return;
}

void Delivery::to_span(MessageRoute& route, std::span<const Entity> targets, const std::byte* payload,
                       std::uint32_t bytes, bool table, Receipt& receipt) {
  for (const Entity target : targets) count_target(route, target, receipt);
  // If a handler may change or consume the message, uses a separate copy of the message for each
  // target; later handlers see the changes to that copy.
  const bool copies = route.writes_message && !table;
  std::vector<std::uint8_t>& ended = ended_;
  ended.assign(copies || route.writes_message ? targets.size() : 0, 0);
  if (copies) {
    scratch_.resize(targets.size() * bytes);
    for (std::size_t i = 0; i < targets.size(); ++i) std::memcpy(scratch_.data() + i * bytes, payload, bytes);
  }
  for (const Handler* handler : route.active) {
    const Observer::Scope timed(observer_, *handler);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (!ended.empty() && ended[i]) continue;
      const Row row = context_.storage.find(targets[i]);
      const std::uint16_t* columns = row ? handler->columns(*row.chunk->archetype) : nullptr;
      if (!columns) continue;
      void* message = copies ? scratch_.data() + i * bytes : const_cast<std::byte*>(payload);
      context_.entity = targets[i].bits();
      if (call(*handler, message, *row.chunk, row.row, row.row + 1, columns) && !ended.empty()) ended[i] = 1;
    }
  }
}

void Delivery::to_subtree(MessageRoute& route, Entity target, std::uint64_t parts, const std::byte* payload,
                          std::uint32_t bytes, bool table, Receipt& receipt) {
  if (!context_.storage.alive(target)) {
    ++receipt.dead;
    return;
  }
  const Hierarchy& hierarchy = structure_.hierarchy();
  std::vector<Entity> targets;
  targets.swap(targets_);
  targets.clear();
  if (parts & subtree_ancestors) {
    for (Entity up = hierarchy.parent(target); up; up = hierarchy.parent(up)) targets.push_back(up);
    std::ranges::reverse(targets);
  }
  if (parts & subtree_descendants) {
    const auto self = static_cast<std::ptrdiff_t>(targets.size());
    hierarchy.subtree(target, targets);
    if (!(parts & subtree_self)) targets.erase(targets.begin() + self);
  } else if (parts & subtree_self) {
    targets.push_back(target);
  }
  to_span(route, targets, payload, bytes, table, receipt);
  targets.swap(targets_);
}

bool Delivery::refused_as_pass(const MessageRoute& route, Receipt& receipt) const noexcept {
  if (!is_structural(route.type->id)) return false;
  note({RefusalCode::wrong_targets, {}, route.type->id}, receipt);
  return true;
}

AtWork Delivery::at_work(std::span<const WorkerCall> workers) const {
  const Handler* handler = context_.running.look();
  std::uint64_t entity = context_.entity.look();
  std::uint32_t entities = context_.entities.look();
  for (const WorkerCall& worker : workers) {
    if (handler) break;
    handler = worker.handler.look();
    entity = worker.entity.look();
    entities = worker.entities.look();
  }
  return at_work(handler, entity, entities);
}

AtWork Delivery::at_work(const Handler* handler, std::uint64_t entity, std::uint32_t entities) const {
  AtWork work;
  const auto called = handler ? types_.handlers().called(handler) : std::nullopt;
  if (!called) return work;
  work.handler = called->handler;
  work.message = called->message;
  work.entity = Entity::from_bits(entity);
  work.entities = std::max(entities, 1u);
  return work;
}

bool Delivery::call_counted(const Handler& handler, void* message, Chunk& chunk, std::uint32_t begin, std::uint32_t end,
                            const std::uint16_t* columns) {
  const bool timed = observer_->times_single(handler);
  observer_->add_rows(handler, end - begin);
  if (!timed) return call_uncounted(handler, message, chunk, begin, end, columns);
  const std::uint64_t from = steady_ns();
  const bool consumed = call_uncounted(handler, message, chunk, begin, end, columns);
  observer_->add_single(handler, from, steady_ns());
  return consumed;
}

bool run_followed(RunContext& context, const Handler& handler, void* message, Chunk& chunk, std::uint32_t begin,
                  std::uint32_t end, const std::uint16_t* columns, std::vector<std::byte>& before,
                  BatchWriter& changed) {
  bool consumed = false;
  const std::uint32_t step = handler.whole_rows ? end - begin : 1;
  for (std::uint32_t row = begin; row < end; row += step) {
    before.clear();
    for (const FollowedColumn& written : handler.followed) {
      const std::uint16_t slot = columns[written.column];
      if (slot >= chunk.archetype->pod_slots) continue;  // the component is absent or has no bytes
      const std::size_t size = chunk.archetype->slot_types[slot]->size;
      const std::byte* at = chunk.slots()[slot].data + row * size;
      before.insert(before.end(), at, at + step * size);
    }
    consumed = handler.rows(context, handler, message, chunk, row, row + step, columns);
    const std::byte* was = before.data();
    for (const FollowedColumn& written : handler.followed) {
      const std::uint16_t slot = columns[written.column];
      if (slot >= chunk.archetype->pod_slots) continue;  // the component is absent or has no bytes
      const std::size_t size = chunk.archetype->slot_types[slot]->size;
      for (std::uint32_t i = row; i < row + step; ++i, was += size)
        if (std::memcmp(was, chunk.slots()[slot].data + i * size, size) != 0)
          changed.append(chunk.ids()[i], ComponentChanged{.component = written.component});
    }
  }
  return consumed;
}

void Delivery::follow(ChangeKind kind, Entity e, TypeId component) {
  MessageRoute* route = types_.handlers().follower(kind, component);
  if (!route) return;
  ComponentChanged message{.component = component};
  one(*route, context_.storage.find(e), &message);
}

void Delivery::foresee(const BatchView& batch, Row row, const std::byte* payload) {
  changes_.clear();
  if (!types_.handlers().follows()) return;
  const Archetype& archetype = *row.chunk->archetype;
  const auto value = [&](TypeId type) -> const std::byte* {
    const std::uint16_t slot = archetype.column(type);
    return slot == no_column || !row.has(type) ? nullptr : row.at(slot, archetype.slot_types[slot]->size);
  };
  const auto note_rows = [&] {
    for (const RowSetEntry& entry : batch.row_set()) {
      if (!row.has(entry.type))
        changes_.emplace_back(ChangeKind::added, entry.type);
      else if (const StoredType* type = context_.storage.component(entry.type);
               type && type->saved_size() && std::memcmp(value(entry.type), payload + entry.offset, type->size) != 0)
        changes_.emplace_back(ChangeKind::changed, entry.type);
    }
  };
  const auto note_field = [&](const SetField& set) {
    const StoredType* type = context_.storage.component(set.component);
    const FieldPlace* place = type ? types_.table().place(*type->descriptor, set.field) : nullptr;
    const std::byte* at = value(set.component);
    if (place && at && type->saved_size() && set.bytes <= set.value.size() && place->offset + set.bytes <= type->size &&
        std::memcmp(at + place->offset, set.value.data(), set.bytes) != 0)
      changes_.emplace_back(ChangeKind::changed, set.component);
  };
  switch (batch.type()) {
    case TypeTraits<Set>::id: note_rows(); break;
    case TypeTraits<SetField>::id: {
      SetField set;
      std::memcpy(&set, payload, sizeof set);
      note_field(set);
      break;
    }
    case TypeTraits<SetFieldIf>::id: {
      SetFieldIf set;
      std::memcpy(&set, payload, sizeof set);
      note_field(set.set);
      break;
    }
    case TypeTraits<Rename>::id: {
      Rename rename;
      std::memcpy(&rename, payload, sizeof rename);
      constexpr TypeId name = TypeTraits<Name>::id;
      if (!rename.name) break;  // the name was removed, which has already been reported
      if (!archetype.has(name))
        changes_.emplace_back(ChangeKind::added, name);
      else if (structure_.name_of(row.chunk->ids()[row.row]) != rename.name)
        changes_.emplace_back(ChangeKind::changed, name);
      break;
    }
    default: break;
  }
}

void Delivery::tell(MessageRoute& route, Entity target, const std::byte* payload, std::uint32_t bytes) {
  if (route.active.empty()) return;
  if (route.writes_message) {
    scratch_.assign(payload, payload + bytes);
    payload = scratch_.data();
  }
  one(route, context_.storage.find(target), const_cast<std::byte*>(payload));
}

void Delivery::builtin_span(const BatchView& batch, MessageRoute& route, Receipt& receipt) {
  const std::span targets(reinterpret_cast<const Entity*>(batch.shared_targets()), batch.count());
  const TypeId type = batch.type();
  if (type == TypeTraits<Create>::id && !is_watched(route)) {
    targets_.clear();
    if (structure_.create_many(targets, batch.payload(0), batch.row_set(), targets_)) {
      for (const Entity e : targets_) note({RefusalCode::id_not_granted, e}, receipt);
      receipt.handled += static_cast<std::uint32_t>(targets.size() - targets_.size());
      return;
    }
  }
  if (type == TypeTraits<Destroy>::id && !is_watched(route)) {
    const std::uint32_t handled = structure_.destroy_many(targets, batch.payload(0));
    receipt.handled += handled;
    receipt.dead += static_cast<std::uint32_t>(targets.size()) - handled;
    return;
  }
  for (const Entity e : targets) builtin(batch, route, e, batch.payload(0), receipt);
}

void Delivery::ask_for_destroyed(const BatchView& batch, std::uint32_t i) const noexcept {
  if (batch.type() != TypeTraits<Destroy>::id) return;
  const Storage& storage = context_.storage;
  const Hierarchy& hierarchy = structure_.hierarchy();
  const Entity last = batch.target(i + destroyed_ahead);
  if (last.index < storage.ids().indices()) __builtin_prefetch(storage.ids().slots() + last.index);
  hierarchy.prefetch(last);
  // The directory entry was prefetched a few messages ago. The entry gives the location of all
  // other data.
  const Entity next = batch.target(i + destroyed_ahead / 2);
  const Row row = storage.find(next);
  if (!row) return;
  const Archetype& archetype = *row.chunk->archetype;
  for (std::size_t slot = 0; slot < archetype.slot_bytes.size(); ++slot)
    if (const std::byte* const column = row.chunk->slots()[slot].data)
      __builtin_prefetch(column + std::size_t{row.row} * archetype.slot_bytes[slot]);
  for (const std::uint32_t sibling : {hierarchy.previous(next), hierarchy.next_sibling(next).index})
    if (sibling != 0) hierarchy.prefetch({sibling, 1});
}

void Delivery::builtin(const BatchView& batch, MessageRoute& route, Entity target, const std::byte* payload,
                       Receipt& receipt) {
  const TypeId type = batch.type();
  if (is_tree(type)) return tree(batch, route, {&target, 1}, payload, receipt);
  const bool creates = type == TypeTraits<Create>::id;
  if (!creates && !context_.storage.alive(target)) {
    ++receipt.dead;
    return;
  }
  if (!is_watched(route) && type != TypeTraits<ComponentChanged>::id) [[likely]] {
    const std::span<const RowSetEntry> rows = batch.row_set();
    const Refusal refusal = structure_.apply(type, target, payload, rows);
    if (refusal.code != RefusalCode::none)
      note(refusal, receipt);
    else
      ++receipt.handled;
    return;
  }
  if (type == TypeTraits<ComponentChanged>::id) {
    ComponentChanged changed;
    std::memcpy(&changed, payload, sizeof changed);
    ++receipt.handled;
    const Row row = context_.storage.find(target);
    if (row.has(changed.component)) follow(ChangeKind::changed, target, changed.component);
    return;
  }
  const bool follows = types_.handlers().follows();
  if (type == TypeTraits<Destroy>::id && (follows || !route.active.empty() || !deactivated_->active.empty())) {
    const std::span<const Entity> doomed = structure_.doomed(target);
    targets_.assign(doomed.begin(), doomed.end());
    if (!deactivated_->active.empty()) tell_doomed(targets_);
    for (const Entity e : targets_) {
      tell(route, e, payload, batch.header().payload_bytes);
      if (follows)
        for (const TypeId component : types_of(context_.storage.find(e), types_here_))
          follow(ChangeKind::removed, e, component);
    }
  }
  if (follows && type == TypeTraits<Remove>::id) {
    Remove remove;
    std::memcpy(&remove, payload, sizeof remove);
    if (remove.component != TypeTraits<ChildOf>::id && context_.storage.find(target).has(remove.component))
      follow(ChangeKind::removed, target, remove.component);
  }
  if (follows && type == TypeTraits<Rename>::id) {
    Rename rename;
    std::memcpy(&rename, payload, sizeof rename);
    if (!rename.name && structure_.name_of(target)) follow(ChangeKind::removed, target, TypeTraits<Name>::id);
  }
  if (follows && !creates)
    foresee(batch, context_.storage.find(target), payload);
  else
    changes_.clear();
  const Refusal refusal = structure_.apply(type, target, payload, batch.row_set());
  if (refusal.code != RefusalCode::none) {
    note(refusal, receipt);
    return;
  }
  ++receipt.handled;
  if (type == TypeTraits<Destroy>::id) return;
  tell(route, target, payload, batch.header().payload_bytes);
  if (creates && !(activated_->active.empty() && loaded_->active.empty())) tell_created(target);
  if (!follows) return;
  if (creates) follow_created(target);
  for (const auto& [kind, component] : changes_) follow(kind, target, component);
}

bool Delivery::builtin_world(MessageRoute& route, const std::byte* payload, std::span<const std::byte> table,
                             Receipt& receipt) {
  switch (route.type->id) {
    case TypeTraits<Grant>::id: {
      Grant grant;
      std::memcpy(&grant, payload, sizeof grant);
      structure_.grant(grant);
      return true;
    }
    case TypeTraits<ReturnGrant>::id: {
      ReturnGrant grant;
      std::memcpy(&grant, payload, sizeof grant);
      structure_.return_grant(grant);
      return true;
    }
    case TypeTraits<EnableHandler>::id: {
      EnableHandler enable;
      std::memcpy(&enable, payload, sizeof enable);
      types_.handlers().enable(Text{enable.name}, enable.enabled);
      return true;
    }
    case TypeTraits<DropCarried>::id: drop_(); return true;
    case TypeTraits<HandlerRequest>::id: {
      HandlerRequest request;
      std::memcpy(&request, payload, sizeof request);
      if (request.ends) {
        types_.handlers().end(request.ordinal);
        return true;
      }
      try {
        types_.handlers().begin(request.ordinal, context_.storage.archetypes());
      } catch (const SetupError&) {  // the name is taken, or the order is contradictory
        note({RefusalCode::name_taken, {}, TypeTraits<HandlerRequest>::id, 0}, receipt);
        return false;
      }
      return true;
    }
    case TypeTraits<CancelTimer>::id: {
      CancelTimer cancel;
      std::memcpy(&cancel, payload, sizeof cancel);
      timers_.cancel(cancel.timer);
      return true;
    }
    case TypeTraits<DropTexts>::id: {
      const auto hashes = DropTextsView::from(table).texts();
      TextMentions texts(std::vector<std::uint64_t>(hashes.begin(), hashes.end()));
      if (waiting_) waiting_(texts);
      for (const auto& [key, timer] : timers_.waiting()) texts.in(BatchView(timer.batch));
      structure_.drop_texts(texts);
      return true;
    }
    case TypeTraits<ReleaseIds>::id: structure_.release_ids(ReleaseIdsView::from(table).ids()); return true;
    case TypeTraits<InternText>::id:
    case TypeTraits<DefineTemplate>::id: {
      const Refusal refusal =
          route.type->id == TypeTraits<InternText>::id ? structure_.intern(table) : structure_.define(table);
      if (refusal.code == RefusalCode::none) return true;
      note(refusal, receipt);
      return false;
    }
    default: return true;
  }
}

}  // namespace muster

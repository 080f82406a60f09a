// The part of Delivery that handles messages to the world. Each handler makes a pass over all rows
// that have its components; a handler without components is called once.
//
// If a handler changes or consumes the message, the pass is delivered entity by entity:
//
// - Entities are visited in the order of rows. For each entity, its handlers run in order, with a
//   copy of the message that belongs to the entity. A handler that consumes the message ends the
//   delivery to that entity.
// - A handler without components belongs to no entity. It is called once, after the handlers before
//   it have been called for all entities, and before those after it. It sees and changes the
//   message of the pass itself. An entity's copy is made from that message when the pass first
//   reaches a handler for the entity's set of components. If a handler without components consumes
//   the message, the pass ends.
// - on_begin is called for all handlers between two such handlers before the first entity.
// - The pass runs on one thread.
#include "registry/delivery/delivery.h"

#include <algorithm>
#include <cstring>

#include "registry/delivery/parallel_pass.h"
#include "registry/handlers/ask_ahead.h"
#include "registry/observe/clock.h"

namespace muster {

bool Delivery::begins_pass(const Handler& handler) {
  if (!handler.options.on_begin) return true;
  context_.entity = 0;
  context_.entities = 0;
  context_.running = &handler;
  const bool begins = handler.options.on_begin();
  context_.running = nullptr;
  context_.entities = 1;
  return begins;
}

bool Delivery::over_world(const Handler& handler, void* message) {
  if (!begins_pass(handler)) return false;
  const Observer::Scope timed(observer_, handler);
  rows_of_world(handler, message);
  return true;
}

void Delivery::rows_of_world(const Handler& handler, void* message) {
  context_.entity = 0;
  context_.entities = 0;
  if (handler.once)
    call(handler, message, no_chunk(), 0, 1, nullptr);
  else
    each_rows(context_, handler, [&](const RowsOfChunk& rows) {
      context_.entity = rows.chunk->ids()[rows.begin].bits();
      context_.entities = rows.end - rows.begin;
      call(handler, message, *rows.chunk, rows.begin, rows.end, rows.columns);
    });
  context_.entities = 1;
}

bool Delivery::changed_pass(MessageRoute& route, const void* message) {
  const bool copies = !route.type->is_table;  // handlers cannot change a table
  OwnCopies& own = own_copies_;
  if (copies) {
    const auto* const bytes = static_cast<const std::byte*>(message);
    own.world.assign(bytes, bytes + route.type->size);
    message = own.world.data();
  }
  const auto& handlers = route.active;
  const auto is_once = [](const Handler* handler) { return handler->once; };
  const auto first = std::ranges::find_if_not(handlers, is_once);
  const auto once = std::find_if(first, handlers.end(), is_once);
  const bool several = std::find_if_not(once, handlers.end(), is_once) != handlers.end();
  own.kept.clear();
  if (several) own.number.assign(context_.storage.ids().indices(), 0);
  bool called = false;
  for (auto at = handlers.begin(); at != handlers.end();) {
    if ((*at)->once) {
      const Handler& handler = **at++;
      if (!begins_pass(handler)) continue;
      called = true;
      const Observer::Scope timed(observer_, handler);
      context_.entity = 0;
      context_.entities = 0;
      const bool consumed = call(handler, const_cast<void*>(message), no_chunk(), 0, 1, nullptr);
      context_.entities = 1;
      if (consumed) break;
      continue;
    }
    own.stretch.clear();
    for (; at != handlers.end() && !(*at)->once; ++at)
      if (begins_pass(**at)) own.stretch.push_back(*at);
    if (own.stretch.empty()) continue;
    called = true;
    each_entity(route, message, several);
  }
  context_.entity = 0;
  return called;
}

void Delivery::each_entity(const MessageRoute& route, const void* message, bool keeps) {
  OwnCopies& own = own_copies_;
  const bool copies = !route.type->is_table;
  const std::size_t bytes = copies ? route.type->size : 0;
  own.entity.resize(bytes);
  own.left.clear();
  for (const auto& archetype : context_.storage.archetypes())
    if (archetype && archetype->chunks > 0 &&
        std::ranges::any_of(own.stretch, [&](const Handler* each) { return each->columns(*archetype) != nullptr; }))
      own.left.push_back({archetype.get(), archetype->chunks});
  const auto deliver = [&](Chunk& chunk, std::uint32_t row) {
    const Entity e = chunk.ids()[row];
    std::byte* copy = own.entity.data();
    std::uint32_t* const number = keeps ? &own.number[e.index] : nullptr;
    if (!keeps) {
      if (copies) std::memcpy(copy, message, bytes);
    } else if (*number == OwnCopies::ended) {
      return;
    } else if (copies) {
      if (*number == 0) {
        const auto* const made = static_cast<const std::byte*>(message);
        own.kept.insert(own.kept.end(), made, made + bytes);
        *number = static_cast<std::uint32_t>(own.kept.size() / bytes);
      }
      copy = own.kept.data() + (*number - 1) * bytes;
    }
    context_.entity = e.bits();
    for (const auto& [handler, columns] : own.matching)
      if (call(*handler, copies ? copy : const_cast<void*>(message), chunk, row, row + 1, columns)) {
        if (number) *number = OwnCopies::ended;
        return;
      }
  };
  for (std::uint32_t depth = 0; !own.left.empty(); ++depth) {
    for (auto& [archetype, chunks] : own.left) {
      if (depth >= archetype->groups.size() || archetype->groups[depth].chunks.empty()) continue;
      own.matching.clear();
      for (const Handler* handler : own.stretch)
        if (const std::uint16_t* const columns = handler->columns(*archetype))
          own.matching.emplace_back(handler, columns);
      const std::vector<Chunk*>& all = archetype->groups[depth].chunks;
      chunks -= all.size();
      for (Chunk* const chunk : all)
        for (std::uint32_t row = 0; row < chunk->count; ++row) deliver(*chunk, row);
    }
    std::erase_if(own.left, [](const OwnCopies::Left& each) { return each.chunks == 0; });
  }
}

void Delivery::to_world(MessageRoute& route, void* message, Receipt& receipt) {
  bool called = route.builtin;
  if (observer_) [[unlikely]]
    observer_->next_call();
  if (route.writes_message) [[unlikely]] {
    called |= changed_pass(route, message);
  } else if (!parallel_) {
    for (const Handler* handler : route.active) called |= over_world(*handler, message);
  } else if (!parallel_->deliver(route, message, called)) {
    for (Handler* handler : route.active) {
      const std::uint64_t begin = steady_ns();
      called |= over_world(*handler, message);
      ParallelPass::learn(*handler, ParallelPass::rows_of(*handler), ns_since(begin));
    }
  }
  ++(called ? receipt.handled : receipt.unhandled);
}

}  // namespace muster

#include "registry/handlers/dynamic_handler.h"

#include <algorithm>
#include <array>

#include "registry/handlers/query_words.h"
#include "registry/handlers/types_known.h"

namespace muster {

namespace {

struct Dynamic {
  std::function<void(const DynamicCall&)> call;
  bool table = false;
  std::uint32_t message_bytes = 0;  // size of a struct message, or 0 for a change
  bool elsewhere = false;           // true if the handler uses components of other entities
};

bool run_rows(RunContext& context, const Handler& handler, void* message, Chunk& chunk, std::uint32_t begin,
              std::uint32_t end, const std::uint16_t* columns) {
  const auto& dynamic = *static_cast<const Dynamic*>(handler.state.get());
  const std::span<const std::byte> bytes =
      dynamic.table ? *static_cast<const std::span<const std::byte>*>(message)
                    : std::span(static_cast<const std::byte*>(message), dynamic.message_bytes);
  Entity other;
  if (handler.other_offset != ~0u) std::memcpy(&other, bytes.data() + handler.other_offset, sizeof other);
  std::vector<std::byte*> values(handler.terms.size());
  // The presence columns of terms that exclude rows; null for other terms.
  std::vector<const PresenceWord*> enabled(handler.terms.size());
  for (std::size_t i = 0; i < enabled.size(); ++i)
    if (const Term& term = handler.terms[i]; term.enableable && term.source == Source::self)
      enabled[i] = detail::presence_in(chunk, term.type);
  std::vector<detail::Elsewhere> elsewhere;
  if (dynamic.elsewhere)
    for (const Term& term : handler.terms)
      elsewhere.emplace_back(context, chunk, term.source, term.type, term.anchor, other);
  for (std::uint32_t row = begin; row < end; ++row) {
    std::size_t column = 0;
    bool present = true;
    for (std::size_t i = 0; i < values.size() && present; ++i) {
      const Term& term = handler.terms[i];
      values[i] = nullptr;
      if (term.source == Source::self) {
        const bool lacks = enabled[i] && enabled[i][row] == 0;
        if (enabled[i] && term.presence != Presence::optional) present = lacks == (term.presence == Presence::excluded);
        if (!term.value) continue;
        const std::uint16_t slot = columns[column++];
        if (slot == no_column || lacks) continue;
        if (term.access == Access::write) context.storage.touch(chunk, slot);
        values[i] = chunk.slots()[slot].data + std::size_t{row} * chunk.archetype->slot_types[slot]->size;
      } else {
        if (term.source != Source::any)
          values[i] = const_cast<std::byte*>(elsewhere[i].find(term.source, row, term.type, term.anchor));
        present =
            term.presence == Presence::optional || (values[i] != nullptr) == (term.presence == Presence::required);
        if (!term.value || context.storage.component(term.type)->size == 0) values[i] = nullptr;
      }
    }
    if (!present) continue;
    dynamic.call(
        {handler.once ? Entity{} : chunk.ids()[row], bytes, values, context.outbox, context.spawner, *context.log});
    for (detail::Elsewhere& from : elsewhere) from.directory_moved();
  }
  return false;
}

void run_one(RunContext& context, const CallSite& site, void* message, Chunk& chunk, std::uint32_t row) {
  run_rows(context, *site.handler, message, chunk, row, row + 1, site.columns);
}

/// The run-time counterpart of detail::other_offset.
std::uint32_t other_offset_of(const TypeDescriptor& type) noexcept {
  std::uint32_t entities = 0, offset = ~0u;
  if (!type.is_table)
    for (const FieldDescriptor& field : type.fields) {
      if (field.kind != FieldKind::entity || field.count != 1) continue;
      if (field.name == "other") return field.offset;
      ++entities;
      offset = field.offset;
    }
  return entities == 1 ? offset : ~0u;
}

ItemCounts run_items(RunContext& context, const Handler& handler, const ItemRun& items) {
  ItemCounts counts;
  const std::byte* at = items.first;
  for (std::uint32_t i = 0; i < items.count; ++i, at += items.bytes) {
    Entity target;
    std::memcpy(&target, at, 8);
    const Row row = context.storage.find(target);
    if (!row) {
      ++counts.dead;
      continue;
    }
    const std::uint16_t* columns = handler.bound[row.chunk->archetype->index];
    if (!columns) continue;
    ++counts.handled;
    run_rows(context, handler, const_cast<std::byte*>(at + items.offset), *row.chunk, row.row, row.row + 1, columns);
  }
  return counts;
}

}  // namespace

std::unique_ptr<Handler> make_dynamic_handler(TypesKnown& types, std::string name, DynamicShape shape,
                                              std::function<void(const DynamicCall&)> call, HandlerOptions options) {
  MessageRoute* route = types.route(shape.message);
  if (!route)
    throw SetupError("handler \"" + name + "\": there is no message with type id " + std::to_string(shape.message));
  for (const Term& term : shape.terms) {
    const StoredType* component = types.component(term.type);
    if (!component)
      throw SetupError("handler \"" + name + "\": there is no component with type id " + std::to_string(term.type));
    if (term.access == Access::write && (term.source != Source::self || !term.value))
      throw SetupError("handler \"" + name + "\" writes " + component->descriptor->name +
                       " of another entity; only an entity's own components can be written");
  }
  for (Term& term : shape.terms) term.enableable = types.component(term.type)->descriptor->enableable;
  for (const Term& one : shape.terms)
    for (const Term& other : shape.terms)
      if (&one != &other && one.type == other.type && one.access == Access::write && other.source == Source::self &&
          other.value)
        throw SetupError("handler \"" + name + "\" takes " + types.component(one.type)->descriptor->name +
                         " twice, once for writing");
  auto handler = std::make_unique<Handler>();
  if (std::ranges::any_of(shape.terms, [](const Term& term) { return term.source == Source::other; })) {
    handler->other_offset = other_offset_of(*route->type);
    if (handler->other_offset == ~0u)
      throw SetupError("handler \"" + name + "\" reads from another entity, but " + route->type->name +
                       " is not a struct with a muster.Entity field named other, or with only one");
  }
  handler->name = std::move(name);
  handler->message = shape.message;
  handler->options = std::move(options);
  handler->terms = std::move(shape.terms);
  handler->once = !shape.per_entity && handler->terms.empty();
  handler->pushes = handler->spawns = shape.pushes;
  handler->logs = shape.logs;
  handler->has_state = true;
  handler->rows = &run_rows;
  handler->one = &run_one;
  if (!route->type->is_table) handler->items = &run_items;
  handler->state = std::make_shared<Dynamic>(
      std::move(call), route->type->is_table, route->type->is_table ? 0 : route->type->size,
      std::ranges::any_of(handler->terms,
                          [](const Term& term) { return term.source != Source::self && term.source != Source::any; }));
  return handler;
}

}  // namespace muster

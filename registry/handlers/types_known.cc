#include "registry/handlers/types_known.h"

#include <algorithm>
#include <cstring>

#include "registry/storage/runtime_schema.h"
#include "system/mutex.h"

namespace muster {

struct TypesKnown::Gate {
  Mutex mutex;
};

TypesKnown::TypesKnown(Storage& storage, HandlerStates& states)
    : handlers_(states), storage_(storage), gate_(std::make_unique<Gate>()) {}
TypesKnown::~TypesKnown() = default;

void TypesKnown::need_in_turn(TypeId type, void (*make)(TypesKnown&)) {
  {
    const MutexLock lock(gate_->mutex);
    const StoredType* component = storage_.component(type);
    // A type that is already known does not require waiting for a turn.
    if (handlers_.route(type) || (component && component->size != 0)) return make(*this);
  }
  take_turn();
  const MutexLock lock(gate_->mutex);
  make(*this);
}

void TypesKnown::learn(TypeId type, std::expected<void, SchemaError> added) {
  if (!added) throw SetupError(added.error().text());
  const TypeDescriptor* known = table_.find(type);
  if (known->role == TypeRole::component)
    storage_.types()->add(*known);
  else
    handlers_.add_message(*known);
}

void TypesKnown::learn_runtime(TypeId id, std::string_view name, const RuntimeOps& ops, std::uint32_t size,
                               std::uint32_t align) {
  if (const StoredType* known = storage_.component(id); known && known->ops == &ops) return;
  if (!table_.find(id) || table_.find(id)->name != name)
    if (const auto added = table_.add_schema(tag_schema(name)); !added) throw SetupError(added.error().text());
  const TypeDescriptor& type = *table_.find(id);
  const StoredType& stored = storage_.types()->add(type);
  if (!type.tag || type.enableable || stored.ops)
    throw SetupError("runtime component " + std::string(name) +
                     (stored.ops ? " is already registered by another part of the program"
                                 : " is in a schema, but not as a plain tag"));
  storage_.types()->set_runtime(id, &ops, size, align);
}

void TypesKnown::forget_runtime(TypeId type) {
  const StoredType* stored = storage_.component(type);
  if (!stored || !stored->ops) return;
  for (const Handler* const handler : handlers_.handlers())
    for (const Term& term : handler->terms)
      if (term.type == type && term.value)
        throw SetupError("handler \"" + handler->name + "\" still takes " + stored->descriptor->name);
  storage_.types()->set_runtime(type, nullptr, 0, 1);
  seen_[type % std::size(seen_)].store(0, std::memory_order_relaxed);
}

std::vector<TypeId> TypesKnown::forget_runtime_of(const std::function<bool(const RuntimeOps&)>& whose) {
  std::vector<TypeId> forgotten;
  for (const auto& stored : storage_.components())
    if (stored->ops && whose(*stored->ops)) forgotten.push_back(stored->id);
  for (const TypeId type : forgotten) {
    storage_.types()->set_runtime(type, nullptr, 0, 1);
    seen_[type % std::size(seen_)] = 0;
  }
  return forgotten;
}

MessageRoute* TypesKnown::find_route(TypeId message) {
  MessageRoute* found = handlers_.route(message);
  if (!found) {
    const TypeDescriptor* type = table_.find(message);
    if (!type || (type->role != TypeRole::message && type->role != TypeRole::table_message)) return nullptr;
    found = &handlers_.add_message(*type);
  }
  routes_[message % std::size(routes_)] = {message, found};
  return found;
}

void TypesKnown::remember_route(TypeId known, std::span<const std::byte> sealed) {
  MessageRoute* const route = handlers_.route(known);
  if (!route->sealed) {
    route->sealed = std::make_unique<MessageRoute::Unit[]>((sealed.size() + 15) / 16);
    std::memcpy(route->sealed.get(), sealed.data(), sealed.size());
  }
  Seen& first = pushed_[first_place(known)];
  Seen& second = pushed_[second_place(known)];
  (first.type != 0 && second.type == 0 ? second : first) = {known, route};
}

TypesKnown::Mark TypesKnown::mark() const noexcept {
  return {table_.mark(), storage_.components().size(), handlers_.messages()};
}

void TypesKnown::take_back(const Mark& mark) {
  if (handlers_.messages() != mark.messages) {
    std::ranges::fill(routes_, Seen{});
    handlers_.take_back_messages(mark.messages);
  }
  storage_.types()->take_back(mark.components);
  table_.take_back(mark.table);
}

MessageRoute& TypesKnown::change(ChangeKind kind, TypeId component) {
  const TypeId id = change_id(kind, component);
  if (MessageRoute* known = handlers_.route(id)) {
    if (known->change == kind && known->component == component) return *known;
    throw SetupError("a change of " + table_.find(component)->name + " has the same id as " + known->type->name);
  }
  TypeDescriptor& type = changes_.emplace_back();
  type.id = id;
  const char* const kinds[] = {"", "Added<", "Removed<", "Changed<"};
  type.name = kinds[static_cast<std::size_t>(kind)] + table_.find(component)->name + ">";
  type.role = TypeRole::message;
  MessageRoute& route = handlers_.add_message(type);
  route.change = kind;
  route.component = component;
  return route;
}

const StoredType* TypesKnown::component(TypeId type) {
  if (const StoredType* known = storage_.component(type)) return known;
  const TypeDescriptor* descriptor = table_.find(type);
  if (!descriptor || descriptor->role != TypeRole::component) return nullptr;
  return &storage_.types()->add(*descriptor);
}

}  // namespace muster

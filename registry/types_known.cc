#include "registry/types_known.h"

namespace muster {

void TypesKnown::learn(TypeId type, std::expected<void, SchemaError> added) {
  if (!added) throw SetupError(added.error().text());
  const TypeDescriptor* known = table_.find(type);
  if (known->role == TypeRole::component)
    storage_.add_component(*known);
  else
    handlers_.add_message(*known);
}

MessageRoute* TypesKnown::route(TypeId message) {
  if (MessageRoute* known = handlers_.route(message)) return known;
  const TypeDescriptor* type = table_.find(message);
  if (!type || (type->role != TypeRole::message && type->role != TypeRole::table_message)) return nullptr;
  return &handlers_.add_message(*type);
}

const StoredType* TypesKnown::component(TypeId type) {
  if (const StoredType* known = storage_.component(type)) return known;
  const TypeDescriptor* descriptor = table_.find(type);
  if (!descriptor || descriptor->role != TypeRole::component) return nullptr;
  return &storage_.add_component(*descriptor);
}

}  // namespace muster

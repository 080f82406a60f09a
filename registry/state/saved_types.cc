#include "registry/state/saved_types.h"

#include <algorithm>
#include <set>
#include <utility>

#include "schema/reduce.h"

namespace muster {

std::expected<void, SchemaError> SavedTypes::add(std::span<const std::byte> bfbs) {
  auto schema = load_schema(bfbs);
  if (!schema) return std::unexpected(std::move(schema.error()));
  then_table_.reset();
  schemas_.push_back(std::move(*schema));
  bytes_.emplace_back(bfbs.begin(), bfbs.end());
  for (const TypeDescriptor& type : schemas_.back().types) {
    const auto [at, fresh] = then_.emplace(type.id, &type);
    if (!fresh && at->second->name != type.name)
      return std::unexpected(SchemaError{type.name, {}, "has the same type id as " + at->second->name});
  }
  return {};
}

std::expected<void, SchemaError> SavedTypes::settle() {
  for (const TypeDescriptor* type : table_.types())
    if (!type->was.empty()) renamed_.emplace(type->was, type);
  for (std::size_t i = 0; i < schemas_.size(); ++i) {
    std::set<std::string> fresh;
    bool other = false;  // true if any type of this schema has changed
    for (const TypeDescriptor& type : schemas_[i].types) {
      const TypeDescriptor* const known = now(type);
      if (known == nullptr && then_.at(type.id) == &type) fresh.insert(type.name);
      other |= known != nullptr && (known->id != type.id || known->fingerprint != type.fingerprint);
      differs_ |= differs(type);
    }
    if (fresh.empty()) continue;
    const std::vector<std::byte> alone = other ? reduce_schema(bytes_[i], fresh) : bytes_[i];
    if (auto added = table_.add_schema(alone); !added) return added;
  }
  return {};
}

const TypeDescriptor* SavedTypes::saved(TypeId id) const {
  const auto at = then_.find(id);
  return at == then_.end() ? nullptr : at->second;
}

const TypeDescriptor* SavedTypes::now(const TypeDescriptor& then) const {
  if (const TypeDescriptor* same = table_.find(then.id)) return same;
  const auto renamed = renamed_.find(then.name);
  return renamed == renamed_.end() ? nullptr : renamed->second;
}

bool SavedTypes::differs(const TypeDescriptor& then) const {
  const TypeDescriptor* const known = now(then);
  if (known == nullptr) return false;
  if (known->id != then.id || known->fingerprint != then.fingerprint || known->tag != then.tag) return true;
  return std::ranges::any_of(then.fields, [&](const FieldDescriptor& field) {
    const auto same = std::ranges::find(known->fields, field.name, &FieldDescriptor::name);
    return same != known->fields.end() && names_decide(field.enumeration, same->enumeration);
  });
}

const TypeTable& SavedTypes::then() {
  if (then_table_) return *then_table_;
  then_table_ = std::make_unique<TypeTable>();
  for (std::size_t i = 0; i < schemas_.size(); ++i) {
    std::set<std::string> first;  // types whose saved layout comes from this schema
    for (const TypeDescriptor& type : schemas_[i].types)
      if (then_.at(type.id) == &type) first.insert(type.name);
    if (first.empty()) continue;
    // If a type is refused, it is missing from the table, as are batches of this type.
    if (!then_table_->add_schema(bytes_[i])) (void)then_table_->add_schema(reduce_schema(bytes_[i], first));
  }
  return *then_table_;
}

Conversion SavedTypes::conversion(TypeId type) const {
  if (!conversions_) return nullptr;
  const auto at = conversions_->find(type);
  return at == conversions_->end() ? nullptr : at->second;
}

SavedTypes::Known SavedTypes::read(TypeId id) const {
  Known made;
  made.reading.then = saved(id);
  if (made.reading.then == nullptr) {
    made.error = SchemaError{{}, {}, "a type is not in any schema"};
    return made;
  }
  const TypeDescriptor& then = *made.reading.then;
  made.reading.now = now(then);
  if (made.reading.now == nullptr) {
    made.error = SchemaError{then.name, {}, "is unknown"};
    return made;
  }
  const TypeDescriptor& type = *made.reading.now;
  const LayoutChange::Find find_then = [this](TypeId nested) { return saved(nested); };
  const LayoutChange::Find find_now = [this](TypeId nested) { return table_.find(nested); };
  if (then.is_table && type.is_table) {
    made.error = table_change(then, find_then, type, find_now);
    return made;
  }
  auto change = LayoutChange::between(then, find_then, type, find_now, conversion(type.id));
  const bool same = then.fingerprint == type.fingerprint && then.tag == type.tag && then.id == type.id;
  if (change && (!same || change->renumbers()))
    made.change = std::move(*change);
  else if (change || same)
    return made;
  else
    made.error = std::move(change.error());
  return made;
}

std::expected<SavedTypes::Reading, SchemaError> SavedTypes::reading(TypeId id) {
  auto at = known_.find(id);
  if (at == known_.end()) {
    at = known_.emplace(id, read(id)).first;
    if (at->second.change) at->second.reading.change = &*at->second.change;
  }
  if (at->second.error) return std::unexpected(*at->second.error);
  return at->second.reading;
}

std::vector<std::string> SavedTypes::changes() const {
  std::vector<std::string> all;
  for (const auto& [id, known] : known_)
    if (known.change) all.push_back(known.reading.now->name + ": " + known.change->text());
  std::ranges::sort(all);
  return all;
}

}  // namespace muster

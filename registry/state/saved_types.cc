#include "registry/state/saved_types.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "messages/batch.h"
#include "schema/reduce.h"

namespace muster {

std::expected<void, SchemaError> SavedTypes::add(std::span<const std::byte> bfbs) {
  auto schema = load_schema(bfbs);
  if (!schema) return std::unexpected(std::move(schema.error()));
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
    bool other = false;  // some type of this schema is another one now
    for (const TypeDescriptor& type : schemas_[i].types) {
      const TypeDescriptor* const known = now(type);
      if (known == nullptr && then_.at(type.id) == &type) fresh.insert(type.name);
      other |= known != nullptr && (known->id != type.id || known->fingerprint != type.fingerprint);
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

SavedTypes::Known SavedTypes::read(TypeId id) const {
  Known made;
  made.reading.then = saved(id);
  if (made.reading.then == nullptr) {
    made.error = SchemaError{{}, {}, "a type is in no schema"};
    return made;
  }
  const TypeDescriptor& then = *made.reading.then;
  made.reading.now = now(then);
  if (made.reading.now == nullptr) {
    made.error = SchemaError{then.name, {}, "is not known"};
    return made;
  }
  const TypeDescriptor& type = *made.reading.now;
  if (then.is_table && type.is_table) {
    made.error = table_change(then, type);
    return made;
  }
  auto change = LayoutChange::between(
      then, [this](TypeId nested) { return saved(nested); }, type,
      [this](TypeId nested) { return table_.find(nested); });
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

std::expected<void, SchemaError> SavedTypes::same_bytes(std::span<const std::byte> batch) {
  BatchHeader header;
  if (batch.size() < sizeof header) return {};
  std::memcpy(&header, batch.data(), sizeof header);
  if (header.kind == BatchKind::timed) {
    const std::size_t inner = std::size_t{header.header_units} * 16 + 16;
    return batch.size() <= inner ? std::expected<void, SchemaError>() : same_bytes(batch.subspan(inner));
  }
  std::vector<TypeId> types{header.type};
  constexpr std::size_t rows = sizeof header + 8;
  if ((header.flags & batch_rows) != 0 && batch.size() >= rows) {
    std::uint32_t count;
    std::memcpy(&count, batch.data() + sizeof header, sizeof count);
    const std::size_t room = (batch.size() - rows) / sizeof(RowSetEntry);
    for (std::size_t i = 0; i < std::min<std::size_t>(count, room); ++i) {
      RowSetEntry entry;
      std::memcpy(&entry, batch.data() + rows + i * sizeof entry, sizeof entry);
      types.push_back(entry.type);
    }
  }
  for (const TypeId type : types) {
    if (!is_saved(type)) continue;
    const auto found = reading(type);
    if (!found) return std::unexpected(found.error());
    if (found->change == nullptr && found->now->id == type) continue;
    return std::unexpected(SchemaError{found->now->name,
                                       {},
                                       "waits in a message, and " +
                                           (found->change ? found->change->text() : "was called " + found->then->name) +
                                           ": open the world with the build that saved it, and save it when nothing of "
                                           "it waits any more"});
  }
  return {};
}

std::vector<std::string> SavedTypes::changes() const {
  std::vector<std::string> all;
  for (const auto& [id, known] : known_)
    if (known.change) all.push_back(known.reading.now->name + ": " + known.change->text());
  std::ranges::sort(all);
  return all;
}

}  // namespace muster

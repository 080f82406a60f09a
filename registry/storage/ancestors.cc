#include "registry/storage/ancestors.h"

#include "registry/storage/storage.h"

namespace muster {

namespace {

const std::byte* value_in(Row at, TypeId type) noexcept {
  const Archetype& archetype = *at.chunk->archetype;
  if (archetype.enableable && !at.has(type)) [[unlikely]]
    return nullptr;
  const std::uint16_t column = archetype.column(type);
  if (column == no_column) return archetype.has(type) ? reinterpret_cast<const std::byte*>(at.chunk) : nullptr;
  return at.at(column, archetype.slot_types[column]->size);
}

}  // namespace

const std::byte* component_of(const Storage& storage, Entity e, TypeId type) noexcept {
  const Row at = storage.find(e);
  return at ? value_in(at, type) : nullptr;
}

const std::byte* component_at_or_above(const Storage& storage, Entity e, TypeId type) noexcept {
  for (Row at = storage.find(e); at; at = storage.find(at.chunk->parents()[at.row])) {
    if (const std::byte* found = value_in(at, type)) return found;
    if (at.chunk->depth == 0) break;
  }
  return nullptr;
}

const std::byte* AncestorSearch::find(const Storage& storage, const Chunk& chunk, std::uint32_t row) {
  // Nearby ancestors are visited again, which takes less time than remembering them.
  constexpr std::uint32_t near = 8;
  const Chunk* c = &chunk;
  const std::byte* value = nullptr;
  passed_.clear();
  for (std::uint32_t steps = 0;; ++steps) {
    if (kind_ == Kind::up_to || steps > 0) {
      const Row at{const_cast<Chunk*>(c), row};
      if (kind_ == Kind::of_anchor) {
        if (at.has(anchor_)) {
          value = value_in(at, type_);
          break;
        }
      } else {
        value = value_in(at, type_);
        if (value || (kind_ == Kind::up_to && at.has(anchor_))) break;
      }
    }
    if (c->depth == 0) break;
    const Entity parent = c->parents()[row];
    if (steps >= near) {
      if (steps == near) check(storage);
      if (const Known* const known = known_.find(parent.bits()); known && known->round == round_) {
        value = known->value;
        break;
      }
      passed_.push_back(parent.bits());
    }
    const Row up = storage.find(parent);
    c = up.chunk;
    row = up.row;
  }
  for (const std::uint64_t passed : passed_) known_.put(passed, {round_, value});
  return value;
}

void AncestorSearch::check(const Storage& storage) {
  if (stamp_ == storage.stamp() && structure_ == storage.structure() && presences_ == storage.presences()) return;
  stamp_ = storage.stamp();
  structure_ = storage.structure();
  presences_ = storage.presences();
  ++round_;
  constexpr std::size_t few = 1024;
  // If there are so many, most of them belong to entities that are gone.
  if (known_.size() > few + 2 * storage.rows()) known_ = {};
}

}  // namespace muster

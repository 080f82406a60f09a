// The part of Storage that manages component types and archetypes, and lays out the chunks of
// archetypes.
#include <algorithm>
#include <cstring>
#include <utility>

#include "messages/require.h"
#include "registry/storage/storage.h"
#include "schema/hash.h"
#include "schema/muster.h"

namespace muster {

namespace {

constexpr std::uint32_t archetypes_end = 0xffffffffu;

std::uint64_t hash_of(std::span<const TypeId> types) noexcept {
  return hash64({reinterpret_cast<const char*>(types.data()), types.size_bytes()});
}

/// Returns the descriptor of presence columns, which is not part of any schema. The values are
/// uints. The default value means that the component is present.
const TypeDescriptor& presence_descriptor() {
  static const TypeDescriptor descriptor = [] {
    TypeDescriptor made;
    made.size = made.align = sizeof(PresenceWord);
    constexpr PresenceWord yes = 1;
    const auto* const bytes = reinterpret_cast<const std::byte*>(&yes);
    made.default_bytes.assign(bytes, bytes + sizeof yes);
    return made;
  }();
  return descriptor;
}

StoredType presence_type(const TypeDescriptor& of) {
  StoredType made{presence_id(of), sizeof(PresenceWord), alignof(PresenceWord), &presence_descriptor()};
  made.is_presence = true;
  return made;
}

}  // namespace

const StoredType& ComponentTypes::add(const TypeDescriptor& descriptor) {
  if (const std::uint32_t* known = by_id_.find(descriptor.id)) return *types_[*known];
  by_id_.put(descriptor.id, static_cast<std::uint32_t>(types_.size()));
  types_.push_back(std::make_unique<StoredType>(
      StoredType{descriptor.id, descriptor.tag ? 0 : descriptor.size, descriptor.align, &descriptor}));
  if (descriptor.enableable) {
    presences_.push_back(std::make_unique<StoredType>(presence_type(descriptor)));
    types_.back()->presence = presences_.back().get();
  }
  return *types_.back();
}

void ComponentTypes::take_back(std::size_t count) noexcept {
  for (; types_.size() > count; types_.pop_back()) {
    by_id_.erase(types_.back()->id);
    if (types_.back()->presence) presences_.pop_back();
  }
}

void ComponentTypes::set_runtime(TypeId type, const RuntimeOps* ops, std::uint32_t size, std::uint32_t align) {
  StoredType& stored = *types_[*by_id_.find(type)];
  if (!ops)
    for (Storage* storage : storages_) storage->destroy_values(stored);
  stored.ops = ops;
  stored.size = ops ? size : 0;
  stored.align = ops ? align : 1;
  for (Storage* storage : storages_) storage->lay_out_again(type);
}

Archetype& Storage::archetype(std::span<const TypeId> types) {
  const std::uint64_t hash = hash_of(types);
  if (const std::uint32_t* known = archetype_by_hash_.find(hash)) {
    if (std::ranges::equal(archetype_by_index_[*known]->types, types)) return *archetype_by_index_[*known];
    for (Archetype* other : archetypes_colliding_)
      if (std::ranges::equal(other->types, types)) return *other;
  }
  return add_archetype(next_archetype(), types);
}

Archetype& Storage::add_archetype(std::uint32_t number, std::span<const TypeId> types) {
  auto made = std::make_unique<Archetype>();
  made->number = number;
  made->version = version_;
  made->types.assign(types.begin(), types.end());
  for (const TypeId type : types) {
    const StoredType* known = component(type);
    require(known, "Storage::archetype: a component type was never added");
    made->components.push_back(known);
  }
  lay_out(*made);
  require(number < archetypes_end, "storage: all archetype numbers are in use");
  if (free_archetype_indices_.empty()) {
    made->index = static_cast<std::uint32_t>(archetype_by_index_.size());
    archetype_by_index_.push_back(made.get());
  } else {
    made->index = free_archetype_indices_.back();
    free_archetype_indices_.pop_back();
    archetype_by_index_[made->index] = made.get();
  }
  next_archetype_ = number + 1;
  archetypes_came_ = true;
  archetypes_.push_back(std::move(made));
  Archetype& archetype = *archetypes_.back();
  know_archetype(archetype);
  if (on_archetype) on_archetype(on_archetype_context, archetype);
  return archetype;
}

void Storage::know_archetype(Archetype& archetype) {
  if (const std::uint64_t hash = hash_of(archetype.types); archetype_by_hash_.find(hash))
    archetypes_colliding_.push_back(&archetype);
  else
    archetype_by_hash_.put(hash, archetype.index);
}

Archetype* Storage::archetype_numbered(std::uint64_t number) const noexcept {
  // No archetype with a lower number was dropped.
  if (number < archetypes_.size() && archetypes_[number]->number == number) [[likely]]
    return archetypes_[number].get();
  const auto at = std::ranges::lower_bound(archetypes_, number, {}, [](const auto& known) { return known->number; });
  return at != archetypes_.end() && (*at)->number == number ? at->get() : nullptr;
}

bool Storage::drop_idle_archetypes() {
  const std::size_t idle = archetypes_.size() - used_archetypes_;
  if (idle <= idle_archetypes_max || idle <= 2 * used_archetypes_) return false;
  std::vector<Archetype*> leaving;
  for (const auto& archetype : archetypes_)
    if (archetype->chunks == 0) leaving.push_back(archetype.get());
  for (ColumnPreserver* preserver : preservers_) preserver->before_drop(leaving);
  drop_archetypes(leaving);
  archetypes_.shrink_to_fit();
  return true;
}

void Storage::drop_archetypes(std::span<Archetype* const> leaving) {
  if (on_drop) on_drop(on_archetype_context, leaving);
  for (const Archetype* archetype : leaving) {
    archetype_by_index_[archetype->index] = nullptr;
    free_archetype_indices_.push_back(archetype->index);
  }
  std::erase_if(archetypes_, [&](const auto& archetype) { return !archetype_by_index_[archetype->index]; });
  know_archetypes();
  ++archetype_drops_;
  ++chunk_changes_;
}

void Storage::know_archetypes() {
  archetype_by_hash_.clear();
  archetypes_colliding_.clear();
  edges_.clear();
  move_plan_ = {};
  for (const auto& archetype : archetypes_) know_archetype(*archetype);
}

void Storage::lay_out(Archetype& archetype) {
  archetype.slot_types.assign(column_first, nullptr);
  archetype.columns.assign(archetype.types.size(), no_column);
  archetype.presences.assign(archetype.types.size(), no_column);
  archetype.enableable = false;
  archetype.slot_bytes.assign(column_first, 8);
  archetype.name_column = no_column;
  archetype.small_values = true;
  archetype.row_bytes = 16;
  const auto add = [&](const StoredType* type) {
    const auto slot = static_cast<std::uint16_t>(archetype.slot_types.size());
    archetype.slot_types.push_back(type);
    archetype.slot_bytes.push_back(type->size);
    archetype.small_values = archetype.small_values && is_small(type->size);
    archetype.row_bytes += type->size;
    return slot;
  };
  for (const bool runtime : {false, true}) {
    for (std::size_t i = 0; i < archetype.types.size(); ++i) {
      const StoredType* type = archetype.components[i];
      if ((type->ops != nullptr) != runtime) continue;
      if (type->size != 0) archetype.columns[i] = add(type);
      if (type->id == TypeTraits<Name>::id) archetype.name_column = archetype.columns[i];
      if (type->presence) archetype.presences[i] = add(type->presence);
      archetype.enableable = archetype.enableable || type->presence;
    }
    if (!runtime) archetype.pod_slots = static_cast<std::uint32_t>(archetype.slot_types.size());
  }
  archetype.simple = archetype.plain() && !archetype.enableable;
}

void Storage::destroy_values(const StoredType& type) {
  for (Chunk* chunk : chunks_)
    if (chunk)
      each_runtime(*chunk, 0, chunk->count, [&](const RuntimeOps& its, void* at) {
        if (&its == type.ops) its.destroy(at);
      });
}

void Storage::lay_out_again(TypeId type) {
  for (const auto& archetype : archetypes_)
    if (archetype && archetype->has(type)) lay_out_again(*archetype);
}

void Storage::lay_out_again(Archetype& archetype) {
  const std::vector<const StoredType*> old_types = archetype.slot_types;
  // Preservers copy whatever they need before the memory is released.
  if (!preservers_.empty())
    for (const Group& group : archetype.groups)
      for (Chunk* chunk : group.chunks) first_touch_all(*chunk);
  lay_out(archetype);
  ++archetype.layout;
  const std::vector<const StoredType*>& types = archetype.slot_types;
  for (Group& group : archetype.groups)
    for (Chunk*& old : group.chunks) {
      Chunk* chunk = pool_.make(archetype, old->depth, old->capacity);
      chunk->group = &group;
      chunk->uid = old->uid;
      chunk->number = old->number;
      chunk->place = old->place;
      chunk->count = old->count;
      for (std::uint32_t slot = 0; slot < types.size(); ++slot) {
        const std::uint32_t source =
            slot < column_first
                ? slot
                : static_cast<std::uint32_t>(std::ranges::find(old_types, types[slot]) - old_types.begin());
        ColumnSlot& to = chunk->slots()[slot];
        const std::size_t size = archetype.slot_bytes[slot];
        if (slot < archetype.pod_slots) {
          to.version = old->slots()[source].version;
          if (to.data) std::memcpy(to.data, old->slots()[source].data, size * old->count);
          continue;
        }
        for (std::uint32_t row = 0; row < old->count; ++row) {
          if (source == old_types.size())
            types[slot]->ops->construct(to.data + row * size);
          else
            types[slot]->ops->relocate(to.data + row * size, old->slots()[source].data + row * size);
        }
      }
      chunks_[chunk->number] = chunk;
      group.last = chunk;
      for (ColumnPreserver* preserver : preservers_) preserver->before_recycle(*old);
      pool_.recycle(std::exchange(old, chunk));
    }
  ++structure_;
  ++chunk_changes_;
  ++stamp_;
  if (on_layout) on_layout(on_archetype_context, archetype);
}

Archetype& Storage::with(Archetype& archetype, TypeId type) {
  if (archetype.has(type)) return archetype;
  const std::uint64_t edge = std::uint64_t{archetype.index} << 33 | std::uint64_t{type} << 1 | 1;
  if (const std::uint32_t* known = edges_.find(edge)) return *archetype_by_index_[*known];
  std::vector<TypeId> types = archetype.types;
  types.insert(std::ranges::lower_bound(types, type), type);
  Archetype& to = this->archetype(types);
  edges_.put(edge, to.index);
  return to;
}

Archetype& Storage::without(Archetype& archetype, TypeId type) {
  if (!archetype.has(type)) return archetype;
  const std::uint64_t edge = std::uint64_t{archetype.index} << 33 | std::uint64_t{type} << 1;
  if (const std::uint32_t* known = edges_.find(edge)) return *archetype_by_index_[*known];
  std::vector<TypeId> types = archetype.types;
  std::erase(types, type);
  Archetype& to = this->archetype(types);
  edges_.put(edge, to.index);
  return to;
}

}  // namespace muster

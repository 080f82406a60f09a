// Knows for each word of a handler's query which term it makes, and how its value is found for the rows of a chunk.
// What the words mean in a handler: registry/handlers/parameters.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "registry/handlers/changes.h"
#include "registry/handlers/handler.h"
#include "registry/handlers/item_loops.h"
#include "registry/handlers/parameters.h"
#include "registry/storage/storage.h"

namespace muster::detail {

template <class>
inline constexpr bool never = false;

template <class P>
struct Parameter {
  static_assert(
      never<P>,
      "a handler takes its message first, then components (T&, const T&, T*, const T*, std::span<T>), With, "
      "Without, WithoutParent, WithoutSelfOrParent, Parent, SelfOrParent, ParentWith, UpTo, Other, Lookup, Entity, "
      "Outbox& or Spawner&");
};

/// Whether every row that has the type has a value of it: tags are refused, and a runtime component may turn into one.
template <class T>
inline constexpr bool always_in_a_column = requires { TypeTraits<T>::tag; };

/// Parameters with `column` true take the next entry of the handler's column list.
template <class T, Presence presence_>
struct ColumnParameter {
  using Value = std::remove_const_t<T>;
  static_assert(!is_tag<Value>, "a tag has no value to take: ask With<T> or Without<T>");
  static constexpr bool column = true, entity = true, span = false, pushes = false, spawns = false, has_term = true;
  static constexpr bool plain = true;
  static constexpr bool writes = !std::is_const_v<T>;
  static Term term() noexcept {
    return {TypeTraits<Value>::id, writes ? Access::write : Access::read, presence_, Source::self, true, 0};
  }
  static bool has(std::uint16_t slot) noexcept {
    if constexpr (presence_ == Presence::required && always_in_a_column<Value>)
      return true;
    else
      return slot != no_column;
  }
  static T* base(const ChunkRows& rows, std::uint16_t slot) noexcept {
    if constexpr (writes)
      if (has(slot)) rows.context.storage.touch(rows.chunk, slot);
    return touched(rows, slot);
  }
  /// base() for a column that was touched since the last begin_version.
  static T* touched(const ChunkRows& rows, std::uint16_t slot) noexcept {
    return has(slot) ? reinterpret_cast<T*>(rows.chunk.slots()[slot].data) : nullptr;
  }
  static bool is_touched(const Storage& storage, const Chunk& chunk, std::uint16_t slot) noexcept {
    return !has(slot) || chunk.slots()[slot].version == storage.version();
  }
};
template <ComponentType T>
struct Parameter<T&> : ColumnParameter<T, Presence::required> {
  static bool present(T*, std::uint32_t) noexcept { return true; }
  static T& at(T* base, std::uint32_t row) noexcept { return base[row]; }
};
template <ComponentType T>
struct Parameter<const T&> : ColumnParameter<const T, Presence::required> {
  static bool present(const T*, std::uint32_t) noexcept { return true; }
  static const T& at(const T* base, std::uint32_t row) noexcept { return base[row]; }
};
template <ComponentType T>
struct Parameter<T*> : ColumnParameter<T, Presence::optional> {
  static bool present(T*, std::uint32_t) noexcept { return true; }
  static T* at(T* base, std::uint32_t row) noexcept { return base ? base + row : nullptr; }
};
template <ComponentType T>
struct Parameter<const T*> : ColumnParameter<const T, Presence::optional> {
  static bool present(const T*, std::uint32_t) noexcept { return true; }
  static const T* at(const T* base, std::uint32_t row) noexcept { return base ? base + row : nullptr; }
};

struct NoTerm {
  static constexpr bool plain = false;
  static constexpr bool column = false, entity = false, span = false, pushes = false, spawns = false, has_term = false;
  static constexpr bool writes = false;
};

/// Takes a run of rows at once: the handler is called once per run.
template <ComponentType T>
struct Parameter<std::span<T>> : ColumnParameter<T, Presence::required> {
  static constexpr bool span = true;
  static std::span<T> whole(T* base, const ChunkRows& rows) noexcept { return {base + rows.begin, base + rows.end}; }
};
template <ComponentType T>
struct Parameter<std::span<const T>> : ColumnParameter<const T, Presence::required> {
  static constexpr bool span = true;
  static std::span<const T> whole(const T* base, const ChunkRows& rows) noexcept {
    return {base + rows.begin, base + rows.end};
  }
};
template <>
struct Parameter<std::span<const Entity>> : NoTerm {
  static constexpr bool span = true, entity = true;
  static const Entity* base(const ChunkRows& rows, std::uint16_t) noexcept { return rows.chunk.ids(); }
  static std::span<const Entity> whole(const Entity* base, const ChunkRows& rows) noexcept {
    return {base + rows.begin, base + rows.end};
  }
};

template <>
struct Parameter<Entity> : NoTerm {
  static constexpr bool plain = true;
  static constexpr bool entity = true;
  static const Entity* base(const ChunkRows& rows, std::uint16_t) noexcept { return rows.chunk.ids(); }
  static bool present(const Entity*, std::uint32_t) noexcept { return true; }
  static Entity at(const Entity* base, std::uint32_t row) noexcept { return base[row]; }
};
template <class Wrapper, class T, Presence presence_>
struct FilterParameter {
  static constexpr bool plain = false;
  static constexpr bool column = false, entity = true, span = false, pushes = false, spawns = false, has_term = true;
  static constexpr bool writes = false;
  static Term term() noexcept { return {TypeTraits<T>::id, Access::read, presence_, Source::self, false, 0}; }
  static std::nullptr_t base(const ChunkRows&, std::uint16_t) noexcept { return nullptr; }
  static bool present(std::nullptr_t, std::uint32_t) noexcept { return true; }
  static Wrapper at(std::nullptr_t, std::uint32_t) noexcept { return {}; }
  static Wrapper whole(std::nullptr_t, const ChunkRows&) noexcept { return {}; }
};
template <ComponentType T>
struct Parameter<With<T>> : FilterParameter<With<T>, T, Presence::required> {};
template <ComponentType T>
struct Parameter<Without<T>> : FilterParameter<Without<T>, T, Presence::excluded> {};
/// Excludes by what ancestors have: looked for row by row.
template <class Wrapper, class T, Source source_>
struct AbsentElsewhere : NoTerm {
  static constexpr bool entity = true, has_term = true;
  static Term term() noexcept { return {TypeTraits<T>::id, Access::read, Presence::excluded, source_, false, 0}; }
  static const ChunkRows* base(const ChunkRows& rows, std::uint16_t) noexcept { return &rows; }
  static bool present(const ChunkRows* rows, std::uint32_t row) noexcept {
    const Storage& storage = rows->context.storage;
    if (source_ == Source::self_or_parent && rows->chunk.archetype->has(TypeTraits<T>::id)) return false;
    return !component_above(storage, rows->chunk, row, TypeTraits<T>::id);
  }
  static Wrapper at(const ChunkRows*, std::uint32_t) noexcept { return {}; }
};
template <ComponentType T>
struct Parameter<WithoutParent<T>> : AbsentElsewhere<WithoutParent<T>, T, Source::parent> {};
template <ComponentType T>
struct Parameter<WithoutSelfOrParent<T>> : AbsentElsewhere<WithoutSelfOrParent<T>, T, Source::self_or_parent> {};
template <>
struct Parameter<Outbox&> : NoTerm {
  static constexpr bool pushes = true;
  static Outbox* base(const ChunkRows& rows, std::uint16_t) noexcept { return &rows.context.outbox; }
  static bool present(Outbox*, std::uint32_t) noexcept { return true; }
  static Outbox& at(Outbox* outbox, std::uint32_t) noexcept { return *outbox; }
  static Outbox& whole(Outbox* outbox, const ChunkRows&) noexcept { return *outbox; }
};
template <>
struct Parameter<Spawner&> : NoTerm {
  static constexpr bool pushes = true, spawns = true;
  static Spawner* base(const ChunkRows& rows, std::uint16_t) noexcept { return &rows.context.spawner; }
  static bool present(Spawner*, std::uint32_t) noexcept { return true; }
  static Spawner& at(Spawner* spawner, std::uint32_t) noexcept { return *spawner; }
  static Spawner& whole(Spawner* spawner, const ChunkRows&) noexcept { return *spawner; }
};
template <class T>
struct Parameter<Lookup<T>> : NoTerm {
  static constexpr bool has_term = true;
  static Term term() noexcept {
    return {TypeTraits<std::remove_const_t<T>>::id, Access::read, Presence::optional, Source::any, true, 0};
  }
  static const Storage* base(const ChunkRows& rows, std::uint16_t) noexcept { return &rows.context.storage; }
  static bool present(const Storage*, std::uint32_t) noexcept { return true; }
  static Lookup<T> at(const Storage* storage, std::uint32_t) noexcept { return Lookup<T>(*storage); }
  static Lookup<T> whole(const Storage* storage, const ChunkRows&) noexcept { return Lookup<T>(*storage); }
};

/// What Parent, SelfOrParent, ParentWith, UpTo and Other need to find their value, row by row; values are never cached.
struct ElsewhereBase {
  const Storage* storage;
  const Chunk* chunk;
  Entity other = {};
  mutable ParentColumn last = {};  // where the parent of the row before kept it: mostly the same archetype
};
template <class Wrapper, class T, Source source_, class Anchor = void>
struct ElsewhereParameter : NoTerm {
  using Value = std::remove_cv_t<std::remove_pointer_t<T>>;
  static_assert(
      !is_tag<Value>,
      "a tag has no value to read from elsewhere: ask With<T>, WithoutParent<T>, or has(e) of a Lookup<const T>");
  static constexpr bool entity = true, has_term = true;
  static constexpr bool optional = std::is_pointer_v<T>;
  static Term term() noexcept {
    TypeId anchor = 0;
    if constexpr (!std::is_void_v<Anchor>) anchor = TypeTraits<Anchor>::id;
    return {
        TypeTraits<Value>::id, Access::read, optional ? Presence::optional : Presence::required, source_, true, anchor};
  }
  static ElsewhereBase base(const ChunkRows& rows, std::uint16_t) noexcept {
    return {&rows.context.storage, &rows.chunk, rows.other};
  }
  static const Value* find(const ElsewhereBase& base, std::uint32_t row) noexcept {
    const std::byte* found = nullptr;
    if constexpr (source_ == Source::parent) {
      if (base.chunk->depth == 0) return nullptr;
      found = component_of_parent(*base.storage, base.chunk->parents()[row], TypeTraits<Value>::id, base.last);
      if (!found) found = component_above(*base.storage, *base.chunk, row, TypeTraits<Value>::id);
    } else if constexpr (source_ == Source::other) {
      found = component_at_or_above(*base.storage, base.other, TypeTraits<Value>::id);
    } else if constexpr (source_ == Source::parent_with) {
      found = component_of_anchor(*base.storage, *base.chunk, row, TypeTraits<Anchor>::id, TypeTraits<Value>::id);
    } else if constexpr (source_ == Source::up_to) {
      found = component_up_to(*base.storage, *base.chunk, row, TypeTraits<Anchor>::id, TypeTraits<Value>::id);
    } else {
      if constexpr (source_ == Source::self_or_parent)
        found = component_of(*base.storage, base.chunk->ids()[row], TypeTraits<Value>::id);
      if (!found) found = component_above(*base.storage, *base.chunk, row, TypeTraits<Value>::id);
    }
    return reinterpret_cast<const Value*>(found);
  }
  static bool present(const ElsewhereBase& base, std::uint32_t row) noexcept {
    return optional || find(base, row) != nullptr;
  }
  static Wrapper at(const ElsewhereBase& base, std::uint32_t row) noexcept { return Wrapper(find(base, row)); }
};
template <class T>
struct Parameter<Parent<T>> : ElsewhereParameter<Parent<T>, T, Source::parent> {};
template <class T>
struct Parameter<SelfOrParent<T>> : ElsewhereParameter<SelfOrParent<T>, T, Source::self_or_parent> {};
template <class T, class X>
struct Parameter<ParentWith<T, X>> : ElsewhereParameter<ParentWith<T, X>, T, Source::parent_with, X> {};
template <class T, class X>
struct Parameter<UpTo<T, X>> : ElsewhereParameter<UpTo<T, X>, T, Source::up_to, X> {};
template <class T>
struct Parameter<Other<T>> : ElsewhereParameter<Other<T>, T, Source::other> {
  static constexpr bool entity = false;  // the other's: what is asked of the handler's own row is nothing
};

/// Where the entity that Other reads from is in a message: the offset of its field `other`, or of its only
/// muster.Entity; ~0 where it has neither.
template <class M>
constexpr std::uint32_t other_offset() {
  std::uint32_t entities = 0, offset = ~0u;
  if constexpr (MessageType<M>)
    for (const FieldEntry& field : TypeTraits<M>::fields) {
      if (field.kind != FieldKind::entity || field.count != 1) continue;
      if (field.name == "other") return field.offset;
      ++entities;
      offset = field.offset;
    }
  return entities == 1 ? offset : ~0u;
}
template <class P>
inline constexpr bool takes_other = false;
template <class T>
inline constexpr bool takes_other<Other<T>> = true;

}  // namespace muster::detail

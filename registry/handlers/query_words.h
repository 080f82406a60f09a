// Defines, for each word of a handler's query, the term that it produces and how its value is found
// for the rows of a chunk. registry/handlers/parameters.h explains the words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "registry/handlers/changes.h"
#include "registry/handlers/handler.h"
#include "registry/handlers/item_loops.h"
#include "registry/handlers/parameters.h"
#include "registry/storage/column_starts.h"
#include "registry/storage/storage.h"

namespace muster::detail {

// --- Values from other entities. ---

/// Finds the values of Parent, SelfOrParent, ParentWith, UpTo, and Other. Also checks, once per
/// row, the words that exclude entities because of their ancestors. If a value can be found without
/// testing whether a row has the same parent as the previous row, this test is omitted: after rows
/// have been added and removed for some time, its branch is mispredicted too often.
///
/// Valid for a single run of rows in a chunk. During the run, rows are not added, removed, moved,
/// or given another parent, and columns are not laid out again, so the place of a value remains
/// valid. The value itself is not stored. A Spawner may move the directory when it takes new ids,
/// so directory_moved() is called after each call of a handler that has a Spawner.
class Elsewhere {
 public:
  Elsewhere() = default;
  /// Creates the lookup for a term with these fields. If the source is Source::other, `other` is
  /// the entity that the message names.
  [[gnu::always_inline]] Elsewhere(RunContext& context, const Chunk& chunk, Source source, TypeId type,
                                   [[maybe_unused]] TypeId anchor, Entity other)
      : storage_(&context.storage), chunk_(&chunk), parents_(chunk.depth ? chunk.parents() : nullptr) {
    if (source == Source::other) {
      value_ = component_at_or_above(*storage_, other, type);
    } else if (source == Source::self_or_parent || source == Source::up_to) {
      const Archetype& archetype = *chunk.archetype;
      by_row_ = archetype.enableable && (archetype.presence(type) != no_column ||
                                         (source == Source::up_to && archetype.presence(anchor) != no_column));
      if (by_row_) [[unlikely]]
        parents_ = nullptr;
      else if (const std::uint16_t column = archetype.column(type); column != no_column)
        own_ = chunk.slots()[column].data, own_bytes_ = archetype.slot_types[column]->size;
      else if (archetype.has(type))
        // A non-null marker for a type without data. It is never read.
        own_ = reinterpret_cast<const std::byte*>(&chunk);
      if (source == Source::up_to && archetype.has(anchor)) parents_ = nullptr;
    }
    if ((source == Source::parent || source == Source::self_or_parent) && parents_ && !own_) {
      above_ = &context.column_starts.of(*storage_, chunk, type);
      starts_ = above_->starts();
      directory_moved();
    }
    using Kind = AncestorSearch::Kind;
    if (source == Source::parent_with && parents_)
      search_ = &context.column_starts.search(Kind::of_anchor, type, anchor);
    else if (source == Source::up_to && (parents_ || by_row_))
      search_ = &context.column_starts.search(Kind::up_to, type, anchor);
    else if (source == Source::self_or_parent && by_row_)
      search_ = &context.column_starts.search(Kind::up_to, type, 0);
  }

  /// Returns the place of the term's value for this row, or null. `bytes` is the size of a value,
  /// or 0 if it is known only at run time.
  template <Source source, std::uint32_t bytes = 0>
  [[gnu::always_inline]] const std::byte* find(std::uint32_t row, [[maybe_unused]] TypeId type,
                                               [[maybe_unused]] TypeId anchor) noexcept {
    if constexpr (source == Source::other) return value_;
    if constexpr (source == Source::self_or_parent || source == Source::up_to)
      if (own_) return value_ = own_ + std::size_t{row} * own_bytes_;
    if (!parents_) {
      if constexpr (source == Source::self_or_parent || source == Source::up_to)
        if (by_row_) [[unlikely]]
          return value_ = search_->find(*storage_, *chunk_, row);
      return nullptr;  // value_ is always null here
    }
    if constexpr (source == Source::parent || source == Source::self_or_parent) {
      if (!find_known<bytes>(row)) [[unlikely]]
        value_ = above_->value_above(row);
    } else if (const std::uint64_t parent = parents_[row].bits(); parent != parent_) {
      parent_ = parent;
      value_ = search_->find(*storage_, *chunk_, row);
    }
    return value_;
  }
  const std::byte* find(Source source, std::uint32_t row, TypeId type, TypeId anchor) noexcept;
  /// Returns true if the values of Parent or SelfOrParent are taken from the rows' parents. Returns
  /// false if they are the rows' own values or are absent.
  bool looks_above() const noexcept { return above_; }
  /// Like find(), but succeeds only if the value of Parent or SelfOrParent can be found from cached
  /// data. Otherwise, returns false without finding a value. `above` is true if looks_above() is
  /// known to be true.
  template <bool above, Source source, std::uint32_t bytes>
  [[gnu::always_inline]] bool find_quickly(std::uint32_t row, [[maybe_unused]] TypeId type) noexcept {
    if (above || above_) return find_known<bytes>(row);
    if constexpr (source == Source::self_or_parent) {
      if (own_)
        value_ = own_ + std::size_t{row} * own_bytes_;
      else if (by_row_) [[unlikely]]  // a member call would force this object out of registers
        value_ = search_->find(*storage_, *chunk_, row);
    }
    return true;  // otherwise, value_ is always null
  }
  /// Must be called after new ids have been taken.
  void directory_moved() noexcept { directory_ = storage_->ids().slots(); }
  /// Returns the result of the previous find().
  const std::byte* found() const noexcept { return value_; }
  /// True if found() is a value. Compilers cannot tell that a pointer computed from integers is not
  /// null, so they would test it for each row.
  bool has_found() const noexcept { return is_known_ || value_; }

 private:
  /// Finds the value if the start of the column in the parent's chunk is known.
  template <std::uint32_t bytes>
  [[gnu::always_inline]] bool find_known(std::uint32_t row) noexcept {
    const std::uint32_t place = directory_[parents_[row].index].locator.bits();  // parents are alive
    const std::uintptr_t start = starts_[place >> Locator::row_bits];
    is_known_ = start > ColumnStarts::no_start;
    if (!is_known_) [[unlikely]] {
      value_ = nullptr;  // discard the value of the previous row
      return false;
    }
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    value_ = reinterpret_cast<const std::byte*>(start + std::uint64_t{place} * (bytes ? bytes : above_->bytes()));
    if (!value_) __builtin_unreachable();
    return true;
  }
  const Storage* storage_ = nullptr;
  const Chunk* chunk_ = nullptr;
  const Entity* parents_ = nullptr;  // null if ancestors do not have to be searched

  // The value of the chunk's first row if the rows' own values are used.
  const std::byte* own_ = nullptr;
  std::uint32_t own_bytes_ = 0;
  ColumnStarts* above_ = nullptr;
  AncestorSearch* search_ = nullptr;        // null if rows are not searched one at a time
  const std::uintptr_t* starts_ = nullptr;  // the starts of above_
  const DirectoryEntry* directory_ = nullptr;
  std::uint64_t parent_ = 0;  // parent of the previous row; 0 before the first row
  const std::byte* value_ = nullptr;
  bool is_known_ = false;  // true if value_ was found through the start of its column
  bool by_row_ = false;
};

inline const std::byte* Elsewhere::find(Source source, std::uint32_t row, TypeId type, TypeId anchor) noexcept {
  switch (source) {
    case Source::parent: return find<Source::parent>(row, type, anchor);
    case Source::self_or_parent: return find<Source::self_or_parent>(row, type, anchor);
    case Source::parent_with: return find<Source::parent_with>(row, type, anchor);
    case Source::up_to: return find<Source::up_to>(row, type, anchor);
    case Source::other: return find<Source::other>(row, type, anchor);
    case Source::self:
    case Source::any: break;
  }
  return nullptr;
}

// --- The words. ---

/// Incomplete for types that are not words of the query language. registry/wrong_handlers.h
/// explains the error to the user.
template <class P>
struct Parameter;
template <class P>
concept QueryWord = requires { sizeof(Parameter<P>); };

/// True if every row that has the type also has a value of it. False for runtime components, which
/// may become tags. Tags are refused as parameters.
template <class T>
inline constexpr bool always_in_a_column = requires { TypeTraits<T>::tag; };

/// Returns the presence column of an enableable component, or null if the archetype does not have
/// the component or all rows have it.
inline const PresenceWord* presence_in(const Chunk& chunk, TypeId type) noexcept {
  const std::uint16_t slot = chunk.archetype->presence(type);
  return slot == no_column ? nullptr : reinterpret_cast<const PresenceWord*>(chunk.slots()[slot].data);
}

template <class T, Presence presence_>
struct ColumnTerm {
  using Value = std::remove_const_t<T>;
  static constexpr bool column = true, entity = true, span = false, pushes = false, spawns = false, has_term = true;
  static constexpr bool writes = !std::is_const_v<T>;
  static Term term() noexcept {
    return {TypeTraits<Value>::id, writes ? Access::write : Access::read, presence_, Source::self, true, 0,
            EnableableType<Value>};
  }
};

/// If `column` is true, the parameter uses the next entry in the handler's column list.
template <class T, Presence presence_>
struct ColumnParameter : ColumnTerm<T, presence_> {
  using Value = std::remove_const_t<T>;
  using ColumnTerm<T, presence_>::writes;
  static constexpr bool plain = true;
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
  /// Like base(), but for a column that has been touched since the last begin_version.
  static T* touched(const ChunkRows& rows, std::uint16_t slot) noexcept {
    return has(slot) ? reinterpret_cast<T*>(rows.chunk.slots()[slot].data) : nullptr;
  }
  static bool is_touched(const Storage& storage, const Chunk& chunk, std::uint16_t slot) noexcept {
    return !has(slot) || chunk.slots()[slot].version == storage.version();
  }
};

/// Checks each row individually, because a row may lack an enableable component.
template <class T, Presence presence_>
struct EnableableParameter : ColumnTerm<T, presence_> {
  using Value = std::remove_const_t<T>;
  using ColumnTerm<T, presence_>::writes;
  static constexpr bool plain = false;
  struct Base {
    T* values = nullptr;
    const PresenceWord* enabled = nullptr;
  };
  static Base base(const ChunkRows& rows, std::uint16_t slot) noexcept {
    if constexpr (writes)
      if (slot != no_column) rows.context.storage.touch(rows.chunk, slot);
    return touched(rows, slot);
  }
  static Base touched(const ChunkRows& rows, std::uint16_t slot) noexcept {
    if (slot == no_column) return {};
    return {reinterpret_cast<T*>(rows.chunk.slots()[slot].data), presence_in(rows.chunk, TypeTraits<Value>::id)};
  }
  static bool is_touched(const Storage& storage, const Chunk& chunk, std::uint16_t slot) noexcept {
    return slot == no_column || chunk.slots()[slot].version == storage.version();
  }
  static bool present(const Base& base, std::uint32_t row) noexcept {
    return presence_ == Presence::optional || base.enabled[row] != 0;
  }
  static decltype(auto) at(const Base& base, std::uint32_t row) noexcept {
    if constexpr (presence_ == Presence::optional)
      return static_cast<T*>(base.values && base.enabled[row] != 0 ? base.values + row : nullptr);
    else
      return static_cast<T&>(base.values[row]);
  }
};

template <ValueType T>
struct Parameter<T&> : ColumnParameter<T, Presence::required> {
  static bool present(T*, std::uint32_t) noexcept { return true; }
  static T& at(T* base, std::uint32_t row) noexcept { return base[row]; }
};
template <ValueType T>
struct Parameter<const T&> : ColumnParameter<const T, Presence::required> {
  static bool present(const T*, std::uint32_t) noexcept { return true; }
  static const T& at(const T* base, std::uint32_t row) noexcept { return base[row]; }
};
template <ValueType T>
struct Parameter<T*> : ColumnParameter<T, Presence::optional> {
  static bool present(T*, std::uint32_t) noexcept { return true; }
  static T* at(T* base, std::uint32_t row) noexcept { return base ? base + row : nullptr; }
};
template <ValueType T>
struct Parameter<const T*> : ColumnParameter<const T, Presence::optional> {
  static bool present(const T*, std::uint32_t) noexcept { return true; }
  static const T* at(const T* base, std::uint32_t row) noexcept { return base ? base + row : nullptr; }
};
template <ValueType T>
  requires EnableableType<T>
struct Parameter<T&> : EnableableParameter<T, Presence::required> {};
template <ValueType T>
  requires EnableableType<T>
struct Parameter<const T&> : EnableableParameter<const T, Presence::required> {};
template <ValueType T>
  requires EnableableType<T>
struct Parameter<T*> : EnableableParameter<T, Presence::optional> {};
template <ValueType T>
  requires EnableableType<T>
struct Parameter<const T*> : EnableableParameter<const T, Presence::optional> {};

struct NoTerm {
  static constexpr bool plain = false;
  static constexpr bool column = false, entity = false, span = false, pushes = false, spawns = false, has_term = false;
  static constexpr bool writes = false;
};

/// Takes a whole run of rows; the handler is called once per run.
template <ValueType T>
  requires(!EnableableType<T>)
struct Parameter<std::span<T>> : ColumnParameter<T, Presence::required> {
  static constexpr bool span = true;
  static std::span<T> whole(T* base, const ChunkRows& rows) noexcept { return {base + rows.begin, base + rows.end}; }
};
template <ValueType T>
  requires(!EnableableType<T>)
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
/// Filters rows by an enableable component. Does not have whole(), because handlers that take spans
/// process all rows of a run.
template <class Wrapper, class T, Presence presence_>
struct EnableableFilter : NoTerm {
  static constexpr bool entity = true, has_term = true;
  static Term term() noexcept { return {TypeTraits<T>::id, Access::read, presence_, Source::self, false, 0, true}; }
  static const PresenceWord* base(const ChunkRows& rows, std::uint16_t) noexcept {
    return presence_in(rows.chunk, TypeTraits<T>::id);
  }
  static bool present(const PresenceWord* enabled, std::uint32_t row) noexcept {
    return presence_ == Presence::excluded ? !enabled || enabled[row] == 0 : enabled[row] != 0;
  }
  static Wrapper at(const PresenceWord*, std::uint32_t) noexcept { return {}; }
};
template <ComponentType T>
struct Parameter<With<T>> : FilterParameter<With<T>, T, Presence::required> {};
template <ComponentType T>
struct Parameter<Without<T>> : FilterParameter<Without<T>, T, Presence::excluded> {};
template <ComponentType T>
  requires EnableableType<T>
struct Parameter<With<T>> : EnableableFilter<With<T>, T, Presence::required> {};
template <ComponentType T>
  requires EnableableType<T>
struct Parameter<Without<T>> : EnableableFilter<Without<T>, T, Presence::excluded> {};
/// Excludes entities based on the components of their ancestors.
template <class Wrapper, class T, Source source_>
struct AbsentElsewhere : NoTerm {
  static constexpr bool entity = true, has_term = true;
  static Term term() noexcept { return {TypeTraits<T>::id, Access::read, Presence::excluded, source_, false, 0}; }
  static Elsewhere base(const ChunkRows& rows, std::uint16_t) noexcept {
    return {rows.context, rows.chunk, source_, TypeTraits<T>::id, 0, {}};
  }
  static bool present(Elsewhere& elsewhere, std::uint32_t row) noexcept {
    return !elsewhere.find<source_>(row, TypeTraits<T>::id, 0);
  }
  static Wrapper at(const Elsewhere&, std::uint32_t) noexcept { return {}; }
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
template <>
struct Parameter<Log&> : NoTerm {
  static Log* base(const ChunkRows& rows, std::uint16_t) noexcept { return rows.context.log; }
  static bool present(Log*, std::uint32_t) noexcept { return true; }
  static Log& at(Log* log, std::uint32_t) noexcept { return *log; }
  static Log& whole(Log* log, const ChunkRows&) noexcept { return *log; }
};
template <ComponentType T>
struct Parameter<Lookup<const T>> : NoTerm {
  static constexpr bool has_term = true;
  static Term term() noexcept { return {TypeTraits<T>::id, Access::read, Presence::optional, Source::any, true, 0}; }
  static const Storage* base(const ChunkRows& rows, std::uint16_t) noexcept { return &rows.context.storage; }
  static bool present(const Storage*, std::uint32_t) noexcept { return true; }
  static Lookup<const T> at(const Storage* storage, std::uint32_t) noexcept { return Lookup<const T>(*storage); }
  static Lookup<const T> whole(const Storage* storage, const ChunkRows&) noexcept { return Lookup<const T>(*storage); }
};

/// `const T` or `const T*`, where T is a component with data. Used for values from other entities.
template <class T>
concept ElsewhereValue =
    std::is_const_v<std::remove_pointer_t<T>> && ValueType<std::remove_cv_t<std::remove_pointer_t<T>>>;

/// present() finds the value of a row, and at() returns it.
template <class Wrapper, class T, Source source_, class Anchor = void>
struct ElsewhereParameter : NoTerm {
  using Value = std::remove_cv_t<std::remove_pointer_t<T>>;
  static constexpr bool entity = true, has_term = true;
  static constexpr bool optional = std::is_pointer_v<T>;
  static constexpr std::uint32_t value_bytes() noexcept {
    if constexpr (always_in_a_column<Value>)
      return sizeof(Value);
    else
      return 0;
  }
  static constexpr TypeId anchor() noexcept {
    if constexpr (std::is_void_v<Anchor>)
      return 0;
    else
      return TypeTraits<Anchor>::id;
  }
  static Term term() noexcept {
    return {TypeTraits<Value>::id,
            Access::read,
            optional ? Presence::optional : Presence::required,
            source_,
            true,
            anchor()};
  }
  /// Always inlined, so that the result stays in registers within the loop.
  [[gnu::always_inline]] static Elsewhere base(const ChunkRows& rows, std::uint16_t) noexcept {
    return {rows.context, rows.chunk, source_, TypeTraits<Value>::id, anchor(), rows.other};
  }
  /// The values of most rows are found in a few instructions. Invoker::rows_apart() handles the
  /// other rows outside the loop.
  static constexpr bool found_quickly = source_ == Source::parent || source_ == Source::self_or_parent;
  template <bool above>
  [[gnu::always_inline]] static bool find_quickly(Elsewhere& elsewhere, std::uint32_t row) noexcept {
    return elsewhere.find_quickly<above, source_, value_bytes()>(row, TypeTraits<Value>::id);
  }
  static bool is_there(const Elsewhere& elsewhere) noexcept { return optional || elsewhere.has_found(); }
  static bool present(Elsewhere& elsewhere, std::uint32_t row) noexcept {
    elsewhere.find<source_, value_bytes()>(row, TypeTraits<Value>::id, anchor());
    return is_there(elsewhere);
  }
  static Wrapper at(const Elsewhere& elsewhere, std::uint32_t) noexcept {
    return Wrapper(reinterpret_cast<const Value*>(elsewhere.found()), elsewhere.has_found());
  }
};
template <ElsewhereValue T>
struct Parameter<Parent<T>> : ElsewhereParameter<Parent<T>, T, Source::parent> {};
template <ElsewhereValue T>
struct Parameter<SelfOrParent<T>> : ElsewhereParameter<SelfOrParent<T>, T, Source::self_or_parent> {};
template <ElsewhereValue T, ComponentType X>
struct Parameter<ParentWith<T, X>> : ElsewhereParameter<ParentWith<T, X>, T, Source::parent_with, X> {};
template <ElsewhereValue T, ComponentType X>
struct Parameter<UpTo<T, X>> : ElsewhereParameter<UpTo<T, X>, T, Source::up_to, X> {};
template <ElsewhereValue T>
struct Parameter<Other<T>> : ElsewhereParameter<Other<T>, T, Source::other> {
  // The value belongs to the other entity, so the handler's own row is not needed.
  static constexpr bool entity = false;
};

/// Returns the offset in a message of the entity that Other reads: the field `other` or the only
/// muster.Entity. Returns ~0 if the message has neither.
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
/// True if a parameter can be found from the start of its column and the row alone. Rows may then
/// continue in the next chunk.
template <class P>
inline constexpr bool joins = Parameter<P>::plain;
template <class T>
inline constexpr bool joins<Parent<T>> = true;
template <class T>
inline constexpr bool joins<Lookup<T>> = true;
template <>
inline constexpr bool joins<Outbox&> = true;
template <>
inline constexpr bool joins<Log&> = true;
template <class T>
inline constexpr bool joins<With<T>> = !EnableableType<T>;
template <class T>
inline constexpr bool joins<Without<T>> = !EnableableType<T>;
/// True if a parameter can be found from the row and cached data about its chunk alone.
template <class P>
inline constexpr bool by_chunk = joins<P>;
template <class T>
inline constexpr bool by_chunk<Parent<T>> = false;
template <class P>
inline constexpr bool found_quickly = false;
template <class P>
  requires(Parameter<P>::found_quickly)
inline constexpr bool found_quickly<P> = true;
template <class P>
inline constexpr bool reads_parents = false;
template <class T>
inline constexpr bool reads_parents<Parent<T>> = true;
template <class T, class X>
inline constexpr bool reads_parents<ParentWith<T, X>> = true;
template <class T>
inline constexpr bool reads_parents<WithoutParent<T>> = true;
template <class P>
inline constexpr bool takes_other = false;
template <class T>
inline constexpr bool takes_other<Other<T>> = true;

}  // namespace muster::detail

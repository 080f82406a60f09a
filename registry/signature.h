// Reads a handler's C++ signature: the first parameter is the message, the others are the query. What is not understood
// is a compile error that says so.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "registry/changes.h"
#include "registry/handler.h"
#include "registry/item_loops.h"
#include "registry/parameters.h"
#include "registry/storage.h"

namespace muster::detail {

template <class>
inline constexpr bool never = false;

// --- One parameter: its term (if any), and how its value is found for the rows of a chunk. ---

template <class P>
struct Parameter {
  static_assert(
      never<P>,
      "a handler takes its message first, then components (T&, const T&, T*, const T*, std::span<T>), With, "
      "Without, WithoutParent, WithoutSelfOrParent, Parent, SelfOrParent, ParentWith, UpTo, Other, Lookup, Entity, "
      "Outbox& or Spawner&");
};

/// A value that is somewhere in every row that has the type: of no tag, and of no type that may turn into one.
template <class T>
constexpr bool in_a_column() {
  if constexpr (requires { TypeTraits<T>::tag; })
    return !TypeTraits<T>::tag;
  else
    return false;
}
template <class T>
inline constexpr bool always_in_a_column = in_a_column<T>();

/// Parameters with `column` true take the next entry of the handler's column list.
template <class T, Presence presence_>
struct ColumnParameter {
  using Value = std::remove_const_t<T>;
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
  /// The same for a column that was touched since the last begin_version.
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

/// Whole rows at once: the handler is called once per run of rows.
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
template <class T, Presence presence_>
struct FilterParameter {
  static constexpr bool plain = false;
  static constexpr bool column = false, entity = true, span = false, pushes = false, spawns = false, has_term = true;
  static constexpr bool writes = false;
  static Term term() noexcept { return {TypeTraits<T>::id, Access::read, presence_, Source::self, false, 0}; }
};
template <ComponentType T>
struct Parameter<With<T>> : FilterParameter<T, Presence::required> {
  static std::nullptr_t base(const ChunkRows&, std::uint16_t) noexcept { return nullptr; }
  static bool present(std::nullptr_t, std::uint32_t) noexcept { return true; }
  static With<T> at(std::nullptr_t, std::uint32_t) noexcept { return {}; }
  static With<T> whole(std::nullptr_t, const ChunkRows&) noexcept { return {}; }
};
template <ComponentType T>
struct Parameter<Without<T>> : FilterParameter<T, Presence::excluded> {
  static std::nullptr_t base(const ChunkRows&, std::uint16_t) noexcept { return nullptr; }
  static bool present(std::nullptr_t, std::uint32_t) noexcept { return true; }
  static Without<T> at(std::nullptr_t, std::uint32_t) noexcept { return {}; }
  static Without<T> whole(std::nullptr_t, const ChunkRows&) noexcept { return {}; }
};
/// Exclusion through ancestors: found row by row.
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

/// Parent, SelfOrParent, ParentWith, UpTo, Other: found row by row, never cached.
struct ElsewhereBase {
  const Storage* storage;
  const Chunk* chunk;
  Entity other = {};
  mutable ParentColumn last = {};  // where the parent of the row before kept it: mostly the same archetype
};
template <class Wrapper, class T, Source source_, class Anchor = void>
struct ElsewhereParameter : NoTerm {
  using Value = std::remove_cv_t<std::remove_pointer_t<T>>;
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

/// Where a message names the entity that Other reads from: its field `other`, or its only muster.Entity.
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

// --- The message parameter. ---

template <class M>
struct MessageParameter {
  static_assert(
      never<M>,
      "a handler's first parameter is its message: const M& or M& of a (message) struct, or const MView& of a "
      "message table");
};
template <MessageType M>
struct MessageParameter<const M&> {
  using Message = M;
  static constexpr bool writes = false;
  static const M& get(void* message) noexcept { return *static_cast<const M*>(message); }
};
template <MessageType M>
struct MessageParameter<M&> {
  using Message = M;
  static constexpr bool writes = true;
  static M& get(void* message) noexcept { return *static_cast<M*>(message); }
};
template <ChangeMessage C>
struct MessageParameter<const C&> {
  using Message = C;
  static constexpr bool writes = false;
  static C get(void*) noexcept { return {}; }
};
template <TableMessageType V>
struct MessageParameter<const V&> {
  using Message = V;
  static constexpr bool writes = false;
  static V get(void* message) { return V::from(*static_cast<const std::span<const std::byte>*>(message)); }
};

// --- The whole signature. ---

template <class F, class Result, class M, class... Ps>
struct Invoker {
  using Message = typename MessageParameter<M>::Message;
  static constexpr bool whole_rows = (false || ... || Parameter<Ps>::span);
  static constexpr bool consumes = std::is_same_v<Result, Verdict>;
  static_assert(consumes || std::is_void_v<Result>, "a handler returns void or muster::Verdict");
  static constexpr bool once = !(false || ... || Parameter<Ps>::entity);

  static constexpr auto every = std::index_sequence_for<Ps...>{};
  static constexpr bool asks_other = (false || ... || takes_other<Ps>);
  static constexpr bool spawns = (false || ... || Parameter<Ps>::spawns);
  static constexpr std::uint32_t other_at = other_offset<Message>();
  static_assert(!asks_other || other_at != ~0u,
                "Other<T> needs a message struct with a muster.Entity field named `other`, or with only one");
  static Entity other_of([[maybe_unused]] const void* message) noexcept {
    Entity other;
    if constexpr (asks_other) std::memcpy(&other, static_cast<const std::byte*>(message) + other_at, sizeof other);
    return other;
  }

  static constexpr std::array<std::size_t, sizeof...(Ps) + 1> column_index = [] {
    std::array<std::size_t, sizeof...(Ps) + 1> index{};
    std::size_t next = 0, at = 0;
    ((index[at++] = next, next += Parameter<Ps>::column ? 1 : 0), ...);
    return index;
  }();

  /// Only the entity's own row and its id: columns never overlap each other or the message, which the loop may rely on.
  static constexpr bool plain = !consumes && !whole_rows && (true && ... && Parameter<Ps>::plain);

  template <class F2, class Message2, class... T>
  static void loop(F2& f, Message2& m, std::uint32_t begin, std::uint32_t end, T* __restrict... base) {
    for (std::uint32_t row = begin; row < end; ++row) f(m, Parameter<Ps>::at(base, row)...);
  }

  template <std::size_t... I>
  static bool run(F& f, void* message, const ChunkRows& rows, std::index_sequence<I...> all) {
    if constexpr (plain && !MessageParameter<M>::writes && !TableMessageType<Message>) {
      if (rows.end - rows.begin == 1) {
        call_row(f, message, bases_of(rows, all), rows, rows.begin, all);
        return false;
      }
      const Message m = MessageParameter<M>::get(message);  // a copy: nothing the handler writes can change it
      loop(f, m, rows.begin, rows.end,
           Parameter<Ps>::base(rows, Parameter<Ps>::column ? rows.columns[column_index[I]] : no_column)...);
      return false;
    } else {
      return run_each(f, message, rows, all);
    }
  }
  template <std::size_t... I>
  static bool run_each(F& f, void* message, const ChunkRows& rows, std::index_sequence<I...>) {
    auto&& m = MessageParameter<M>::get(message);
    const std::tuple bases{
        Parameter<Ps>::base(rows, Parameter<Ps>::column ? rows.columns[column_index[I]] : no_column)...};
    bool consumed = false;
    if constexpr (whole_rows) {
      f(m, Parameter<Ps>::whole(std::get<I>(bases), rows)...);
    } else {
      for (std::uint32_t row = rows.begin; row < rows.end; ++row) {
        if (!(true && ... && Parameter<Ps>::present(std::get<I>(bases), row))) continue;
        if constexpr (consumes)
          consumed = f(m, Parameter<Ps>::at(std::get<I>(bases), row)...) == Verdict::consume;
        else
          f(m, Parameter<Ps>::at(std::get<I>(bases), row)...);
      }
    }
    return consumed;
  }
  static bool rows(RunContext& context, const Handler& handler, void* message, Chunk& chunk, std::uint32_t begin,
                   std::uint32_t end, const std::uint16_t* columns) {
    F& f = callable(handler);
    return run(f, message, ChunkRows{context, chunk, columns, begin, end, other_of(message)},
               std::index_sequence_for<Ps...>{});
  }
  /// The callable. One without state need not be looked for.
  static F& callable([[maybe_unused]] const Handler& handler) noexcept {
    if constexpr (stateless) {
      static F made{};
      return made;
    } else {
      return *static_cast<F*>(handler.state.get());
    }
  }
  static constexpr bool stateless = std::is_empty_v<F> && std::is_default_constructible_v<F>;

  template <class Bases, std::size_t... I>
  static void call_row(F& f, void* message, const Bases& bases, const ChunkRows& rows, std::uint32_t row,
                       std::index_sequence<I...>) {
    auto&& m = MessageParameter<M>::get(message);
    if constexpr (whole_rows) {
      f(m, Parameter<Ps>::whole(std::get<I>(bases), rows)...);
    } else {
      if ((true && ... && Parameter<Ps>::present(std::get<I>(bases), row)))
        f(m, Parameter<Ps>::at(std::get<I>(bases), row)...);
    }
  }
  template <std::size_t... I>
  static auto bases_of(const ChunkRows& rows, std::index_sequence<I...>) noexcept {
    return std::tuple{Parameter<Ps>::base(rows, Parameter<Ps>::column ? rows.columns[column_index[I]] : no_column)...};
  }
  template <std::size_t... I>
  static auto touched_bases_of(const ChunkRows& rows, std::index_sequence<I...>) noexcept {
    // Unused where a handler takes nothing but its message, and GCC says so.
    [[maybe_unused]] const auto base = [&]<class P>(std::size_t index) {
      if constexpr (P::column)
        return P::touched(rows, rows.columns[index]);
      else
        return P::base(rows, no_column);
    };
    return std::tuple { base.template operator()<Parameter<Ps>>(column_index[I])... };
  }
  template <std::size_t... I>
  static bool all_touched(const Storage& storage, const Chunk& chunk, const std::uint16_t* columns,
                          std::index_sequence<I...>) noexcept {
    [[maybe_unused]] const auto is = [&]<class P>(std::size_t index) {
      if constexpr (P::writes)
        return P::is_touched(storage, chunk, columns[index]);
      else
        return true;
    };
    return (true && ... && is.template operator()<Parameter<Ps>>(column_index[I]));
  }
  static void one(RunContext& context, const CallSite& site, void* message, Chunk& chunk, std::uint32_t row) {
    if (!all_touched(context.storage, chunk, site.columns, every)) [[unlikely]]
      return first_one(context, site, message, chunk, row);
    const ChunkRows rows{context, chunk, site.columns, row, row + 1, other_of(message)};
    call_row(callable(*site.handler), message, touched_bases_of(rows, every), rows, row, every);
  }
  /// Apart, so that the other, which calls nobody but the handler, need not save registers.
  [[gnu::noinline]] static void first_one(RunContext& context, const CallSite& site, void* message, Chunk& chunk,
                                          std::uint32_t row) {
    const ChunkRows rows{context, chunk, site.columns, row, row + 1, other_of(message)};
    call_row(callable(*site.handler), message, bases_of(rows, every), rows, row, every);
  }

  // --- for ItemLoops ---
  using Callable = F;
  static constexpr std::size_t parameters = sizeof...(Ps);
  /// `count` messages, ItemLoops::bytes apart, for rows one behind the other.
  template <class Bases>
  static void rows_in_line(F& f, const std::byte* payload, std::uint32_t row, std::uint32_t count, const Bases& bases) {
    std::apply([&](auto*... base) { messages_in_line(f, payload, row, count, base...); }, bases);
  }
  template <class... T>
  static void messages_in_line(F& f, const std::byte* __restrict payload, std::uint32_t row, std::uint32_t count,
                               T* __restrict... base) {
    for (std::uint32_t i = 0; i < count; ++i) {
      auto&& m = MessageParameter<M>::get(const_cast<std::byte*>(payload + i * std::size_t{ItemLoops<Invoker>::bytes}));
      f(m, Parameter<Ps>::at(base, row + i)...);
    }
  }
  /// One message for a row, where the parameters' bases were kept without their types.
  template <std::size_t... I>
  static void call_at(F& f, void* message, std::uint32_t row, void* const* bases, std::index_sequence<I...>) {
    using Bases = decltype(bases_of(std::declval<const ChunkRows&>(), every));
    auto&& m = MessageParameter<M>::get(message);
    f(m, Parameter<Ps>::at(static_cast<std::tuple_element_t<I, Bases>>(bases[I]), row)...);
  }

  template <std::size_t... I>
  static void prefetch(void* const* bases, std::uint32_t row, std::index_sequence<I...>) noexcept {
    const auto one = [&]<class P>(const void* base) {
      // By numbers: an optional column may be absent, and asking for what is nowhere costs nothing.
      if constexpr (P::column)
        __builtin_prefetch(
            reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(base) + row * sizeof(typename P::Value)),
            P::writes);
    };
    (one.template operator()<Parameter<Ps>>(bases[I]), ...);
  }
  static void describe(Handler& handler) {
    handler.message = TypeTraits<Message>::id;
    (
        [&] {
          if constexpr (Parameter<Ps>::has_term) handler.terms.push_back(Parameter<Ps>::term());
        }(),
        ...);
    handler.once = once;
    if constexpr (asks_other) handler.other_offset = other_at;
    handler.writes_message = MessageParameter<M>::writes || consumes;
    handler.pushes = (false || ... || Parameter<Ps>::pushes);
    handler.spawns = spawns;
    handler.whole_rows = whole_rows;
    handler.rows = &rows;
    handler.one = &one;
    if constexpr (!TableMessageType<Message>) handler.items = &ItemLoops<Invoker>::run;
  }
  template <class P>
  static constexpr TypeId column_type() {
    if constexpr (Parameter<P>::column)
      return TypeTraits<typename Parameter<P>::Value>::id;
    else
      return 0;
  }
  static constexpr bool writes_twice() {
    const std::array<TypeId, sizeof...(Ps) + 1> types{column_type<Ps>()...};
    const std::array<bool, sizeof...(Ps) + 1> writes{Parameter<Ps>::writes...};
    for (std::size_t i = 0; i < sizeof...(Ps); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (types[i] != 0 && types[i] == types[j] && (writes[i] || writes[j])) return true;
    return false;
  }
  static_assert(!writes_twice(), "a handler takes a component twice, once for writing");
  using Components = std::tuple<Ps...>;
};

template <class F, class Signature>
struct SignatureOf {
  static_assert(never<F>, "a handler is a function, a lambda, or an object and a member function of it");
};
template <class F, class R, class M, class... Ps>
struct SignatureOf<F, R(M, Ps...)> {
  using type = Invoker<F, R, M, Ps...>;
};
template <class F, class R, class M, class... Ps>
struct SignatureOf<F, R(M, Ps...) noexcept> : SignatureOf<F, R(M, Ps...)> {};

template <class>
struct CallOperator;
template <class C, class R, class... A>
struct CallOperator<R (C::*)(A...) const> {
  using type = R(A...);
};
template <class C, class R, class... A>
struct CallOperator<R (C::*)(A...)> {
  using type = R(A...);
};
template <class C, class R, class... A>
struct CallOperator<R (C::*)(A...) const noexcept> {
  using type = R(A...);
};
template <class C, class R, class... A>
struct CallOperator<R (C::*)(A...) noexcept> {
  using type = R(A...);
};

template <auto function>
struct ConstantFunction {
  template <class... A>
  auto operator()(A&&... arguments) const {
    return function(std::forward<A>(arguments)...);
  }
};

/// The component types a parameter names, so that the registry can make them known.
template <class P>
struct NamedTypes {
  template <class Add>
  static void each(Add&&) {}
};
template <ComponentType T>
struct NamedTypes<T&> {
  template <class Add>
  static void each(Add&& add) {
    add.template operator()<std::remove_const_t<T>>();
  }
};
template <ComponentType T>
struct NamedTypes<const T&> : NamedTypes<T&> {};
template <ComponentType T>
struct NamedTypes<T*> : NamedTypes<T&> {};
template <ComponentType T>
struct NamedTypes<const T*> : NamedTypes<T&> {};
template <ComponentType T>
struct NamedTypes<std::span<T>> : NamedTypes<T&> {};
template <ComponentType T>
struct NamedTypes<std::span<const T>> : NamedTypes<T&> {};
template <class T>
struct NamedTypes<With<T>> : NamedTypes<T&> {};
template <class T>
struct NamedTypes<Without<T>> : NamedTypes<T&> {};
template <class T>
struct NamedTypes<WithoutParent<T>> : NamedTypes<T&> {};
template <class T>
struct NamedTypes<WithoutSelfOrParent<T>> : NamedTypes<T&> {};
template <class T>
struct NamedTypes<Other<T>> : NamedTypes<std::remove_cv_t<std::remove_pointer_t<T>>&> {};
template <class T>
struct NamedTypes<Lookup<const T>> : NamedTypes<T&> {};
template <class T>
struct NamedTypes<Parent<T>> : NamedTypes<std::remove_cv_t<std::remove_pointer_t<T>>&> {};
template <class T>
struct NamedTypes<SelfOrParent<T>> : NamedTypes<std::remove_cv_t<std::remove_pointer_t<T>>&> {};
template <class T, class X>
struct NamedTypes<ParentWith<T, X>> {
  template <class Add>
  static void each(Add&& add) {
    add.template operator()<std::remove_cv_t<std::remove_pointer_t<T>>>();
    add.template operator()<X>();
  }
};
template <class T, class X>
struct NamedTypes<UpTo<T, X>> : NamedTypes<ParentWith<T, X>> {};
template <class... Ps>
struct NamedTypes<std::tuple<Ps...>> {
  template <class Add>
  static void each(Add&& add) {
    (NamedTypes<Ps>::each(add), ...);
  }
};

}  // namespace muster::detail

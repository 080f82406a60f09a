// Interprets the C++ signature of a handler: the first parameter is the message, and the others are
// the query. If the signature is wrong (registry/wrong_handlers.h), only is_right_signature is
// instantiated from this file.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "registry/handlers/changes.h"
#include "registry/handlers/handler.h"
#include "registry/handlers/item_loops.h"
#include "registry/handlers/known_chunks.h"
#include "registry/handlers/query_words.h"
#include "registry/storage/storage.h"

namespace muster::detail {

// --- The message parameter. ---

/// Incomplete for types that are not messages.
template <class M>
struct MessageParameter;
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
  requires(TypeTraits<V>::view)
struct MessageParameter<const V&> {
  using Message = V;
  static constexpr bool writes = false;
  static V get(void* message) { return V::from(*static_cast<const std::span<const std::byte>*>(message)); }
};

// --- The whole signature. ---

/// Returns the index of the first parameter that names the same component as an earlier parameter,
/// if one of the two writes it. Returns sizeof...(Ps) if there is no such parameter.
template <class... Ps>
constexpr std::size_t written_twice() {
  [[maybe_unused]] const auto type_of = []<class P>() -> TypeId {  // unused if Ps is empty
    if constexpr (P::column)
      return TypeTraits<typename P::Value>::id;
    else
      return 0;
  };
  const std::array<TypeId, sizeof...(Ps) + 1> types { type_of.template operator()<Parameter<Ps>>()... };
  const std::array<bool, sizeof...(Ps) + 1> writes{Parameter<Ps>::writes...};
  for (std::size_t i = 0; i < sizeof...(Ps); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (types[i] != 0 && types[i] == types[j] && (writes[i] || writes[j])) return i;
  return sizeof...(Ps);
}
/// True if a parameter may be used together with spans.
template <class P>
concept TakesRuns = requires { &Parameter<P>::whole; };
template <class... Ps>
inline constexpr bool takes_runs = (false || ... || Parameter<Ps>::span);

template <class R, class M, class... Ps>
constexpr bool is_right() {
  if constexpr (!requires { sizeof(MessageParameter<M>); } || !(true && ... && QueryWord<Ps>))
    return false;
  else if constexpr (takes_runs<Ps...> && !(true && ... && TakesRuns<Ps>))
    return false;
  else if constexpr ((false || ... || takes_other<Ps>) && other_offset<typename MessageParameter<M>::Message>() == ~0u)
    return false;
  else
    return (std::is_void_v<R> || std::is_same_v<R, Verdict>) && written_twice<Ps...>() == sizeof...(Ps);
}
/// True if Signature, of the form R(M, Ps...), is allowed for a handler.
template <class Signature>
inline constexpr bool is_right_signature = false;
template <class R, class M, class... Ps>
inline constexpr bool is_right_signature<R(M, Ps...)> = is_right<R, M, Ps...>();

/// Calls f(arguments...), inlined into the calling loop regardless of the size of f. Used for a
/// handler's only loop over all rows.
template <class F, class... A>
[[gnu::always_inline]] inline decltype(auto) call_inlined(F& f, A&&... arguments) {
#if __has_cpp_attribute(clang::always_inline)
  [[clang::always_inline]] return f(std::forward<A>(arguments)...);
#else
  return f(std::forward<A>(arguments)...);
#endif
}

template <class F, class Result, class M, class... Ps>
struct Invoker {
  using Message = typename MessageParameter<M>::Message;
  static constexpr bool whole_rows = takes_runs<Ps...>;
  static constexpr bool consumes = std::is_same_v<Result, Verdict>;
  static constexpr bool once = !(false || ... || Parameter<Ps>::entity);

  static constexpr auto every = std::index_sequence_for<Ps...>{};
  static constexpr bool asks_other = (false || ... || takes_other<Ps>);
  static constexpr bool spawns = (false || ... || Parameter<Ps>::spawns);
  static constexpr std::uint32_t other_at = other_offset<Message>();
  static Entity other_of([[maybe_unused]] const void* message) noexcept {
    Entity other;
    if constexpr (asks_other) std::memcpy(&other, static_cast<const std::byte*>(message) + other_at, sizeof other);
    return other;
  }

  static constexpr std::array<std::size_t, sizeof...(Ps) + 1> column_index = [] {
    std::array<std::size_t, sizeof...(Ps) + 1> index{};
    [[maybe_unused]] std::size_t next = 0, at = 0;
    ((index[at++] = next, next += Parameter<Ps>::column ? 1 : 0), ...);
    return index;
  }();

  /// True if the handler uses only the entity's own values and id. The loop relies on the fact that
  /// columns do not overlap each other or the message.
  static constexpr bool plain = !consumes && !whole_rows && (true && ... && Parameter<Ps>::plain);

  /// True if a handler's calls need only one pointer into a chunk for each parameter.
  static constexpr bool by_chunk = !consumes && !whole_rows && (true && ... && detail::by_chunk<Ps>);

  template <class F2, class Message2, class... T>
  static void loop(F2& f, Message2& m, std::uint32_t begin, std::uint32_t end, T* __restrict... base) {
    for (std::uint32_t row = begin; row < end; ++row) call_inlined(f, m, Parameter<Ps>::at(base, row)...);
  }

  template <std::size_t... I>
  static bool run(F& f, void* message, const ChunkRows& rows, std::index_sequence<I...> all) {
    if constexpr (plain && !MessageParameter<M>::writes && !TableMessageType<Message>) {
      if (rows.end - rows.begin == 1) {
        call_row(f, message, bases_of(rows, all), rows, rows.begin, all);
        return false;
      }
      // A copy, so that the handler's writes cannot change it.
      const Message m = MessageParameter<M>::get(message);
      const auto bases = bases_of(rows, all);
      in_steps(rows, [&](std::uint32_t begin, std::uint32_t end) { loop(f, m, begin, end, std::get<I>(bases)...); });
      return false;
    } else {
      return run_each(f, message, rows, all);
    }
  }
  static constexpr bool may_copy = [] {
    if constexpr (MessageParameter<M>::writes || TableMessageType<Message>)
      return false;
    else
      return sizeof(Message) <= 32;
  }();

  template <std::size_t... I>
  static bool run_each(F& f, void* message, const ChunkRows& rows, std::index_sequence<I...> all) {
    bool consumed = false;
    if constexpr (whole_rows) {
      auto&& m = MessageParameter<M>::get(message);
      [[maybe_unused]] std::tuple bases = bases_of(rows, all);
      f(m, Parameter<Ps>::whole(std::get<I>(bases), rows)...);
    } else {
      in_steps(rows, [&](std::uint32_t begin, std::uint32_t end) {
        if constexpr (finds_quickly)
          while (begin < end) begin = quick_rows(f, message, rows, begin, end, all);
        else
          consumed = each_row(f, message, rows, begin, end, all);
      });
    }
    return consumed;
  }
  /// A separate function, so that in_steps() does not occupy registers. A small message is copied
  /// here, so that the handler's writes cannot change it and it stays in registers. The alignment
  /// keeps the loop's start from crossing a page, which costs 10% for short mispredicted handlers.
  template <std::size_t... I>
  [[gnu::noinline, gnu::aligned(256)]] static bool each_row(F& f, void* message, const ChunkRows& rows,
                                                            std::uint32_t begin, std::uint32_t end,
                                                            std::index_sequence<I...>) {
    using Kept = std::conditional_t<may_copy, const Message, decltype(MessageParameter<M>::get(message))>;
    Kept m = MessageParameter<M>::get(message);
    [[maybe_unused]] std::tuple bases = bases_of(rows, std::index_sequence<I...>{});
    bool consumed = false;
    for (std::uint32_t row = begin; row < end; ++row) {
      if (!(true && ... && Parameter<Ps>::present(std::get<I>(bases), row))) continue;
      if constexpr (consumes)
        consumed = call_inlined(f, m, Parameter<Ps>::at(std::get<I>(bases), row)...) == Verdict::consume;
      else
        call_inlined(f, m, Parameter<Ps>::at(std::get<I>(bases), row)...);
      if constexpr (spawns) (after_spawns(std::get<I>(bases)), ...);
    }
    return consumed;
  }
  // Used for handlers that take values from parents. The loop processes rows whose values are found
  // immediately and leaves the others to rows_apart(). Thus, the loop does not have to test for
  // missing values or join two paths, which used to take a quarter of its instructions.

  /// False for handlers that spawn, because spawning may move the values that were found, and for
  /// handlers that may consume the message.
  static constexpr bool finds_quickly = !consumes && !spawns && (false || ... || detail::found_quickly<Ps>);
  /// Runs each_row() up to and including the first row that is left to rows_apart(). Returns the
  /// row after it.
  template <std::size_t... I>
  [[gnu::noinline, gnu::aligned(256)]] static std::uint32_t quick_rows(F& f, void* message, const ChunkRows& rows,
                                                                       std::uint32_t begin, std::uint32_t end,
                                                                       std::index_sequence<I...> all) {
    using Kept = std::conditional_t<may_copy, const Message, decltype(MessageParameter<M>::get(message))>;
    Kept m = MessageParameter<M>::get(message);
    std::tuple bases = bases_of(rows, all);
    if ((true && ... && looks_above<Ps>(std::get<I>(bases)))) return quick_loop<true>(f, m, bases, begin, end, all);
    return quick_loop<false>(f, m, bases, begin, end, all);
  }
  /// `above` is true if all values come from parents. This case has a separate loop, because
  /// compilers that do not unswitch loops (-O2) would test each row.
  template <bool above, class Kept, class Bases, std::size_t... I>
  [[gnu::always_inline]] static std::uint32_t quick_loop(F& f, Kept& m, Bases& bases, std::uint32_t row,
                                                         std::uint32_t end, std::index_sequence<I...> all) {
    for (; row < end; ++row) {
      if (!(true && ... && find_quickly<above, Ps>(std::get<I>(bases), row))) [[unlikely]] {
        auto copy = bases;  // the address of `bases` is never taken, so it stays in registers
        return rows_apart(f, m, copy, row, end, all);
      }
      if (!(true && ... && is_there<Ps>(std::get<I>(bases), row))) continue;
      call_inlined(f, m, Parameter<Ps>::at(std::get<I>(bases), row)...);
    }
    return end;
  }
  /// Processes one row if later rows can be found quickly again, and otherwise all remaining rows.
  /// The latter happens if a parent does not have the value but one of its ancestors may have it.
  template <class Kept, class Bases, std::size_t... I>
  [[gnu::noinline]] static std::uint32_t rows_apart(F& f, Kept& m, Bases& bases, std::uint32_t row, std::uint32_t end,
                                                    std::index_sequence<I...>) {
    const auto call = [&] {
      if ((true && ... && Parameter<Ps>::present(std::get<I>(bases), row)))
        f(m, Parameter<Ps>::at(std::get<I>(bases), row)...);
    };
    call();
    if ((true && ... && find_quickly<false, Ps>(std::get<I>(bases), row))) return row + 1;
    while (++row < end) call();
    return end;
  }
  template <class P, class Base>
  static bool looks_above([[maybe_unused]] const Base& base) noexcept {
    if constexpr (detail::found_quickly<P>)
      return base.looks_above();
    else
      return true;
  }
  template <bool above, class P, class Base>
  [[gnu::always_inline]] static bool find_quickly(Base& base, std::uint32_t row) noexcept {
    if constexpr (detail::found_quickly<P>)
      return Parameter<P>::template find_quickly<above>(base, row);
    else
      return true;
  }
  /// Like present(), for use after a successful find_quickly().
  template <class P, class Base>
  static bool is_there(Base& base, std::uint32_t row) noexcept {
    if constexpr (detail::found_quickly<P>)
      return Parameter<P>::is_there(base);
    else
      return Parameter<P>::present(base, row);
  }
  /// Called after a handler that has a Spawner returns.
  template <class Base>
  static void after_spawns([[maybe_unused]] Base& base) noexcept {
    if constexpr (std::is_same_v<Base, Elsewhere>) base.directory_moved();
  }
  /// Calls f(begin, end) for all rows, or for a few rows at a time if there is memory to prefetch.
  /// There is only one call of f, so that its loop is compiled once.
  template <class G>
  [[gnu::always_inline]] static void in_steps(const ChunkRows& rows, G&& f) {
    const RowsAhead* const ahead = rows.context.ahead;
    // The memory ahead is prefetched while the last rows are processed.
    const std::uint32_t alone = ahead ? rows.end - std::min(rows.end - rows.begin, ahead->rows()) : rows.end;
    for (std::uint32_t begin = rows.begin, end = alone; begin < rows.end; begin = end) {
      if (begin < alone) {
        end = alone;
      } else {
        end = std::min(begin + RowsAhead::step, rows.end);
        ahead->ask(begin - alone, end - alone);
      }
      f(begin, end);
    }
  }
  static bool rows(RunContext& context, const Handler& handler, void* message, Chunk& chunk, std::uint32_t begin,
                   std::uint32_t end, const std::uint16_t* columns) {
    F& f = callable(handler);
    return run(f, message, ChunkRows{context, chunk, columns, begin, end, other_of(message)},
               std::index_sequence_for<Ps...>{});
  }
  /// Returns the handler's callable. A stateless callable is created in this function, so that no
  /// memory has to be read to find it.
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
  static void call_row(F& f, void* message, Bases&& bases, const ChunkRows& rows, std::uint32_t row,
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
  [[gnu::always_inline]] static auto bases_of(const ChunkRows& rows, std::index_sequence<I...>) noexcept {
    return std::tuple{Parameter<Ps>::base(rows, Parameter<Ps>::column ? rows.columns[column_index[I]] : no_column)...};
  }
  template <std::size_t... I>
  static auto touched_bases_of(const ChunkRows& rows, std::index_sequence<I...>) noexcept {
    // Unused if a handler takes only its message; GCC would warn about this.
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
    touched_row(context, *site.handler, site.columns, message, chunk, row);
  }
  /// Calls the handler for a row whose `columns` have been touched (see all_touched()).
  [[gnu::always_inline]] static void touched_row(RunContext& context, const Handler& handler,
                                                 const std::uint16_t* columns, void* message, Chunk& chunk,
                                                 std::uint32_t row) {
    const ChunkRows rows{context, chunk, columns, row, row + 1, other_of(message)};
    call_row(callable(handler), message, touched_bases_of(rows, every), rows, row, every);
  }
  /// The slow path of one(), for columns that have not been touched. It is a separate function with
  /// the same arguments, so that one() only calls the handler and does not have to save registers.
  [[gnu::noinline]] static void first_one(RunContext& context, const CallSite& site, void* message, Chunk& chunk,
                                          std::uint32_t row) {
    first_row(context, *site.handler, site.columns, message, chunk, row);
  }
  static void first_row(RunContext& context, const Handler& handler, const std::uint16_t* columns, void* message,
                        Chunk& chunk, std::uint32_t row) {
    const ChunkRows rows{context, chunk, columns, row, row + 1, other_of(message)};
    call_row(callable(handler), message, bases_of(rows, every), rows, row, every);
  }

  /// The index of the parameter whose values begin at KnownChunk::base, or sizeof...(Ps) if there
  /// is no such parameter.
  static constexpr std::size_t known_parameter = [] {
    const std::array<bool, sizeof...(Ps) + 1> plain_ones{Parameter<Ps>::plain..., true};
    return static_cast<std::size_t>(std::ranges::find(plain_ones, true) - plain_ones.begin());
  }();
  static constexpr std::uint16_t known_base = [] {
    const std::array<bool, sizeof...(Ps) + 1> columns{Parameter<Ps>::column..., false};
    if (known_parameter == sizeof...(Ps)) return no_column;
    return columns[known_parameter] ? static_cast<std::uint16_t>(column_index[known_parameter]) : known_ids;
  }();
  /// Like one(), but for a row of a known chunk, whose columns have been touched.
  static void one_known(RunContext& context, const KnownChunk& chunk, void* message, std::uint32_t row) {
    const CallSite& site = *chunk.site;
    const ChunkRows rows{context, *chunk.chunk, site.columns, row, row + 1, other_of(message)};
    call_row(callable(*site.handler), message, known_bases_of(rows, chunk.base, every), rows, row, every);
  }
  template <std::size_t... I>
  static auto known_bases_of(const ChunkRows& rows, [[maybe_unused]] std::byte* known,
                             std::index_sequence<I...>) noexcept {
    [[maybe_unused]] const auto base = [&]<class P, std::size_t at>() {
      if constexpr (at == known_parameter)
        return reinterpret_cast<decltype(P::base(rows, no_column))>(known);
      else if constexpr (P::column)
        return P::touched(rows, rows.columns[column_index[at]]);
      else
        return P::base(rows, no_column);
    };
    return std::tuple { base.template operator()<Parameter<Ps>, I>()... };
  }

  // --- for ItemLoops ---
  using Callable = F;
  static constexpr std::size_t parameters = sizeof...(Ps);
  /// Calls the handler for `count` messages that are ItemLoops::bytes apart and have adjacent rows.
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
  /// Calls the handler for the row of `target`, with type-erased bases for the parameters.
  template <std::size_t... I>
  static void call_at(F& f, void* message, Entity target, std::uint32_t row, void* const* bases,
                      std::index_sequence<I...>) {
    using Bases = decltype(bases_of(std::declval<const ChunkRows&>(), every));
    [[maybe_unused]] const auto argument = [&]<class P, std::size_t at>() -> decltype(auto) {
      using Base = std::tuple_element_t<at, Bases>;
      if constexpr (std::is_same_v<P, Entity>)
        return target;  // equal to the id in the row
      else if constexpr (std::is_null_pointer_v<Base>)
        return Parameter<P>::at(nullptr, row);
      else
        return Parameter<P>::at(static_cast<Base>(bases[at]), row);
    };
    auto&& m = MessageParameter<M>::get(message);
    f(m, argument.template operator()<Ps, I>()...);
  }

  template <std::size_t... I>
  static void prefetch(void* const* bases, std::uint32_t row, std::index_sequence<I...>) noexcept {
    const auto one = [&]<class P>(const void* base) {
      // Compute with integers, because an optional column may be absent. Prefetching an invalid
      // address costs nothing.
      if constexpr (P::column)
        __builtin_prefetch(  // NOLINTNEXTLINE(performance-no-int-to-ptr)
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
    handler.consumes = consumes;
    handler.pushes = (false || ... || Parameter<Ps>::pushes);
    handler.spawns = spawns;
    handler.logs = (false || ... || std::is_same_v<Ps, Log&>);
    handler.whole_rows = whole_rows;
    handler.looks_ahead = !whole_rows;
    handler.joins_chunks = !consumes && !whole_rows && (true && ... && joins<Ps>);
    handler.takes_ids = (false || ... || std::is_same_v<Ps, Entity>);
    handler.takes_parents = (false || ... || reads_parents<Ps>);
    handler.rows = &rows;
    handler.one = &one;
    handler.one_known = &one_known;
    handler.known_base = known_base;
    if constexpr (!TableMessageType<Message>) {
      handler.items = &ItemLoops<Invoker>::run;
      handler.few = &ItemLoops<Invoker>::few;
      handler.few_bytes = ItemLoops<Invoker>::bytes;
    }
  }
  using Components = std::tuple<Ps...>;
};

/// The Invoker of a callable with an allowed signature.
template <class F, class Signature>
struct InvokerOf;
template <class F, class R, class M, class... Ps>
struct InvokerOf<F, R(M, Ps...)> {
  using type = Invoker<F, R, M, Ps...>;
};

/// The signature of a function type or member function, without noexcept; void for other types.
template <class>
struct PlainSignature {
  using type = void;
};
template <class R, class... A>
struct PlainSignature<R(A...)> {
  using type = R(A...);
};
template <class R, class... A>
struct PlainSignature<R(A...) noexcept> : PlainSignature<R(A...)> {};
template <class C, class R, class... A>
struct PlainSignature<R (C::*)(A...) const> : PlainSignature<R(A...)> {};
template <class C, class R, class... A>
struct PlainSignature<R (C::*)(A...)> : PlainSignature<R(A...)> {};
template <class C, class R, class... A>
struct PlainSignature<R (C::*)(A...) const noexcept> : PlainSignature<R(A...)> {};
template <class C, class R, class... A>
struct PlainSignature<R (C::*)(A...) noexcept> : PlainSignature<R(A...)> {};

/// The signature of a callable, which may be a function, a function pointer, or a class with a
/// single operator(). Void if there is none.
template <class F>
struct SignatureOf {
  using type = void;
};
template <class F>
  requires std::is_function_v<std::remove_pointer_t<F>>
struct SignatureOf<F> : PlainSignature<std::remove_pointer_t<F>> {};
template <class F>
  requires requires { &F::operator(); }
struct SignatureOf<F> : PlainSignature<decltype(&F::operator())> {};

template <auto function>
struct ConstantFunction {
  template <class... A>
  auto operator()(A&&... arguments) const {
    return function(std::forward<A>(arguments)...);
  }
};
/// Inlines the function itself into the loop, rather than only this call.
template <auto function, class... A>
[[gnu::always_inline]] inline auto call_inlined(ConstantFunction<function>&, A&&... arguments) {
#if __has_cpp_attribute(clang::always_inline)
  [[clang::always_inline]] return function(std::forward<A>(arguments)...);
#else
  return function(std::forward<A>(arguments)...);
#endif
}

/// Calls add<T>() for each component type that a parameter names, so that the registry can register
/// the type.
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

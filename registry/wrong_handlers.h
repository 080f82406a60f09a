// Explains in one sentence what is wrong with a handler, and what to write instead. Correct
// handlers do not instantiate anything in this file; see is_right_signature
// (registry/handlers/signature.h).
#pragma once

#include <span>
#include <tuple>
#include <type_traits>

#include "registry/apply/wrong_calls.h"
#include "registry/handlers/signature.h"

namespace muster {

class EntityRegistry;

namespace detail {

/// The component that a query word names, and how the word uses it.
template <class P>
struct WordParts {
  static constexpr bool reads = false, filters = false;
};
template <class T, class X = void>
struct ReadingWord {
  static constexpr bool reads = true, filters = false;
  static constexpr bool writes = !std::is_const_v<std::remove_pointer_t<T>>;
  using Value = std::remove_cv_t<std::remove_pointer_t<T>>;
  using Anchor = X;
};
template <class T>
struct FilteringWord {
  static constexpr bool reads = false, filters = true;
  using Value = T;
};
template <class T>
struct WordParts<Lookup<T>> : ReadingWord<T> {};
template <class T>
struct WordParts<Parent<T>> : ReadingWord<T> {};
template <class T>
struct WordParts<SelfOrParent<T>> : ReadingWord<T> {};
template <class T>
struct WordParts<Other<T>> : ReadingWord<T> {};
template <class T, class X>
struct WordParts<ParentWith<T, X>> : ReadingWord<T, X> {};
template <class T, class X>
struct WordParts<UpTo<T, X>> : ReadingWord<T, X> {};
template <class T>
struct WordParts<With<T>> : FilteringWord<T> {};
template <class T>
struct WordParts<Without<T>> : FilteringWord<T> {};
template <class T>
struct WordParts<WithoutParent<T>> : FilteringWord<T> {};
template <class T>
struct WordParts<WithoutSelfOrParent<T>> : FilteringWord<T> {};
template <class>
inline constexpr bool is_parent_id = false;
template <class T>
inline constexpr bool is_parent_id<Parent<T>> = std::is_same_v<std::remove_cv_t<std::remove_pointer_t<T>>, Entity>;
template <class>
inline constexpr bool is_span = false;
template <class T>
inline constexpr bool is_span<std::span<T>> = true;

/// Explains what is wrong with the types of a query word.
template <class Word>
constexpr void explain_word() {
  if constexpr (Word::filters) {
    explain_component<typename Word::Value>();
  } else if constexpr (Word::writes && !std::is_same_v<typename Word::Value, Entity>) {
    // Words that write are reported by their own classes.
  } else if constexpr (!ComponentType<typename Word::Value>) {
    explain_component<typename Word::Value>();
  } else if constexpr (is_tag<typename Word::Value>) {
    static_assert(
        understood<typename Word::Value>,
        "a tag has no value to read from elsewhere: use With<T>, WithoutParent<T>, or has(e) of a Lookup<const T>");
  } else {
    explain_component<typename Word::Anchor>();
  }
}

/// True if a parameter is an int, or a reference or pointer to int. After reporting an unknown
/// type, a compiler continues as if the type were int. Therefore, an error about an int is reported
/// only during code generation, after everything else has compiled.
template <class P>
inline constexpr bool perhaps_unknown =
    std::is_same_v<std::remove_cv_t<std::remove_pointer_t<std::remove_cvref_t<P>>>, int>;
[[gnu::error("an int is not a component: a handler takes its message first, then components")]]
void int_is_not_a_component();
[[gnu::error("an int is not a message: a handler's first parameter is its message, const M&")]]
void int_is_not_a_message();

/// Explains what is wrong with a parameter other than the message.
template <class P>
constexpr void explain_parameter() {
  using Given = std::remove_cvref_t<P>;
  using T = std::remove_cv_t<std::remove_pointer_t<Given>>;
  if constexpr (std::is_same_v<T, EntityRegistry>) {
    static_assert(understood<P>,
                  "a handler cannot use the registry: take an Outbox& (to send, set, destroy), a Spawner& (to create), "
                  "or a Lookup<const T> (to read) instead");
  } else if constexpr (std::is_same_v<T, Outbox>) {
    static_assert(understood<P>, "a handler takes its outbox by reference: write Outbox&");
  } else if constexpr (std::is_same_v<T, Spawner>) {
    static_assert(understood<P>, "a handler takes its spawner by reference: write Spawner&");
  } else if constexpr (std::is_same_v<T, Log>) {
    static_assert(understood<P>, "a handler takes its log by reference: write Log&");
  } else if constexpr (QueryWord<T>) {
    static_assert(understood<P>, "a handler takes this by value: write it without const, & or *");
  } else if constexpr (is_parent_id<T>) {
    static_assert(
        understood<P>,
        "an id is not a component: take Entity, and call registry.parent(self) of a registry that the handler's "
        "object or captures refer to");
  } else if constexpr (WordParts<T>::reads || WordParts<T>::filters) {
    explain_word<WordParts<T>>();
  } else if constexpr (is_span<T>) {
    using Element = typename T::element_type;
    using Value = std::remove_cv_t<Element>;
    if constexpr (std::is_same_v<Value, Entity>)
      static_assert(understood<P>, "ids are read-only: take std::span<const Entity>");
    else if constexpr (!ComponentType<Value>)
      explain_component<Value>();
    else if constexpr (is_tag<Value>)
      static_assert(understood<P>, "a tag has no value: use With<T> or Without<T>");
    else
      static_assert(understood<P>,
                    "some rows may lack an enableable component, but a span covers all rows: take T& or const T&");
  } else if constexpr (is_tag<T>) {
    static_assert(understood<P>, "a tag has no value: use With<T> or Without<T>");
  } else if constexpr (ComponentType<T>) {
    static_assert(understood<P>,
                  "a handler takes a component as T& (to write), const T& (to read), or T* or const T* (if it may be "
                  "missing)");
  } else if constexpr (AnyMessage<T> || ChangeMessage<T>) {
    static_assert(understood<P>,
                  "a handler takes one message, as its first parameter: subscribe one handler per message");
  } else if constexpr (std::is_class_v<T>) {
    explain_component<T>();
  } else if constexpr (perhaps_unknown<P>) {
    int_is_not_a_component();
  } else {
    static_assert(
        understood<P>,
        "a handler takes its message first, then components (T&, const T&, T*, const T*, std::span<T>), With, "
        "Without, WithoutParent, WithoutSelfOrParent, Parent, SelfOrParent, ParentWith, UpTo, Other, Lookup, Entity, "
        "Outbox&, Spawner& or Log&");
  }
}
/// Explains what is wrong with the first unsuitable parameter.
template <class P, class... Ps>
constexpr void explain_parameters() {
  if constexpr (QueryWord<P>)
    explain_parameters<Ps...>();
  else
    explain_parameter<P>();
}

/// Explains what is wrong with the first parameter.
template <class M>
constexpr void explain_message_parameter() {
  using T = std::remove_cv_t<std::remove_pointer_t<std::remove_cvref_t<M>>>;
  if constexpr (perhaps_unknown<M>)
    int_is_not_a_message();
  else if constexpr (TableMessageType<T> && !requires { requires TypeTraits<T>::view; })
    static_assert(understood<M>, "a handler reads a message table in place: take its view, const TView& for a table T");
  else if constexpr (TableMessageType<T>)
    static_assert(understood<M>, "a handler's first parameter is its message: take const TView& of a message table T");
  else if constexpr (MessageType<T>)
    static_assert(understood<M>,
                  "a handler's first parameter is its message: const M&, or M& to change it for later handlers");
  else if constexpr (ChangeMessage<T>)
    static_assert(understood<M>, "a handler's first parameter is its message: const Added<T>&, const Changed<T>&");
  else if constexpr (GeneratedType<T> || QueryWord<M> || !std::is_class_v<T>)
    static_assert(understood<M>,
                  "a handler's first parameter is its message: const M& for a struct marked (message) in a schema, or "
                  "const MView& for a table; components come after it");
  else
    static_assert(understood<M>,
                  "a handler's first parameter is its message, a struct or table marked (message) in a schema: write "
                  "`struct M (message) {...}` there");
}

/// Explains that two parameters take the same component.
template <class T>
constexpr void explain_twice() {
  static_assert(understood<T>, "a handler takes this component twice, once for writing: take it once, as T&");
}

template <class Signature>
struct WrongSignature {
  static constexpr void explain() {
    static_assert(understood<Signature>,
                  "a handler is a function, a lambda, or an object and one of its member functions; its parameter "
                  "types must be explicit, and the first is its message: const M&");
  }
};
template <class R, class M, class... Ps>
struct WrongSignature<R(M, Ps...)> {
  static constexpr void explain() {
    if constexpr (!requires { sizeof(MessageParameter<M>); })
      explain_message_parameter<M>();
    else if constexpr (!(true && ... && QueryWord<Ps>))
      explain_parameters<Ps...>();
    else if constexpr (!std::is_void_v<R> && !std::is_same_v<R, Verdict>)
      static_assert(understood<R>, "a handler must return void or muster::Verdict");
    else if constexpr (takes_runs<Ps...> && !(true && ... && TakesRuns<Ps>))
      static_assert(understood<R(M, Ps...)>,
                    "a handler with a span is called once for many rows: take all its components and Entity as "
                    "spans, std::span<const T> and std::span<const Entity>, or all of them as T& and Entity");
    else if constexpr (written_twice<Ps...>() != sizeof...(Ps))
      explain_twice<std::tuple_element_t<written_twice<Ps...>(), std::tuple<Ps...>>>();
    else
      static_assert(
          understood<M>,
          "Other<T> needs a message struct with a muster.Entity field named `other`, or with only one such field");
  }
};

}  // namespace detail
}  // namespace muster

// Creates handlers from functions, lambdas, and member functions, and subscribes them.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "registry/entity_registry.h"
#include "registry/handlers/signature.h"
#include "registry/wrong_handlers.h"

namespace muster {

namespace detail {

template <class Invoker, class F>
std::unique_ptr<Handler> make_handler(TypesKnown& known, std::string name, F&& f, bool has_state,
                                      HandlerOptions options) {
  auto handler = std::make_unique<Handler>();
  handler->name = std::move(name);
  handler->options = std::move(options);
  handler->has_state = has_state;
  handler->state = std::make_shared<std::remove_cvref_t<F>>(std::forward<F>(f));
  known.need<typename Invoker::Message>();
  NamedTypes<typename Invoker::Components>::each([&]<class T>() { known.need<T>(); });
  Invoker::describe(*handler);
  return handler;
}

template <class F>
using HandlerSignature = typename SignatureOf<F>::type;

template <class F>
std::unique_ptr<Handler> make_handler(TypesKnown& known, std::string name, F handler, HandlerOptions options) {
  using Invoker = typename InvokerOf<F, HandlerSignature<F>>::type;
  return make_handler<Invoker>(known, std::move(name), std::move(handler), std::is_class_v<F> && !std::is_empty_v<F>,
                               std::move(options));
}

}  // namespace detail

template <class Invoker, class F>
Subscription EntityRegistry::add_invoker(std::string name, F&& f, bool has_state, HandlerOptions options,
                                         bool of_manager) {
  auto handler =
      detail::make_handler<Invoker>(known_types(), std::move(name), std::forward<F>(f), has_state, std::move(options));
  handler->of_manager = of_manager;
  return add_handler(std::move(handler));
}

// Compilers display this line if the options do not fit.
// clang-format off
template <class F>
Subscription EntityRegistry::subscribe(std::string name, F handler, HandlerOptions options) {  // options: {.priority = 1, .before = {"name"}, .after = {"name"}} in this order
  // clang-format on
  using Signature = detail::HandlerSignature<F>;
  if constexpr (detail::is_right_signature<Signature>)
    return add_handler(detail::make_handler(known_types(), std::move(name), std::move(handler), std::move(options)));
  else
    return detail::WrongSignature<Signature>::explain(), Subscription();
}

template <class F>
Subscription Outbox::subscribe(std::string name, F handler, HandlerOptions options) {
  using Signature = detail::HandlerSignature<F>;
  if constexpr (detail::is_right_signature<Signature>)
    return keep(detail::make_handler(types_, std::move(name), std::move(handler), std::move(options)));
  else
    return detail::WrongSignature<Signature>::explain(), Subscription();
}

template <auto function>
// Not for lambdas.
Subscription EntityRegistry::subscribe(std::string name, HandlerOptions options) {
  using Function = std::remove_pointer_t<decltype(function)>;
  using Signature = detail::HandlerSignature<Function>;
  using Constant = detail::ConstantFunction<function>;
  if constexpr (!std::is_function_v<Function>) {
    static_assert(detail::understood<Function>,
                  "a template argument of subscribe must be a function; pass anything else as an argument: "
                  "subscribe(\"game.take_damage\", lambda)");
    std::unreachable();
  } else if constexpr (detail::is_right_signature<Signature>) {
    return add_invoker<typename detail::InvokerOf<Constant, Signature>::type>(std::move(name), Constant{}, false,
                                                                              std::move(options));
  } else {
    return detail::WrongSignature<Signature>::explain(), Subscription();
  }
}

template <class C, class R, class... A>
Subscription EntityRegistry::subscribe(std::string name, C& object, R (C::*member)(A...), HandlerOptions options) {
  if constexpr (detail::is_right_signature<R(A...)>) {
    auto bound = [&object, member](A... arguments) -> R { return (object.*member)(std::forward<A>(arguments)...); };
    using Invoker = typename detail::InvokerOf<decltype(bound), R(A...)>::type;
    return add_invoker<Invoker>(std::move(name), std::move(bound), true, std::move(options),
                                std::is_base_of_v<Manager, C>);
  } else {
    return detail::WrongSignature<R(A...)>::explain(), Subscription();
  }
}

template <class C, class R, class... A>
Subscription EntityRegistry::subscribe(std::string name, const C& object, R (C::*member)(A...) const,
                                       HandlerOptions options) {
  if constexpr (detail::is_right_signature<R(A...)>) {
    auto bound = [&object, member](A... arguments) -> R { return (object.*member)(std::forward<A>(arguments)...); };
    using Invoker = typename detail::InvokerOf<decltype(bound), R(A...)>::type;
    return add_invoker<Invoker>(std::move(name), std::move(bound), true, std::move(options));
  } else {
    return detail::WrongSignature<R(A...)>::explain(), Subscription();
  }
}

template <RuntimeType T>
void EntityRegistry::add_runtime_type(std::function<void(T&, Entity)> restore) {
  check_outside();
  known_types().need<T>();
  if (restore)
    set_restorer(TypeTraits<T>::id,
                 [restore = std::move(restore)](void* value, Entity e) { restore(*static_cast<T*>(value), e); });
}

}  // namespace muster

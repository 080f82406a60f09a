// Stops the program if a handler throws an exception. The program is stopped on the handler's
// thread, with an error that names the handler and the message.
#pragma once

#include <exception>
#include <string_view>
#include <type_traits>

namespace muster {

struct Handler;
class TypesKnown;

[[noreturn]] void handler_threw(const Handler& handler, const TypesKnown& types, std::string_view what) noexcept;

/// Runs `work`, which calls the handler. Stops the program if `work` throws an exception.
template <class Work>
auto guarded(const Handler& handler, const TypesKnown& types, Work&& work) noexcept -> std::invoke_result_t<Work> {
  try {
    return work();
  } catch (const std::exception& error) {
    handler_threw(handler, types, error.what());
  } catch (...) {
    handler_threw(handler, types, "an unknown exception");
  }
}

}  // namespace muster

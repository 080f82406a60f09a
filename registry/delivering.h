// What surrounds every delivery: the registry is marked, the observer told, and what a handler throws ends the program. Private to
// registry/*.cc.
#pragma once

#include <cstdint>
#include <exception>
#include <string_view>

#include "registry/handlers/thrown.h"
#include "registry/observe/clock.h"
#include "registry/registry_impl.h"

namespace muster {

/// To be called where something is caught: what a handler threw is the end of the program.
template <class Impl>
[[noreturn]] void handler_failed(Impl& impl) {
  const Handler* handler = impl.delivery.running();
  try {
    throw;
  } catch (const std::exception& error) {
    if (handler) handler_threw(*handler, impl.types, error.what());
    throw;
  } catch (...) {
    if (handler) handler_threw(*handler, impl.types, "something unknown");
    throw;
  }
}

/// Tells the observer, if there is one, of an input with all it caused.
template <class Impl>
class ObservedInput {
 public:
  ObservedInput(Impl& impl, std::string_view what) : impl_(impl), what_(what), sequence_(impl.sequence) {
    if (impl.counting) [[unlikely]]
      begin_ns_ = steady_ns();
  }
  ~ObservedInput() {
    if (begin_ns_ && impl_.sequence != sequence_) [[unlikely]]
      impl_.observer->add_input(what_, impl_.sequence, begin_ns_);
  }
  ObservedInput(const ObservedInput&) = delete;
  ObservedInput& operator=(const ObservedInput&) = delete;

 private:
  Impl& impl_;
  std::string_view what_;
  std::uint64_t sequence_, begin_ns_ = 0;
};

template <class Impl, class Work>
auto delivering(Impl& impl, std::string_view what, Work&& work) {
  const Delivering mark(impl.delivering);
  const ObservedInput<Impl> input(impl, what);
  try {
    return work();
  } catch (...) {
    handler_failed(impl);
  }
}

}  // namespace muster

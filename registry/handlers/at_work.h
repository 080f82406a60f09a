// Who is being called, for others to look at meanwhile: another thread names a handler that does not return. What the registry's thread
// writes for that it writes in plain stores.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "schema/muster.h"

namespace muster {

struct Handler;

/// A value that one thread uses, and others look at. It costs that thread nothing: its stores are whole, and its reads plain.
template <class T>
class Shown {
 public:
  Shown(T value = {}) noexcept : value_(value) {}
  Shown(const Shown&) noexcept = default;
  Shown& operator=(const Shown& other) noexcept { return *this = other.value_; }
  [[gnu::always_inline]] Shown& operator=(T value) noexcept {
    std::atomic_ref<T>(value_).store(value, std::memory_order_relaxed);
    return *this;
  }
  /// Adds 1.
  [[gnu::always_inline]] void step() noexcept {
    const std::atomic_ref<T> value(value_);
    value.store(value.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// For the thread that writes it.
  [[gnu::always_inline]] T get() const noexcept { return value_; }
  [[gnu::always_inline]] operator T() const noexcept { return value_; }
  /// For all others: one of the values that it had, perhaps not the newest.
  T look() const noexcept { return std::atomic_ref<T>(const_cast<T&>(value_)).load(std::memory_order_relaxed); }

 private:
  static_assert(std::atomic_ref<T>::is_always_lock_free);
  alignas(std::atomic_ref<T>::required_alignment) T value_;
};

/// Who is being called, and what they may do with the registry: handlers and sinks nothing, hooks that restore values read.
/// Any other number is the address of the Handler that a push has called straight.
enum class Inside : std::uint64_t {
  nobody,
  handlers,
  readers
};  // as wide as what RegistryCore::is_quiet() joins it with

inline Inside inside_of(const Handler& handler) noexcept {
  return static_cast<Inside>(reinterpret_cast<std::uintptr_t>(&handler));
}
/// Null where the number is none's address.
inline const Handler* handler_in(Inside inside) noexcept {
  if (inside <= Inside::readers) return nullptr;
  return reinterpret_cast<const Handler*>(static_cast<std::uintptr_t>(inside));  // NOLINT(performance-no-int-to-ptr)
}

/// The call that is going on. Where it is another one by the time that somebody looks, its parts may be of both.
struct AtWork {
  std::uint64_t sequence = 0;  ///< of the last input that was told
  std::string handler = {};    ///< empty: it has no name, or none is being called (the registry works itself)
  std::string message = {};    ///< the type that it handles; empty: none is being called
  Entity entity = {};          ///< for whom; nil: for nobody
  std::uint32_t entities = 1;  ///< so many are gone through in one call, of which `entity` is the first
};

/// What a worker of a pass is doing.
struct WorkerCall {
  Shown<const Handler*> handler;  ///< null: nothing
  Shown<std::uint64_t> entity;    ///< bits of the task's first; 0: it has none
  Shown<std::uint32_t> entities;  ///< of the task
};

}  // namespace muster

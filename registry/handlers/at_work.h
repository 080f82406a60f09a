// Publishes which handler is being called, so that another thread can name a handler that does not
// return. The registry's thread publishes the handler with plain stores.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "schema/muster.h"

namespace muster {

struct Handler;

/// A value that one thread writes and other threads may read. The writing thread incurs no extra
/// cost: its stores are never torn, and its own reads are plain reads.
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
  /// Increments the value.
  [[gnu::always_inline]] void step() noexcept {
    const std::atomic_ref<T> value(value_);
    value.store(value.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// Returns the current value. May be called only on the writing thread.
  [[gnu::always_inline]] T get() const noexcept { return value_; }
  [[gnu::always_inline]] operator T() const noexcept { return value_; }
  /// Returns the current value or an earlier one. May be called on any thread except the writing
  /// thread.
  T look() const noexcept { return std::atomic_ref<T>(const_cast<T&>(value_)).load(std::memory_order_relaxed); }

 private:
  static_assert(std::atomic_ref<T>::is_always_lock_free);
  alignas(std::atomic_ref<T>::required_alignment) T value_;
};

/// The kind of code that is being called. Handlers and sinks must not use the registry; hooks that
/// restore values may read it. Any other value is the address of a Handler that a push called
/// directly.
enum class Inside : std::uint64_t {
  nobody,
  handlers,
  readers
};  // must be as wide as the values with which is_quiet() combines it

inline Inside inside_of(const Handler& handler) noexcept {
  return static_cast<Inside>(reinterpret_cast<std::uintptr_t>(&handler));
}
/// Returns null if the value is not the address of a handler.
inline const Handler* handler_in(Inside inside) noexcept {
  if (inside <= Inside::readers) return nullptr;
  return reinterpret_cast<const Handler*>(static_cast<std::uintptr_t>(inside));  // NOLINT(performance-no-int-to-ptr)
}

/// The current call. If the current call changes while it is being read, the result may combine
/// parts of the old and new calls.
struct AtWork {
  std::uint64_t sequence = 0;  ///< sequence number of the most recent input that sinks have seen

  /// Name of the handler. Empty if the handler has no name, or if no handler is being called
  /// because the registry itself is working.
  std::string handler = {};
  std::string message = {};  ///< message type of the handler; empty if none is being called
  Entity entity = {};        ///< entity for which the handler is called, or nil

  /// Number of entities covered by this call; `entity` is the first of them.
  std::uint32_t entities = 1;
};

/// The current activity of a worker of a pass.
struct WorkerCall {
  Shown<const Handler*> handler;  ///< null if idle
  Shown<std::uint64_t> entity;    ///< bits of the task's first entity, or 0
  Shown<std::uint32_t> entities;  ///< number of entities in the task
};

}  // namespace muster

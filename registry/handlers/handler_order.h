// The order in which a message's handlers run: before/after, then priority, name, part and ordinal.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "registry/handlers/handler.h"

namespace muster {

/// A mistake in setting up a registry: a contradictory order, a duplicate name, or a type whose
/// layout differs.
class SetupError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Does not own the handlers. Usually no other handler waits for a new one, which is then inserted
/// without moving the others. Otherwise the order is computed anew, in O(n log n) for the handlers
/// and the names they refer to.
class HandlerOrder {
 public:
  auto begin() const noexcept { return order_.begin(); }
  auto end() const noexcept { return order_.end(); }
  std::size_t size() const noexcept { return order_.size(); }
  Handler* operator[](std::size_t i) const noexcept { return order_[i]; }
  /// True if a handler has this name.
  bool has(std::string_view name) const;

  /// Returns the handler's place, or no value if others may have moved. If the order is cyclic,
  /// adds nothing and throws a SetupError that names the handlers of the cycle.
  std::optional<std::size_t> add(Handler& handler);
  /// Removes the handler, and returns its former place, or no value if others may have moved.
  std::optional<std::size_t> remove(Handler& handler);

  /// Handlers compared and edges followed so far. Used by tests of complexity.
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  /// Counts the references of handlers to a name.
  struct Named {
    std::uint32_t there = 0;          // handlers that have it
    std::uint32_t run_before_it = 0;  // requests to run before it
    std::uint32_t run_after_it = 0;
    bool unused() const noexcept { return there + run_before_it + run_after_it == 0; }
  };
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept { return std::hash<std::string_view>{}(name); }
  };
  const Named* find(std::string_view name) const;
  void note(const Handler& handler);
  void forget(const Handler& handler);
  bool comes_first(const Handler& a, const Handler& b) noexcept;
  /// True if another handler in the order must wait for this one.
  bool is_waited_for(const Handler& handler) const;
  /// The earliest possible place for a handler that no other waits for.
  std::size_t first_place(const Handler& handler);
  /// Orders these handlers, which are sorted by everything but before/after.
  std::vector<Handler*> ordered(const std::vector<Handler*>& sorted);

  std::vector<Handler*> sorted_;  // ignoring before/after
  std::vector<Handler*> order_;
  bool is_sorted_ = true;  // sorted_ equals order_
  std::unordered_map<std::string, Named, NameHash, std::equal_to<>> names_;
  std::uint64_t steps_ = 0;
};

}  // namespace muster

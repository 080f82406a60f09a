// The order in which a message's handlers run, based on before/after, then on priority, name, part,
// and ordinal.
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

/// An error in the setup of a registry, such as a contradictory order, a duplicate name, or a type
/// with a different layout.
class SetupError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Does not own the handlers. Usually, no other handler has to wait for a new one, which can then
/// be inserted without moving the others. Otherwise, the order is recomputed in O(n log n) time,
/// where n counts the handlers and the names to which they refer.
class HandlerOrder {
 public:
  auto begin() const noexcept { return order_.begin(); }
  auto end() const noexcept { return order_.end(); }
  std::size_t size() const noexcept { return order_.size(); }
  Handler* operator[](std::size_t i) const noexcept { return order_[i]; }
  /// True if any handler has this name.
  bool has(std::string_view name) const;

  /// Adds the handler and returns its place, or no value if other handlers may have moved. If the
  /// order is cyclic, adds nothing and throws a SetupError that names the handlers in the cycle.
  std::optional<std::size_t> add(Handler& handler);
  /// Removes the handler. Returns its former place, or no value if other handlers may have moved.
  std::optional<std::size_t> remove(Handler& handler);

  /// Draws the order of handlers that before, after and priority leave open from `seed`, unless it
  /// is 0. Must be called before handlers are added.
  void shuffle(std::uint64_t seed) noexcept { seed_ = seed; }

  /// Returns the number of handlers compared and edges followed so far. Used by complexity tests.
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  /// Counts the handlers that refer to a name.
  struct Named {
    std::uint32_t there = 0;          // handlers with this name
    std::uint32_t run_before_it = 0;  // handlers that must run before it
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
  /// Returns the number that decides the order of a handler if the order is drawn.
  std::uint64_t drawn(const Handler& handler) const noexcept;
  bool comes_first(const Handler& a, const Handler& b) noexcept;
  /// True if another handler in the order has to wait for this one.
  bool is_waited_for(const Handler& handler) const;
  /// Returns the earliest possible place for a handler for which no other handler waits.
  std::size_t first_place(const Handler& handler);
  /// Puts handlers in order. The handlers must already be sorted by all criteria except
  /// before/after.
  std::vector<Handler*> ordered(const std::vector<Handler*>& sorted);

  std::vector<Handler*> sorted_;  // ignoring before/after
  std::vector<Handler*> order_;
  bool is_sorted_ = true;  // true if sorted_ equals order_
  std::unordered_map<std::string, Named, NameHash, std::equal_to<>> names_;
  std::uint64_t steps_ = 0, seed_ = 0;
};

}  // namespace muster

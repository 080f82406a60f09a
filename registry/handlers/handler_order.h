// The order in which the handlers of one message run: before/after, then priority, then name, part and ordinal.
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

/// A mistake made while a registry is set up: contradicting order, a name used twice, a type whose layout differs.
class SetupError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Handlers stay the caller's. One that no other has to wait for, as most are, is put in its place among the others, which
/// stay where they are; otherwise the order is found anew, in steps that grow with the handlers and what they name, times
/// the logarithm of their number.
class HandlerOrder {
 public:
  auto begin() const noexcept { return order_.begin(); }
  auto end() const noexcept { return order_.end(); }
  std::size_t size() const noexcept { return order_.size(); }
  Handler* operator[](std::size_t i) const noexcept { return order_[i]; }
  /// Whether a handler has this name.
  bool has(std::string_view name) const;

  /// The handler's place; nothing where others may have changed theirs. Throws SetupError naming the handlers of a circle,
  /// and adds nothing.
  std::optional<std::size_t> add(Handler& handler);
  /// The place that it had; nothing where others may have changed theirs.
  std::optional<std::size_t> remove(Handler& handler);

  /// Handlers compared and edges between them followed so far: what growth is tested by.
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  /// What is said of a name.
  struct Named {
    std::uint32_t there = 0;          // handlers that have it
    std::uint32_t run_before_it = 0;  // times that a handler asks to
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
  /// Whether some handler that is there, itself not counted, must wait for it.
  bool is_waited_for(const Handler& handler) const;
  /// After which place a handler that no other waits for may come at the earliest.
  std::size_t first_place(const Handler& handler);
  /// Of these, which are in the order of everything but before/after.
  std::vector<Handler*> ordered(const std::vector<Handler*>& sorted);

  std::vector<Handler*> sorted_;  // without regard to before/after
  std::vector<Handler*> order_;
  bool is_sorted_ = true;  // the two are the same
  std::unordered_map<std::string, Named, NameHash, std::equal_to<>> names_;
  std::uint64_t steps_ = 0;
};

}  // namespace muster

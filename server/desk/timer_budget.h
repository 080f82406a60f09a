// What the messages that sessions left for later will cost when they are due, and hold until then. An edit is costed before it
// enters the world; one that is timed enters it later, perhaps together with many others.
#pragma once

#include <cstdint>
#include <map>

#include "registry/entity_registry.h"

namespace muster {

/// Owner's thread, between inputs. What is cancelled counts until it would have been due.
class TimerBudget {
 public:
  /// Timers that are due within one such span of time are delivered together. ns.
  static constexpr std::uint64_t span_ns = 16'000'000;

  explicit TimerBudget(const EntityRegistry& registry);

  struct Due {
    std::uint64_t steps = 0, bytes = 0;
  };
  /// What is due in the span of `due_ns`; what should have been before is due now.
  Due due_with(std::uint64_t due_ns);
  /// Of all that wait.
  std::uint64_t bytes();
  void add(std::uint64_t due_ns, Due due);

 private:
  std::uint64_t span_of(std::uint64_t due_ns) const;
  /// Forgets what is over.
  void pass();

  const EntityRegistry& registry_;
  std::map<std::uint64_t, Due> spans_;
  std::uint64_t bytes_ = 0;
};

}  // namespace muster

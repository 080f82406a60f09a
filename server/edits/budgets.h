// Counts the permanent objects that sessions add to the world: timed messages, rows, and templates.
// The cost of most edits is computed immediately before they are applied, but a timed message is
// delivered later, possibly together with many others.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "messages/batch.h"
#include "registry/entity_registry.h"

namespace muster {

/// Tracks the cost that timed messages will incur when they become due, and the memory that they
/// use until then. A cancelled message continues to count until the time at which it would have
/// been due. Must be used only on the world thread, between inputs.
class TimerBudget {
 public:
  /// Length of an interval in ns. Timers that are due within the same interval are delivered
  /// together.
  static constexpr std::uint64_t span_ns = 16'000'000;

  explicit TimerBudget(const EntityRegistry& registry);

  struct Due {
    std::uint64_t steps = 0, bytes = 0;
  };
  /// Returns the total cost of the messages that are due in the interval that contains `due_ns`.
  /// Overdue messages count as due now.
  Due due_with(std::uint64_t due_ns);
  /// Returns the total size of all pending messages in bytes.
  std::uint64_t bytes();
  void add(std::uint64_t due_ns, Due due);

 private:
  std::uint64_t span_of(std::uint64_t due_ns) const;
  /// Removes messages that are no longer pending.
  void pass();

  const EntityRegistry& registry_;
  std::map<std::uint64_t, Due> spans_;
  std::uint64_t bytes_ = 0;
};

/// Returns the size of a template's FlatBuffer in bytes.
std::uint64_t template_bytes(const EntityRegistry& registry, std::string_view name);

/// Tracks the total size of the rows and templates in the world. Counting them all takes longer
/// than applying most edits. This class therefore maintains an upper bound, which is the result of
/// the previous count plus all later additions. Must be used only on the world thread, between
/// inputs.
class WorldBudget {
 public:
  explicit WorldBudget(const EntityRegistry& registry) : registry_(registry) {}

  /// Returns true if the world's rows (ids, parents, and component values) would exceed `max` bytes
  /// after adding `more` bytes. Rows created by handlers may be counted late.
  bool rows_exceed(std::uint64_t more, std::uint64_t max);
  /// Returns true if the world's templates would exceed `max` bytes after adding `more` bytes and
  /// removing `less` bytes of replaced templates.
  bool templates_exceed(std::uint64_t more, std::uint64_t less, std::uint64_t max);
  /// Adds the size of rows and templates that have entered the world.
  void add(std::uint64_t rows, std::uint64_t templates) {
    rows_ += rows;
    templates_ += templates;
  }

  std::uint64_t rows() const noexcept { return rows_; }
  std::uint64_t templates() const noexcept { return templates_; }
  /// Returns the number of steps that the previous rows_exceed() or templates_exceed() spent on
  /// counting; see server/session/steps.h.
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  static constexpr std::uint32_t questions_max = 64;  // number of calls between two counts of rows
  const EntityRegistry& registry_;
  std::uint64_t rows_ = ~std::uint64_t{0} / 2, templates_ = rows_;  // not counted yet
  std::uint32_t questions_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace muster

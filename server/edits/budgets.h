// Counts the lasting objects that sessions add to the world: timed messages, rows and templates.
// The cost of most edits is computed before they enter the world, but a timed message enters later,
// perhaps together with many others.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "messages/batch.h"
#include "registry/entity_registry.h"

namespace muster {

/// Tracks the cost of timed messages when they become due, and their memory until then. A cancelled
/// message counts until it would have been due. World thread, between inputs.
class TimerBudget {
 public:
  /// Width of a span of time, in ns. Timers that are due within the same span are delivered
  /// together.
  static constexpr std::uint64_t span_ns = 16'000'000;

  explicit TimerBudget(const EntityRegistry& registry);

  struct Due {
    std::uint64_t steps = 0, bytes = 0;
  };
  /// Returns the cost of messages due in the span of `due_ns`; overdue messages are due now.
  Due due_with(std::uint64_t due_ns);
  /// Returns the bytes of all waiting messages.
  std::uint64_t bytes();
  void add(std::uint64_t due_ns, Due due);

 private:
  std::uint64_t span_of(std::uint64_t due_ns) const;
  /// Forgets messages that are no longer waiting.
  void pass();

  const EntityRegistry& registry_;
  std::map<std::uint64_t, Due> spans_;
  std::uint64_t bytes_ = 0;
};

/// Returns the size of a template's FlatBuffer in bytes.
std::uint64_t template_bytes(const EntityRegistry& registry, std::string_view name);

/// Tracks the bytes of rows and templates in the world. Counting all of them costs more than most
/// edits, so this class maintains an upper bound: the last count plus later additions. World
/// thread, between inputs.
class WorldBudget {
 public:
  explicit WorldBudget(const EntityRegistry& registry) : registry_(registry) {}

  /// Returns true if the world's rows (ids, parents and values of components) would exceed `max`
  /// bytes with `more` bytes added. Rows made by handlers may be counted late.
  bool rows_exceed(std::uint64_t more, std::uint64_t max);
  /// Returns true if the world's templates would exceed `max` bytes with `more` bytes added and
  /// `less` bytes of replaced templates removed.
  bool templates_exceed(std::uint64_t more, std::uint64_t less, std::uint64_t max);
  /// Adds rows that came into the world.
  void add(std::uint64_t rows, std::uint64_t templates) {
    rows_ += rows;
    templates_ += templates;
  }

  std::uint64_t rows() const noexcept { return rows_; }
  std::uint64_t templates() const noexcept { return templates_; }
  /// Returns the steps that the last rows_exceed() or templates_exceed() spent on counting; see
  /// server/session/steps.h.
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  static constexpr std::uint32_t questions_max = 64;  // between two counts of rows
  const EntityRegistry& registry_;
  std::uint64_t rows_ = ~std::uint64_t{0} / 2, templates_ = rows_;  // not counted yet
  std::uint32_t questions_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace muster

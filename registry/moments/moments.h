// Moments of a living registry, kept in memory, to which it can return.
//
//   Moments ring(registry, 64 << 20);
//   const auto before = ring.keep();             the state as it is now
//   registry.push(Update{.dt = 1.f / 60});       changed columns are copied before their first change
//   ring.return_to(*before);                     they are copied back; ids, rows, hash are as they were
//
// A moment contains everything that is saved and hashed. Keeping one costs a few microseconds, plus
// a look at the pages of ids that have changed since the moment before. The first write to a column
// after a moment copies the column, and returning copies back what has changed since, each column
// once. Neither depends on the number of entities. While any moment is kept, the ring also needs 8
// bytes per id and 4 bytes per free id, which do not count toward the limit.
//
// Rules:
//
// - Returning is not an input, and no sink sees it. The sequence, the clock, and all numbers that
//   are part of the state return, so the same inputs have the same results again, new ids included.
// - Handlers, subscriptions, their ids, sinks, lanes with their batches, the executor, component
//   types, and schemas stay. An archetype of a component type that was registered after the moment
//   leaves with the rows that use it; the type stays.
// - Values of runtime components stay with their entities. If an entity, or its component, comes
//   back, its value is default-constructed and the restore hook is called, in row order.
// - Managers return by Manager::return_to(). A manager that cannot do this prevents keep(). If
//   managers were added or removed since, returning is refused.
// - Loading or swapping the state ends all moments, and so does the return to a moment of another
//   ring of the same registry.
// - Saves and watches that run go on: for them, returning is a change like any other, and version()
//   never goes back. A journal of inputs must begin again with a new checkpoint, as after a load.
// - Texts that were added after the moment are unknown again, even those passed to intern().
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>

namespace muster {

class EntityRegistry;

/// Names a moment of a ring. Copies name the same moment. Remains valid as a value when the moment
/// is dropped; return_to() then says why it is gone.
class Moment {
 public:
  /// A moment of no ring.
  Moment() = default;
  /// Counts the moments of the ring. Never reused.
  std::uint64_t number() const noexcept { return number_; }
  friend bool operator==(const Moment&, const Moment&) = default;

 private:
  friend class Moments;
  Moment(std::shared_ptr<const void> ring, std::uint64_t number) noexcept : ring_(std::move(ring)), number_(number) {}
  std::shared_ptr<const void> ring_;
  std::uint64_t number_ = 0;
};

/// The moments of a registry, oldest first. Used on the registry's thread, and never inside a
/// handler: that stops the program. Must be destroyed before the registry. While no moment is kept,
/// the registry does no work for it.
class Moments {
 public:
  /// `bytes_max` limits the memory for what moments copy. If it is exceeded, the oldest moments are
  /// dropped, possibly all of them; see dropped().
  Moments(EntityRegistry& registry, std::size_t bytes_max);
  ~Moments();
  Moments(const Moments&) = delete;
  Moments& operator=(const Moments&) = delete;

  /// Keeps the current state. Fails without effect if a manager cannot keep its state, or if a
  /// handler has asked to subscribe or end a handler and the request is pending. The error is a
  /// sentence, which names the manager.
  [[nodiscard]] std::expected<Moment, std::string> keep();
  /// Returns the registry to a moment. The moment stays, and all later ones are dropped.
  /// Invalidates all pointers into the registry. Fails without effect if the moment is gone or
  /// belongs to another ring, if managers were added or removed since, or if a request of a handler
  /// is pending. The error is a sentence that says so. An exception from a restore hook stops the
  /// program.
  [[nodiscard]] std::expected<void, std::string> return_to(const Moment& moment);
  /// Drops the moments before this one. Has no effect if the moment is gone.
  void forget_before(const Moment& moment);
  /// Drops all moments.
  void clear();

  /// Returns the number of moments.
  std::size_t size() const noexcept;
  /// Returns the number of bytes that count toward the limit.
  std::size_t bytes() const noexcept;
  /// Returns the number of bytes of the copy of all ids, which do not count toward the limit.
  std::size_t id_bytes() const noexcept;
  /// Returns the number of moments that were dropped because of the limit, including those that
  /// followed a dropped one.
  std::uint64_t dropped() const noexcept;
  /// Returns the number of bytes that the most recent return copied into columns.
  std::uint64_t copied() const noexcept;

 private:
  class Ring;
  EntityRegistry& registry_;
  std::unique_ptr<Ring> ring_;
};

/// While this object exists, inputs of the registry are quiet: no InputSink and no PushedSink sees
/// them, handlers with HandlerOptions::skip_when_repeated are not called, and lines of the game's
/// log are dropped. Intended for ticks that are done again after a return, which were already
/// shown. Sinks that are added meanwhile are not called before the end, either. The log of edits is
/// still called, because a Step needs it.
/// Must be created and destroyed on the registry's thread, outside handlers, and before the
/// registry is destroyed. May be nested.
class QuietInputs {
 public:
  explicit QuietInputs(EntityRegistry& registry);
  ~QuietInputs();
  QuietInputs(const QuietInputs&) = delete;
  QuietInputs& operator=(const QuietInputs&) = delete;

 private:
  EntityRegistry& registry_;
};

}  // namespace muster

// Drops unused texts from the world: texts that no row contains and that no connected session may
// use.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "registry/entity_registry.h"
#include "server/session/server_limits.h"
#include "server/session/session.h"

namespace muster {

/// Visits the world's texts once, piece by piece. World thread, between inputs; each piece is an
/// input. A piece cannot be cut into steps, because it examines all rows that hold texts, so it is
/// seldom work.
class TextSweep {
 public:
  TextSweep(EntityRegistry& registry, std::size_t at_once = 10'000) : registry_(registry), at_once_(at_once) {}

  /// Makes the world drop the next texts, except those that a session has sent or received or that
  /// the host keeps. Returns false after the last texts.
  bool go_on(std::span<const std::shared_ptr<Session>> sessions);
  std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  EntityRegistry& registry_;
  const std::size_t at_once_;
  std::size_t next_ = 0;  // position of the next text
  std::uint64_t dropped_ = 0;
};

/// Sweeps when the world's texts exceed half of the limit for sessions, and again each time they
/// have grown by an eighth of that limit.
class TextKeeper {
 public:
  TextKeeper(EntityRegistry& registry, const ServerLimits& limits);

  bool wanted() noexcept;
  void go_on(std::span<const std::shared_ptr<Session>> sessions);

 private:
  EntityRegistry& registry_;
  const ServerLimits& limits_;
  std::uint64_t count_due_, bytes_due_;  // numbers that start the next sweep
  std::unique_ptr<TextSweep> sweep_;     // null if no sweep is in progress
};

}  // namespace muster

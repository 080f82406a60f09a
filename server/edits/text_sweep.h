// Drops interned texts that no row contains and that no connected session may use.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "registry/entity_registry.h"
#include "server/session/server_limits.h"
#include "server/session/session.h"

namespace muster {

/// Visits the world's texts once, piece by piece. Must be used on the world thread, between inputs.
/// Each piece is an input of its own. A piece examines all rows that contain texts and therefore
/// cannot be divided into steps, so it counts as seldom work (server/questions/seldom.h).
class TextSweep {
 public:
  TextSweep(EntityRegistry& registry, std::size_t at_once = 10'000) : registry_(registry), at_once_(at_once) {}

  /// Makes the world drop the next few texts, except those that a session has sent or received and
  /// those that the host keeps. Returns false once all texts have been visited.
  bool go_on(std::span<const std::shared_ptr<Session>> sessions);
  std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  EntityRegistry& registry_;
  const std::size_t at_once_;
  std::size_t next_ = 0;  // position of the next text
  std::uint64_t dropped_ = 0;
};

/// Starts a sweep when the world's texts exceed half of the limit for sessions. Starts another
/// sweep each time the texts have grown by a further eighth of that limit.
class TextKeeper {
 public:
  TextKeeper(EntityRegistry& registry, const ServerLimits& limits);

  bool wanted() noexcept;
  void go_on(std::span<const std::shared_ptr<Session>> sessions);

 private:
  EntityRegistry& registry_;
  const ServerLimits& limits_;
  std::uint64_t count_due_, bytes_due_;  // values at which the next sweep starts
  std::unique_ptr<TextSweep> sweep_;     // null if no sweep is in progress
};

}  // namespace muster

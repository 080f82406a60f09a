// Makes the world forget unused texts: those that it does not contain and no connected session may
// use.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "registry/entity_registry.h"
#include "server/session/server_limits.h"
#include "server/session/session.h"

namespace muster {

/// Goes once through the world's texts, piece by piece. Owner's thread, between inputs; each piece
/// is an input. It is not cut into steps: a piece looks at all rows that hold texts, so it is done
/// seldom.
class TextSweep {
 public:
  TextSweep(EntityRegistry& registry, std::size_t at_once = 10'000) : registry_(registry), at_once_(at_once) {}

  /// The next texts: those that no session has been sent or made known, and the host does not keep,
  /// the world is asked to drop. False: these were the last.
  bool go_on(std::span<const std::shared_ptr<Session>> sessions);
  std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  EntityRegistry& registry_;
  const std::size_t at_once_;
  std::size_t next_ = 0;  // place of the next text
  std::uint64_t dropped_ = 0;
};

/// Sweeps where the world's texts pass half of what sessions may bring it to, and again when they
/// have grown by an eighth of that since.
class TextKeeper {
 public:
  TextKeeper(EntityRegistry& registry, const ServerLimits& limits);

  bool wanted() noexcept;
  void go_on(std::span<const std::shared_ptr<Session>> sessions);

 private:
  EntityRegistry& registry_;
  const ServerLimits& limits_;
  std::uint64_t count_due_, bytes_due_;  // how many begin the next sweep
  std::unique_ptr<TextSweep> sweep_;     // null: none is under way
};

}  // namespace muster

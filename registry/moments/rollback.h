// Makes ticks of a game whose inputs arrive late, and makes them again when an input has come.
//
//   Rollback rollback(registry, [&](std::uint64_t tick) { push_inputs_of(tick); push_update(); });
//   rollback.changed(118);     the input of another player differs from what was assumed
//   rollback.confirm(118);     all inputs through this tick are known
//   rollback.advance();        makes 118 and later ticks again, and then the next one
//   rollback.checksum(118);    the same for all players, or they have diverged
//
// docs/rollback.md has the loop of a game.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <optional>
#include <string>

#include "registry/moments/moments.h"

namespace muster {

class EntityRegistry;

/// Used on the registry's thread, and never inside a handler. Must be destroyed before the
/// registry. Between advance() and redo(), the host must not change the registry except in
/// MakeTick; it may read it.
class Rollback {
 public:
  struct Options {
    /// Limit on the ticks that are not confirmed. If there are as many, advance() fails, so that
    /// the players who are ahead wait for the others.
    std::uint32_t unconfirmed_max = 30;
    /// Limit on the memory for copies of what ticks change; see Moments.
    std::size_t bytes_max = std::size_t{64} << 20;
    /// Every tick whose number can be divided by this number gets a checksum; 0 means none. A
    /// checksum is a hash of the whole state.
    std::uint32_t checksum_every = 1;
    /// Number of checksums that are kept, the newest ones.
    std::uint32_t checksums_max = 256;
  };
  /// Pushes the inputs of a tick that are known, or assumed, and everything else that belongs to
  /// the tick. All players must push the same inputs in the same order.
  using MakeTick = std::function<void(std::uint64_t tick)>;

  Rollback(EntityRegistry& registry, MakeTick make);
  Rollback(EntityRegistry& registry, MakeTick make, Options options);
  ~Rollback();
  Rollback(const Rollback&) = delete;
  Rollback& operator=(const Rollback&) = delete;

  /// Returns the number of ticks that were made. The first tick is tick 1.
  std::uint64_t tick() const noexcept { return tick_; }
  std::uint64_t confirmed() const noexcept { return confirmed_; }
  /// True if advance() would fail because too many ticks are not confirmed.
  bool must_wait() const noexcept { return tick_ >= confirmed_ + options_.unconfirmed_max; }

  /// Notes that a tick which was made had other inputs than those that are known now. Ticks that
  /// were not made yet are ignored. Stops the program if the tick is confirmed.
  void changed(std::uint64_t tick);
  /// Notes that all inputs through this tick are known and will not change. Ticks that were not
  /// made yet may be confirmed too.
  void confirm(std::uint64_t through);
  /// Makes the ticks again from the first that changed() named, without sinks and handlers with
  /// skip_when_repeated. Does nothing if there is none. Fails if the moment before that tick is
  /// gone, because moments needed more memory than Options::bytes_max, and for the reasons of
  /// Moments::return_to(); the state is then unchanged. If a tick cannot be kept or throws, the
  /// state is the one before that tick, and the next call begins again with the first one. The
  /// error is a sentence. An exception of MakeTick or of a handler is passed on.
  [[nodiscard]] std::expected<void, std::string> redo();
  /// Calls redo(), and makes the next tick. Fails without effect if must_wait(), for the reasons of
  /// redo(), and for those of Moments::keep(). The error is a sentence.
  [[nodiscard]] std::expected<void, std::string> advance();

  /// Returns the hash of the state after the tick. Returns no value if the tick is not confirmed,
  /// has to be made again, has no checksum, or is too old.
  std::optional<std::uint64_t> checksum(std::uint64_t tick) const noexcept;
  /// Returns the number of ticks that were made again so far.
  std::uint64_t redone() const noexcept { return redone_; }
  /// Returns the memory for copies of what ticks change, in bytes.
  std::size_t bytes() const noexcept { return ring_.bytes(); }

 private:
  struct Checksum {
    std::uint64_t tick, hash;
  };
  /// Keeps the state before the tick.
  std::expected<void, std::string> keep(std::uint64_t tick);
  /// Makes the tick. If that throws, returns to the state before it.
  void make(std::uint64_t tick);
  /// Drops the moments that are not needed any longer.
  void forget();

  EntityRegistry& registry_;
  const MakeTick make_;
  const Options options_;
  Moments ring_;
  std::deque<Moment> before_;  // the moments before the ticks from first_ on
  std::uint64_t first_ = 1;    // the tick of before_.front()
  std::uint64_t tick_ = 0, confirmed_ = 0, redone_ = 0;
  std::uint64_t changed_ = ~std::uint64_t{0};  // the first tick to make again
  std::deque<Checksum> checksums_;             // ascending by tick
};

}  // namespace muster

// Valid frames of every kind, damaged at random.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "messages/session.h"
#include "schema/muster.h"
#include "tests/server/arena.h"

namespace muster::testing {

/// What is in the world that frames can be about.
struct Targets {
  std::vector<Entity> alive;
  std::vector<Entity> granted;
  Text text;
};

class FrameMutator {
 public:
  explicit FrameMutator(std::uint32_t seed) : random_(seed) {}
  /// The next damaged frame; valid until the next call. One seed gives one series, as far as the targets are the same.
  std::span<const std::byte> next(const Targets& targets);

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  bool chance(std::uint32_t percent) { return below(100) < percent; }
  std::uint32_t odd_number();
  Entity someone(const Targets& targets);
  void world_message(BatchBuilder& out, const Targets& targets);
  void structure_message(BatchBuilder& out, const Targets& targets);
  void step(BatchBuilder& out, const Targets& targets);
  void session_message(BatchBuilder& out, const Targets& targets);
  /// True: the frame's length was meant to be wrong.
  bool damage();
  void put_u32(std::size_t at, std::uint32_t value);

  std::mt19937_64 random_;
  std::vector<std::byte> frame_;
};

}  // namespace muster::testing

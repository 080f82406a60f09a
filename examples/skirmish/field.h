// Where the squads of both sides are during one pass, so that the nearest enemy is found without
// looking at all of them. Made anew from components in every pass and not used outside of it: it
// carries nothing from one to the next.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schema/skirmish.h"

namespace skirmish {

class Field {
 public:
  void clear() noexcept { seen_.clear(); }
  void add(Team team, muster::Entity squad, const scene::Vec3& at) {
    seen_.push_back({squad, at.x, at.z, cell_of(at.x), cell_of(at.z), team});
  }
  /// After the last add and before the first question.
  void sort();
  /// The nearest squad of the other team on the ground plane, the smaller id of two equally near;
  /// nil if none is within `range` metres.
  muster::Entity nearest_enemy(Team own, const scene::Vec3& at, float range) const noexcept;

 private:
  struct Seen {
    muster::Entity squad;
    float x, z;
    std::int32_t cell_x, cell_z;
    Team team;
  };
  static constexpr float cell_m = 16;
  static constexpr std::uint32_t buckets = 8192;  // half of them for each team
  static std::int32_t cell_of(float metres) noexcept;
  static std::uint32_t bucket(Team team, std::int32_t cell_x, std::int32_t cell_z) noexcept {
    const std::uint32_t mixed =
        static_cast<std::uint32_t>(cell_x) * 73856093u ^ static_cast<std::uint32_t>(cell_z) * 19349663u;
    return (mixed & (buckets / 2 - 1)) + (team == Team::red ? 0 : buckets / 2);
  }

  std::vector<Seen> seen_;    // in row order
  std::vector<Seen> sorted_;  // by bucket, in row order within one
  std::array<std::uint32_t, buckets + 1> starts_{};
};

}  // namespace skirmish

// The rules of a battle of 100,000 units, without any way of keeping them: numbers, who rolls what, where squads go, and the grid in
// which units look for foes. Whoever plays by them ends with the same Summary, in whatever order rows lie.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace battle {

constexpr std::uint32_t squads = 2000, units_per_squad = 50, ticks_max = 600;
constexpr std::uint32_t look_every = 16;  ///< ticks
constexpr std::uint32_t replacement_step = 1'000'000;
constexpr float tick_s = 1.0f / 60, speed = 2.0f, reach = 5.0f, full_health = 200;

/// The same for the same unit and count everywhere.
inline std::uint32_t roll(std::uint32_t who, std::uint32_t count) noexcept {
  std::uint32_t x = who * 0x9e3779b1u ^ count * 0xc2b2ae35u;
  x = (x ^ x >> 15) * 0x2c1b3c6du;
  x = (x ^ x >> 12) * 0x297a2d39u;
  return x ^ x >> 15;
}
/// In ticks.
inline std::uint32_t cooldown(std::uint32_t serial, std::uint32_t shots) noexcept {
  return 20 + roll(serial, shots * 2 + 1) % 20;
}
inline std::uint32_t first_cooldown(std::uint32_t serial) noexcept { return roll(serial, 0) % 60; }
/// Whole numbers, and armour halves them: sums are exact in any order.
inline float strength(std::uint32_t serial, std::uint32_t shots) noexcept {
  return static_cast<float>(10 + roll(serial, shots * 2) % 10);
}
constexpr float armour_factor = 0.5f;
inline bool is_armoured(std::uint32_t serial) noexcept { return roll(serial % replacement_step, 5) % 4 == 0; }
/// Whether another unit comes in the place of one that fell, with a serial that is replacement_step higher.
inline bool is_replaced(std::uint32_t serial) noexcept { return roll(serial, 77) % 100 == 0; }

struct Point {
  float x, y;
};
inline Point home(std::uint32_t squad) noexcept {
  constexpr std::uint32_t lattice = 45;
  return {static_cast<float>(squad % lattice) * 12, static_cast<float>(squad / lattice) * 12};
}
inline Point goal(std::uint32_t squad, std::uint32_t leg) noexcept {
  const Point at = home(squad);
  return {at.x + static_cast<float>(roll(squad, leg * 2) % 40) - 20,
          at.y + static_cast<float>(roll(squad, leg * 2 + 1) % 40) - 20};
}
/// Of a unit, from its squad's place.
inline Point offset(std::uint32_t unit) noexcept {
  return {static_cast<float>(unit % 10) - 4.5f, static_cast<float>(unit / 10) - 2.0f};
}
/// One step towards the goal; true where it is reached.
inline bool step(float& x, float& y, float goal_x, float goal_y) noexcept {
  const float dx = goal_x - x, dy = goal_y - y, left = dx * dx + dy * dy, far = speed * tick_s;
  if (left <= far * far) {
    x = goal_x;
    y = goal_y;
    return true;
  }
  const float part = far / std::sqrt(left);
  x += dx * part;
  y += dy * part;
  return false;
}

/// Who stands where, by cells. Finds the nearest of the other side; of two equally near, the one with the smaller serial.
template <class Id>
class Grid {
 public:
  void clear() noexcept { seen_.clear(); }
  void add(std::uint32_t side, std::uint32_t serial, float x, float y, Id id) {
    seen_.push_back({x, y, serial, side * cells * cells + cell(y) * cells + cell(x), id});
  }
  /// To be called when all were added, before nearest().
  void sort() {
    starts_.assign(2 * cells * cells + 1, 0);
    for (const Seen& s : seen_) ++starts_[s.cell + 1];
    for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
    sorted_.resize(seen_.size());
    places_ = starts_;
    for (const Seen& s : seen_) sorted_[places_[s.cell]++] = s;
  }
  /// Id{} where none is in reach.
  Id nearest(std::uint32_t own_side, float x, float y) const noexcept {
    const std::uint32_t cx = cell(x), cy = cell(y), side = (1 - own_side) * cells * cells;
    float best = reach * reach;
    std::uint32_t serial = ~0u;
    Id found{};
    for (std::uint32_t row = cy ? cy - 1 : 0; row <= std::min(cy + 1, cells - 1); ++row) {
      const std::uint32_t first = side + row * cells + (cx ? cx - 1 : 0);
      const std::uint32_t last = side + row * cells + std::min(cx + 1, cells - 1);
      for (std::uint32_t i = starts_[first]; i < starts_[last + 1]; ++i) {
        const Seen& s = sorted_[i];
        const float dx = s.x - x, dy = s.y - y, far = dx * dx + dy * dy;
        if (far > best || (far == best && s.serial > serial)) continue;
        best = far;
        serial = s.serial;
        found = s.id;
      }
    }
    return found;
  }

 private:
  static constexpr std::uint32_t cells = 128;
  static std::uint32_t cell(float at) noexcept {
    const float c = (at + 40) / reach;
    return c < 0 ? 0 : std::min(static_cast<std::uint32_t>(c), cells - 1);
  }
  struct Seen {
    float x, y;
    std::uint32_t serial, cell;
    Id id;
  };
  std::vector<Seen> seen_, sorted_;
  std::vector<std::uint32_t> starts_, places_;
};

/// What is left of a battle, the same in whatever order units are added.
struct Summary {
  std::uint64_t units = 0, hash = 0;
  double health = 0;
  void add(std::uint32_t serial, float left, float x, float y) noexcept {
    ++units;
    health += left;
    hash += roll(serial, static_cast<std::uint32_t>(left * 2)) * std::uint64_t{31} +
            roll(std::bit_cast<std::uint32_t>(x), std::bit_cast<std::uint32_t>(y));
  }
  friend bool operator==(const Summary&, const Summary&) = default;
};

}  // namespace battle

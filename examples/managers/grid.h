// Finds who touches whom: a pass gathers all bodies, sorts them into the cells of a uniform grid,
// and pushes what it found. Everything is sorted by entity id before it is pushed, so the result
// depends on row order and cell size only in a heap, because the contacts of a body are limited.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <muster/registry.h>

#include "examples/managers/collision.h"

namespace managers {

/// Adds itself to the registry as "grid" and handles collision.FindContacts and collision.CastRay.
/// Its state is the contacts of the last pass and the waiting rays.
class Grid final : public muster::Manager {
 public:
  /// `cell`: edge length in m; about the diameter of a usual body. `contacts_max`: how many a body
  /// is told of in a pass. Of more contacts, those in the first cells count. Without a limit a heap
  /// in one place, which one message of an editor can make, would take quadratic time.
  explicit Grid(muster::EntityRegistry& registry, float cell = 2, std::uint32_t contacts_max = 128);
  ~Grid() override;
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  void on_destroyed(std::span<const muster::Entity> gone) override;
  void save(std::vector<std::byte>& out) const override;
  std::expected<void, std::string> load(std::uint32_t version, std::span<const std::byte> bytes) override;

 private:
  struct Sphere {
    muster::Entity entity;
    float x, y, z, radius;
    std::uint32_t group, mask;
  };
  struct Pair {
    muster::Entity first, second;
    friend auto operator<=>(const Pair& a, const Pair& b) noexcept {
      return std::pair(a.first.bits(), a.second.bits()) <=> std::pair(b.first.bits(), b.second.bits());
    }
    friend bool operator==(const Pair&, const Pair&) noexcept = default;
  };
  struct Ray {
    muster::Entity asker;
    collision::CastRay ray;
  };

  /// State from one pass to the next.
  struct Known {
    std::vector<Pair> touching, inside;  // of the last pass, ascending; inside: trigger, body
    std::vector<Ray> rays;
  };

  /// Data of living entities.
  Known living() const;
  void forget_dead();
  bool begin();
  void gather_bodies(const collision::FindContacts&, std::span<const muster::Entity> entities,
                     std::span<const collision::Place> places, std::span<const collision::Body> bodies);
  void gather_triggers(const collision::FindContacts&, std::span<const muster::Entity> entities,
                       std::span<const collision::Place> places, std::span<const collision::Trigger> triggers);
  void find(const collision::FindContacts&, muster::Outbox& out);
  void ask(const collision::CastRay& ray, muster::Entity self);

  void answer_rays(muster::Outbox& out);
  void find_collisions(muster::Outbox& out);
  void find_triggers(muster::Outbox& out);
  using Indices = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  /// Index pairs (a of `left`, b of `right`) that touch and of which one hears of the other, each
  /// once, ascending; with left == right: a < b only.
  Indices touching(std::span<const Sphere> left, std::span<const Sphere> right) const;
  /// Ascending. The first of each pair is below `firsts`.
  static Indices in_order(const Indices& pairs, std::size_t firsts);
  static bool concern(const Sphere& a, const Sphere& b) noexcept {
    return ((a.mask & b.group) | (b.mask & a.group)) != 0;
  }
  static bool touch(const Sphere& a, const Sphere& b) noexcept {
    const float x = b.x - a.x, y = b.y - a.y, z = b.z - a.z, reach = a.radius + b.radius;
    return x * x + y * y + z * z <= reach * reach;
  }

  muster::EntityRegistry& registry_;
  const float cell_;
  const std::uint32_t contacts_max_;
  std::vector<Sphere> bodies_, triggers_;  // of this pass, by entity
  Known known_;                            // some of them may be dead:
  std::vector<muster::Entity> dead_;       // since they were last forgotten
  muster::Handlers handlers_;
};

}  // namespace managers

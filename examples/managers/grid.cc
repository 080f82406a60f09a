#include "examples/managers/grid.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "examples/managers/bytes.h"

namespace managers {

using collision::Vec3;
using muster::Entity;
using muster::Outbox;

namespace {

struct Cells {
  std::int32_t min[3], max[3];
  /// Above this a sphere is compared with all others instead.
  static constexpr std::int64_t cells_max = 27;
  std::int64_t count() const noexcept {
    std::int64_t product = 1;
    for (int axis = 0; axis < 3; ++axis) product *= std::min<std::int64_t>(max[axis] - min[axis] + 1, cells_max + 1);
    return product;
  }
};

template <class Sphere>
Cells cells_of(const Sphere& s, float edge) noexcept {
  constexpr float bound = 1 << 20;  // three coordinates of 21 bits make a key
  const auto cell = [&](float at) {
    return static_cast<std::int32_t>(std::clamp(std::floor(at / edge), -bound, bound - 1));
  };
  return {{cell(s.x - s.radius), cell(s.y - s.radius), cell(s.z - s.radius)},
          {cell(s.x + s.radius), cell(s.y + s.radius), cell(s.z + s.radius)}};
}

struct Entry {
  std::uint64_t key;
  std::uint32_t index;
  auto operator<=>(const Entry&) const = default;
};

std::uint64_t key_of(std::int32_t x, std::int32_t y, std::int32_t z) noexcept {
  const auto bits = [](std::int32_t v) { return static_cast<std::uint64_t>(std::int64_t{v} + (1 << 20)); };
  return bits(x) << 42 | bits(y) << 21 | bits(z);
}

/// Spheres by the cells they are in.
struct Entries {
  std::vector<Cells> cells;         // by sphere
  std::vector<Entry> entries = {};  // of those that are not wide, in order
  std::vector<std::uint32_t> wide = {};
  std::vector<std::uint8_t> is_wide = {};  // by sphere
};

template <class Spheres>
Entries enter(const Spheres& spheres, float edge) {
  Entries made;
  made.cells.reserve(spheres.size());
  for (std::uint32_t i = 0; i < spheres.size(); ++i) {
    const Cells& c = made.cells.emplace_back(cells_of(spheres[i], edge));
    made.is_wide.push_back(c.count() > Cells::cells_max);
    if (made.is_wide[i]) {
      made.wide.push_back(i);
      continue;
    }
    for (std::int32_t x = c.min[0]; x <= c.max[0]; ++x)
      for (std::int32_t y = c.min[1]; y <= c.max[1]; ++y)
        for (std::int32_t z = c.min[2]; z <= c.max[2]; ++z) made.entries.push_back({key_of(x, y, z), i});
  }
  std::ranges::sort(made.entries);
  return made;
}

/// Two spheres are compared only in the first of the cells that they share.
std::uint64_t first_shared(const Cells& a, const Cells& b) noexcept {
  return key_of(std::max(a.min[0], b.min[0]), std::max(a.min[1], b.min[1]), std::max(a.min[2], b.min[2]));
}

bool good(float x, float y, float z, float radius) noexcept {
  return std::isfinite(x) && std::isfinite(y) && std::isfinite(z) && radius >= 0 && std::isfinite(radius);
}

}  // namespace

Grid::Grid(muster::EntityRegistry& registry, float cell, std::uint32_t contacts_max)
    : registry_(registry), cell_(cell), contacts_max_(contacts_max) {
  registry_.add_manager("grid", *this);
  const auto options = [](int priority) {
    return muster::HandlerOptions{.priority = priority, .external_writes = {"grid"}};
  };
  muster::HandlerOptions first = options(0);
  first.on_begin = [this] { return begin(); };
  handlers_.add(registry_.subscribe("grid.bodies", *this, &Grid::gather_bodies, std::move(first)));
  handlers_.add(registry_.subscribe("grid.triggers", *this, &Grid::gather_triggers, options(1)));
  handlers_.add(registry_.subscribe("grid.find", *this, &Grid::find, options(2)));
  handlers_.add(registry_.subscribe("grid.ask", *this, &Grid::ask, options(0)));
}
Grid::~Grid() { registry_.remove_manager(*this); }

bool Grid::begin() {
  bodies_.clear();
  triggers_.clear();
  return true;
}

void Grid::gather_bodies(const collision::FindContacts&, std::span<const Entity> entities,
                         std::span<const collision::Place> places, std::span<const collision::Body> bodies) {
  for (std::size_t i = 0; i < entities.size(); ++i)
    if (const Vec3& at = places[i].at; good(at.x, at.y, at.z, bodies[i].radius))
      bodies_.push_back({entities[i], at.x, at.y, at.z, bodies[i].radius, bodies[i].group, bodies[i].mask});
}

void Grid::gather_triggers(const collision::FindContacts&, std::span<const Entity> entities,
                           std::span<const collision::Place> places, std::span<const collision::Trigger> triggers) {
  for (std::size_t i = 0; i < entities.size(); ++i)
    if (const Vec3& at = places[i].at; good(at.x, at.y, at.z, triggers[i].radius))
      triggers_.push_back({entities[i], at.x, at.y, at.z, triggers[i].radius, 0, triggers[i].mask});
}

void Grid::ask(const collision::CastRay& ray, Entity self) { known_.rays.push_back({self, ray}); }

void Grid::find(const collision::FindContacts&, Outbox& out) {
  forget_dead();
  const auto bits = [](const Sphere& s) { return s.entity.bits(); };
  std::ranges::sort(bodies_, {}, bits);
  std::ranges::sort(triggers_, {}, bits);
  answer_rays(out);
  find_collisions(out);
  find_triggers(out);
}

void Grid::answer_rays(Outbox& out) {
  for (const auto& [asker, ray] : std::exchange(known_.rays, {})) {
    collision::RayHit hit{.distance = ray.distance, .ticket = ray.ticket};
    const float length = std::sqrt(ray.direction.x * ray.direction.x + ray.direction.y * ray.direction.y +
                                   ray.direction.z * ray.direction.z);
    if (length > 0 && std::isfinite(length)) {
      const Vec3 d{.x = ray.direction.x / length, .y = ray.direction.y / length, .z = ray.direction.z / length};
      for (const Sphere& s : bodies_) {
        if ((s.group & ray.mask) == 0 || s.entity == asker) continue;
        const Vec3 to{.x = s.x - ray.from.x, .y = s.y - ray.from.y, .z = s.z - ray.from.z};
        const float along = to.x * d.x + to.y * d.y + to.z * d.z;
        const float off = to.x * to.x + to.y * to.y + to.z * to.z - along * along;
        const float half = s.radius * s.radius - off;
        if (half < 0) continue;
        const float enter = along - std::sqrt(half);
        const float at = enter >= 0 ? enter : 0;                 // it may begin inside the body
        if (enter < 0 && along + std::sqrt(half) < 0) continue;  // behind
        if (at > hit.distance || (hit.other && at == hit.distance)) continue;
        hit.other = s.entity;
        hit.distance = at;
      }
      hit.at = {.x = ray.from.x + d.x * hit.distance,
                .y = ray.from.y + d.y * hit.distance,
                .z = ray.from.z + d.z * hit.distance};
    }
    out.post(asker, hit);
  }
}

/// Few pairs have the same first, so only these are compared.
Grid::Indices Grid::in_order(const Indices& pairs, std::size_t firsts) {
  std::vector<std::uint32_t> ends(firsts);
  for (const auto& [first, second] : pairs) ++ends[first];
  std::uint32_t sum = 0;
  for (std::uint32_t& end : ends) end = std::exchange(sum, sum + end);
  Indices made(pairs.size());
  for (const auto& pair : pairs) made[ends[pair.first]++] = pair;
  std::uint32_t begin = 0;
  for (const std::uint32_t end : ends) std::sort(made.begin() + std::exchange(begin, end), made.begin() + end);
  return made;
}

Grid::Indices Grid::touching(std::span<const Sphere> left, std::span<const Sphere> right) const {
  const bool same = left.data() == right.data() && left.size() == right.size();
  Indices pairs;
  // Of bodies among each other: in a heap of thousands every one touches every other.
  std::vector<std::uint32_t> contacts(same ? left.size() : 0);
  const auto is_full = [&](std::uint32_t i) { return same && contacts[i] >= contacts_max_; };
  // Most of those that share a cell have nothing to say to each other: only what counts is sorted.
  const auto look_at = [&](std::uint32_t i, std::uint32_t j) {
    if (is_full(i) || is_full(j) || !concern(left[i], right[j]) || !touch(left[i], right[j])) return;
    pairs.emplace_back(i, j);
    if (same) ++contacts[i], ++contacts[j];
  };
  const Entries a = enter(left, cell_);
  const Entries others = same ? Entries() : enter(right, cell_);
  const Entries& b = same ? a : others;
  std::size_t from = 0;
  for (std::size_t at = 0; at < a.entries.size(); ++at) {
    const auto [key, i] = a.entries[at];
    while (from < b.entries.size() && b.entries[from].key < key) ++from;
    for (std::size_t k = same ? at + 1 : from; k < b.entries.size() && b.entries[k].key == key && !is_full(i); ++k) {
      const std::uint32_t j = b.entries[k].index;
      if (first_shared(a.cells[i], b.cells[j]) == key) look_at(i, j);
    }
  }
  for (const std::uint32_t i : a.wide)
    for (std::uint32_t j = 0; j < right.size() && !is_full(i); ++j) {
      if (!same)
        look_at(i, j);
      else if (i < j || (j < i && !a.is_wide[j]))  // two wide ones meet once
        look_at(std::min(i, j), std::max(i, j));
    }
  for (const std::uint32_t j : others.wide)
    for (std::uint32_t i = 0; i < left.size(); ++i)
      if (!a.is_wide[i]) look_at(i, j);
  return in_order(pairs, left.size());
}

void Grid::find_collisions(Outbox& out) {
  std::vector<Pair> now;
  auto known = known_.touching.begin();  // both ascend
  for (const auto& [i, j] : touching(bodies_, bodies_)) {
    const Sphere& a = bodies_[i];
    const Sphere& b = bodies_[j];
    const bool to_a = (a.mask & b.group) != 0, to_b = (b.mask & a.group) != 0;
    const float x = b.x - a.x, y = b.y - a.y, z = b.z - a.z, reach = a.radius + b.radius;
    const float square = x * x + y * y + z * z;
    const Pair pair{a.entity, b.entity};
    const float distance = std::sqrt(square);
    // Two in one place part along x, the older id to the left.
    const Vec3 normal = distance > 0 ? Vec3{.x = x / distance, .y = y / distance, .z = z / distance} : Vec3{.x = 1};
    const Vec3 mirrored{.x = -normal.x, .y = -normal.y, .z = -normal.z};
    while (known != known_.touching.end() && *known < pair) ++known;
    const bool first = known == known_.touching.end() || pair < *known;
    const auto tell = [&](Entity whom, Entity other, const Vec3& n) {
      out.post(whom,
               collision::Collision{.other = other, .normal = n, .depth = reach - distance, .first_contact = first});
    };
    if (to_a) tell(a.entity, b.entity, normal);
    if (to_b) tell(b.entity, a.entity, mirrored);
    now.push_back(pair);
  }
  known_.touching = std::move(now);
}

void Grid::find_triggers(Outbox& out) {
  std::vector<Pair> now;
  // a trigger's group is 0: no other body is affected
  for (const auto& [i, j] : touching(triggers_, bodies_))
    if (triggers_[i].entity != bodies_[j].entity) now.push_back({triggers_[i].entity, bodies_[j].entity});
  for (const Pair& pair : known_.inside)
    if (!std::ranges::binary_search(now, pair)) out.post(pair.first, collision::TriggerExit{.other = pair.second});
  for (const Pair& pair : now)
    if (!std::ranges::binary_search(known_.inside, pair))
      out.post(pair.first, collision::TriggerEnter{.other = pair.second});
  known_.inside = std::move(now);
}

void Grid::on_destroyed(std::span<const Entity> gone) {
  // To look through all pairs for everyone who dies would be quadratic where many do, one by one.
  dead_.insert(dead_.end(), gone.begin(), gone.end());
  if (dead_.size() > known_.touching.size() + known_.inside.size() + known_.rays.size() + 1024) forget_dead();
}

Grid::Known Grid::living() const {
  std::vector<Entity> dead = dead_;
  std::ranges::sort(dead, {}, &Entity::bits);
  const auto lives = [&](Entity e) { return !std::ranges::binary_search(dead, e.bits(), {}, &Entity::bits); };
  Known made;
  std::ranges::copy_if(known_.touching, std::back_inserter(made.touching),
                       [&](const Pair& pair) { return lives(pair.first) && lives(pair.second); });
  // A body that died inside a trigger still leaves it, in the next pass.
  std::ranges::copy_if(known_.inside, std::back_inserter(made.inside),
                       [&](const Pair& pair) { return lives(pair.first); });
  std::ranges::copy_if(known_.rays, std::back_inserter(made.rays), [&](const Ray& ray) { return lives(ray.asker); });
  return made;
}

void Grid::forget_dead() {
  if (dead_.empty()) return;
  known_ = living();
  dead_.clear();
}

void Grid::save(std::vector<std::byte>& out) const {
  const Known known = living();
  for (const std::size_t count : {known.touching.size(), known.inside.size(), known.rays.size()})
    put(out, std::uint64_t{count});
  put(out, std::span<const Pair>(known.touching));
  put(out, std::span<const Pair>(known.inside));
  for (const auto& [asker, ray] : known.rays) {
    put(out, asker);
    put(out, ray);
  }
}

std::expected<void, std::string> Grid::load(std::uint32_t, std::span<const std::byte> bytes) {
  Reader reader{bytes};
  constexpr std::size_t ray_bytes = sizeof(Entity) + sizeof(collision::CastRay);
  std::uint64_t counts[3];
  for (std::uint64_t& count : counts) {
    count = reader.take<std::uint64_t>();
    if (count > bytes.size()) return std::unexpected("the grid's state is truncated");
  }
  if (!reader.good || reader.bytes.size() != (counts[0] + counts[1]) * sizeof(Pair) + counts[2] * ray_bytes)
    return std::unexpected("the grid's state is truncated");
  std::vector<Pair> touching(counts[0]), inside(counts[1]);
  std::vector<Ray> rays(counts[2]);
  reader.take(touching.data(), counts[0] * sizeof(Pair));
  reader.take(inside.data(), counts[1] * sizeof(Pair));
  for (auto& [asker, ray] : rays) {
    asker = reader.take<Entity>();
    ray = reader.take<collision::CastRay>();
  }
  if (!std::ranges::is_sorted(touching) || !std::ranges::is_sorted(inside))
    return std::unexpected("the grid's pairs are out of order");
  known_ = {.touching = std::move(touching), .inside = std::move(inside), .rays = std::move(rays)};
  dead_.clear();
  return {};
}

}  // namespace managers

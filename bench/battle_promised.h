// The battle by hand over plain arrays as well, but with what Muster promises: units have their squad's id, which is found through the
// directory; hits and ends are messages, taken in order once all have fired, each for whoever is alive then; rows lie by archetype, and the
// last one of its archetype fills a hole; siblings are linked; an index is given out again first in, first out, and only while more than
// 1,024 are free; a column's first write since a checkpoint is noted by chunk; the input is numbered and shown to a sink.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "bench/battle_rules.h"
#include "registry/delivery/executor.h"

namespace battle {

class PromisedBattle {
 public:
  PromisedBattle() {
    archetypes_[1].block = block_rows;
    slots_.push_back({});  // of nobody
    for (std::uint32_t s = 0; s < squads; ++s) {
      const Id id{static_cast<std::uint32_t>(slots_.size()), 1};
      slots_.push_back({1, block_rows * squad_blocks + s});
      squads_.push_back({{goal(s, 0), 0}, id, {}, {}});
      squad_places_.push_back(home(s));
      for (std::uint32_t u = 0; u < units_per_squad; ++u) add_unit(s, s * units_per_squad + u, s % 2, offset(u));
    }
  }

  std::uint32_t ticks() const noexcept { return ticks_; }
  void tick() {
    if (++ticks_ % look_every == 0) {
      input(ticks_);
      look();
    }
    input(ticks_);
    march();
    for (Rows& rows : archetypes_) touch(rows, 0), touch(rows, 1);
    if (executor_)
      executor_->run(
          parts, [](void* battle, std::uint32_t i) { static_cast<PromisedBattle*>(battle)->act(i, parts); }, this);
    else
      act(0, 1);
    hit();
    for (const Id fallen : fallen_) bury(fallen);
    fallen_.clear();
  }
  /// Of two workers: following and shooting are cut in two from then on, and all else is done by who calls tick(). Null: one does all.
  void set_executor(muster::Executor* executor) noexcept { executor_ = executor; }
  /// As after a checkpoint: each column's next write is its first.
  void checkpoint() noexcept { ++version_; }
  std::uint64_t hits() const noexcept { return hits_; }
  Summary summary() const noexcept {
    Summary all;
    for (const Rows& rows : archetypes_)
      for (std::size_t i = 0; i < rows.ids.size(); ++i)
        all.add(rows.units[i].serial, rows.healths[i], rows.places[i].x, rows.places[i].y);
    return all;
  }

 private:
  struct Id {
    std::uint32_t slot = 0, generation = 0;  ///< generation 0: nobody
    explicit operator bool() const noexcept { return generation != 0; }
  };
  struct Slot {
    std::uint32_t generation, place;
  };
  struct Unit {
    std::uint32_t squad, serial, side;
  };
  struct Weapon {
    Id foe;
    std::uint32_t ready_in, shots;
  };
  struct Links {
    Id before, after;
  };
  struct Squad {
    struct {
      Point to;
      std::uint32_t legs;
    } march;
    Id id, first, last;
  };
  struct Hit {
    Id target;
    float amount;
    Id from;
  };
  /// On lines of its own: two threads append.
  struct alignas(64) Waiting {
    std::vector<Hit> hits;
  };
  /// Of one archetype.
  struct Rows {
    std::uint32_t block = 0;  ///< of places, that of its first row
    std::vector<Id> ids, parents;
    std::vector<Links> links;
    std::vector<Point> places, offsets;
    std::vector<Unit> units;
    std::vector<Weapon> weapons;
    std::vector<float> healths, factors;
    std::vector<std::uint64_t> versions[3];  ///< of places, weapons and healths, by chunk
  };
  static constexpr std::uint32_t block_rows = 1u << 28, squad_blocks = 2, chunk_rows = 1024, free_min = 1024, parts = 2;

  Rows& rows_of(const Slot& slot) noexcept { return archetypes_[slot.place / block_rows]; }
  Links& links_of(Id id) noexcept {
    const Slot& slot = slots_[id.slot];
    return rows_of(slot).links[slot.place % block_rows];
  }
  bool alive(Id id) const noexcept { return slots_[id.slot].generation == id.generation; }

  void add_unit(std::uint32_t squad, std::uint32_t serial, std::uint32_t side, Point offset) {
    Rows& rows = archetypes_[is_armoured(serial)];
    const std::uint32_t place = rows.block + static_cast<std::uint32_t>(rows.ids.size());
    Id id;
    if (free_.size() <= free_min) {
      id = {static_cast<std::uint32_t>(slots_.size()), 1};
      slots_.push_back({1, place});
    } else {
      id = {free_.front(), slots_[free_.front()].generation};
      free_.pop_front();
      slots_[id.slot].place = place;
    }
    Squad& under = squads_[squad];
    rows.links.push_back({under.last, {}});
    rows.ids.push_back(id);
    rows.parents.push_back(under.id);
    rows.places.push_back({});
    rows.offsets.push_back(offset);
    rows.units.push_back({squad, serial, side});
    rows.weapons.push_back({{}, first_cooldown(serial), 0});
    rows.healths.push_back(full_health);
    rows.factors.push_back(is_armoured(serial) ? armour_factor : 1);
    (under.last ? links_of(under.last).after : under.first) = id;
    under.last = id;
  }
  /// The last row of its archetype fills the hole.
  void bury(Id gone) {
    if (!alive(gone)) return;
    Slot& slot = slots_[gone.slot];
    Rows& rows = rows_of(slot);
    const std::uint32_t row = slot.place % block_rows;
    const Unit unit = rows.units[row];
    const Point offset = rows.offsets[row];
    const Links links = rows.links[row];
    Squad& under = squads_[unit.squad];
    (links.before ? links_of(links.before).after : under.first) = links.after;
    (links.after ? links_of(links.after).before : under.last) = links.before;
    slots_[rows.ids.back().slot].place = slot.place;
    ++slot.generation;
    free_.push_back(gone.slot);
    const auto fill = [row](auto& column) {
      column[row] = column.back();
      column.pop_back();
    };
    fill(rows.ids), fill(rows.parents), fill(rows.links), fill(rows.places), fill(rows.offsets), fill(rows.units);
    fill(rows.weapons), fill(rows.healths), fill(rows.factors);
    if (is_replaced(unit.serial)) add_unit(unit.squad, unit.serial + replacement_step, unit.side, offset);
  }
  void touch(Rows& rows, std::uint32_t column) {
    std::vector<std::uint64_t>& versions = rows.versions[column];
    versions.resize(rows.ids.size() / chunk_rows + 1);
    for (std::uint64_t& version : versions)
      if (version != version_) version = version_, ++first_writes_;
  }
  void look() {
    grid_.clear();
    for (const Rows& rows : archetypes_)
      for (std::size_t i = 0; i < rows.ids.size(); ++i)
        grid_.add(rows.units[i].side, rows.units[i].serial, rows.places[i].x, rows.places[i].y, rows.ids[i]);
    grid_.sort();
    for (Rows& rows : archetypes_) {
      touch(rows, 1);
      for (std::size_t i = 0; i < rows.ids.size(); ++i)
        rows.weapons[i].foe = grid_.nearest(rows.units[i].side, rows.places[i].x, rows.places[i].y);
    }
  }
  void march() noexcept {
    for (std::uint32_t s = 0; s < squads; ++s) {
      Squad& squad = squads_[s];
      Point& at = squad_places_[s];
      if (step(at.x, at.y, squad.march.to.x, squad.march.to.y)) squad.march.to = goal(s, ++squad.march.legs);
    }
  }
  /// One of `count` equal parts of all units: rows of the one archetype, then of the other, so that hits are in the order of rows.
  void act(std::uint32_t i, std::uint32_t count) {
    const std::size_t first = archetypes_[0].ids.size(), all = first + archetypes_[1].ids.size();
    const std::size_t begin = all * i / count, end = all * (i + 1) / count;
    const auto each = [&](auto what) {
      if (begin < first) what(archetypes_[0], begin, std::min(end, first));
      if (end > first) what(archetypes_[1], std::max(begin, first) - first, end - first);
    };
    each([&](Rows& rows, std::size_t from, std::size_t to) { follow(rows, from, to); });
    each([&](Rows& rows, std::size_t from, std::size_t to) { shoot(rows, from, to, hits_waiting_[i].hits); });
  }
  void follow(Rows& rows, std::size_t begin, std::size_t end) {
    Point* __restrict place = rows.places.data();
    const Point* __restrict offset = rows.offsets.data();
    const Id* __restrict parent = rows.parents.data();
    const Slot* __restrict slots = slots_.data();
    const Point* __restrict squad = squad_places_.data();
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t at = slots[parent[i].slot].place;
      if (at / block_rows != squad_blocks) continue;  // whose parent is no squad
      const Point from = squad[at % block_rows];
      place[i] = {from.x + offset[i].x, from.y + offset[i].y};
    }
  }
  void shoot(Rows& rows, std::size_t begin, std::size_t end, std::vector<Hit>& hits) {
    Weapon* const weapons = rows.weapons.data();
    for (std::size_t i = begin; i < end; ++i) {
      Weapon& weapon = weapons[i];
      if (weapon.ready_in > 0)
        --weapon.ready_in;
      else if (weapon.foe)
        fire(weapon, rows.units[i].serial, rows.ids[i], hits);
    }
  }
  void fire(Weapon& weapon, std::uint32_t serial, Id self, std::vector<Hit>& hits) {
    if (!alive(weapon.foe)) {
      weapon.foe = {};
      return;
    }
    hits.push_back({weapon.foe, strength(serial, weapon.shots), self});
    weapon.ready_in = cooldown(serial, weapon.shots++);
  }
  /// Lines are asked for so many hits ahead.
  void hit() {
    for (Rows& rows : archetypes_) touch(rows, 2);
    for (Waiting& waiting : hits_waiting_) {
      hit(waiting.hits);
      waiting.hits.clear();
    }
  }
  void hit(const std::vector<Hit>& hits) {
    constexpr std::size_t ahead = 64;
    const std::size_t count = hits.size();
    for (std::size_t first = 0; first < count; first += ahead) {
      const std::size_t end = std::min(first + ahead, count), later = std::min(end + ahead, count);
      for (std::size_t i = end; i < later; ++i) __builtin_prefetch(&slots_[hits[i].target.slot]);
      for (std::size_t i = first; i < end; ++i) {
        const Slot& slot = slots_[hits[i].target.slot];
        const Rows& rows = rows_of(slot);
        __builtin_prefetch(&rows.healths[slot.place % block_rows]);
        __builtin_prefetch(&rows.factors[slot.place % block_rows]);
      }
      for (std::size_t i = first; i < end; ++i) take(hits[i]);
    }
  }
  void take(const Hit& hit) {
    if (!alive(hit.target)) return;
    const Slot& slot = slots_[hit.target.slot];
    Rows& rows = rows_of(slot);
    float& health = rows.healths[slot.place % block_rows];
    const bool stood = health > 0;
    health -= hit.amount * rows.factors[slot.place % block_rows];
    if (stood && health <= 0) fallen_.push_back(hit.target);
    ++hits_;
  }
  struct Sink {
    virtual ~Sink() = default;
    virtual void on_input(std::uint64_t number, std::uint32_t tick) = 0;
  };
  struct Counting final : Sink {
    std::uint64_t sum = 0;
    void on_input(std::uint64_t number, std::uint32_t tick) override { sum += number * tick; }
  };
  void input(std::uint32_t tick) { told_->on_input(++inputs_, tick); }

  std::vector<Slot> slots_;
  std::vector<Squad> squads_;
  std::vector<Point> squad_places_;
  Rows archetypes_[2];
  std::deque<std::uint32_t> free_;
  Waiting hits_waiting_[parts];  // by part
  muster::Executor* executor_ = nullptr;
  std::vector<Id> fallen_;
  Grid<Id> grid_;
  Counting sink_;
  Sink* volatile told_ = &sink_;
  std::uint64_t inputs_ = 0, version_ = 1, first_writes_ = 0, hits_ = 0;
  std::uint32_t ticks_ = 0;
};

}  // namespace battle

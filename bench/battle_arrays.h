// The battle written by hand over plain arrays: the limit of the battle's rows. It does what the rules say and nothing else: no messages,
// so a hit is taken where it is fired; no order of handlers, no ids but those that a foe is remembered by, checked by generation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/battle_rules.h"

namespace battle {

class ArrayBattle {
 public:
  ArrayBattle() {
    for (std::uint32_t s = 0; s < squads; ++s) {
      squad_places_.push_back(home(s));
      marches_.push_back({goal(s, 0), 0});
      for (std::uint32_t u = 0; u < units_per_squad; ++u) add_unit(s, s * units_per_squad + u, s % 2, offset(u));
    }
  }

  std::uint32_t ticks() const noexcept { return ticks_; }
  void tick() {
    if (++ticks_ % look_every == 0) look();
    march();
    follow();
    shoot();
    for (const Id fallen : fallen_) bury(slots_[fallen.slot].row);
    fallen_.clear();
  }
  std::uint64_t hits() const noexcept { return hits_; }
  Summary summary() const noexcept {
    Summary all;
    for (std::size_t i = 0; i < ids_.size(); ++i) all.add(units_[i].serial, healths_[i], places_[i].x, places_[i].y);
    return all;
  }

 private:
  struct Id {
    std::uint32_t slot = 0, generation = 0;  ///< generation 0: nobody
  };
  struct Slot {
    std::uint32_t generation, row;
  };
  struct Unit {
    std::uint32_t squad, serial, side;
  };
  struct Weapon {
    Id foe;
    std::uint32_t ready_in, shots;
  };
  struct March {
    Point to;
    std::uint32_t legs;
  };

  void add_unit(std::uint32_t squad, std::uint32_t serial, std::uint32_t side, Point offset) {
    const auto row = static_cast<std::uint32_t>(ids_.size());
    Id id;
    if (free_.empty()) {
      id = {static_cast<std::uint32_t>(slots_.size()), 1};
      slots_.push_back({1, row});
    } else {
      id = {free_.back(), slots_[free_.back()].generation};
      free_.pop_back();
      slots_[id.slot].row = row;
    }
    ids_.push_back(id);
    places_.push_back({});
    offsets_.push_back(offset);
    units_.push_back({squad, serial, side});
    weapons_.push_back({{}, first_cooldown(serial), 0});
    healths_.push_back(full_health);
    factors_.push_back(is_armoured(serial) ? armour_factor : 1);
  }
  /// The last row fills the hole.
  void bury(std::uint32_t row) {
    const Unit unit = units_[row];
    const Point offset = offsets_[row];
    const Id gone = ids_[row];
    ++slots_[gone.slot].generation;
    free_.push_back(gone.slot);
    slots_[ids_.back().slot].row = row;
    const auto fill = [row](auto& column) {
      column[row] = column.back();
      column.pop_back();
    };
    fill(ids_), fill(places_), fill(offsets_), fill(units_), fill(weapons_), fill(healths_), fill(factors_);
    if (is_replaced(unit.serial)) add_unit(unit.squad, unit.serial + replacement_step, unit.side, offset);
  }
  void look() {
    const std::size_t rows = ids_.size();
    grid_.clear();
    for (std::size_t i = 0; i < rows; ++i)
      grid_.add(units_[i].side, units_[i].serial, places_[i].x, places_[i].y, ids_[i]);
    grid_.sort();
    for (std::size_t i = 0; i < rows; ++i) weapons_[i].foe = grid_.nearest(units_[i].side, places_[i].x, places_[i].y);
  }
  void march() noexcept {
    for (std::uint32_t s = 0; s < squads; ++s)
      if (Point& at = squad_places_[s]; step(at.x, at.y, marches_[s].to.x, marches_[s].to.y))
        marches_[s].to = goal(s, ++marches_[s].legs);
  }
  void follow() noexcept {
    Point* __restrict place = places_.data();
    const Point* __restrict offset = offsets_.data();
    const Unit* __restrict unit = units_.data();
    const Point* __restrict squad = squad_places_.data();
    const std::size_t rows = places_.size();
    for (std::size_t i = 0; i < rows; ++i) {
      const Point at = squad[unit[i].squad];
      place[i] = {at.x + offset[i].x, at.y + offset[i].y};
    }
  }
  void shoot() {
    Weapon* const weapons = weapons_.data();
    const std::size_t rows = weapons_.size();
    for (std::size_t i = 0; i < rows; ++i) {
      Weapon& weapon = weapons[i];
      if (weapon.ready_in > 0)
        --weapon.ready_in;
      else if (weapon.foe.generation != 0)
        fire(weapon, units_[i].serial);
    }
  }
  void fire(Weapon& weapon, std::uint32_t serial) {
    const Slot& slot = slots_[weapon.foe.slot];
    if (slot.generation != weapon.foe.generation) {
      weapon.foe = {};
      return;
    }
    float& health = healths_[slot.row];
    const bool stood = health > 0;
    health -= strength(serial, weapon.shots) * factors_[slot.row];
    if (stood && health <= 0) fallen_.push_back(weapon.foe);
    ++hits_;
    weapon.ready_in = cooldown(serial, weapon.shots++);
  }

  std::vector<Point> squad_places_;
  std::vector<March> marches_;
  std::vector<Id> ids_;
  std::vector<Point> places_, offsets_;
  std::vector<Unit> units_;
  std::vector<Weapon> weapons_;
  std::vector<float> healths_, factors_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<Id> fallen_;
  Grid<Id> grid_;
  std::uint64_t hits_ = 0;
  std::uint32_t ticks_ = 0;
};

}  // namespace battle

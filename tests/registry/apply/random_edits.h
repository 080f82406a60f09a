// Random messages of sessions, of every kind that a session may send to change a world.
#pragma once

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/game.h"

namespace test {

/// The messages of two sessions, at random.
class Sessions {
  using Armor = game::Armor;
  using Count = game::Count;
  using Frozen = game::Frozen;
  using Health = game::Health;

 public:
  Sessions(muster::EntityRegistry& registry, std::uint64_t seed) : r_(registry), random_(seed) {
    r_.add_type<Health>();
    r_.add_type<Armor>();
    r_.add_type<Count>();
    r_.add_type<Frozen>();
    for (const char* name : {"a", "b", "squad"}) r_.intern(name);
    muster::TemplateTree tree("squad");
    tree.set("", Health{.value = 7}).set("man", Health{.value = 8}).set("man/hat", Armor{});
    squad_ = encode(*tree.compile());
    r_.define_template(tree);
    const muster::Entity first = r_.host().grant(5000, 1);
    for (std::uint32_t i = 0; i < 5000; ++i) free_.push_back({first.index + i, 1});
    std::ranges::reverse(free_);
    for (int i = 0; i < 20; ++i) all_.push_back(r_.create(Health{}));
  }
  /// Appends one to three messages.
  void write(muster::BatchBuilder& to) {
    for (std::uint32_t left = 1 + random_() % 3; left > 0; --left) one(to);
  }

 private:
  muster::Entity any() { return all_[random_() % all_.size()]; }
  muster::Entity take() {
    const muster::Entity e = random_() % 20 ? free_.back() : any();
    if (e == free_.back()) free_.pop_back();
    all_.push_back(e);
    return e;
  }
  std::vector<muster::Entity> some(std::size_t count) {
    std::vector<muster::Entity> made;
    while (made.size() < count) made.push_back(any());
    return made;
  }
  std::vector<muster::Entity> take(std::size_t count) {
    std::vector<muster::Entity> made;
    while (made.size() < count) made.push_back(take());
    return made;
  }
  muster::Text text() { return muster::text_of(random_() % 2 ? "a" : "b"); }
  void one(muster::BatchBuilder& to) {
    const auto value = static_cast<float>(random_() % 9);
    const muster::Entity parent = random_() % 2 ? any() : muster::Entity{};
    const muster::NameClash clash = random_() % 2 ? muster::NameClash::suffix : muster::NameClash::refuse;
    muster::SetField field{.component = muster::TypeTraits<Health>::id, .field = muster::hash32("value"), .bytes = 4};
    std::memcpy(field.value.data(), &value, 4);
    switch (random_() % 17) {
      case 0: return to.append_rows(take(), muster::Create{.parent = parent}, Health{value});
      case 1:
        return to.append_rows(take(), muster::Create{.parent = parent, .name = text(), .clash = clash}, Armor{value});
      case 2:
        return to.append_rows_shared(std::span<const muster::Entity>(take(5)), muster::Create{}, Health{value},
                                     Count{});
      case 3: return to.append(any(), muster::Destroy{});
      case 4: return to.append_shared(std::span<const muster::Entity>(some(3)), muster::Destroy{});
      case 5: return to.append_rows(any(), muster::Set{}, Armor{value}, Frozen{});
      case 6:
        return to.append_rows_shared(std::span<const muster::Entity>(some(4)),
                                     muster::Set{.mode = muster::SetMode::add}, Count{});
      case 7: return to.append(any(), muster::Remove{.component = muster::TypeTraits<Armor>::id});
      case 8: return to.append(any(), muster::Remove{.component = muster::TypeTraits<muster::Name>::id});
      case 9: return to.append(any(), field);
      case 10: return to.append(any(), muster::SetFieldIf{.set = field});
      case 11: return to.append(any(), muster::Reparent{.parent = parent});
      case 12: return to.append(any(), muster::Rename{.name = random_() % 3 ? text() : muster::Text{}, .clash = clash});
      case 13:
        return append_spawn(
            to, take(6),
            muster::Spawn{.what = muster::text_of("squad"), .parent = parent, .name = text(), .clash = clash});
      case 14: {
        const muster::Entity top = any();
        std::vector<muster::Entity> ids{top};
        for (const char* step : {"man", "hat"}) {
          const muster::Entity there = r_.find_child(ids.back(), step);
          ids.push_back(there ? there : take());
        }
        return to.append_shared(std::span<const muster::Entity>(ids),
                                muster::MergeTemplate{.what = muster::text_of("squad")});
      }
      case 15: return to.append_table(muster::TypeTraits<muster::DefineTemplate>::id, {}, squad_);
      default:
        return to.append_table(muster::TypeTraits<muster::InternText>::id, {},
                               encode(muster::InternText{.text = std::to_string(random_() % 99)}));
    }
  }

  muster::EntityRegistry& r_;
  std::mt19937_64 random_;
  std::vector<std::byte> squad_;
  std::vector<muster::Entity> free_, all_;
};

}  // namespace test

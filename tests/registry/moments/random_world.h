// A registry that has something of everything that is state, and random steps that change it.
#pragma once

#include <catch2/catch.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/apply/edit_log.h"
#include "registry/apply/manager.h"
#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/moments/moments.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/enableable.h"
#include "tests/registry/game.h"
#include "tests/support/random.h"

namespace muster::test {

/// A C++ value whose life is counted.
struct Voice {
  inline static int alive = 0;
  std::unique_ptr<std::uint64_t> said = std::make_unique<std::uint64_t>(0);
  Voice() { ++alive; }
  Voice(Voice&& other) noexcept : said(std::move(other.said)) { ++alive; }
  Voice& operator=(Voice&&) = delete;
  ~Voice() { --alive; }
};

}  // namespace muster::test

template <>
struct muster::RuntimeTraits<muster::test::Voice> {
  static constexpr std::string_view name = "test.Voice";
};

namespace muster::test {

/// Parks the ids of what edits destroy.
struct ParkingLog final : EditLog {
  void before(const Edit&) override {}
  void after(const Edit&, const Refusal&) override {}
  void step_begins(const Sender&, const StepView&) override {}
  std::span<const std::byte> take_back() override { return {}; }
  void step_ends(bool) override {}
};

/// Counts what it is told, in parts, and can return to what it was.
class Tally final : public Manager {
 public:
  void on_destroyed(std::span<const Entity> gone) override {
    for (const Entity e : gone) ++parts_[e.index % 4].first;
    change();
  }
  void count(std::uint64_t by) {
    parts_[static_cast<std::uint32_t>(by % 4)].first += by;
    change();
  }
  bool in_parts() const override { return true; }
  void save_parts(ManagerSink& to) const override {
    for (const auto& [number, part] : parts_)
      if (!to.has(number, part.second)) to.part(number, part.second, std::as_bytes(std::span(&part.first, 1)));
  }
  std::expected<void, std::string> load_parts(std::uint32_t, std::span<const ManagerPart> parts) override {
    parts_.clear();
    for (const ManagerPart& part : parts)
      std::memcpy(&parts_[part.number].first, part.bytes.data(), sizeof(std::uint64_t));
    return {};
  }
  std::shared_ptr<const ManagerMoment> keep() override {
    if (!kept_) kept_ = std::make_shared<const Kept>(parts_);
    return kept_;
  }
  void return_to(const ManagerMoment& moment) override {
    parts_ = static_cast<const Kept&>(moment).parts;
    kept_.reset();
  }

 private:
  using Parts = std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>>;  // value, version
  struct Kept final : ManagerMoment {
    explicit Kept(Parts all) : parts(std::move(all)) {}
    std::size_t bytes() const override { return parts.size() * 64; }
    Parts parts;
  };
  void change() {
    ++version_;
    for (auto& [number, part] : parts_) part.second = version_;
    kept_.reset();
  }
  Parts parts_;
  std::uint64_t version_ = 0;
  std::shared_ptr<const Kept> kept_;
};

struct World {
  std::unique_ptr<ThreadPool> pool;
  ParkingLog log;
  Tally tally;
  std::uint64_t restored = 0;
  EntityRegistry registry;
  Handlers handlers;

  explicit World(std::uint32_t workers = 1)
      : pool(std::make_unique<ThreadPool>(workers)),
        registry({.cascade_messages_max = 40,
                  .executor = workers > 1 ? pool.get() : nullptr,
                  .pass_serial_below_ns = 0,
                  .on_warning = [](const std::string&) {}}) {
    registry.add_type<game::Blob>();
    registry.add_type<ReleaseIds>();
    registry.add_type<ward::Shield>();
    registry.add_runtime_type<Voice>([this](Voice&, Entity) { ++restored; });
    registry.add_manager("tally", tally);
    registry.host().set_edit_log(&log);
    handlers.add(registry.subscribe(
        "walk", [](const Update& u, game::Position& at, const game::Velocity& v, Outbox& out, Entity self) {
          at.at.x += v.by.x * u.dt;
          if (self.index % 5 == 0) out.post(self, game::Heal{.amount = 1});
        }));
    handlers.add(registry.subscribe("lean",
                                    [](const Update&, game::Position& at, Parent<const game::Position> up,
                                       Without<game::Velocity>) { at.at.y = at.at.y * 0.5f + up->at.x; },
                                    {.after = {"walk"}}));
    handlers.add(
        registry.subscribe("hurt", [](const game::Damage& hit, game::Health& health, Entity self, Outbox& out) {
          health.value -= hit.amount;
          if (health.value < 0) out.destroy(self);
        }));
    handlers.add(
        registry.subscribe("heal", [](const game::Heal& by, game::Health& health) { health.value += by.amount; }));
    handlers.add(registry.subscribe("ping", [](const game::Ping& ping, game::Count& count, Entity self, Outbox& out) {
      count.hits += ping.hops;
      if (ping.hops > 0) out.post(self, game::Ping{.hops = ping.hops - 1});
    }));
    handlers.add(registry.subscribe(
        "breed", [](const game::Swear&, const game::Health& health, Entity self, Spawner& spawner, Outbox& out) {
          const Entity made = spawner.create_under(self, "child", game::Health{.value = health.value}, game::Count{});
          out.post_after(40, made, game::Damage{.amount = 1});
        }));
    handlers.add(registry.subscribe(
        "speak", [](const game::Heal& by, Voice& voice) { *voice.said += static_cast<std::uint64_t>(by.amount) + 1; }));
    handlers.add(registry.subscribe("count", [this](const game::Blob& blob) { tally.count(blob.words[0]); },
                                    {.external_writes = {"tally"}}));
  }
};

/// Runs one random step and returns its results. Registries with equal state have equal results.
inline std::string step(World& world, Random random) {
  EntityRegistry& r = world.registry;
  std::vector<Entity> all;
  r.each<>([&](Entity e) { all.push_back(e); });
  const auto one = [&] { return all.empty() ? Entity{} : all[random.below(all.size())]; };
  std::uint64_t told = r.entity_count();
  const auto tell = [&](std::uint64_t more) { told = told * 0x100000001b3ull + more; };
  const auto tell_created = [&](const Created& made) { tell(made ? Entity(made).bits() : 0); };
  const auto tell_receipt = [&](const Receipt& receipt) {
    for (const std::uint64_t count :
         {std::uint64_t{receipt.handled}, std::uint64_t{receipt.unhandled}, std::uint64_t{receipt.dead},
          std::uint64_t{receipt.refused}, std::uint64_t{receipt.cut_short}, receipt.sequence})
      tell(count);
  };
  const bool crowded = all.size() > 700;
  const auto some_name = [&] { return "n" + std::to_string(random.below(12)); };
  switch (crowded ? 6 + random.below(26) : random.below(32)) {
    case 0: tell(r.create(game::Health{.value = 9}, game::Count{}).bits()); break;
    case 1: tell_created(r.create_under(one(), some_name(), game::Health{}, game::Position{})); break;
    case 2:
      tell_created(r.create_under(one(), "", game::Position{}, game::Velocity{.by = {.x = 2}}, game::Count{},
                                  game::Member{.team = game::Team::red, .squad = one()}));
      break;
    case 3:
      for (const Entity e : r.create_many(random.small(90), game::Health{}, game::Slots{})) tell(e.bits());
      for (const Entity e : r.create_many(random.small(90), game::Health{}, game::Position{}, game::Velocity{}))
        tell(e.bits());
      break;
    case 4: {
      std::vector<Entity> ids;
      (void)r.spawn("tree", {.parent = one(), .name = "tree", .ids = &ids}, game::Armor{});
      for (int i = 0; i < 3; ++i) tell_created(r.spawn("tree"));
      for (const Entity e : ids) tell(e.bits());
      break;
    }
    case 5: tell(r.create(Has<Voice>{}, game::Health{.value = 5}).bits()); break;
    case 6:
    case 7:
      for (int i = 0; i < 6; ++i) tell_receipt(r.push(one(), game::Damage{.amount = 1}));
      break;
    case 8: tell_receipt(r.push(Update{.dt = 1})); break;
    case 9: tell_receipt(r.push(one(), game::Ping{.hops = random.small(60)})); break;
    case 10:
      for (int i = 0; i < 5; ++i) r.post(one(), game::Heal{.amount = 1});
      if (random.percent(50)) tell_receipt(r.flush());
      break;
    case 11: tell_receipt(r.destroy(one())); break;
    case 12: {
      std::vector<Entity> some;
      for (std::uint32_t i = 0; i < 9 + (crowded ? 90 : 0); ++i) some.push_back(one());
      tell_receipt(r.push(std::span<const Entity>(some), Destroy{}));
      break;
    }
    case 13:
      for (int i = 0; i < 4; ++i) tell_receipt(r.set(one(), game::Armor{.factor = 2}, game::Frozen{}));
      break;
    case 14:
      for (int i = 0; i < 4; ++i) tell_receipt(r.remove<game::Armor>(one()));
      break;
    case 15:
    case 16: tell_receipt(r.reparent(one(), random.percent(20) ? Entity{} : one())); break;
    case 17: tell_receipt(r.rename(one(), random.percent(20) ? "" : some_name())); break;
    case 18: tell(r.post_at(r.now_ns() + random.below(90), one(), game::Damage{.amount = 2})); break;
    case 19: tell_receipt(r.advance(random.below(80))); break;
    case 20: tell_receipt(r.push(one(), game::Swear{})); break;
    case 21: {
      BatchBuilder few;
      for (int i = 0; i < 3; ++i) few.append(one(), game::Damage{.amount = 1});
      few.append(one(), Destroy{});  // parks its ids
      tell_receipt(r.host().push_batch(few.bytes(), {.session = 5, .user = 7, .request = 6}));
      break;
    }
    case 22: tell_receipt(r.set_handler_enabled(random.percent(50) ? "heal" : "lean", random.percent(60))); break;
    case 23: {
      const std::string name = random.percent(70) ? "tree" : "bush";
      if (random.percent(15)) {
        BatchBuilder none;
        none.append_table(TypeTraits<DefineTemplate>::id, {}, encode(DefineTemplate{.name = name}));
        tell_receipt(r.host().push_batch(none.bytes()));
        break;
      }
      TemplateTree tree(name);
      tree.set("", game::Health{.value = static_cast<float>(random.below(50))});
      tree.set("a", game::Count{}).set("a/b", game::Position{});
      if (random.percent(50)) tree.set("a", game::Armor{});
      tell_receipt(r.define_template(tree));
      break;
    }
    case 24: {
      const std::uint32_t count = 1 + random.small(80);
      const Entity first = r.host().grant(count, 3);
      tell(first.bits());
      if (random.percent(60)) r.host().return_grant(first, count);
      game::Blob blob{};
      blob.words[0] = random.below(9);
      tell_receipt(r.push(blob));
      break;
    }
    case 25: tell_created(r.spawn("no such template")); break;  // delivers what waits; no input
    case 26: {
      std::vector<Entity> parked;
      const Storage& storage = r.host().storage();
      for (std::uint32_t i = 1; i < storage.ids().indices() && parked.size() < 5; ++i)
        if (const Entity e{i, storage.ids().slot(i).generation}; storage.in_state(e, IdState::parked))
          parked.push_back(e);
      BatchBuilder release;
      release.append_table(TypeTraits<ReleaseIds>::id, {}, encode(ReleaseIds{.ids = parked}));
      tell_receipt(r.host().push_batch(release.bytes()));
      break;
    }
    case 27: {
      tell(r.intern("text " + std::to_string(random.below(40))).hash);
      std::vector<Text> texts;
      for (std::uint64_t i = 0; i < 12; ++i) texts.push_back(text_of("text " + std::to_string(random.below(40))));
      if (random.percent(30)) tell_receipt(r.host().drop_texts(texts));
      break;
    }
    case 28:
      for (int i = 0; i < 3; ++i) tell_receipt(r.set(one(), Has<Voice>{}));
      tell_receipt(r.remove<Voice>(one()));
      break;
    case 29:
      for (int i = 0; i < 4; ++i) tell_receipt(r.set(one(), ward::Shield{.strength = 3, .left = 1, .by = one()}));
      tell_receipt(r.remove<ward::Shield>(one()));
      break;
    case 30: {
      const TimerId timer = r.post_at(r.now_ns() + 1000, one(), game::Heal{.amount = 2});
      tell_receipt(r.flush());
      if (random.percent(50)) tell_receipt(r.cancel(timer - random.below(3)));
      break;
    }
    default:
      r.each<const game::Health, const game::Count>([&](Entity e, const game::Health& health, const game::Count&) {
        tell(e.bits() + static_cast<std::uint64_t>(health.value * 8));
      });
      tell(r.find_path("/n1").bits());
      for (const TypeId type : r.host().components(one())) tell(type);
      tell_receipt(r.push(one(), game::Heal{.amount = 1}));
  }
  return std::to_string(told) + " " + std::to_string(r.sequence()) + " " + std::to_string(r.host().next_timer());
}

}  // namespace muster::test

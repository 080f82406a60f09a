// A load that fails leaves the registry as if it had never been tried, whatever it fails at.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/state/conversion.h"
#include "registry/state/state_format.h"
#include "registry/templates/template_tree.h"
#include "tests/model/state_rows.h"
#include "tests/registry/game.h"
#include "tests/registry/many.h"

using namespace muster;

namespace {

/// Counts how often it was asked to take something over, and refuses or throws when it is told to.
class Notes final : public Manager {
 public:
  enum class Takes : std::uint8_t { all, refuses_once, throws_once };
  void save(std::vector<std::byte>& out) const override {
    for (const int word : words) {
      const auto bytes = std::as_bytes(std::span(&word, 1));
      out.insert(out.end(), bytes.begin(), bytes.end());
    }
  }
  std::expected<void, std::string> load(std::uint32_t, std::span<const std::byte> bytes) override {
    const Takes now = std::exchange(takes, Takes::all);
    if (now == Takes::refuses_once) return std::unexpected("its pen is broken");
    words.clear();  // what it throws may leave it with anything
    if (now == Takes::throws_once) throw std::runtime_error("its ink is spilt");
    words.resize(bytes.size() / sizeof(int));
    if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(int));
    return {};
  }
  std::vector<int> words;
  Takes takes = Takes::all;
};

/// Hears of every input.
class Hearing final : public InputSink {
 public:
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    heard = heard * 31 + envelope.sequence + batch.size();
  }
  std::uint64_t heard = 0;
};

struct Spirit {
  int value = 0;
};

}  // namespace

template <>
struct muster::RuntimeTraits<Spirit> {
  static constexpr std::string_view name = "test.Spirit";
};

namespace {

/// A registry with a bit of everything: rows at several depths, names, free and granted ids, texts,
/// templates, timers, posts, a cut cascade, a disabled handler, managers, runtime values, a sink.
class Full {
 public:
  explicit Full(int variant) : registry({.cascade_messages_max = 4}) {
    registry.add_runtime_type<Spirit>([this](Spirit& spirit, Entity e) {
      spirit.value = static_cast<int>(e.index);
      ++restored;
    });
    registry.add_manager("first", first);
    registry.add_manager("second", second);
    registry.add_manager("third", third);
    registry.host().add_sink(hearing);
    handlers.add(
        registry.subscribe("hit", [this](const game::Damage& hit, game::Health& health, Entity self, Outbox& out) {
          health.value -= hit.amount;
          ++called;
          if (health.value < 0) out.destroy(self);
        }));
    handlers.add(registry.subscribe("echo", [](const game::Ping& ping, game::Count& count, Entity self, Outbox& out) {
      count.hits += ping.hops;
      if (ping.hops > 0) out.post(self, game::Ping{.hops = ping.hops - 1});
    }));
    handlers.add(registry.subscribe(
        "move", [](const Update& u, game::Position& at, const game::Velocity& v, Parent<const game::Position*> up) {
          at.at.x += v.by.x * u.dt + (up ? up->at.x : 0);
        }));
    handlers.add(registry.subscribe("quiet", [this](const game::Heal&, const game::Health&) { ++called; }));
    fill(variant);
  }
  ~Full() {
    registry.host().remove_sink(hearing);
    for (Manager* manager : {&first, &second, &third}) registry.remove_manager(*manager);
  }
  void fill(int variant) {
    const Entity squad = registry.create("squad" + std::to_string(variant), game::Health{}, game::Position{});
    for (int i = 0; i < 30 + variant; ++i)
      registry
          .create_under(squad, i % 3 ? "m" + std::to_string(i) : std::string(), game::Health{.value = 50},
                        game::Position{}, game::Velocity{.by = {.x = static_cast<float>(i)}}, game::Count{})
          .or_stop();
    std::vector<Entity> many = registry.create_many(200, game::Count{}, game::Slots{});
    for (std::size_t i = static_cast<std::size_t>(variant); i < many.size(); i += 3) registry.destroy(many[i]);
    registry.create(game::Oath{}, Has<Spirit>{});
    registry.host().grant(70, 9);
    registry.intern("a text of nobody " + std::to_string(variant));
    TemplateTree tree("tower");
    tree.set("", game::Health{.value = 7.f + static_cast<float>(variant)}).set("arm", game::Armor{});
    registry.define_template(tree);
    registry.spawn("tower", {.parent = squad, .name = "keep"}).or_stop();
    registry.set_handler_enabled("quiet", false);
    registry.post_at(5000, squad, game::Damage{.amount = 2});
    registry.post_at(9000, Update{.dt = 2});
    registry.advance(10 + static_cast<std::uint64_t>(variant));
    first.words.assign(3, variant);
    second.words.assign(5, variant + 1);
    registry.push(many[1 + (variant == 0)], game::Ping{.hops = 9});  // more than a cascade may do
    registry.post(squad, game::Damage{.amount = 1});
    registry.post(many[2], game::Damage{.amount = 1});
  }
  /// Something of everything, so that who is not as it was shows it.
  std::uint64_t live() {
    const Entity squad = registry.find_path("/squad0");
    std::uint64_t sum = registry.push(squad, game::Damage{.amount = 1}).handled;
    std::vector<Entity> all;
    registry.each<>([&](Entity e) { all.push_back(e); });
    for (std::size_t i = 0; i < all.size(); i += 11) registry.push(all[i], game::Ping{.hops = 2});
    registry.push(Update{.dt = 1});
    (void)registry.create_under(squad, "new", game::Health{}, game::Frozen{});
    for (const Entity e : registry.create_many(3, game::Count{}, game::Slots{})) sum = sum * 31 + e.bits();
    (void)registry.spawn("tower", {.parent = squad, .name = "keep"});
    registry.set(all[all.size() / 2], game::Armor{.factor = 3});
    registry.destroy(all[all.size() / 3]);
    registry.remove<game::Velocity>(all[5]);
    registry.host().grant(64, 4);
    sum = sum * 31 + registry.post_at(registry.now_ns() + 50, squad, game::Damage{.amount = 1});
    registry.advance(60);
    return sum * 31 + registry.hash();
  }
  /// All that must not be touched.
  std::string differs(const Full& twin) const {
    if (registry.hash() != twin.registry.hash()) return "hash";
    if (naive::saved_rows(registry) != naive::saved_rows(twin.registry)) return "saved rows";
    if (registry.sequence() != twin.registry.sequence()) return "sequence";
    if (registry.types().schemas().size() != twin.registry.types().schemas().size()) return "schemas";
    if (registry.types().types().size() != twin.registry.types().types().size()) return "types";
    if (registry.types().fingerprint() != twin.registry.types().fingerprint()) return "fingerprint of types";
    if (registry.host().storage().components().size() != twin.registry.host().storage().components().size())
      return "components";
    if (registry.host().timers().size() != twin.registry.host().timers().size()) return "timers";
    if (registry.host().texts().size() != twin.registry.host().texts().size()) return "texts";
    if (registry.host().storage().ids().free_queue().size() != twin.registry.host().storage().ids().free_queue().size())
      return "free queue";
    if (first.words != twin.first.words || second.words != twin.second.words || third.words != twin.third.words)
      return "managers";
    if (hearing.heard != twin.hearing.heard) return "what sinks heard";
    if (called != twin.called) return "calls";
    if (restored != twin.restored) return "restored values";
    if (registry.host().counters().messages != twin.registry.host().counters().messages) return "counters";
    if (registry.host().handlers().handlers().size() != twin.registry.host().handlers().handlers().size())
      return "subscriptions";
    if (registry.host().handlers().disabled() != twin.registry.host().handlers().disabled())
      return "handlers that are off";
    return {};
  }

  Notes first, second, third;
  Hearing hearing;
  int called = 0, restored = 0;
  EntityRegistry registry;
  Handlers handlers;
};

/// What another program saved: other content, other bounds, a schema that is not known here.
naive::StateRows foreign_rows() {
  Full other(1);
  other.third.words.assign(2, 77);
  other.registry.create(many::A{});
  other.registry.add_type<many::B>();
  return naive::saved_rows(other.registry);
}

/// Gives the rows as they are up to one, and does something at that one.
class Faulty final : public StateSource {
 public:
  enum class Fault : std::uint8_t { throws, ends, misses, cut, longer, zeroed };
  Faulty(const naive::StateRows& rows, std::size_t at, Fault fault) : rows_(rows), at_(at), fault_(fault) {}
  void rows(StateSection section,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take) override {
    for (auto row = rows_.lower_bound({section, 0, 0}); row != rows_.end() && row->first.section == section; ++row) {
      const std::size_t number = given_++;
      if (number < at_ || (number > at_ && fault_ != Fault::ends)) {
        take(row->first, row->second);
        continue;
      }
      std::vector<std::byte> bytes = row->second;
      switch (fault_) {
        case Fault::throws: throw std::runtime_error("the disk is gone");
        case Fault::ends:
        case Fault::misses: continue;
        case Fault::cut: bytes.resize(bytes.size() / 2); break;
        case Fault::longer: bytes.resize(bytes.size() + 5); break;
        case Fault::zeroed: std::ranges::fill(bytes, std::byte{0xfe}); break;
      }
      take(row->first, bytes);
    }
  }

 private:
  const naive::StateRows& rows_;
  std::size_t at_, given_ = 0;
  Fault fault_;
};

}  // namespace

TEST_CASE(
    "a load that fails at any row, in any of six ways, leaves the registry and its twin alike, which live on alike") {
  const naive::StateRows rows = foreign_rows();
  auto first = std::make_unique<Full>(0), second = std::make_unique<Full>(0);
  REQUIRE(first->differs(*second) == "");
  std::size_t failed = 0;
  using Fault = Faulty::Fault;
  for (const Fault fault : {Fault::throws, Fault::ends, Fault::misses, Fault::cut, Fault::longer, Fault::zeroed})
    for (std::size_t at = 0; at < rows.size(); ++at) {
      const StateKey key = std::next(rows.begin(), static_cast<std::ptrdiff_t>(at))->first;
      INFO("fault " << static_cast<int>(fault) << " at row " << at << ", section " << static_cast<int>(key.section));
      Full &world = *first, &twin = *second;
      Faulty source(rows, at, fault);
      bool loaded = false;
      try {
        loaded = world.registry.load(source).has_value();
        REQUIRE(fault != Fault::throws);
      } catch (const std::runtime_error& error) {
        REQUIRE(fault == Fault::throws);
        REQUIRE(std::string(error.what()) == "the disk is gone");
      }
      if (loaded) {  // what was damaged is good too, or was put right: this is another world now
        first = std::make_unique<Full>(0);
        second = std::make_unique<Full>(0);
        continue;
      }
      ++failed;
      REQUIRE(world.differs(twin) == "");
      if (failed % 8 != 0) continue;
      REQUIRE(world.live() == twin.live());
      REQUIRE(world.differs(twin) == "");
    }
  CHECK(failed >= 200);
}

TEST_CASE("a manager that refuses or throws ends a load, is named, and all managers have what they had") {
  const naive::StateRows rows = foreign_rows();
  for (const Notes::Takes takes : {Notes::Takes::refuses_once, Notes::Takes::throws_once})
    for (const int which : {0, 1, 2}) {
      Full world(0), twin(0);
      Notes& notes = which == 0 ? world.first : which == 1 ? world.second : world.third;
      notes.takes = takes;
      naive::RowsSource source(rows);
      const auto loaded = world.registry.load(source);
      REQUIRE_FALSE(loaded);
      const char* const names[] = {"first", "second", "third"};
      CHECK(loaded.error().at.section == StateSection::managers);
      CHECK(loaded.error().what ==
            std::string("manager \"") + names[which] +
                "\": " + (takes == Notes::Takes::throws_once ? "it threw: its ink is spilt" : "its pen is broken"));
      CHECK(world.differs(twin) == "");
      CHECK(world.live() == twin.live());
      CHECK(world.differs(twin) == "");
      naive::RowsSource again(rows);
      CHECK(world.registry.load(again));
      CHECK(world.first.words == std::vector<int>(3, 1));
      CHECK(world.third.words == std::vector<int>(2, 77));
    }
}

TEST_CASE("a restore hook that throws ends a load, and the registry is as it was") {
  const naive::StateRows rows = foreign_rows();
  Full world(0), twin(0);
  world.registry.add_runtime_type<Spirit>({});
  bool throws = false;
  world.registry.add_runtime_type<Spirit>([&](Spirit&, Entity) {
    if (std::exchange(throws, false)) throw std::runtime_error("no spirit comes");
  });
  throws = true;
  world.restored = twin.restored;
  naive::RowsSource source(rows);
  CHECK_THROWS_WITH(world.registry.load(source), "no spirit comes");
  CHECK(world.differs(twin) == "");
  CHECK(world.live() == twin.live());
}

TEST_CASE("what a failed load had made known is unknown again, and can be made known in another way") {
  const naive::StateRows rows = foreign_rows();
  EntityRegistry world;
  const std::size_t schemas = world.types().schemas().size(), types = world.types().types().size();
  Faulty source(rows, rows.size() - 1, Faulty::Fault::throws);
  CHECK_THROWS(world.load(source));
  CHECK(world.types().schemas().size() == schemas);
  CHECK(world.types().types().size() == types);
  CHECK(world.types().find("many.A") == nullptr);
  CHECK(world.types().find(TypeTraits<many::A>::id) == nullptr);
  const Entity made = world.create(many::A{}, game::Health{});
  CHECK(world.has<many::A>(made));
  CHECK(world.push(made, game::Damage{}).unhandled == 1);
}

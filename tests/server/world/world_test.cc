#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "include/muster/world.h"
#include "messages/batch_builder.h"
#include "registry/host.h"
#include "tests/registry/game.h"
#include "tests/server/world/made_up_rows.h"
#include "tests/server/world/saved_by_hand.h"
#include "tests/support/id_or_nil.h"

namespace world_test {

using namespace muster;
using namespace muster::test;

namespace {

void take_damage(const game::Damage& hit, game::Health& health, Entity self, Outbox& out) {
  health.value -= hit.amount;
  if (health.value <= 0) out.destroy(self);
}

Handlers install(EntityRegistry& registry) {
  registry.add_type<game::Health>();
  registry.add_type<game::Armor>();
  registry.add_type<game::Frozen>();
  return {registry.subscribe("game.take_damage", take_damage)};
}

Handlers nothing(EntityRegistry&) { return {}; }

/// What every reader of a registry can see, as text: ids, order, names, tree, values.
std::string seen(const EntityRegistry& registry) {
  std::string text;
  registry.each<>([&](Entity e) {
    text += std::to_string(e.index) + ':' + std::to_string(e.generation) + ' ' + registry.path(e) + " children";
    for (Entity child = registry.first_child(e); child; child = registry.next_sibling(child))
      text += ' ' + std::to_string(child.index);
    for (const TypeId type : registry.host().components(e)) {
      text += ' ' + std::to_string(type) + '=';
      const TypeDescriptor* known = registry.types().find(type);
      const std::byte* value = registry.find(e, type);
      for (std::uint32_t i = 0; value && i < known->size && known->fields[0].name != "reserved"; ++i)
        text += std::to_string(static_cast<int>(value[i])) + ',';
    }
    text += '\n';
  });
  return text;
}

/// All rows that a registry saves, whatever their versions.
struct AllRows : StateSink {
  void row(const StateKey& key, std::uint64_t, std::span<const std::byte> bytes) override {
    all[key] = Bytes(bytes.begin(), bytes.end());
  }
  Contents all;
};

std::string refusal(const std::string& path, WorldErrorCode code, const World::Install& with,
                    WorldOptions options = {}) {
  const std::string before = read_file(path);
  try {
    World world(path, with, options);
  } catch (const WorldError& error) {
    CHECK(std::string(name(error.code())) == name(code));
    CHECK(read_file(path) == before);
    return error.what();
  }
  FAIL("was opened");
  return {};
}

}  // namespace

TEST_CASE("a world is filled and saved, and comes back with the same ids, names, order, values and hash") {
  const Directory directory;
  const std::string path = directory / "level1.muster";
  std::string before;
  std::uint64_t hash = 0, sequence = 0;
  Entity orc, child;
  {
    World world(path, install, {.hz = 60});
    auto& registry = world.registry();
    REQUIRE(world.is_new());
    orc = registry.create("orc", game::Health{.value = 30});
    child = registry.create_under(orc, "a/b", game::Health{}, game::Frozen{});
    registry.create_under(orc, "", game::Armor{.factor = 3}).or_stop();
    registry.destroy(registry.create("gone", game::Health{}));
    registry.push(orc, game::Damage{.amount = 7});
    const CheckpointReport report = world.save();
    CHECK(report.checkpoint == 1);
    CHECK(report.sequence == registry.sequence());
    CHECK(world.durable_sequence() == registry.sequence());
    CHECK_FALSE(world.is_new());
    before = seen(registry);
    hash = registry.hash();
    sequence = registry.sequence();
  }
  World world(path, install, {.hz = 60});
  CHECK_FALSE(world.is_new());
  CHECK(world.durable_sequence() == sequence);
  auto& registry = world.registry();
  CHECK(seen(registry) == before);
  CHECK(registry.hash() == hash);
  CHECK(registry.sequence() == sequence);
  CHECK(registry.get<game::Health>(orc).value == 23);
  CHECK(registry.find_path("/orc/a\\/b") == child);
  CHECK(registry.push(orc, game::Damage{.amount = 23}).handled == 1);
  CHECK_FALSE(registry.alive(child));
}

TEST_CASE(
    "ids that were granted before a stop and not used come back by an input, but those that a timer will create") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  Entity first;
  std::uint64_t hash = 0;
  {
    World world(path, install);
    first = world.registry().host().grant(1000, 77);
    BatchBuilder used, create, timed;
    used.append(Entity{first.index + 1, 1}, Create{});
    world.registry().host().push_batch(used.bytes(), {.session = 77});
    create.append(Entity{first.index + 500, 1}, Create{});
    timed.append_timed(1000, 0, create.front());
    world.registry().host().push_batch(timed.bytes(), {.session = 77});
    world.save();
    hash = world.registry().hash();
  }
  struct Told final : InputSink {
    void on_input(const Envelope&, std::span<const std::byte> batch) override {
      if (!batch.empty()) inputs.emplace_back(batch.begin(), batch.end());
    }
    std::vector<std::vector<std::byte>> inputs;
  } told;
  World world(path, install);
  EntityRegistry& registry = world.registry();
  CHECK(registry.hash() == hash);
  registry.host().add_sink(told);
  world.stop();
  world.next_frame();
  registry.host().remove_sink(told);
  REQUIRE(told.inputs.size() == 2);
  CHECK(BatchView(told.inputs[0]).type() == TypeTraits<ReturnGrant>::id);
  CHECK(registry.host().grant(499, 78).index == first.index + 501);
  CHECK(registry.host().grant(498, 78).index == first.index + 2);
  registry.advance(1000);
  CHECK(registry.alive({first.index + 500, 1}));
}

TEST_CASE("what was not saved is gone") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    World world(path, install, saved_by_hand());
    world.registry().create("a").or_stop();
  }
  CHECK(directory.names().empty());
  {
    World world(path, install, saved_by_hand());
    CHECK(world.is_new());
    world.registry().create("b").or_stop();
    world.save();
    world.registry().create("c").or_stop();
  }
  World world(path, install, saved_by_hand());
  CHECK(world.registry().find_path("/b"));
  CHECK_FALSE(world.registry().find_path("/a"));
  CHECK_FALSE(world.registry().find_path("/c"));
}

TEST_CASE(
    "random programs: every save leaves exactly the rows of a save from nothing, and a world read back goes on alike") {
  const std::uint64_t seed = GENERATE(range(1, 31));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const Directory directory;
  const std::string path = directory / "w.muster";
  EntityRegistry twin;  // runs the same program and is never saved
  const Handlers twin_handlers = install(twin);
  auto world = std::make_unique<World>(path, install);
  std::vector<Entity> known;
  for (int step = 0; step < 300; ++step) {
    CAPTURE(step);
    const auto any = [&] { return known.empty() ? Entity{} : known[random() % known.size()]; };
    const std::uint64_t choice = random() % 16, a = random(), b = random();
    const Entity e = any(), other = any();
    CAPTURE(choice);
    const auto amount = static_cast<float>(a % 40);
    Entity made[2];
    int i = 0;
    for (EntityRegistry* registry : {&twin, &world->registry()}) {
      switch (choice) {
        case 0:
        case 1:
          made[i] = muster::test::id_or_nil(
              registry->create(a % 3 ? "n" + std::to_string(a % 50) : "", game::Health{.value = amount}));
          break;
        case 2:
          made[i] =
              muster::test::id_or_nil(registry->create_under(e, "", game::Health{}, game::Armor{.factor = amount}));
          break;
        case 3:
          made[i] = muster::test::id_or_nil(registry->create_under(e, "c" + std::to_string(a % 9), game::Frozen{}));
          break;
        case 4: registry->destroy(e); break;
        case 5: registry->set(e, game::Armor{.factor = amount}); break;
        case 6: registry->remove<game::Armor>(e); break;
        case 7: registry->reparent(e, b % 3 ? other : Entity{}); break;
        case 8: registry->rename(e, "r" + std::to_string(a % 100)); break;
        case 9: registry->push(e, game::Damage{.amount = amount}); break;
        case 10:
        case 11: registry->post(e, game::Damage{.amount = amount / 8}); break;
        case 12: registry->post_at(registry->now_ns() + a % 1000, e, game::Damage{.amount = amount}); break;
        case 13: registry->flush(); break;
        case 14: registry->advance(a % 500); break;
        case 15: {
          const std::vector<Entity> many =
              registry->create_many(static_cast<std::uint32_t>(a % 40), game::Health{.value = 5});
          if (i == 0) known.insert(known.end(), many.begin(), many.end());
          break;
        }
      }
      ++i;
    }
    REQUIRE(made[0] == made[1]);
    if (made[0]) known.push_back(made[0]);
    if (random() % 4 == 0) {
      const auto report = world->try_save();
      if (!report) FAIL(report.error().what());
      if (random() % 6 == 0) {
        AllRows whole;
        world->registry().save(whole);
        const std::uint64_t hash = world->registry().hash();
        world.reset();
        const auto in_file = read_world(path);
        if (!in_file) FAIL(in_file.error().what());
        for (const auto& [key, bytes] : whole.all) {
          const auto found = in_file->find(key);
          if (found == in_file->end()) FAIL("a row is missing: " << (StateError{key, ""}.text()));
          if (found->second != bytes) FAIL("a row is stale: " << (StateError{key, ""}.text()));
        }
        REQUIRE(in_file->size() == whole.all.size());
        world = std::make_unique<World>(path, install);
        REQUIRE(world->registry().hash() == hash);
        REQUIRE(seen(world->registry()) == seen(twin));
        // Reading closes the batch that posts of one type extended, so both deliver what was posted before they go on.
        for (EntityRegistry* registry : {&twin, &world->registry()}) registry->push(e, game::Heal{});
      }
    }
    REQUIRE(world->registry().hash() == twin.hash());
  }
}

TEST_CASE("posts and timers that wait are saved, whenever they came, and delivered after reading") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  Entity orc;
  TimerId timer = 0;
  {
    World world(path, install);
    orc = world.registry().create("orc", game::Health{.value = 100});
    world.registry().post(orc, game::Damage{.amount = 1});
    world.save();
    world.registry().post(orc, game::Damage{.amount = 2});  // extends the batch that was saved
    world.save();
    timer = world.registry().post_at(1000, orc, game::Damage{.amount = 40});
    world.save();
  }
  World world(path, install);
  CHECK(world.registry().get<game::Health>(orc).value == 100);
  world.registry().flush();
  CHECK(world.registry().get<game::Health>(orc).value == 97);
  CHECK(world.registry().post_at(2000, orc, game::Damage{.amount = 1}) == timer + 1);
  world.registry().advance(1000);
  CHECK(world.registry().get<game::Health>(orc).value == 57);
}

TEST_CASE("a save writes only what changed") {
  const Directory directory;
  World world(directory / "w.muster", install);
  const auto many = world.registry().create_many(100'000, game::Health{.value = 5}, game::Armor{});
  const std::uint64_t all = world.save().bytes_written;
  CHECK(all > 100'000 * 16);
  world.registry().push(many[50'000], game::Damage{.amount = 1});
  CHECK(world.save().bytes_written < 100'000);
}

TEST_CASE("a save behind which nothing changed writes nothing, and reports the checkpoint that is there") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  World world(path, install, saved_by_hand());
  (void)world.registry().create("orc", game::Health{.value = 5});
  const CheckpointReport first = world.save();
  const std::string file = read_file(path), wal = read_file(path + "-wal");
  const CheckpointReport again = world.save();
  CHECK(again.checkpoint == first.checkpoint);
  CHECK(again.sequence == first.sequence);
  CHECK(again.rows == first.rows);
  CHECK(again.bytes_written == 0);
  CHECK(read_file(path) == file);
  CHECK(read_file(path + "-wal") == wal);
}

TEST_CASE("a world opened by a program without its types keeps them, and saves them back") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  std::string before;
  Entity orc;
  {
    World world(path, install);
    orc = world.registry().create("orc", game::Health{.value = 30}, game::Armor{.factor = 2});
    world.save();
    before = seen(world.registry());
  }
  {
    World world(path, nothing);
    CHECK(seen(world.registry()) == before);
    world.registry().rename(orc, "ork");
    world.save();
  }
  World world(path, install);
  CHECK(world.registry().get<game::Health>(orc).value == 30);
  CHECK(world.registry().find_path("/ork") == orc);
}

TEST_CASE(
    "a component that was saved with another layout is converted, told, and has the new one after the next save") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    World world(path, install, saved_by_hand());
    world.registry().create("orc", game::Armor{.factor = 0.5f}).or_stop();
    world.save();
  }
  const std::string before = read_file(path);
  const std::string changed = read_file(MUSTER_CHANGED_SCHEMA);
  const auto with_changed = [&](EntityRegistry& registry) -> Handlers {
    REQUIRE(registry.types().add_schema(std::as_bytes(std::span(changed))));
    return {};
  };
  const auto check = [](const World& world, const std::vector<std::string>& converted) {
    CHECK(world.load_report().converted == converted);
    const EntityRegistry& registry = world.registry();
    const TypeDescriptor& armor = *registry.types().find("game.Armor");
    double factor = 0;
    std::memcpy(&factor, registry.find(registry.find_path("/orc"), armor.id) + armor.fields[1].offset, sizeof factor);
    CHECK(factor == 0.5);
  };
  const std::vector<std::string> told{"game.Armor: worn is new, factor was float and is double"};
  check(World(path, with_changed, saved_by_hand()), told);
  CHECK(read_file(path) == before);
  {
    World world(path, with_changed, saved_by_hand());
    check(world, told);
    world.save();
  }
  check(World(path, with_changed, saved_by_hand()), {});
}

TEST_CASE("a component whose values cannot be converted refuses the file, naming type and field") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    World world(path, install);
    world.registry().create("orc", game::Health{.value = 30}).or_stop();
    world.save();
  }
  const std::string changed = read_file(MUSTER_CHANGED_SCHEMA);
  REQUIRE_FALSE(changed.empty());
  const std::string text = refusal(path, WorldErrorCode::incompatible, [&](EntityRegistry& registry) -> Handlers {
    REQUIRE(registry.types().add_schema(std::as_bytes(std::span(changed))));
    return {};
  });
  INFO(text);
  CHECK_THAT(text, Catch::Matchers::StartsWith(path + ": the state is refused: archetypes "));
  CHECK_THAT(text, Catch::Matchers::Contains(
                       "component game.Health.value: was float and is now int, which cannot be converted"));
}

TEST_CASE("an install that throws is the world's error, and the file is as before") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    World world(path, install);
    world.save();
  }
  CHECK(refusal(path, WorldErrorCode::setup, [](EntityRegistry&) -> Handlers {
          throw std::runtime_error("the plugin is too old");
        }) == path + ": its handlers cannot be installed: the plugin is too old");
  CHECK(refusal(path, WorldErrorCode::incompatible, [](EntityRegistry& registry) -> Handlers {
          registry.create("too early").or_stop();
          return {};
        }) == path + ": the state is refused: registry 0: the registry is not new");
}

TEST_CASE("a world that is open is refused to a second one, and options that make no sense are too") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  World world(path, install);
  world.save();
  CHECK(refusal(path, WorldErrorCode::in_use, install) == path + ": in use by process " + std::to_string(::getpid()));
  CHECK(refusal(directory / "no.muster", WorldErrorCode::missing, install, {.open = OpenMode::open_existing}) ==
        directory / "no.muster: no such file");
  CHECK(refusal(directory / "no.muster", WorldErrorCode::setup, install, {.hz = -1}) ==
        directory / "no.muster: hz must be 0, or from 0.001 to 1000000");
}

TEST_CASE("people with an SQL tool find the types with their fields") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    World world(path, install);
    world.registry().create("orc", game::Health{.value = 30}).or_stop();
    world.save();
  }
  auto database = SqliteDatabase::open(path, false, "", path);
  REQUIRE(database);
  CHECK(database->value("SELECT fields FROM types WHERE name='game.Health'", "") == "value:float @0");
  CHECK(database->value("SELECT role FROM types WHERE name='game.Damage'", "") == "message");
  const auto fields = database->value("SELECT fields FROM types WHERE name='game.Damage'", "");
  REQUIRE(fields);
  CHECK(*fields == "amount:float @0, from:muster.Entity @8");
}

TEST_CASE("a world opens though a handler wrote what no enum has, reports it, and has it right after the next save") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  const auto wrong = [](EntityRegistry& registry) -> Handlers {
    return {registry.subscribe("wrong", [](const game::Damage&, game::Oath& oath) {
      oath.team = static_cast<game::Team>(77);
      std::memset(static_cast<void*>(&oath.loyal), 9, 1);
    })};
  };
  Entity who;
  {
    World world(path, wrong, saved_by_hand());
    CHECK(world.load_report().mended == 0);
    who = world.registry().create("orc", game::Oath{});
    world.save();
    world.registry().push(who, game::Damage{});
    REQUIRE(world.try_save());
  }
  const game::Oath right{.team = game::Team::blue, .loyal = true};
  for (const bool saves : {false, true}) {
    World world(path, nothing, saved_by_hand());
    REQUIRE(world.load_report().mended == 2);
    const MendedState& first = world.load_report().listed[0];
    CHECK(first.entity == who);
    CHECK(first.type + "." + first.field + " " + first.found + " " + first.put == "game.Oath.team 77 1");
    CHECK(std::memcmp(world.registry().find(who, TypeTraits<game::Oath>::id), &right, sizeof right) == 0);
    if (saves) world.save();
  }
  World world(path, wrong, saved_by_hand());
  CHECK(world.load_report().mended == 0);
  CHECK(world.registry().get<game::Oath>(who) == right);
}

}  // namespace world_test

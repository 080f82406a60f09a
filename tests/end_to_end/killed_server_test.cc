// muster-server, killed at random moments while three sessions edit: what it said to be durable is there, once, and nothing else is.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <random>
#include <thread>

#include "tests/end_to_end/editing_person.h"
#include "tests/end_to_end/replayed_world.h"
#include "tests/end_to_end/server_process.h"
#include "tests/server/plugins/counter.h"
#include "tests/support/folder.h"
#include "tests/support/seeds.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

constexpr const char* deadly = "die of Ask";

bool soaks() { return test::number_in("MUSTER_SOAK_MINUTES", 0) > 0; }
std::uint64_t drawn_seed(std::uint64_t fixed) { return soaks() ? test::new_seed() + fixed : fixed; }

/// A world that three people edit, whose servers have the plugin that counts.
struct KilledWorld {
  explicit KilledWorld(std::uint64_t seed) : random(seed) {
    put(1);
    test::ServerProcess server(path, options({}));
    Client client = server.client();
    for (std::size_t i = 0; i < people.size(); ++i) people[i].begin(client, "p" + std::to_string(i));
    test::value_of(client.ask<session::Save>());
  }

  /// Servers run this build of the plugin from now on: its step is so long.
  void put(int step) {
    std::filesystem::copy_file(build(step), plugin, std::filesystem::copy_options::overwrite_existing);
  }
  static std::string build(int step) {
    return MUSTER_TEST_PLUGINS + std::string(step == 1 ? "/libcounter_first.so" : "/libcounter_second.so");
  }
  std::vector<std::string> options(std::vector<std::string> more) const {
    more.insert(more.end(), {"--plugin", plugin, "--hz", "100"});
    return more;
  }
  /// Of a server that is looked at: the clock stands, and what is told is on the disk soon.
  std::vector<std::string> to_look(std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--paused", "--durability", "each_flush", "--autosave", "0"});
    return options(std::move(more));
  }

  /// A server that three people edit until it is killed. `meanwhile` takes as long as it is to live.
  void live(int step, const std::string& autosave_s, const std::function<void(Client&)>& meanwhile) {
    test::ServerProcess server(
        path, options({"--durability", random() % 2 ? "batched" : "each_flush", "--autosave", autosave_s}));
    std::vector<std::thread> threads;
    std::vector<Client> clients;
    for (test::EditingPerson& person : people) {
      person.forget_edits();
      clients.push_back(server.client());
    }
    Client another = server.client();
    for (std::size_t i = 0; i < people.size(); ++i)
      threads.emplace_back([&, i, seed = random()] { people[i].work(clients[i], seed, step); });
    meanwhile(another);
    server.kill();
    for (std::thread& thread : threads) thread.join();
    for (const test::EditingPerson& person : people) CHECK(person.failed().empty());
  }
  /// Any moment.
  void sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(random() % (soaks() ? 500 : 150))); }

  /// Each person's part is what the edits up to the last durable one make of it.
  std::vector<test::Things> check_people(Client& client, const test::Left& left) const {
    std::vector<test::Things> seen;
    for (std::size_t i = 0; i < people.size(); ++i) {
      const test::EditingPerson& person = people[i];
      CAPTURE(i, person.durable(), left.durable, left.saved, person.edits());
      seen.push_back(person.read(client));
      REQUIRE(person.accepts(seen.back(), left));
    }
    return seen;
  }
  /// The same, where nobody was told more; and they go on from there.
  void take_people(Client& client, const test::Left& left) {
    for (const test::EditingPerson& person : people) CHECK(left.durable >= person.durable());
    std::vector<test::Things> seen = check_people(client, left);
    for (std::size_t i = 0; i < people.size(); ++i) {
      acknowledged += people[i].acknowledged();
      lost += people[i].acknowledged_behind(left.durable);
      people[i].take(std::move(seen[i]));
    }
  }
  /// Hash and sequence, and all of it is on the disk.
  static session::Info look(Client& client) {
    session::Info info = test::value_of(client.ask(session::GetInfo{.hash = 1}));
    CHECK(info.error.empty());
    (void)test::value_of(client.wait_durable(info.sequence));
    return info;
  }
  /// Another start makes the same of it.
  void check_again(std::uint64_t hash, const char* told = nullptr) {
    test::ServerProcess server(path, to_look(), told);
    Client client = server.client();
    CHECK(look(client).hash == hash);
  }
  /// What servers said since it was asked last.
  std::string said() const {
    std::string text = test::read_file(path + ".log");
    ::unlink((path + ".log").c_str());
    return text;
  }

  const test::Folder folder;
  const std::string path = folder / "w.muster", plugin = folder / "counter.so";
  std::mt19937_64 random;
  std::vector<test::EditingPerson> people = std::vector<test::EditingPerson>(3);
  std::uint64_t acknowledged = 0, lost = 0;
};

std::string counted(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

TEST_CASE("a server that is killed while sessions edit comes back with what was durable, once, and with nothing else") {
  const std::uint64_t rounds = soaks() ? 1000 : 50, seed = drawn_seed(20261123);
  CAPTURE(seed);
  KilledWorld world(seed);
  test::ReplayedWorld replayed(KilledWorld::build(1));
  for (std::uint64_t round = 0; round < rounds; ++round) {
    CAPTURE(round);
    // Where nothing is saved, the journal has several lives.
    world.live(1, world.random() % 3 ? std::to_string(static_cast<double>(world.random() % 300 + 1) * 1e-3) : "0",
               [&](Client&) { world.sleep(); });
    const test::Recorded recorded = test::read_recorded(world.path);
    session::Info info;
    {
      test::ServerProcess server(world.path, world.to_look());
      Client client = server.client();
      world.take_people(client, {.durable = recorded.durable, .saved = recorded.saved});
      info = KilledWorld::look(client);
    }
    replayed.go_on(world.path);
    REQUIRE(replayed.sequence() == info.sequence);
    REQUIRE(replayed.hash() == info.hash);
    REQUIRE(replayed.granted() == 0);  // those who had them are gone
    world.check_again(info.hash);
    REQUIRE(world.said().empty());  // nothing was recovered in part, nothing could not be written
  }
  std::printf(
      "%llu edits were acknowledged in %llu rounds from seed %llu; of %llu nobody had said that they were durable; "
      "%llu inputs were done "
      "again without an interruption, %llu lives behind the ones before\n",
      static_cast<unsigned long long>(world.acknowledged), static_cast<unsigned long long>(rounds),
      static_cast<unsigned long long>(seed), static_cast<unsigned long long>(world.lost),
      static_cast<unsigned long long>(replayed.inputs), static_cast<unsigned long long>(replayed.goings_on));
  CHECK(world.acknowledged > 10 * rounds);
  CHECK(replayed.inputs > 10 * rounds);
  CHECK(replayed.goings_on > rounds / 10);
}

TEST_CASE(
    "a server that is killed and starts with another build of its plugin has each durable edit, once, by that build") {
  const std::uint64_t rounds = soaks() ? 200 : 10, seed = drawn_seed(7);
  CAPTURE(seed);
  std::uint64_t edits = 0, ticks = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    CAPTURE(round);
    KilledWorld world(seed + round);  // no build of before takes over what a newer one saved
    const int before = 1, now = 2;
    world.live(before, world.random() % 2 ? "0.05" : "0", [&](Client&) { world.sleep(); });
    const test::Recorded recorded = test::read_recorded(world.path);
    world.put(now);
    std::uint64_t hash = 0;
    {
      test::ServerProcess server(world.path, world.to_look());
      Client client = server.client();
      world.take_people(client, {recorded.durable, recorded.saved, before, now});
      hash = KilledWorld::look(client).hash;
    }
    edits += recorded.edits;
    ticks += recorded.ticks;
    const std::string said = world.said();
    CAPTURE(said);
    if (recorded.edits + recorded.ticks > 0) {
      CHECK(said.find("of the journal the edits alone were applied, because other code wrote it (") !=
            std::string::npos);
      CHECK(said.find(": " + counted(recorded.edits, "edit") + " applied, ") != std::string::npos);
      CHECK(said.find(" and " + counted(recorded.ticks, "tick") + " left out") != std::string::npos);
    }
    CHECK(said.find("could not be applied") == std::string::npos);
    CHECK(said.find("lost: ") == std::string::npos);
    world.check_again(hash);
    REQUIRE(world.said().empty());  // the state was saved at once
  }
  std::printf("%llu edits and %llu ticks of another build were in the journals of %llu rounds from seed %llu\n",
              static_cast<unsigned long long>(edits), static_cast<unsigned long long>(ticks),
              static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(seed));
  CHECK(edits > 10 * rounds);
  CHECK(ticks > rounds);
}

TEST_CASE(
    "a server whose plugin dies of messages in the journal opens before each, and has every durable edit without "
    "them") {
  const std::uint64_t rounds = soaks() ? 200 : 10, seed = drawn_seed(9);
  CAPTURE(seed);
  KilledWorld world(seed);
  std::uint64_t deaths = 0, several = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    CAPTURE(round);
    world.live(1, "0", [&](Client& client) {
      const Entity counts = test::value_of(client.entity("/counter"));
      for (std::uint64_t asks = 1 + world.random() % 3; asks > 0; --asks) {
        world.sleep();
        (void)test::value_of(client.push(counts, counter::Ask{}));
      }
      world.sleep();
    });
    const test::Recorded recorded = test::read_recorded(world.path);
    several += recorded.asks.size() > 1;
    std::vector<std::string> skipping;
    for (const std::uint64_t ask : recorded.asks) {
      CAPTURE(ask);
      REQUIRE(test::ServerProcess(world.path, world.to_look(skipping), deadly).aborts());
      REQUIRE(test::ServerProcess(world.path, world.to_look(), deadly).aborts());
      ++deaths;
      test::ServerProcess server(world.path, world.to_look(), deadly);
      Client client = server.client();
      const session::Info info = test::value_of(client.ask(session::GetInfo{.hash = 1}));
      CAPTURE(info.error);
      CHECK(info.error.find("it stands before input " + std::to_string(ask) + " (counter.Ask to #") !=
            std::string::npos);
      REQUIRE(info.sequence == ask - 1);
      (void)world.check_people(client, {.durable = ask - 1, .saved = recorded.saved});
      server.kill();
      if (skipping.empty()) {
        test::ReplayedWorld replayed(KilledWorld::build(1));
        replayed.go_on(world.path, ask - 1);
        CHECK(replayed.hash() == info.hash);
      }
      skipping = {"--skip", std::to_string(ask)};
    }
    std::uint64_t hash = 0;
    {
      test::ServerProcess server(world.path, world.to_look(skipping), deadly);
      Client client = server.client();
      world.take_people(client, {.durable = recorded.durable, .saved = recorded.saved});
      hash = KilledWorld::look(client).hash;
    }
    const std::string said = world.said();
    CAPTURE(said);
    for (const std::uint64_t ask : recorded.asks)
      CHECK(said.find("input " + std::to_string(ask) + " (counter.Ask to #") != std::string::npos);
    CHECK(said.find("could not be applied") == std::string::npos);
    CHECK(said.find("lost: ") == std::string::npos);
    world.check_again(hash, deadly);
    REQUIRE(world.said().empty());
  }
  std::printf("%llu messages that the plugin dies of were left out in %llu rounds from seed %llu\n",
              static_cast<unsigned long long>(deaths), static_cast<unsigned long long>(rounds),
              static_cast<unsigned long long>(seed));
  CHECK(deaths >= rounds);
  CHECK(several > 0);
}

TEST_CASE(
    "20 crashes of a server leave no ids to sessions that are gone, and the clock of a world that never crashed") {
  const test::Folder folder;
  const std::string path = folder / "w.muster", whole_path = folder / "whole.muster";
  const std::vector<std::string> usual{"--plugin", KilledWorld::build(1), "--hz", "300", "--autosave"};
  const auto options = [&](std::vector<std::string> more) {
    more.insert(more.begin(), usual.begin(), usual.end());
    return more;
  };
  std::mt19937_64 random(5);
  std::vector<Entity> made;
  std::uint64_t tick = 0;
  for (int start = 0; start < 20; ++start) {
    CAPTURE(start);
    test::ServerProcess server(
        path, options({start % 3 ? "0" : "0.02", "--durability", start % 2 ? "each_flush" : "batched"}));
    std::vector<Client> clients;
    for (int i = 0; i < 3; ++i) clients.push_back(server.client());
    const session::ClockState clock = test::value_of(clients[0].ask<session::GetClock>());
    REQUIRE(clock.tick >= tick);  // of the last crash, when all was on the disk
    Acknowledged last;
    for (Client& client : clients) {
      const Entity id = test::value_of(client.next_id());  // of many that are granted and not used
      BatchBuilder builder;
      builder.append_rows(id, Create{}, counter::Count{});
      last = test::value_of(client.push_batch(builder.bytes()));
      made.push_back(id);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
    const session::ClockState later = test::value_of(clients[0].ask<session::GetClock>());
    last.sequence = later.sequence;
    (void)test::value_of(clients[0].wait_durable(last));
    tick = later.tick;
    server.kill();  // before its sessions go
  }
  test::ServerProcess server(path, options({"0", "--paused"}));
  session::ClockState clock;
  {
    Client client = server.client();
    for (const Entity e : made) CHECK(test::value_of(client.show(e)).get<counter::Count>());
    clock = test::value_of(client.ask<session::GetClock>());
    (void)test::value_of(client.ask<session::Save>());
  }
  server.kill();
  test::ReplayedWorld left(KilledWorld::build(1));
  left.go_on(path);
  CHECK(left.granted() == 0);
  REQUIRE(clock.tick >= tick);
  REQUIRE(tick > 20);

  test::ServerProcess whole(whole_path, options({"0", "--paused"}));
  Client client = whole.client();
  session::ClockState state =
      test::value_of(client.ask(session::SetClock{.paused = 1, .steps = static_cast<std::uint32_t>(clock.tick)}));
  while (state.tick < clock.tick) state = test::value_of(client.ask<session::GetClock>());
  CHECK(state.tick == clock.tick);
  CHECK(state.clock_ns == clock.clock_ns);
}

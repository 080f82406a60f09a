// muster-server, killed at random moments while three sessions edit: what it said to be durable is there, and nothing else is.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "client/cpp/address_file.h"
#include "client/cpp/client.h"
#include "server/world/world_file.h"
#include "tests/support/folder.h"
#include "tests/support/seeds.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text);
  return std::move(*result);
}

/// A muster-server of this build, whose words are in WORLD.log; killed with its test.
class Server {
 public:
  Server(std::string world, const std::vector<std::string>& more) : world_(std::move(world)) {
    std::vector<std::string> arguments{MUSTER_SERVER,      world_,   "--schema", GAME_BFBS, "--listen", "", "--unix",
                                       world_ + ".socket", "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    const std::string log = world_ + ".log";
    pid_ = ::fork();
    if (pid_ != 0) return;
    const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(fd, STDERR_FILENO);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  ~Server() { kill(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Client client() {
    for (const auto until = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < until;) {
      const auto found = read_address_file(world_);
      if (found && found->pid == pid_)
        return value_of(
            Client::connect({.address = found->best(), .token = found->token, .name = "test", .time_max = 60s}));
      if (::waitpid(pid_, nullptr, WNOHANG) != 0) break;
      std::this_thread::sleep_for(2ms);
    }
    throw std::runtime_error("muster-server does not serve: " + test::read_file(world_ + ".log"));
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  const std::string world_;
  pid_t pid_ = 0;
};

/// An entity that a session made.
struct Thing {
  Entity entity;
  int folder = 0;
  std::string value;  // of its Health; empty: it has none
  bool operator==(const Thing&) const = default;
};
using Things = std::map<std::string, Thing>;  // by name

/// What one session knows of its part of the world: two folders, and the things in them.
struct Person {
  Entity folders[2];
  Things things;
  int named = 0;

  struct Edit {
    std::uint64_t sequence;  // ~0: it was not answered
    std::function<void(Things&)> done;
  };
  std::vector<Edit> edits = {};  // since the server began
  std::uint64_t durable = 0;     // that it was told
  std::string failed = {};

  /// Edits until the server is gone.
  void work(Client& client, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Things known = things;
    for (;;) {
      const auto next = draw(client, known, random);
      if (!next) return;
      const auto& [batch, done] = *next;
      edits.push_back({~std::uint64_t{0}, done});
      const auto ack = client.push_batch(batch);
      if (!ack && ack.error().kind == ClientError::Kind::lost) return;
      if (!ack || ack->dead > 0) {
        failed = ack ? "an entity is dead" : ack.error().text;
        return;
      }
      edits.back().sequence = ack->sequence;
      done(known);
      durable = std::max(durable, ack->durable_through);
      if (random() % 8 > 0) continue;
      const auto told = random() % 2 ? client.wait_durable(ack->sequence) : client.durable();
      if (!told) return;
      durable = std::max(durable, told->sequence);
    }
  }
  /// Whether `seen` is what the edits up to `sequence` make of the things; one that was not answered may be there or not.
  bool accepts(const Things& seen, std::uint64_t sequence) const {
    Things made = things;
    bool all = true;
    for (const Edit& edit : edits) {
      if (edit.sequence <= sequence) edit.done(made);
      if (edit.sequence == ~std::uint64_t{0} && all && seen != made) edit.done(made);
      all = all && edit.sequence <= sequence;
    }
    return seen == made;
  }

 private:
  using Drawn = std::pair<std::vector<std::byte>, std::function<void(Things&)>>;
  std::optional<Drawn> draw(Client& client, const Things& known, std::mt19937_64& random) {
    BatchBuilder builder;
    const auto drawn = [&](std::function<void(Things&)> done) {
      const auto bytes = builder.bytes();
      return Drawn{{bytes.begin(), bytes.end()}, std::move(done)};
    };
    const std::uint64_t kind = known.size() < 5 ? 0 : random() % 8;
    if (kind < 2) {
      const std::string name = "n" + std::to_string(named++);
      const int folder = static_cast<int>(random() % 2);
      const auto text = client.intern(name);
      const auto id = client.next_id();
      if (!text || !id) return std::nullopt;
      Create create;
      create.parent = folders[folder];
      create.name = *text;
      builder.append(*id, create);
      return drawn([=, e = *id](Things& all) { all[name] = {e, folder, {}}; });
    }
    auto at = known.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random() % known.size()));
    const std::string& name = at->first;
    const Thing& thing = at->second;
    if (kind == 2) {
      builder.append(thing.entity, Destroy{});
      return drawn([name](Things& all) { all.erase(name); });
    }
    if (kind == 3) {
      const int folder = 1 - thing.folder;
      Reparent move;
      move.parent = folders[folder];
      builder.append(thing.entity, move);
      return drawn([name, folder](Things& all) { all.at(name).folder = folder; });
    }
    const auto health = static_cast<float>(random() % 100);
    const TypeDescriptor* const type = find_component(client.types(), "game.Health").value();
    const std::vector<PayloadShape> shapes{PayloadShape::of(*type)};
    const RowSet set(PayloadShape::of<Set>(), shapes);
    std::byte* const payload = builder.append_rows(set, thing.entity);
    const Set message{};
    std::memcpy(payload, &message, sizeof message);
    std::memcpy(payload + set.offset(type->id), &health, sizeof health);
    return drawn([name, value = std::to_string(health)](Things& all) { all.at(name).value = value; });
  }
};

Things read(Client& client, const Person& person) {
  Things things;
  for (int folder = 0; folder < 2; ++folder) {
    for (std::uint32_t offset = 0;;) {
      const session::Children page = value_of(client.children(person.folders[folder], offset, 1000));
      for (std::size_t i = 0; i < page.entities.size(); ++i) {
        Thing thing{page.entities[i], folder, {}};
        for (const auto& component : value_of(client.show(thing.entity)).components) {
          if (component.type->name != "game.Health") continue;
          float health = 0;
          std::memcpy(&health, component.value.data(), sizeof health);
          thing.value = std::to_string(health);
        }
        things[page.names[i]] = thing;
      }
      offset += static_cast<std::uint32_t>(page.entities.size());
      if (offset >= page.total) break;
    }
  }
  return things;
}

/// Of the last input that the world's file holds, which is whole.
std::uint64_t sequence_in(const std::string& path) {
  auto file = WorldFile::open(path, {.mode = OpenMode::open_existing});
  if (!file) throw file.error();
  if (auto loaded = file->load([](StateSource&) { return std::expected<void, StateError>(); }); !loaded)
    throw loaded.error();
  const auto journal = file->journal(nullptr);
  if (!journal) throw journal.error();
  if (!journal->cut.empty()) throw std::runtime_error("torn: " + journal->cut);
  return file->durable();
}

}  // namespace

TEST_CASE("a server that is killed while sessions edit comes back with what was durable, and with nothing else") {
  const std::uint64_t rounds = muster::test::number_in("MUSTER_SOAK_MINUTES", 0) > 0 ? 1000 : 10;
  const test::Folder folder;
  const std::string path = folder / "w.muster";
  std::vector<Person> people(3);
  {
    Server server(path, {});
    Client client = server.client();
    for (std::size_t i = 0; i < people.size(); ++i)
      for (int part = 0; part < 2; ++part)
        people[i].folders[part] = value_of(client.create({}, "p" + std::to_string(i) + (part ? "b" : "a")));
    value_of(client.save());
  }
  std::mt19937_64 random(20261123);
  std::uint64_t acknowledged = 0, lost = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const std::vector<std::string> options{
        "--durability", random() % 2 ? "batched" : "commit",
        "--autosave",   std::to_string(static_cast<double>(random() % 300 + 1) * 1e-3),
        "--hz",         "100"};
    const std::chrono::milliseconds life(random() % 500);
    {
      Server server(path, options);
      std::vector<std::thread> threads;
      std::vector<Client> clients;
      for (Person& person : people) {
        person.edits.clear();
        person.durable = 0;
        clients.push_back(server.client());
      }
      for (std::size_t i = 0; i < people.size(); ++i)
        threads.emplace_back([&, i, seed = random()] { people[i].work(clients[i], seed); });
      std::this_thread::sleep_for(life);
      server.kill();
      for (std::thread& thread : threads) thread.join();
    }
    const std::uint64_t sequence = sequence_in(path);
    std::uint64_t hash = 0;
    for (int start = 0; start < 2; ++start) {
      Server server(path, {"--paused", "--hz", "100"});
      Client client = server.client();
      const session::Info info = value_of(client.info(true));
      CHECK(info.error.empty());
      CHECK((start == 0 || info.hash == hash));
      hash = info.hash;
      if (start > 0) continue;
      for (std::size_t i = 0; i < people.size(); ++i) {
        Person& person = people[i];
        CAPTURE(i, person.durable, sequence, person.edits.size());
        CHECK(person.failed.empty());
        CHECK(sequence >= person.durable);
        const Things seen = read(client, person);
        REQUIRE(person.accepts(seen, sequence));
        for (const Person::Edit& edit : person.edits) {
          acknowledged += edit.sequence != ~std::uint64_t{0};
          lost += edit.sequence > sequence;
        }
        person.things = seen;
      }
    }
    REQUIRE(test::read_file(path + ".log").empty());  // nothing was recovered in part, nothing could not be written
  }
  std::printf("%llu edits were acknowledged in %llu rounds; of %llu nobody had said that they were durable\n",
              static_cast<unsigned long long>(acknowledged), static_cast<unsigned long long>(rounds),
              static_cast<unsigned long long>(lost));
  CHECK(acknowledged > 10 * rounds);
}

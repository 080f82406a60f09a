// muster-server as a program, with a binary schema and no plugin: it serves, edits, saves and restores a world of types
// that neither it nor this test was compiled with.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <thread>

#include "client/cpp/address_file.h"
#include "client/cpp/client.h"
#include "tests/support/folder.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text);
  return std::move(*result);
}

/// A muster-server of this build; killed with its test.
class ServerProcess {
 public:
  ServerProcess(const std::string& world, std::vector<std::string> more) : world_(world) {
    std::vector<std::string> arguments{MUSTER_SERVER, world, "--listen", "127.0.0.1:0", "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::execv(pointers[0], pointers.data());
      ::_exit(127);
    }
  }
  ~ServerProcess() {
    if (pid_ > 0) ::kill(pid_, SIGKILL), ::waitpid(pid_, nullptr, 0);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  /// A client that finds address and token beside the world.
  Client client() {
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (true) {
      const auto found = read_address_file(world_);
      if (found && found->pid == pid_)
        return value_of(Client::connect({.address = found->best(), .token = found->token, .name = "test"}));
      if (std::chrono::steady_clock::now() > until || ::waitpid(pid_, nullptr, WNOHANG) != 0)
        throw std::runtime_error("muster-server does not serve " + world_);
      std::this_thread::sleep_for(5ms);
    }
  }
  /// Its exit code after SIGTERM.
  int stop() {
    ::kill(pid_, SIGTERM);
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  const std::string world_;
  pid_t pid_ = 0;
};

/// All that a client can learn of an entity, and of those below it in order.
struct Seen {
  Entity entity, parent;
  std::string name, path;
  std::map<std::string, std::vector<std::byte>> values;  // by component
  bool operator==(const Seen&) const = default;
};
void look(Client& client, Entity parent, std::vector<Seen>& seen) {
  for (const Entity child : value_of(client.ask(session::ListChildren{.entity = parent})).entities) {
    const ShownEntity shown = value_of(client.show(child));
    Seen& one = seen.emplace_back(Seen{shown.about.entity, shown.about.parent, shown.about.name, shown.about.path, {}});
    for (const auto& component : shown.components) one.values[component.type->name] = component.value;
    look(client, child, seen);
  }
}
std::vector<Seen> look(Client& client) {
  std::vector<Seen> seen;
  look(client, {}, seen);
  return seen;
}

template <class T>
T field(Client& client, Entity e, std::string_view name) {
  const FieldName wanted = find_field(client.types(), name).value();
  for (const auto& component : value_of(client.show(e)).components)
    if (component.type->id == wanted.component->id) {
      T value;
      std::memcpy(&value, component.value.data() + wanted.place.offset, sizeof value);
      return value;
    }
  throw std::runtime_error("no " + std::string(name));
}

}  // namespace

TEST_CASE(
    "a server with a binary schema and no plugin serves, edits, saves and restores types it was not compiled with") {
  const test::Folder folder;
  const std::string world = folder / "unknown.muster";
  std::vector<Seen> before;
  std::uint64_t hash = 0;
  Entity town, tower, gate;
  {
    ServerProcess server(world, {"--new", "--schema", GAME_BFBS});
    {
      Client client = server.client();
      town = value_of(client.create({}, "town"));
      gate = value_of(client.create(town, "gate"));
      tower = value_of(client.create({}, "tower"));
      const Entity ruin = value_of(client.create({}, "ruin"));

      session::Follow what;
      what.world = what.values = what.structure = what.inputs = true;
      Client other = server.client();
      const std::uint64_t watch = value_of(other.follow(what));
      const auto comes = [&](TypeId type) {  // until one of that type came
        while (true) {
          const auto frame = value_of(other.next(watch, 20s));
          if (!frame) return false;
          if (frame->batch().type() == type && frame->envelope.sequence > 0) return true;
        }
      };
      while (!value_of(other.next(watch, 20s)).value().is_last())
        continue;  // the state as it was when the watch opened

      value_of(client.set(tower, "Health", {{"value", "80"}}));
      CHECK(comes(TypeTraits<session::Values>::id));
      value_of(client.set(tower, "Unit",
                          {{"team", "red"}, {"speed", "-2.5"}, {"target", "gate"}, {"title", "the old one"}}));
      value_of(client.set(gate, "Path", {{"points[3]", "7"}}));
      value_of(client.set(gate, "Frozen", {}));
      value_of(client.set_field(tower, "Health.value", "50"));
      CHECK_FALSE(client.set_field(tower, "Health.value", "101"));  // its range
      value_of(client.reparent(tower, town, gate));
      CHECK(comes(TypeTraits<Reparent>::id));
      value_of(client.rename(tower, "keep"));
      CHECK(comes(TypeTraits<Rename>::id));
      value_of(client.destroy(ruin));
      CHECK(comes(TypeTraits<Destroy>::id));
      const session::Ack nobody = value_of(client.push("Damage", tower, {{"amount", "5"}, {"from", "gate"}}));
      CHECK(nobody.unhandled == 1);
      CHECK(comes(find_message(other.types(), "game.Damage").value()->id));

      CHECK(field<float>(client, tower, "Health.value") == 50);
      CHECK(field<float>(client, tower, "Unit.speed") == -2.5f);
      CHECK(field<Entity>(client, tower, "Unit.target") == gate);
      CHECK(value_of(client.fetch_text(field<Text>(client, tower, "Unit.title"))) == "the old one");
      before = look(client);
      REQUIRE(before.size() == 3);
      CHECK(before[1].path == "/town/keep");
      CHECK(before[1].entity == tower);
      CHECK(before[2].values.contains("game.Frozen"));
    }
    // When its sessions have ended, and the ids that they did not use came back.
    Client last = server.client();
    while (value_of(last.ask<session::GetInfo>()).sessions > 1) std::this_thread::sleep_for(5ms);
    hash = value_of(last.ask(session::GetInfo{.hash = 1})).hash;
    CHECK(value_of(last.ask<session::Save>()).sequence >= value_of(last.ask<session::GetInfo>()).sequence);
    CHECK(server.stop() == 0);
  }
  // The types are in the file.
  ServerProcess server(world, {"--existing"});
  Client client = server.client();
  CHECK(look(client) == before);
  CHECK(value_of(client.ask(session::GetInfo{.hash = 1})).hash == hash);
  CHECK(value_of(client.fetch_text(field<Text>(client, tower, "Unit.title"))) == "the old one");
  // And it goes on being edited.
  value_of(client.set_field(tower, "Health.value", "30"));
  CHECK(field<float>(client, tower, "Health.value") == 30);
  const Entity later = value_of(client.create(town, "later"));
  for (const Seen& one : before) CHECK(one.entity != later);
  CHECK(server.stop() == 0);
}

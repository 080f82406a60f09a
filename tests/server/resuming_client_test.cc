// A client whose connection is lost again and again: each edit is applied once, and its copy is the
// world.
#include <spawn.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>

#include "client/cpp/expect.h"
#include "registry/entity_registry.h"
#include "server/server.h"
#include "server/world/world.h"
#include "tests/server/line_proxy.h"
#include "tests/server/live_world.h"
#include "tests/support/folder.h"
#include "tests/support/random.h"
#include "tests/support/seeds.h"

extern char** environ;

namespace resuming_client_test {

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;
using Does = LineProxy::Does;

namespace {

/// The values that a watch has brought.
struct Copy {
  std::map<Entity, float> health;
  bool whole = false;

  void take(const Received& frame) {
    if (frame.is_event()) return;
    if (frame.is<session::Resuming>() && session::read<session::Resuming>(frame.batch()).anew != 0) health.clear();
    if (frame.is<session::Values>()) {
      const auto rows = session::read<session::Values>(frame.batch());
      if (rows.component == TypeTraits<arena::Health>::id)
        for (std::size_t i = 0; i < rows.entities.size(); ++i)
          std::memcpy(&health[rows.entities[i]], rows.values.data() + i * rows.value_bytes, sizeof(float));
    }
    if (frame.is<Destroy>())
      for (std::uint32_t i = 0; i < frame.batch().count(); ++i) health.erase(frame.batch().target(i));
    whole = frame.is_last();
  }
};

/// Connects, however often the first connection is lost.
Client connected(const LineProxy& proxy, const std::string& name = "resuming") {
  ClientOptions options;
  options.address = proxy.address();
  options.token = token;
  options.name = name;
  options.resumes = true;
  options.time_max = 20s;
  std::string why;
  for (int i = 0; i < 100; ++i) {
    auto client = Client::connect(options);
    if (client) return std::move(*client);
    why = client.error().text;
    std::this_thread::sleep_for(5ms);
  }
  throw std::runtime_error("no connection: " + why);
}

template <class T>
T good(Result<T> result) {
  if (!result) FAIL(result.error().text);
  return std::move(*result);
}

/// Creates an entity, hits it nine times, and watches; then checks the world and the copy.
void play(Client& client, std::string_view name) {
  const std::uint64_t watch = good(client.follow({.world = true, .values = true}));
  Copy copy;
  const Entity orc = good(client.create(Entity{}, name, arena::Health{.value = 100}));
  std::vector<std::uint64_t> sent;
  for (int i = 0; i < 9; ++i) {
    BatchBuilder builder;
    builder.append(orc, arena::Damage{.amount = static_cast<float>(1 + i)});
    if (i % 3 != 0) {
      good(i % 3 == 1 ? client.push_batch(builder.bytes())
                      : client.push_batch_if({expect_parent(orc, {})}, builder.bytes()));
      continue;
    }
    sent.push_back(good(client.post_batch(builder.bytes())));
    while (true) {
      const auto frame = good(client.next(watch, 0s));
      if (!frame) break;
      copy.take(*frame);
    }
  }
  for (const std::uint64_t request : sent) CHECK(good(client.wait_ack(request)).handled == 1);
  const auto shown = good(client.show(orc));
  CHECK(good(shown.get<arena::Health>()).value == 100 - 45);
  for (int i = 0; i < 1000 && !(copy.whole && copy.health[orc] == 55); ++i)
    if (const auto frame = good(client.next(watch, 20ms))) copy.take(*frame);
  CHECK(copy.health[orc] == 55);
  CHECK(client.unwatch(watch).has_value());
}

/// Runs this program as a server that a test can kill.
class ServerProcess {
 public:
  explicit ServerProcess(std::string path) : path_(std::move(path)) { start(); }
  ~ServerProcess() { kill(); }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  void start() {
    ::unlink((path_ + "-address").c_str());
    ::setenv("MUSTER_SERVE_UNTIL_KILLED", path_.c_str(), 1);
    std::string program = "/proc/self/exe", test = "serves a world until it is killed";
    char* arguments[] = {program.data(), test.data(), nullptr};
    if (::posix_spawn(&process_, program.c_str(), nullptr, nullptr, arguments, environ) != 0)
      throw std::runtime_error("ServerProcess: no process");
    ::unsetenv("MUSTER_SERVE_UNTIL_KILLED");
    for (int i = 0; i < 3000 && address_of(path_).empty(); ++i) std::this_thread::sleep_for(10ms);
    address_ = address_of(path_);
    if (address_.empty()) throw std::runtime_error("ServerProcess: no address");
  }
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  const std::string& address() const noexcept { return address_; }

 private:
  static std::string address_of(const std::string& path) {
    std::string address;
    std::ifstream(path + "-address") >> address;
    return address;
  }
  std::string path_, address_;
  pid_t process_ = 0;
};

}  // namespace

TEST_CASE("serves a world until it is killed", "[.]") {
  const char* const path = std::getenv("MUSTER_SERVE_UNTIL_KILLED");
  if (!path) return;
  World world(path,
              [](EntityRegistry& registry) -> Handlers {
                registry.add_type<arena::Health>();
                return {subscribe_damage(registry)};
              },
              {.durability = Durability::each_flush, .autosave = 300ms});
  if (world.is_new()) world.save();
  Server server(world, {.listen = "127.0.0.1:0", .token = token});
  const std::string file = std::string(path) + "-address";
  std::ofstream(file + "-new") << server.address() << "\n";
  std::rename((file + "-new").c_str(), file.c_str());
  while (const auto frame = world.next_frame()) world.registry().push(Update{.dt = frame.dt});
}

TEST_CASE("a session that is cut at any message boundary does each edit once, and its watch misses nothing",
          "[resume]") {
  LiveWorld world;
  LineProxy proxy(world.address());
  std::uint64_t frames = 0;
  {
    Client client = connected(proxy, "uncut");
    play(client, "uncut");
    frames = proxy.frames();
  }
  REQUIRE(frames > 30);
  for (std::uint64_t at = 6; at < frames; ++at) {
    CAPTURE(at);
    Client client = connected(proxy, "cut");
    // The handshake has taken some of the frames.
    auto left = std::make_shared<std::uint64_t>(at - 6);
    proxy.plan([left, reset = at % 2 == 0] {
      if (*left == 0) return Does::nothing;
      return --*left > 0 ? Does::nothing : (reset ? Does::reset : Does::close);
    });
    play(client, "cut " + std::to_string(at));
    CHECK(client.times_resumed() <= 1);
    proxy.plan({});
  }
  CHECK(proxy.cuts() > 30);
}

TEST_CASE("sessions over a line that is lost and delayed at random do each edit once", "[resume][random]") {
  LiveWorld world;
  std::uint64_t resumed = 0;
  // In tools/soak, new seeds as long as there is time.
  const bool soaks = test::number_in("MUSTER_SOAK_MINUTES", 0) > 0;
  const std::uint64_t first = soaks ? test::new_seed() : 1, count = soaks ? 20'000 : 100;
  if (soaks) std::printf("resuming: seeds from %llu\n", static_cast<unsigned long long>(first));
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    CAPTURE(seed);
    auto random = std::make_shared<test::Random>(seed);
    LineProxy proxy(world.address(), [random] {
      if (random->percent(2)) std::this_thread::sleep_for(std::chrono::milliseconds(random->below(3)));
      return random->percent(96) ? Does::nothing : random->percent(50) ? Does::reset : Does::close;
    });
    Client client = connected(proxy, "faulty");
    play(client, "seed " + std::to_string(seed));
    resumed += client.times_resumed();
  }
  CHECK(resumed > 50);
}

TEST_CASE("while its server is killed and started again a session does each edit once, and undo is its own",
          "[resume]") {
  const test::Folder folder;
  ServerProcess server(folder / "w.muster");
  LineProxy proxy(server.address());
  Client client = connected(proxy, "one"), other = connected(proxy, "other");
  const Entity orc = good(client.create(Entity{}, "orc", arena::Health{.value = 1000}));
  good(client.wait_durable(good(client.set(orc, arena::Health{.value = 1000}))));
  const Entity theirs = good(other.create(Entity{}, "theirs", arena::Health{.value = 5}));
  good(other.wait_durable(good(other.set(theirs, arena::Health{.value = 6}))));
  const std::uint64_t watch = good(client.follow({.world = true, .values = true}));
  Copy copy;
  float hits = 0;
  for (int round = 0; round < 6; ++round) {
    CAPTURE(round);
    const std::uint64_t epoch = client.epoch();
    std::vector<std::uint64_t> sent;
    for (int i = 0; i < 20; ++i) {
      BatchBuilder builder;
      builder.append(orc, arena::Damage{.amount = 1});
      sent.push_back(good(client.post_batch(builder.bytes())));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(3 * round));
    server.kill();
    server.start();
    proxy.aim(server.address());
    std::uint64_t lost = 0;
    for (const std::uint64_t request : sent) {
      const Acknowledged ack = good(client.wait_ack(request));
      // An answer of the killed server may be about an edit that was not durable.
      if (ack.epoch == epoch) ++lost;
    }
    const float health = good(good(client.show(orc)).get<arena::Health>()).value;
    CHECK(client.epoch() != epoch);
    const float applied = 1000 - hits - health;
    CHECK(applied <= 20);
    CHECK(applied >= 20 - static_cast<float>(lost));
    hits += applied;
    good(client.wait_durable(good(client.push(orc, arena::Damage{.amount = 1}))));
    ++hits;
  }
  CHECK(client.times_resumed() == 6);
  for (int i = 0; i < 1000 && !(copy.whole && copy.health[orc] == 1000 - hits); ++i)
    if (const auto frame = good(client.next(watch, 20ms))) copy.take(*frame);
  CHECK(copy.health[orc] == 1000 - hits);
  // The newest step of `other` is its own, and nothing was asked since the server was killed.
  good(other.ask(session::Undo{}));
  CHECK(other.times_resumed() > 0);
  CHECK(good(good(other.show(theirs)).get<arena::Health>()).value == 5);
  CHECK(good(good(client.show(orc)).get<arena::Health>()).value == 1000 - hits);
}

TEST_CASE("what is asked after a connection has ended is sent on the next one, even if it may not be sent twice",
          "[resume]") {
  LiveWorld world;
  LineProxy proxy(world.address());
  Client client = connected(proxy);
  const Entity orc = good(client.create(Entity{}, "orc", arena::Health{.value = 100}));
  good(client.follow({.world = true, .values = true}));
  ClientOptions options;
  options.address = world.address();
  options.token = token;
  Client other = good(Client::connect(options));
  for (const Does does : {Does::close, Does::reset}) {
    const std::uint64_t cuts = proxy.cuts();
    // The frame that tells the client what another one did ends its connection.
    proxy.plan([&proxy, cuts, does] { return proxy.cuts() == cuts ? does : Does::nothing; });
    good(other.push(orc, arena::Damage{.amount = 1}));
    while (proxy.cuts() == cuts || proxy.open() > 0) std::this_thread::yield();
    const std::string name = does == Does::close ? "one" : "two";
    const std::string text = "{ templates: [ { name: \"" + name + "\" } ] }";
    CHECK(good(client.read_templates(text, "templates.json")).names == std::vector{name});
    proxy.plan({});
  }
  CHECK(client.times_resumed() == 2);
}

TEST_CASE("a connection that falls silent is replaced, and ends a session that cannot be resumed", "[resume]") {
  LiveWorld world;
  for (const bool resumes : {true, false}) {
    LineProxy proxy(world.address());
    ClientOptions options;
    options.address = proxy.address();
    options.token = token;
    options.resumes = resumes;
    options.time_max = 20s;
    options.silence_max = 600ms;
    Client client = good(Client::connect(options));
    good(client.show(good(client.create(Entity{}, resumes ? "one" : "two"))));
    proxy.plan([&proxy] { return proxy.connections() == 1 ? Does::swallow : Does::nothing; });
    const auto made = client.create(Entity{}, resumes ? "three" : "four");
    if (resumes) {
      CHECK(client.times_resumed() == 1);
      good(client.show(good(made)));
    } else {
      REQUIRE_FALSE(made);
      CHECK(made.error().text == "nothing has come from the server for 600 ms");
      CHECK(made.error().kind == ClientError::Kind::lost);
    }
  }
}

TEST_CASE("a client that cannot resume its session is told why, and a session that said goodbye is over", "[resume]") {
  LiveWorldOptions options;
  options.limits.resume_time_max = 300ms;
  LiveWorld world(options);
  LineProxy proxy(world.address());
  Client client = connected(proxy);
  const std::uint64_t number = client.welcome().session;
  const std::vector<std::uint8_t> proof = client.welcome().resume;
  REQUIRE(proof.size() == 32);
  const auto hello_as = [&](const std::vector<std::uint8_t>& shown, std::string with_token) {
    RawClient raw(world.address());
    session::Hello hello = hello_with(std::move(with_token));
    hello.resumable = true;
    hello.resume = shown;
    hello.session = number;
    hello.epoch = client.epoch();
    hello.lineage = client.welcome().lineage;
    raw.send_message(hello);
    const auto frame = raw.receive();
    REQUIRE((frame && frame->is<session::Welcome>()));
    return session::read<session::Welcome>(frame->batch());
  };
  std::vector<std::uint8_t> forged = proof;
  forged[7] ^= 4;
  for (const auto& shown : {forged, std::vector<std::uint8_t>(31), std::vector<std::uint8_t>(500)}) {
    const session::Welcome welcome = hello_as(shown, token);
    CHECK_FALSE(welcome.resumed);
    CHECK(welcome.not_resumed == "bad_resume");
    CHECK(welcome.session != number);
  }
  // The connection is lost for too long.
  proxy.aim("");
  proxy.plan([] { return Does::close; });
  const auto late = client.show(Entity{1, 1});
  REQUIRE_FALSE(late);
  CHECK(late.error().kind == ClientError::Kind::lost);
  const session::Welcome too_old = hello_as(proof, token);
  CHECK_FALSE(too_old.resumed);
  CHECK(too_old.not_resumed == "session_ended");
}

TEST_CASE("a newer connection takes the session over, and the older client is told", "[resume]") {
  LiveWorld world;
  LineProxy proxy(world.address());
  Client client = connected(proxy);
  RawClient raw(world.address());
  session::Hello hello = hello_with();
  hello.resumable = true;
  hello.resume = client.welcome().resume;
  hello.session = client.welcome().session;
  hello.epoch = client.epoch();
  hello.lineage = client.welcome().lineage;
  raw.send_message(hello);
  const auto frame = raw.receive();
  REQUIRE((frame && frame->is<session::Welcome>()));
  CHECK(session::read<session::Welcome>(frame->batch()).resumed);
  const auto over = client.show(Entity{1, 1});
  REQUIRE_FALSE(over);
  CHECK(over.error().fault.code == session::FaultCode::taken_over);
}

}  // namespace resuming_client_test

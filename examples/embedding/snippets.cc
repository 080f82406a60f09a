// The other snippets of docs/embedding.md, and one of docs/guide.md and docs/cookbook.md.
#include <muster/host.h>
#include <muster/messages.h>
#include <muster/server.h>
#include <muster/world.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "examples/embedding/game.h"  // written by schemac
#include "examples/embedding/job_executor.h"
#include "examples/guide/guide.h"

namespace {

using guide::require;
using namespace std::chrono_literals;

muster::Handlers install(muster::EntityRegistry& registry) {
  return {registry.subscribe("game.move", [](const muster::Update& update, game::Position& at,
                                             const game::Velocity& velocity) { at.x += velocity.x * update.dt; }),
          registry.subscribe("game.take_damage",
                             [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; })};
}

int pictures = 0;
void draw(const muster::EntityRegistry&) { ++pictures; }

/// How many threads this process has.
int threads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  return 0;
}

void fixed_steps() {
  // guide: fixed steps
  muster::World world("fixed.muster", install, {.hz = 240});
  muster::EntityRegistry& registry = world.registry();
  while (!world.has_ended()) {
    while (const muster::Frame tick = world.poll())  // all that are due
      registry.push(muster::Update{.dt = tick.dt});  // always 1/240
    draw(registry);
    if (world.tick() >= 10) world.stop();
  }
  // guide: end
  require(world.tick() >= 10 && pictures > 0);
}

void pace() {
  muster::World world("pace.muster", install);
  // guide: pace
  require(world.set_pace({.paused = true}).has_value());
  require(!world.poll(16ms));  // edits come in, no frame, no timer
  require(world.set_pace({.paused = true, .steps = 1}).has_value());
  require(world.poll(16ms).dt == 0.016f);  // the step
  require(!world.poll(16ms));
  require(world.set_pace({.speed = 0.5}).has_value());
  require(world.poll(16ms).dt == 0.008f);  // slow motion
  // guide: end
}

void posting() {
  muster::World world("posting.muster", install);
  muster::EntityRegistry& registry = world.registry();
  const muster::Entity hero = registry.create("hero", game::Health{});
  // guide: another thread
  const auto lane = registry.host().inbox().open_lane(1);  // one for each thread; the number names it in the journal
  std::thread physics([&] {
    muster::BatchBuilder batch;
    batch.append(hero, game::Damage{.amount = 5});
    require(lane->put(batch.bytes()));
  });
  // guide: end
  physics.join();
  (void)world.poll(0ns);
  require(registry.get<game::Health>(hero).value == 95);
}

void saving() {
  muster::World world("saving.muster", install);
  world.registry().create("hero", game::Health{}).or_stop();
  world.save();
  const auto show = [](const char*) {};
  bool saved = false;
  // guide: saving
  const bool begun = world.begin_save([&](const auto& report) {  // called by a later poll
    saved = report.has_value();
    if (!saved) show(report.error().what());
  });
  require(begun);  // false: another one is under way
  while (!saved) (void)world.poll(1ms);
  // guide: end
}

void counting() {
  // guide: threads
  const int before = threads();
  muster::EntityRegistry registry;
  require(threads() == before);
  muster::World world("threads.muster", install);
  world.registry().create("hero", game::Health{}).or_stop();
  world.save();
  (void)world.poll(16ms);
  require(threads() == before);
  {
    muster::Server server(world, {.listen = "127.0.0.1:0"});
    require(threads() == before + 1);
  }
  require(threads() == before);
  // guide: end
}

// guide: errors
/// Serves the world until the program is stopped, and returns the program's exit code.
int serve(const char* path, const char* address) {
  try {
    muster::World world(path, install, {.hz = 60, .stop_on_signals = true});
    muster::Server server(world, {.listen = address});
    while (const muster::Frame frame = world.next_frame()) world.registry().push(muster::Update{.dt = frame.dt});
    return 0;
  } catch (const muster::WorldError& error) {  // "level1.muster: in use by process 4711"
    std::fprintf(stderr, "%s\n", error.what());
  } catch (const muster::ServerError& error) {  // error.port_in_use(): another program has the port
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 1;
}
// guide: end

void errors() {
  muster::World world("errors.muster", install);
  world.save();
  require(serve("errors.muster", "127.0.0.1:0") == 1);  // another World has the file
  const muster::Server server(world, {.listen = "127.0.0.1:0"});
  require(serve("others.muster", server.address().c_str()) == 1);  // another Server has the port
}

void own_jobs() {
  engine::Jobs jobs(2);
  engine::JobExecutor executor(jobs);
  const int before = threads();
  // A pass runs on several threads only if that seems to pay; here it always does.
  muster::EntityRegistry registry({.executor = &executor, .pass_serial_below_ns = 0});
  const muster::Handlers handlers = install(registry);
  registry.create_many(50'000, game::Position{}, game::Velocity{.x = 1});
  for (int i = 0; i < 4; ++i) registry.push(muster::Update{.dt = 0.25f});
  require(registry.profile().pass_counters().spread == 4);
  registry.each<const game::Position>([](const game::Position& at) { require(at.x == 1); });
  require(threads() == before);
}

void rollback() {
  muster::EntityRegistry registry;
  const muster::Handlers handlers = install(registry);
  const muster::Entity hero = registry.create("hero", game::Health{}, game::Position{}, game::Velocity{.x = 6});
  const auto tick = [&] { registry.push(muster::Update{.dt = 1.0f / 60}); };
  // guide: moments
  muster::Moments moments(registry, 64u << 20);  // of at most 64 MB; the oldest are dropped
  const auto before = moments.keep();
  require(before.has_value());
  for (int i = 0; i < 8; ++i) tick();
  const std::uint64_t guessed = registry.hash();

  require(moments.return_to(*before).has_value());  // an input has come late
  {
    const muster::QuietInputs quiet(registry);  // sinks have seen these ticks
    registry.push(hero, game::Damage{.amount = 10});
    for (int i = 0; i < 8; ++i) tick();
  }
  // guide: end
  require(registry.hash() != guessed && registry.get<game::Health>(hero).value == 90);
  require(moments.return_to(*before).has_value());
  for (int i = 0; i < 8; ++i) tick();
  require(registry.hash() == guessed);
}

void forking() {
  // guide: fork
  muster::EntityRegistry registry;
  const muster::Handlers handlers = install(registry);
  const muster::Entity hero = registry.create("hero", game::Health{});
  const std::uint64_t hash = registry.hash();
  const pid_t child = ::fork();
  if (child == 0) {  // tries something out, with a copy of all that there is
    registry.push(hero, game::Damage{.amount = 99});
    ::_exit(registry.get<game::Health>(hero).value == 1 ? 0 : 1);
  }
  int status = 0;
  require(::waitpid(child, &status, 0) == child && status == 0);
  require(registry.hash() == hash);
  // guide: end
}

}  // namespace

int main() {
  char folder[] = "/tmp/muster-embedding-XXXXXX";
  if (!::mkdtemp(folder) || ::chdir(folder) != 0) return 1;
  counting();  // first, while nothing else has made threads
  fixed_steps();
  pace();
  posting();
  saving();
  errors();
  own_jobs();
  rollback();
  forking();
  std::filesystem::remove_all(folder);
  std::puts("every snippet of the embedding page works");
}

// An engine's program: a loop of its own at any rate, a job system of its own, a renderer that
// reads between frames, and remote tools that edit the world meanwhile. docs/embedding.md explains
// it.
#include <muster/server.h>
#include <muster/world.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "examples/embedding/game.h"  // written by schemac
#include "examples/embedding/job_executor.h"

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

void move(const muster::Update& update, game::Position& at, const game::Velocity& velocity) {
  at.x += velocity.x * update.dt;
}
void take_damage(const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }

muster::Handlers install(muster::EntityRegistry& registry) {
  return {registry.subscribe("game.move", move), registry.subscribe("game.take_damage", take_damage)};
}

// guide: draw
/// "Draws" whatever has a position: a renderer would fill its own buffers here.
void draw(const muster::EntityRegistry& registry) {
  registry.each<const game::Position, const game::Health>(
      [&](muster::Entity e, const game::Position& at, const game::Health& health) {
        std::printf("%s at %.2f, health %g\n", registry.path(e).c_str(), at.x, health.value);
      });
  std::fflush(stdout);
}
// guide: end

}  // namespace

int main(int argc, char** argv) {
  engine::Jobs jobs(2);
  engine::JobExecutor executor(jobs);
  muster::World world("embedding.muster", install, {.stop_on_signals = true, .registry = {.executor = &executor}});
  muster::EntityRegistry& registry = world.registry();
  if (world.is_new()) {
    registry.create("hero", game::Position{}, game::Velocity{.x = 1}, game::Health{}).or_stop();
    world.save();
  }
  muster::Server server(world, {.listen = argc > 1 ? argv[1] : "127.0.0.1:7717"});

  // guide: loop
  auto before = Clock::now();
  while (!world.has_ended()) {
    const auto now = Clock::now();
    const auto elapsed = std::min<Clock::duration>(now - std::exchange(before, now), 100ms);
    if (const muster::Frame frame = world.poll(elapsed))  // takes edits in; empty while the clock is paused
      registry.push(muster::Update{.dt = frame.dt});
    draw(registry);
    std::this_thread::sleep_for(4ms);  // as a renderer waits for the screen
  }
  // guide: end

  // guide: end of the program
  server.stop();  // clients are told
  world.save();   // the next start has nothing to replay
  // guide: end
}

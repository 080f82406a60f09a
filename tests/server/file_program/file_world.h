// A world with three named entities, of whose inputs some are behind the checkpoint.
#pragma once

#include <string>

#include "include/muster/world.h"
#include "messages/batch_builder.h"
#include "registry/host.h"
#include "tests/registry/game.h"
#include "tests/support/folder.h"

namespace muster::test {

inline Handlers install(EntityRegistry& registry) {
  registry.add_type<game::Health>();
  return Handlers(registry.subscribe("hit", [](const game::Damage& hit, game::Health& h) { h.value -= hit.amount; }));
}

/// Open and recording until it goes.
struct FileWorld {
  explicit FileWorld(const std::string& path)
      : world(path, install,
              {.hz = 10'000, .code = "file test", .durability = Durability::each_flush, .autosave = {}}) {
    EntityRegistry& r = world.registry();
    if (!world.is_new()) return;
    for (const char* name : {"orc", "elf", "tower"}) r.create(name, game::Health{.value = 100}).or_stop();
    world.save();
  }
  /// Inputs from the host and from a session, on the disk when it returns. The sequence of the last one; ticks come behind it.
  std::uint64_t edit() {
    EntityRegistry& r = world.registry();
    const Entity orc = r.find_path("/orc");
    BatchBuilder builder;
    builder.append(orc, game::Damage{.amount = 7});
    if (!lane) lane = r.host().inbox().open_lane(5, 1u << 20, 2);
    if (!lane->put(builder.bytes(), 17)) throw std::runtime_error("the lane is full");
    (void)world.next_frame();
    r.set(orc, game::Health{.value = 3});
    r.push(r.find_path("/elf"), Rename{.name = r.intern("elf with \x1b a bow")});
    const std::uint64_t last = r.sequence();
    while (world.durable_sequence() < last) (void)world.next_frame();
    return last;
  }
  World world;
  std::shared_ptr<InboxLane> lane;
};

}  // namespace muster::test

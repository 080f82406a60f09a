// A game outside of Muster's tree. Prints the hash of its world, which is the same however it was built.
#include <muster/host.h>

#include <cstdio>

#include "rules.h"

int main() {
  static_assert(game::own_headers == 6);
  muster::EntityRegistry registry;
  const muster::Handlers handlers = game::install(registry);
  muster::ThreadPool pool(1);
  if (registry.host().timers().size() != 0) return 1;
  for (int i = 0; i < 100; ++i) {
    const muster::Entity creep = registry.create(
        "", game::Creep{.health = {.value = 7.3f * static_cast<float>(i)}, .at = {.x = 1, .y = 0.3f, .z = 0}});
    registry.push(creep, game::Hit{.amount = 33.3f});
  }
  std::printf("hash %016llx\n", static_cast<unsigned long long>(registry.hash()));
}

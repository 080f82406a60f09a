// expect: the handler's name comes first: subscribe
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

struct Sound {
  void play(const game::Damage&);
};
muster::Subscription named(muster::EntityRegistry& registry, Sound& sound) {
  return registry.subscribe("play", sound, &Sound::play);
}
#ifdef VIOLATION
muster::Subscription unnamed(muster::EntityRegistry& registry, Sound& sound) {
  return registry.subscribe(sound, &Sound::play);
}
#endif

// Linked with `muster` alone, from its installed headers.
#include <muster/messages.h>

#include "game.h"

int main() {
  muster::TypeTable types;
  if (!types.add<game::Health>()) return 1;
  const muster::TypeDescriptor* damage = types.find("game.Damage");
  return damage && damage->size == sizeof(game::Damage) && game::Health{}.value == 100.0f ? 0 : 1;
}

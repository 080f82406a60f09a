// Strikes an orc from outside: `guide_client WORLD`.
#include <muster/client.h>

#include <chrono>
#include <cstdio>

#include "examples/guide/guide_types.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  // guide: connect
  const auto where = muster::read_address_file(argv[1]);  // "orcs.muster": what its server left beside it
  if (!where) return std::puts(where.error().text.c_str()), 1;
  auto client = muster::Client::connect({.address = where->best(), .token = where->token, .name = "guide"});
  if (!client) return std::puts(client.error().text.c_str()), 1;
  // guide: end

  // guide: edit
  const auto orc = client->entity("/orc");
  if (!orc) return std::puts(orc.error().text.c_str()), 1;
  const auto hit = client->push(*orc, guide::Damage{.amount = 1});    // typed, from the header
  const auto healed = client->set_field(*orc, "Health.value", "25");  // or by name
  const auto made = client->create({}, "wolf", guide::Health{.value = 5});
  if (!hit || !healed || !made) return 1;
  std::printf("struck at sequence %llu\n", static_cast<unsigned long long>(hit->sequence));
  // guide: end

  // guide: watch
  const auto watch = client->follow({.entities = {*orc}, .values = true});
  if (!watch) return 1;
  client->push(*orc, guide::Damage{.amount = 1});
  bool changed = false;
  while (auto frame = client->next(*watch, std::chrono::seconds(5))) {
    if (!*frame) break;  // nothing came in that time
    if ((*frame)->is<muster::session::Values>() && changed) return std::puts("the orc's health changed"), 0;
    changed |= (*frame)->is_last();  // the state is here; from now on frames are changes
  }
  // guide: end
  return 1;
}

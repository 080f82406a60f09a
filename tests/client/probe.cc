// A client that was compiled with an older schema than the world's: `probe WORLD strike` pushes a message whose layout is
// another by now; `probe WORLD watch` prints the creeps that a watch brings, taking its bytes apart by hand; `probe WORLD ask` asks a
// question for every line it reads.
#include <muster/client.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "tests/client/changed_game.h"
#include "tests/client/program_td.h"

namespace {

int complain(const muster::ClientError& error) {
  std::printf("%s: %s\n", error.kind == muster::ClientError::Kind::lost ? "lost" : "error", error.text.c_str());
  return 1;
}

int watch(muster::Client& client) {
  const auto watch = client.follow({.world = true, .values = true});
  if (!watch) return complain(watch.error());
  while (true) {
    const auto frame = client.next(*watch, std::chrono::seconds(20));
    if (!frame) return complain(frame.error());
    if (!*frame) return std::puts("nothing came"), 1;
    if (!(*frame)->is<muster::session::Values>()) continue;
    const auto rows = muster::session::read<muster::session::Values>((*frame)->batch());
    if (rows.component != muster::TypeTraits<td::Creep>::id) continue;
    for (std::size_t i = 0; i < rows.entities.size(); ++i) {
      td::Creep creep;
      std::memcpy(&creep, rows.values.data() + i * rows.value_bytes, sizeof creep);
      std::printf("creep: hp %g, way %g\n", static_cast<double>(creep.hp), static_cast<double>(creep.way));
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto where = muster::read_address_file(argv[1]);
  if (!where) return complain(where.error());
  auto client = muster::Client::connect({.address = where->best(), .token = where->token});
  if (!client) return complain(client.error());
  if (std::strcmp(argv[2], "strike") == 0) {
    const auto healed = client->set(muster::Entity{1, 1}, game::Health{.value = 7});  // this one is the same
    if (!healed) return complain(healed.error());
    const auto struck = client->push(muster::Entity{1, 1}, game::Damage{.amount = 7});
    if (!struck) return complain(struck.error());
    return 0;
  }
  if (std::strcmp(argv[2], "watch") == 0) return watch(*client);
  std::puts("connected");
  std::fflush(stdout);
  while (std::getchar() == '\n') {
    const auto info = client->ask<muster::session::GetInfo>();
    if (!info) return complain(info.error());
    std::puts("answered");
    std::fflush(stdout);
  }
  return 0;
}

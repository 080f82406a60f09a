// A client that was compiled with an older schema than the world's: `probe WORLD strike` pushes a message whose layout is
// another by now; `probe WORLD ask` asks a question for every line it reads.
#include <muster/client.h>

#include <cstdio>
#include <cstring>

#include "tests/client/changed_game.h"

namespace {

int complain(const muster::ClientError& error) {
  std::printf("%s: %s\n", error.kind == muster::ClientError::Kind::lost ? "lost" : "error", error.text.c_str());
  return 1;
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
  std::puts("connected");
  std::fflush(stdout);
  while (std::getchar() == '\n') {
    const auto info = client->info();
    if (!info) return complain(info.error());
    std::puts("answered");
    std::fflush(stdout);
  }
  return 0;
}

// Linked with `muster-client`, from its installed headers: nobody listens, and the error says so.
#include <muster/client.h>

#include "game.h"

int main() {
  auto client = muster::Client::connect({.address = "127.0.0.1:1", .token = "none"});
  if (client) return client->push(muster::Entity{1, 1}, game::Damage{.amount = 1}) ? 1 : 2;
  return client.error().kind == muster::ClientError::Kind::lost && !client.error().text.empty() ? 0 : 3;
}

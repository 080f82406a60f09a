// Watches of a world that changes: whatever is asked of them, in whatever order, and however little is read meanwhile, nothing of it
// makes the server stop; what cannot be is refused and changes nothing; and when the world rests each watch has told what is so.
//
//   input   | seed of the world's changes: 8 bytes | steps: an operation, and what it needs ... |
#define MUSTER_CHECKS_ABORT
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "server/watches/watch_asked.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/server/watches/changer.h"
#include "tests/server/watches/follower.h"

namespace {

using namespace muster;
using namespace muster::testing;

constexpr std::size_t followers_max = 6, steps_max = 400;

/// As a client asks that means well, and then whatever the input says.
session::Follow ask(FuzzInput& input, Changer& changer) {
  session::Follow what = something(changer);
  const auto bits = input.take<std::uint16_t>();
  if (bits & 1) what.rate_max = input.take<float>();
  if (bits & 2) what.bytes_max = input.take<std::uint32_t>();
  if (bits & 4) what.priority = input.take<std::uint8_t>();
  if (bits & 8) what.entities.push_back(input.take<Entity>());
  if (bits & 16) what.open.push_back(input.take<Entity>());
  if (bits & 32) what.components.push_back(input.take<TypeId>());
  if (bits & 64) what.with.push_back(input.take<TypeId>());
  if (bits & 128) what.without.push_back(health_id);
  if (bits & 256) what.pushed.push_back(input.take<TypeId>());
  if (bits & 512) what.inputs = !what.inputs;
  if (bits & 1024 && !what.entities.empty()) what.entities.push_back(what.entities.front());
  if (bits & 2048 && !what.open.empty()) what.open.push_back(what.open.front());
  return what;
}

/// Who is not alive when it is named is not watched, whoever has its id later.
void forget_dead(Follower& follower) {
  const auto dead = [&](Entity e) { return !follower.registry.alive(e); };
  std::erase_if(follower.asked.entities, dead);
  std::erase_if(follower.asked.open, [&](Entity e) { return e && dead(e); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  Watched of;
  Changer changer(of.registry, input.take<std::uint64_t>());
  std::vector<std::unique_ptr<Follower>> followers;
  std::uint64_t now_ns = 1;
  for (std::size_t step = 0; !input.empty() && step < steps_max; ++step) {
    const auto operation = input.take<std::uint8_t>();
    Follower* const one = followers.empty() ? nullptr : followers[operation / 16 % followers.size()].get();
    switch (operation % 16) {
      case 0:
      case 1:
        if (followers.size() == followers_max) break;
        {
          OutgoingLimits limits;
          limits.data_bytes_max = std::size_t{1} << (input.take<std::uint8_t>() % 20);
          auto made = std::make_unique<Follower>(of.registry, of.watches, limits, operation % 16 == 1);
          const session::Follow what = ask(input, changer);
          if (asked_of(what, of.registry).has_value()) {
            made->open(what);
            forget_dead(*made);
            followers.push_back(std::move(made));
          } else {
            const std::uint32_t before = of.watches.count();
            REQUIRE(of.watches.follow(made->session, 1, what, 64).has_value());
            REQUIRE(of.watches.count() == before);
            REQUIRE(!made->read());
          }
        }
        break;
      case 2:
        if (one) {
          session::Follow what = ask(input, changer);
          if (asked_of(what, of.registry).has_value() && one->changes.size() + one->changing.size() < 200) {
            one->change(what);
            forget_dead(*one);
          } else if (!asked_of(what, of.registry).has_value()) {
            what.watch = one->watch;
            REQUIRE(of.watches.follow(one->session, 77'777, what, 64).has_value());
          }
        }
        break;
      case 3:
        if (one && one->changes.size() + one->changing.size() < 200) {
          session::FollowMore more;
          const auto bits = input.take<std::uint8_t>();
          if (!one->asked.world) {
            if (bits & 1) more.add.push_back(bits & 2 ? input.take<Entity>() : changer.someone());
            if (bits & 4 && !one->asked.entities.empty()) more.drop.push_back(one->asked.entities.back());
          }
          if (bits & 8) more.open.push_back(bits & 16 ? input.take<Entity>() : changer.someone());
          if (bits & 32 && !one->asked.open.empty()) more.close.push_back(one->asked.open.front());
          one->change_more(more);
          forget_dead(*one);
        }
        break;
      case 4:
        if (one) followers.erase(followers.begin() + operation / 16 % static_cast<int>(followers.size()));
        break;
      case 5:
        if (one) one->read();
        break;
      case 6:
        if (one) one->session->outgoing()->credit(input.take<std::uint32_t>());
        break;
      case 7: now_ns += input.take<std::uint32_t>(); [[fallthrough]];
      case 8: of.watches.after_flush(now_ns); break;
      case 9:  // its connection is lost
        if (one) {
          one->lose();
          for (std::uint8_t left = input.take<std::uint8_t>() % 8; left > 0; --left) {
            changer.step();
            if (left % 2 == 0) of.watches.after_flush(now_ns);
          }
          (void)one->resume();
          forget_dead(*one);
        }
        break;
      default: changer.step();
    }
  }
  // At rest: everybody has room, and time passes.
  for (const auto& follower : followers) follower->session->outgoing()->credit(~std::uint64_t{0});
  for (int round = 0; round < 4; ++round) {
    bool more = true;
    for (int i = 0; more && i < 100'000; ++i) {
      more = false;
      const std::uint64_t due_in = of.watches.after_flush(now_ns);
      now_ns += due_in;
      more = due_in > 0;
      for (const auto& follower : followers) more = follower->read() || more;
    }
    REQUIRE(!more);
  }
  for (const auto& follower : followers) {
    if (follower->asked.inputs || !follower->asked.pushed.empty()) continue;
    REQUIRE(follower->whole);
    follower->check();
  }
  return 0;
}

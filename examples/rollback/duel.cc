// Two players over a line of 100 ms that loses 5 % of the packets, in one process.
//
//   duel [TICKS]        36000 ticks, which are ten minutes at 60 Hz
//
// Each player shows its own input at once, assumes that the other one holds the same buttons as
// before, and makes ticks again if that was wrong. Compares the states of both after every
// confirmed tick.
#include <muster/host.h>
#include <muster/registry.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "examples/rollback/delayed_line.h"
#include "examples/rollback/game.h"  // written by schemac

namespace {

constexpr std::uint8_t left = 1, right = 2, fire = 4;
constexpr float dt = 1.0f / 60;

class Player {
 public:
  Player(int number, DelayedLine& in, DelayedLine& out)
      : number_(number), in_(in), out_(out), rollback_(registry_, [this](std::uint64_t tick) { make(tick); }) {
    handlers_.add(registry_.subscribe("duel.steer", [](const duel::Controls& now, duel::Ship& ship) {
      ship.speed += (now.buttons & left ? -1.0f : 0) + (now.buttons & right ? 1.0f : 0);
    }));
    handlers_.add(registry_.subscribe(
        "duel.fire",
        [](const duel::Controls& now, const duel::Ship& ship, muster::Spawner& spawner) {
          if (now.buttons & fire)
            spawner.create(duel::Shot{.at = ship.at, .speed = ship.speed, .ticks_left = 30, .enemy = ship.enemy});
        },
        {.after = {"duel.steer"}}));
    handlers_.add(registry_.subscribe("duel.move", [](const muster::Update& now, duel::Ship& ship) {
      ship.at += ship.speed * now.dt;
      ship.speed *= 0.98f;
    }));
    handlers_.add(registry_.subscribe(
        "duel.fly", [](const muster::Update& now, duel::Shot& shot, muster::Entity self, muster::Outbox& out) {
          shot.at += shot.speed * now.dt;
          if (--shot.ticks_left > 0) return;
          out.post(shot.enemy, duel::Hit{.amount = 1 + shot.at * 0.001f});
          out.destroy(self);
        }));
    handlers_.add(
        registry_.subscribe("duel.hit", [](const duel::Hit& hit, duel::Ship& ship) { ship.health -= hit.amount; }));
    handlers_.add(registry_.subscribe("duel.sound",
                                      [this](const duel::Controls& now, const duel::Ship&) {
                                        if (now.buttons & fire) ++sounds;
                                      },
                                      {.skip_when_repeated = true}));
    for (int i : {0, 1}) ships_[i] = registry_.create(duel::Ship{.at = i == 0 ? -10.0f : 10.0f});
    for (int i : {0, 1}) registry_.set(ships_[i], duel::Ship{.at = i == 0 ? -10.0f : 10.0f, .enemy = ships_[1 - i]});
  }

  // guide: a frame
  void frame(std::uint8_t buttons, double now_ms) {
    while (const auto packet = in_.receive(now_ms)) {
      for (std::size_t i = 0; i < packet->buttons.size(); ++i) {
        const std::uint64_t tick = packet->first + i;
        if (tick != theirs_.size() + 1) continue;  // it is known already
        if (packet->buttons[i] != assumed()) rollback_.changed(tick);
        theirs_.push_back(packet->buttons[i]);
      }
      acknowledged_ = std::max(acknowledged_, packet->acknowledged);
      if (const auto own = rollback_.checksum(packet->checked); own && *own != packet->checksum)
        diverged(packet->checked);
    }
    rollback_.confirm(std::min(mine_.size(), theirs_.size()));
    const bool waits = rollback_.must_wait();  // the other player is too far behind
    if (!waits) mine_.push_back(buttons);
    out_.send(packet_of(acknowledged_ + 1), now_ms);
    if (waits) return;
    if (const auto made = rollback_.advance(); !made) lost(made.error());
  }

  void make(std::uint64_t tick) {
    const std::uint8_t theirs = tick <= theirs_.size() ? theirs_[tick - 1] : assumed();
    registry_.push(ships_[0], duel::Controls{.buttons = number_ == 0 ? mine_[tick - 1] : theirs});
    registry_.push(ships_[1], duel::Controls{.buttons = number_ == 1 ? mine_[tick - 1] : theirs});
    registry_.push(muster::Update{.dt = dt});
  }
  /// The buttons that the other player is assumed to hold in ticks whose input has not come.
  std::uint8_t assumed() const { return theirs_.empty() ? 0 : theirs_.back(); }
  // guide: end

  const muster::Rollback& rollback() const { return rollback_; }
  const duel::Ship& ship(int number) const { return registry_.get<duel::Ship>(ships_[number]); }
  std::uint64_t sounds = 0;

 private:
  Packet packet_of(std::uint64_t first) const {
    const std::uint64_t checked = rollback_.confirmed();
    const auto checksum = rollback_.checksum(std::min(checked, rollback_.tick()));
    return {.first = first,
            .buttons = {mine_.begin() + static_cast<std::ptrdiff_t>(first - 1), mine_.end()},
            .acknowledged = theirs_.size(),
            .checked = checksum ? std::min(checked, rollback_.tick()) : 0,
            .checksum = checksum.value_or(0)};
  }
  void diverged(std::uint64_t tick) const {
    std::printf("player %d: the states differ after tick %llu\n", number_, static_cast<unsigned long long>(tick));
    std::exit(1);
  }
  void lost(const std::string& why) const {
    std::printf("player %d: %s\n", number_, why.c_str());
    std::exit(1);
  }

  const int number_;
  DelayedLine &in_, &out_;
  muster::EntityRegistry registry_;
  muster::Handlers handlers_;
  muster::Entity ships_[2];
  std::vector<std::uint8_t> mine_, theirs_;  // the inputs from tick 1 on
  std::uint64_t acknowledged_ = 0;
  muster::Rollback rollback_;
};

/// Holds and lets go of buttons from time to time, as people do.
class Hands {
 public:
  explicit Hands(unsigned seed) : random_(seed) {}
  std::uint8_t buttons() {
    if (random_() % 12 == 0) held_ = static_cast<std::uint8_t>(random_() % 8);
    return held_;
  }

 private:
  std::mt19937 random_;
  std::uint8_t held_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const auto ticks = static_cast<std::uint64_t>(std::clamp(argc > 1 ? std::atol(argv[1]) : 36'000l, 1l, 10'000'000l));
  DelayedLine to_first(100, 20, 0.05, 1), to_second(100, 20, 0.05, 2);
  Player first(0, to_first, to_second), second(1, to_second, to_first);
  Hands left_hands(3), right_hands(4);
  std::uint64_t compared = 0;
  for (std::uint64_t frame = 0; compared < ticks; ++frame) {
    if (frame > 2 * ticks + 600) {
      std::printf("the ticks were not confirmed\n");
      return 1;
    }
    const double now_ms = static_cast<double>(frame) * 1000 / 60;
    first.frame(left_hands.buttons(), now_ms);
    second.frame(right_hands.buttons(), now_ms);
    for (;; ++compared) {
      const auto a = first.rollback().checksum(compared + 1), b = second.rollback().checksum(compared + 1);
      if (!a || !b) break;
      if (*a != *b) {
        std::printf("the states differ after tick %llu\n", static_cast<unsigned long long>(compared + 1));
        return 1;
      }
    }
  }
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("%llu ticks: both players have the same states\n", number(compared));
  std::printf("%llu of %llu packets were lost\n", number(to_first.lost() + to_second.lost()),
              number(to_first.sent() + to_second.sent()));
  std::printf("the first player made %llu ticks and made %llu again; it heard %llu shots\n",
              number(first.rollback().tick()), number(first.rollback().redone()), number(first.sounds));
  std::printf("health %g and %g\n", first.ship(0).health, first.ship(1).health);
}

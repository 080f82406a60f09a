// Tests GetClock and SetClock with a served world that has ticks.
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <thread>

#include "messages/frame.h"
#include "registry/entity_registry.h"
#include "server/questions/clock_questions.h"
#include "server/server.h"
#include "server/world/world.h"
#include "tests/server/hand_world.h"
#include "tests/server/live_world.h"
#include "tests/server/made_session.h"
#include "tests/server/queued_frames.h"
#include "tests/support/folder.h"

namespace clock_test {

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

/// A world and its server on their own thread. Each tick adds one to every Health.
class Ticking {
 public:
  explicit Ticking(double hz, std::function<void()> on_update = {}) {
    std::promise<std::string> listening;
    owner_ = std::thread([this, hz, on_update, &listening] { own(hz, on_update, listening); });
    address_ = listening.get_future().get();
  }
  ~Ticking() {
    world_->stop();
    stop_returned_.set_value();
    owner_.join();
  }
  const std::string& address() const noexcept { return address_; }
  const std::string& token_of(session::Role role) const { return tokens_.at(role); }
  Client client(session::Role role = session::Role::admin) const {
    auto made = Client::connect({.address = address_, .token = token_of(role), .name = "test"});
    if (!made) throw std::runtime_error(made.error().text);
    return std::move(*made);
  }

 private:
  void own(double hz, const std::function<void()>& on_update, std::promise<std::string>& listening) {
    const test::Folder folder;
    World world(folder / "w.muster",
                [&](EntityRegistry& registry) -> Handlers {
                  registry.add_type<arena::Health>();
                  return {registry.subscribe("grow",
                                             [on_update](const Update&, arena::Health& health) {
                                               if (on_update) on_update();
                                               health.value += 1;
                                             }),
                          subscribe_damage(registry)};
                },
                {.hz = hz});
    world.registry().create("orc", arena::Health{.value = 0}).or_stop();
    world.save();
    const std::string users = folder / "w.muster-users";
    tokens_ = tokens_by_role(users);
    Server server(world, {.listen = "127.0.0.1:0", .token = token, .users_file = users});
    world_ = &world;
    listening.set_value(server.address());
    while (const auto frame = world.next_frame()) world.registry().push(Update{.dt = frame.dt});
    stop_returned_.get_future().wait();  // a world outlives the calls of its stop()
  }

  World* world_ = nullptr;
  std::promise<void> stop_returned_;
  std::string address_;
  std::map<session::Role, std::string> tokens_;
  std::thread owner_;
};

/// Returns "field: reason" of a server's refusal.
template <class Answer>
std::string refusal(const Result<Answer>& answer) {
  if (answer) return "";
  return answer.error().fault.field + ": " + answer.error().fault.reason;
}
session::ClockState when_steps_are_made(Client& client) {
  for (int i = 0; i < 2000; ++i) {
    const auto state = client.ask<session::GetClock>();
    REQUIRE(state.has_value());
    if (state->steps == 0) return *state;
    std::this_thread::sleep_for(5ms);
  }
  FAIL("the steps are not made");
  return {};
}
float health(Client& client) {
  const auto shown = client.show(client.entity("orc").value());
  REQUIRE(shown.has_value());
  return shown->get<arena::Health>()->value;
}

}  // namespace

TEST_CASE("a session in control pauses the clock, steps and lets it go on; edits are applied meanwhile") {
  const Ticking world(500);
  Client client = world.client(session::Role::control);
  const auto at_first = client.ask<session::GetClock>();
  REQUIRE(at_first.has_value());
  CHECK(at_first->hz == 500);
  CHECK(at_first->speed == 1);
  CHECK(at_first->paused == 0);
  CHECK(at_first->session == 0);
  for (std::uint64_t tick = at_first->tick; tick < at_first->tick + 3; tick = client.ask<session::GetClock>()->tick) {
  }
  const auto paused = client.ask(session::SetClock{.paused = 1});
  REQUIRE(paused.has_value());
  CHECK(paused->paused == 1);
  CHECK(paused->speed == 1);
  CHECK(paused->session == client.welcome().session);
  const Entity orc = client.entity("orc").value();
  REQUIRE(client.set(orc, arena::Health{.value = 10}).has_value());
  std::this_thread::sleep_for(20ms);  // ten ticks
  CHECK(health(client) == 10);
  CHECK(client.ask<session::GetClock>()->tick == paused->tick);
  CHECK(client.ask<session::GetClock>()->clock_ns == paused->clock_ns);
  CHECK(client.ask<session::GetClock>()->sequence > paused->sequence);
  REQUIRE(client.ask(session::SetClock{.paused = 1, .steps = 3}).has_value());
  REQUIRE(client.ask(session::SetClock{.paused = 2, .steps = 4}).has_value());  // seven in all
  const session::ClockState stepped = when_steps_are_made(client);
  CHECK(stepped.tick == paused->tick + 7);
  CHECK(stepped.clock_ns == paused->clock_ns + 14'000'000);
  CHECK(stepped.paused == 1);
  CHECK(health(client) == 17);
  const auto runs = client.ask(session::SetClock{.speed = 2});
  REQUIRE(runs.has_value());
  CHECK(runs->paused == 0);
  CHECK(runs->speed == 2);
  while (client.ask<session::GetClock>()->tick < stepped.tick + 3) {
  }
}

TEST_CASE("what a SetClock leaves as it is stays as it is") {
  const Ticking world(1000);
  Client client = world.client();
  REQUIRE(client.ask(session::SetClock{.speed = 0.5, .paused = 1}).has_value());
  const auto speed = client.ask(session::SetClock{.speed = 4, .paused = 2});
  REQUIRE(speed.has_value());
  CHECK(speed->paused == 1);
  CHECK(speed->speed == 4);
  const auto play = client.ask(session::SetClock{.speed = 0, .paused = 0});
  REQUIRE(play.has_value());
  CHECK(play->paused == 0);
  CHECK(play->speed == 4);
  const auto slower = client.ask(session::SetClock{.speed = 0.25, .paused = 2});
  REQUIRE(slower.has_value());
  CHECK(slower->paused == 0);
  CHECK(slower->speed == 0.25);
}

TEST_CASE("who may look sees the clock, and only who is in control sets it") {
  const Ticking world(100);
  for (const session::Role each : {session::Role::view, session::Role::edit}) {
    Client client = world.client(each);
    CHECK(client.ask<session::GetClock>().has_value());
    const auto refused = client.ask(session::SetClock{.paused = 1});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().fault.code == session::FaultCode::no_right);
    CHECK(client.ask<session::GetClock>()->paused == 0);
  }
}

TEST_CASE("a clock that cannot run so is refused by name, and runs on as before") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  const Ticking world(100);
  Client client = world.client();
  CHECK(refusal(client.ask(session::SetClock{.paused = 0, .steps = 1})) == "steps: not_paused");
  CHECK(refusal(client.ask(session::SetClock{.paused = 2, .steps = 1})) == "steps: not_paused");
  REQUIRE(client.ask(session::SetClock{.speed = 3, .paused = 1}).has_value());
  const std::uint64_t tick = client.ask<session::GetClock>()->tick;
  CHECK(refusal(client.ask(session::SetClock{.speed = nan, .paused = 0})) == "speed: not_finite");
  CHECK(refusal(client.ask(session::SetClock{.speed = infinite, .paused = 0})) == "speed: not_finite");
  CHECK(refusal(client.ask(session::SetClock{.speed = -1, .paused = 0})) == "speed: out_of_range");
  CHECK(refusal(client.ask(session::SetClock{.speed = 0.009, .paused = 0})) == "speed: out_of_range");
  CHECK(refusal(client.ask(session::SetClock{.speed = 101, .paused = 0})) == "speed: out_of_range");
  CHECK(refusal(client.ask(session::SetClock{.paused = 3})) == "paused: out_of_range");
  CHECK(refusal(client.ask(session::SetClock{.paused = 1, .steps = 100'001})) == "steps: out_of_range");
  CHECK(refusal(client.ask(session::SetClock{.paused = 1, .steps = ~0u})) == "steps: out_of_range");
  CHECK(refusal(client.ask(session::SetClock{.speed = 101, .paused = 1, .steps = 1})) == "speed: out_of_range");
  CHECK(refusal(client.ask(session::GetClock{.follow = 2})) == "follow: out_of_range");
  CHECK(client.ask<session::GetClock>()->speed == 3);
  CHECK(client.ask<session::GetClock>()->paused == 1);
  CHECK(client.ask<session::GetClock>()->tick == tick);
}

TEST_CASE("a world without ticks is paused too, and says that there is nothing to step to") {
  const Ticking world(0);
  Client client = world.client();
  REQUIRE(client.ask(session::SetClock{.speed = 10, .paused = 1}).has_value());
  const auto refused = client.ask(session::SetClock{.paused = 1, .steps = 1});
  CHECK(refusal(refused) == "steps: no_ticks");
  CHECK(refused.error().text.find("0 Hz") != std::string::npos);
  CHECK(client.ask<session::GetClock>()->hz == 0);
  CHECK(client.ask<session::GetClock>()->speed == 10);
}

TEST_CASE("while a long run of steps is made edits are applied and questions answered; a pause ends the run") {
  const Ticking world(60, [] { std::this_thread::sleep_for(1ms); });
  Client client = world.client();
  const auto paused = client.ask(session::SetClock{.paused = 1});
  REQUIRE(paused.has_value());
  // These steps take minutes.
  REQUIRE(client.ask(session::SetClock{.paused = 1, .steps = 100'000}).has_value());
  CHECK(refusal(client.ask(session::SetClock{.paused = 1, .steps = 100'000})) == "steps: out_of_range");
  const Entity made = client.create({}, "made").value();
  REQUIRE(client.show(made).has_value());
  const auto ended = client.ask(session::SetClock{.paused = 1});
  REQUIRE(ended.has_value());
  CHECK(ended->steps == 0);
  CHECK(ended->tick > paused->tick);
  CHECK(ended->tick < paused->tick + 100'000);
  CHECK(client.ask<session::GetClock>()->tick == ended->tick);
}

TEST_CASE(
    "who follows the clock is told when somebody sets it, when a run of steps is over, and when the world is saved") {
  const Ticking world(100);
  RawClient follower(world.address());
  follower.hello(world.token_of(session::Role::view));
  follower.send_message(session::GetClock{.follow = 1}, 7);
  follower.send_message(session::GetClock{.follow = 1}, 8);  // once is enough
  const auto next = [&](std::uint64_t request) {
    const auto received = follower.receive();
    REQUIRE(received);
    REQUIRE(received->is<session::ClockState>());
    CHECK(received->header.request == request);
    return session::read<session::ClockState>(received->batch());
  };
  CHECK(next(7).paused == 0);
  const session::ClockState before = next(8);
  Client client = world.client(session::Role::control);
  REQUIRE(client.ask(session::SetClock{.paused = 1}).has_value());
  const session::ClockState paused = next(0);
  CHECK(paused.paused == 1);
  CHECK(paused.session == client.welcome().session);
  CHECK(paused.saved_sequence == before.saved_sequence);
  REQUIRE(client.ask(session::SetClock{.paused = 1, .steps = 50}).has_value());
  session::ClockState stepped = next(0);
  if (stepped.steps > 0) stepped = next(0);  // followers also hear of the beginning
  CHECK(stepped.steps == 0);
  CHECK(stepped.tick == paused.tick + 50);
  const std::uint64_t saved = client.ask<session::Save>().value().sequence;
  CHECK(next(0).saved_sequence == saved);
  // A refused SetClock is not reported to followers, and neither is an edit: the next report is
  // about the speed.
  CHECK_FALSE(client.ask(session::SetClock{.speed = 1000, .paused = 1}).has_value());
  REQUIRE(client.create({}, "made").has_value());
  REQUIRE(client.ask(session::SetClock{.speed = 7, .paused = 2}).has_value());
  const session::ClockState last = next(0);
  CHECK(last.speed == 7);
  CHECK(last.saved_sequence == saved);
  CHECK(last.sequence > saved);
}

TEST_CASE("a server whose host has no clock says so") {
  LiveWorld world;
  Client client = world.client();
  CHECK(client.ask<session::GetClock>().has_value());
  CHECK(refusal(client.ask(session::SetClock{.paused = 1})) == ": no_clock");
}

TEST_CASE("a clock that its host sets has no session until a session sets it again") {
  EntityRegistry registry;
  const ServerLimits limits;
  const auto session = made_session({}, {.number = 7});
  Pace pace;
  HandWorld world;
  world.gives_pace = [&] { return pace; };
  world.on_pace = [&](const Pace& asked) {
    pace = asked;
    return std::expected<void, PaceFault>();
  };
  world.known.hz = 20;
  ClockQuestions clock(registry, world);
  const Asked asked{registry, limits, session, 1};
  const auto ask = [&](const auto& question) {
    if constexpr (requires { question.follow; })
      clock.get(asked, false);
    else
      clock.set(asked, question);
    std::vector<std::uint64_t> sessions;
    take_all_frames(*session->outgoing(), [&](const WireFrame& frame) {
      sessions.push_back(session::read<session::ClockState>(BatchView(frame.batch)).session);
    });
    REQUIRE(sessions.size() == 1);
    return sessions.front();
  };
  CHECK(ask(session::GetClock{}) == 0);
  CHECK(ask(session::SetClock{.paused = 1}) == 7);
  CHECK(ask(session::GetClock{}) == 7);
  pace.paused = false;
  CHECK(ask(session::GetClock{}) == 0);
  CHECK(ask(session::SetClock{.speed = 2, .paused = 2}) == 7);
  pace.speed = 3;
  CHECK(ask(session::GetClock{}) == 0);
}

}  // namespace clock_test

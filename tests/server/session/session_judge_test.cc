// Who judges what one session sends, batch after batch, says of each what one who knows nothing says.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "messages/batch_builder.h"
#include "server/session/judge.h"
#include "tests/server/arena.h"
#include "tests/server/rights.h"
#include "tests/support/random.h"

namespace session_judge_test {

using namespace muster;
using muster::test::Random;

namespace {

const TypeTable& types() {
  static const TypeTable& made = [] -> const TypeTable& {
    static TypeTable table;
    REQUIRE(table.add<rights::EditData>());
    REQUIRE(table.add<session::Hello>());
    REQUIRE(table.add<arena::Damage>());
    return table;
  }();
  return made;
}

/// One of many, most of which differ from others in what their payload says.
void write(BatchBuilder& to, Random& random) {
  constexpr std::array data{TypeTraits<rights::NoneData>::id, TypeTraits<rights::ViewData>::id,
                            TypeTraits<rights::EditData>::id, TypeTraits<rights::ControlData>::id,
                            TypeTraits<rights::AdminData>::id};
  const TypeId component = data[random.below(data.size())];
  const Entity e{static_cast<std::uint32_t>(1 + random.below(9)), 1};
  const auto value = static_cast<std::uint32_t>(random.below(100));
  switch (random.below(15)) {
    case 0: to.append(e, Remove{.component = component}); return;
    case 1: to.append(e, SetField{.component = component, .field = hash32("value"), .bytes = 4}); return;
    case 2: to.append(e, SetFieldIf{.set = {.component = component, .field = hash32("value"), .bytes = 4}}); return;
    case 3: to.append_rows(e, Set{}, rights::EditData{.value = value}); return;
    case 4: to.append_rows(e, Set{}, rights::AdminData{.value = value}); return;
    case 5: to.append(e, rights::NoneOrder{.value = value}); return;
    case 6: to.append(e, rights::ViewOrder{.value = value}); return;
    case 7: to.append(e, rights::EditOrder{.value = value}); return;
    case 8: to.append(e, rights::AdminOrder{.value = value}); return;
    case 9: to.append_world(rights::ControlOrder{.value = value}); return;
    case 10: {
      const Entity some[] = {e, e};
      to.append_shared(std::vector<Entity>(some, some + 2), rights::EditOrder{.value = value});
      return;
    }
    case 11: {
      BatchBuilder inner;
      inner.append(e, rights::EditOrder{.value = value});
      to.append_timed(100, random.below(2), inner.front());
      return;
    }
    case 12: to.append(e, Destroy{}); return;
    default: to.append(e, arena::Damage{.amount = static_cast<float>(value)}); return;
  }
}

}  // namespace

TEST_CASE("what a session sends is judged as if each batch were its first, whatever came before") {
  const VerifierLimits limits{.values = true};
  for (const auto role : {session::Role::view, session::Role::edit, session::Role::control, session::Role::admin}) {
    Random random(static_cast<std::uint64_t>(role) + 1);
    SessionJudge kept;
    std::uint64_t refused = 0;
    std::uint64_t like = 0;
    for (int i = 0; i < 20'000; ++i) {
      if (random.percent(30)) like = random.below(1'000'000);
      // Mostly the same message with something else in it.
      Random again(like);
      BatchBuilder builder;
      write(builder, random.percent(60) ? again : random);
      if (random.percent(1)) kept.forget();
      const auto bytes = builder.bytes();
      const auto alone = judge(bytes, types(), {role}, limits);
      if (const TypeDescriptor* const type = kept.again(bytes)) {
        REQUIRE(alone.has_value());
        REQUIRE(alone->for_world);
        REQUIRE(alone->type == type);
        if (random.percent(50)) continue;
      }
      const auto found = kept.judge(bytes, types(), {role}, limits);
      REQUIRE(found.has_value() == alone.has_value());
      if (found) {
        REQUIRE(found->type == alone->type);
        REQUIRE(found->for_world == alone->for_world);
        REQUIRE(found->batch.bytes().data() == alone->batch.bytes().data());
      } else {
        ++refused;
        REQUIRE(found.error().code == alone.error().code);
        REQUIRE(found.error().reason == alone.error().reason);
        REQUIRE(found.error().text == alone.error().text);
        REQUIRE(found.error().closes == alone.error().closes);
      }
    }
    CHECK(refused > 1000);
  }
}

TEST_CASE("a right that depends on what a message says is judged in each of a row of like ones") {
  const VerifierLimits limits{.values = true};
  BatchBuilder mine, other;
  const auto write_to = [](BatchBuilder& to, TypeId component) {
    to.append(Entity{1, 1}, SetField{.component = component, .field = hash32("value"), .bytes = 4});
  };
  write_to(mine, TypeTraits<rights::EditData>::id);
  write_to(other, TypeTraits<rights::AdminData>::id);
  SessionJudge kept;
  for (int i = 0; i < 3; ++i) REQUIRE(kept.judge(mine.bytes(), types(), {session::Role::edit}, limits));
  CHECK_FALSE(kept.again(other.bytes()));
  const auto refused = kept.judge(other.bytes(), types(), {session::Role::edit}, limits);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == session::FaultCode::no_right);
  CHECK(kept.judge(mine.bytes(), types(), {session::Role::edit}, limits));
}

}  // namespace session_judge_test

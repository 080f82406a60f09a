// A Step needs the rights of everything in it.
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/step_batches.h"
#include "server/session/judge.h"
#include "tests/server/rights.h"
#include "tests/server/session/rights_types.h"

namespace step_judge_test {

using namespace muster;
using test::types;

namespace {

Step step_of(BatchBuilder& batches, StepAct act = StepAct::edit) {
  return {.batches = step_bytes(batches.bytes()), .act = act};
}
std::expected<Judged, session::Fault> judged(BatchBuilder& batch, session::Role role) {
  return judge(batch.bytes(), types(), {role}, {.values = true});
}
/// Judges a Step with these batches.
std::expected<Judged, session::Fault> judged_inside(BatchBuilder& batches, session::Role role) {
  BatchBuilder batch;
  session::append(batch, step_of(batches));
  auto found = judged(batch, role);
  if (found) found->batch = {};  // its bytes are gone
  return found;
}

constexpr Entity e{1, 1};

}  // namespace

TEST_CASE("a Step is judged by the rights of each message in it, as if that had been sent by itself") {
  const std::vector<std::function<void(BatchBuilder&)>> messages{
      [](BatchBuilder& to) { to.append_rows(e, Create{}, rights::EditData{}); },
      [](BatchBuilder& to) { to.append_rows(e, Set{}, rights::ControlData{}); },
      [](BatchBuilder& to) { to.append(e, Remove{.component = TypeTraits<rights::AdminData>::id}); },
      [](BatchBuilder& to) {
        to.append(e, SetField{.component = TypeTraits<rights::NoneData>::id, .field = hash32("value"), .bytes = 4});
      },
      [](BatchBuilder& to) { to.append(e, rights::EditOrder{}); },
      [](BatchBuilder& to) { to.append(e, rights::NoneOrder{}); },
      [](BatchBuilder& to) { to.append_world(rights::ControlOrder{}); },
      [](BatchBuilder& to) { to.append_world(Grant{}); },
      [](BatchBuilder& to) { session::append(to, InternText{.text = "a"}); },
      [](BatchBuilder& to) { session::append(to, InternText{.text = "\xff"}); },
      [](BatchBuilder& to) { session::append(to, ReleaseIds{.ids = {e}}); },
      [](BatchBuilder& to) {
        session::append(to, DefineTemplate{.name = "hut",
                                           .nodes = {{.components = {{.type = TypeTraits<rights::AdminData>::id}}}}});
      },
  };
  for (const auto role : {session::Role::edit, session::Role::control, session::Role::admin})
    for (const auto& message : messages) {
      CAPTURE(static_cast<int>(role), &message - messages.data());
      BatchBuilder alone, batches;
      message(alone);
      const auto single = judged(alone, role);
      batches.append(e, Destroy{});
      message(batches);
      const auto found = judged_inside(batches, role);
      REQUIRE(found.has_value() == single.has_value());
      if (found) {
        CHECK(found->for_world);
        CHECK(found->type->id == TypeTraits<Step>::id);
        continue;
      }
      CHECK(found.error().code == single.error().code);
      CHECK(found.error().reason == single.error().reason);
      CHECK(found.error().closes == single.error().closes);
      CHECK(found.error().text.starts_with("batch 1 of the Step"));
      CHECK(found.error().text.ends_with(single.error().text));
    }
}

TEST_CASE("a viewer may not send a Step, and a Step holds only what the world can take back") {
  BatchBuilder one;
  one.append(e, Destroy{});
  CHECK(judged_inside(one, session::Role::view).error().code == session::FaultCode::no_right);
  const auto refused = [](BatchBuilder& batches, const char* reason) {
    const auto found = judged_inside(batches, session::Role::admin);
    REQUIRE_FALSE(found.has_value());
    CHECK(found.error().reason == reason);
    CHECK_FALSE(found.error().closes);
    CHECK(found.error().refused == 1);
  };
  BatchBuilder cancel, enable, info;
  cancel.append_world(CancelTimer{.timer = 1});
  refused(cancel, "not_in_step");
  enable.append_world(EnableHandler{});
  refused(enable, "not_in_step");
  session::append(info, session::GetInfo{});
  refused(info, "not_in_step");
}

TEST_CASE("only a server makes a Step that is an undo, and a Step is alone, for the world, and not timed") {
  BatchBuilder one;
  one.append(e, Destroy{});
  const auto refused = [](BatchBuilder& batch, const char* reason) {
    const auto found = judged(batch, session::Role::admin);
    REQUIRE_FALSE(found.has_value());
    CHECK(found.error().code == session::FaultCode::refused);
    CHECK(found.error().reason == reason);
    CHECK_FALSE(found.error().closes);
  };
  for (const StepAct act : {StepAct::undo, StepAct::redo}) {
    BatchBuilder batch;
    session::append(batch, step_of(one, act));
    refused(batch, "step_act");
  }
  BatchBuilder two, to_entity, to_line, timed, inner;
  session::append(two, step_of(one));
  session::append(two, step_of(one));
  REQUIRE(two.batches() == 1);
  refused(two, "wrong_targets");
  to_entity.append_table(TypeTraits<Step>::id, e, encode(step_of(one)));
  refused(to_entity, "wrong_targets");
  to_line.append_table(TypeTraits<Step>::id, e, encode(step_of(one)), subtree_self);
  refused(to_line, "wrong_targets");
  session::append(inner, step_of(one));
  timed.append_timed(5, 0, inner.front());
  refused(timed, "step_timed");
  BatchBuilder longest, too_long;
  Step labelled = step_of(one);
  labelled.label.assign(1024, 'a');
  session::append(longest, labelled);
  CHECK(judged(longest, session::Role::admin).has_value());
  labelled.label += 'a';
  session::append(too_long, labelled);
  refused(too_long, "label_bytes_max");
}

}  // namespace step_judge_test

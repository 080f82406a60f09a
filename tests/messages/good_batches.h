// Batches of every kind, with and without causes: what the verifier's tests and its fuzzing start from.
#pragma once

#include <cstddef>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/step_batches.h"
#include "schema/muster.h"
#include "tests/messages/test_types.h"

namespace test {

inline std::vector<std::vector<std::byte>> good_batches() {
  using muster::BatchBuilder, muster::BatchView, muster::Entity, muster::TypeTraits;
  std::vector<std::vector<std::byte>> all;
  for (const bool causes : {false, true}) {
    BatchBuilder to;
    to.set_causes(causes);
    to.set_cause(7);
    Painted painted;
    painted.on = true;
    painted.color = Color::green;
    painted.wings = Wings::left | Wings::tail;
    painted.steps[1] = Step::back;
    painted.slots[1].full = true;
    to.append(Entity{1, 1}, painted);
    to.append(Entity{2, 1}, painted);
    to.append_world(Tick{.dt = 1});
    to.append_subtree(Entity{1, 1}, muster::subtree_self, Nudge{});
    to.append_shared(std::vector<Entity>{{1, 1}, {2, 1}, {3, 1}}, painted);
    to.append_rows(Entity{1, 1}, Make{}, Lamp{.lit = true}, Matrix{}, Health{});
    to.append_rows_shared(std::vector<Entity>{{1, 1}, {2, 1}}, Make{}, Lamp{.lit = true}, Tag64{.bits = 1});
    Say say;
    say.text = "hello";
    say.loud = true;
    say.numbers = {1, 2, 3};
    say.words.resize(2);
    say.words[0].text = "word";
    say.names = {"a", "bc"};
    say.lamps.resize(2);
    const std::vector<std::byte> table = muster::encode(say);
    to.append_table(TypeTraits<Say>::id, Entity{1, 1}, table);
    to.append_table(TypeTraits<Say>::id, Entity{}, table);
    BatchBuilder inner;
    inner.append(Entity{1, 1}, painted);
    to.append_timed(100, 5, inner.front());
    inner.append_rows(Entity{1, 1}, Make{}, Lamp{.lit = true}, Health{});
    inner.append_table(TypeTraits<Say>::id, Entity{1, 1}, table);
    const muster::Step step{.batches = muster::step_bytes(inner.bytes()), .label = "paint", .gesture = 3};
    to.append_table(TypeTraits<muster::Step>::id, Entity{}, muster::encode(step));
    to.for_each([&](BatchView batch) { all.emplace_back(batch.bytes().begin(), batch.bytes().end()); });
  }
  return all;
}

}  // namespace test

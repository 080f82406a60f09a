// Many entities that are created by one Step, and the messages of an undo that does so.
#include <catch2/catch.hpp>
#include <functional>
#include <optional>

#include "messages/judge/verifier.h"
#include "tests/registry/history/editors.h"

namespace revivals_test {

using namespace muster;
using namespace muster::history_test;

namespace {

constexpr std::size_t many = 5000;  // more than are created at once

/// Returns the ids of all rows, in order.
std::vector<Entity> rows(const EntityRegistry& registry) {
  std::vector<Entity> all;
  for (const auto& archetype : registry.host().storage().archetypes())
    for (const Group& group : archetype->groups)
      for (const Chunk* chunk : group.chunks) all.insert(all.end(), chunk->ids(), chunk->ids() + chunk->count);
  return all;
}

struct World : Editors {
  /// If a handler sees each Create, they are applied one at a time.
  explicit World(bool watched) {
    if (watched) watcher = registry.subscribe("watcher", [](const Create&, Entity) {});
    for (const std::string_view name : {"a", "b", "c"}) registry.intern(name);
  }
  Subscription watcher;
  Entity camp = registry.create("camp");
};

/// Appends entities below the camp and below each other, with several components and names.
void append_many(World& w, BatchBuilder& batch, const std::vector<Entity>& ids) {
  const Text names[] = {text_of("a"), text_of("b"), text_of("c"), {}};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Entity parent = i < 3 ? w.camp : i % 11 == 0 ? ids[i / 3] : ids[i - 1 - i % 3];
    const Create message{.parent = parent, .name = names[i % 4], .clash = NameClash::suffix};
    if (i % 97 < 60)
      batch.append_rows(ids[i], message, Health{static_cast<float>(i)}, ward::Stunned{});
    else if (i % 97 < 90)
      batch.append_rows(ids[i], message, Position{.at = {1, 2, static_cast<float>(i)}}, Member{.squad = parent});
    else
      batch.append_rows(ids[i], i % 97 == 90 ? Create{} : message);
  }
}

}  // namespace

TEST_CASE("many entities that a Step creates are the same as if they were created one at a time") {
  World at_once(false), one_at_a_time(true);
  for (World* w : {&at_once, &one_at_a_time}) {
    BatchBuilder batch;
    append_many(*w, batch, w->take(many));
    const Receipt receipt = w->step(1, batch);
    REQUIRE(receipt.refused == 0);
    CHECK(receipt.handled == many);
  }
  CHECK((at_once.contents() == one_at_a_time.contents()));
  CHECK((rows(at_once.registry) == rows(one_at_a_time.registry)));
  const std::string after = at_once.contents();
  for (World* w : {&at_once, &one_at_a_time}) {
    CHECK(w->undo(1).done > 0);
    CHECK(w->registry.host().storage().rows() == 1);
    CHECK(w->redo(1).done > 0);
    CHECK((w->contents() == after));
  }
  CHECK((rows(at_once.registry) == rows(one_at_a_time.registry)));
}

TEST_CASE("if one of many entities of a Step cannot be created, none is, and their ids are granted again") {
  struct Fault {
    RefusalCode code;
    std::function<Create(World&, Entity& e)> create;
  };
  const Fault faults[] = {
      {RefusalCode::dead_entity, [](World& w, Entity&) { return Create{.parent = w.take()}; }},
      {RefusalCode::bad_name,
       [](World& w, Entity&) { return Create{.parent = w.camp, .name = text_of("never seen")}; }},
      {RefusalCode::name_taken, [](World& w, Entity&) { return Create{.parent = w.camp, .name = text_of("a")}; }},
      {RefusalCode::before_is_no_child, [](World& w, Entity&) { return Create{.parent = w.camp, .before = w.camp}; }},
      {RefusalCode::id_not_granted,
       [](World& w, Entity& e) {
         e = w.camp;
         return Create{.parent = w.camp};
       }},
  };
  for (const Fault& fault : faults)
    for (const std::size_t before : {std::size_t{20}, many}) {
      World w(false);
      const std::vector<Entity> ids = w.take(before);
      const std::string contents = w.contents();
      BatchBuilder batch;
      append_many(w, batch, ids);
      Entity e = w.take();
      const Create create = fault.create(w, e);
      batch.append_rows(e, create);
      for (const Entity later : w.take(50)) batch.append_rows(later, Create{.parent = w.camp});
      const Receipt receipt = w.step(1, batch);
      CHECK(receipt.refused == 1);
      CHECK(receipt.refusal.code == fault.code);
      CHECK((w.contents() == contents));
      CHECK(w.history.steps(1, HistoryAct::undo) == 0);
      for (const Entity id : ids) REQUIRE(w.registry.host().storage().in_state(id, IdState::granted));
    }
}

TEST_CASE("the message of an undo is one that anybody could have sent") {
  struct Kept : InputSink {
    std::vector<std::byte> bytes;
    void on_input(const Envelope&, std::span<const std::byte> batch) override {
      bytes.assign(batch.begin(), batch.end());
    }
    bool wants_receipts(InputKind) const noexcept override { return false; }
  } kept;
  for (const bool labelled : {false, true})
    for (const std::size_t count : {std::size_t{1}, many}) {
      World w(false);
      BatchBuilder batch;
      append_many(w, batch, w.take(count));
      w.step(1, batch);
      BatchBuilder destroys;
      destroys.append(w.camp, Destroy{});
      w.step(1, destroys, 0, labelled ? "Delete the camp" : "");
      const std::uint64_t number = w.registry.sequence(), left = w.registry.host().storage().rows();
      w.registry.host().add_sink(kept);
      REQUIRE(w.undo(1).done == 1);
      w.registry.host().remove_sink(kept);
      const auto known = verify_batch(kept.bytes, w.registry.types(), own_limits);
      REQUIRE(known);
      const TableItem item = table_item(*known, known->body());
      const muster::Step step = StepView::from(item.table).decode();
      CHECK(step.act == StepAct::undo);
      CHECK(step.of == number);
      CHECK(step.label == (labelled ? "Delete the camp" : ""));
      std::size_t created = 0;
      StepBatches(item.table).for_each([&](const BatchView& inside) {
        if (inside.type() == TypeTraits<Create>::id) created += inside.count();
      });
      CHECK(created == w.registry.host().storage().rows() - left);
      // The bytes may be anywhere in memory.
      const std::string after = w.contents();
      const std::vector<std::byte> encoded = encode(step);
      BatchBuilder again;
      again.append_table(TypeTraits<muster::Step>::id, {}, encoded);
      World second(false);
      BatchBuilder same;
      append_many(second, same, second.take(count));
      second.step(1, same);
      second.step(1, destroys);
      second.push(1, again);
      CHECK((second.contents() == after));
    }
}

}  // namespace revivals_test

// What managers hold for entities, if a deletion is undone.
#include <catch2/catch.hpp>
#include <map>

#include "registry/history/held_data.h"
#include "tests/registry/history/editors.h"

namespace held_data_test {

using namespace muster;
using namespace muster::history_test;

namespace {

/// Adds up the damage of each entity.
class Wounds final : public Manager {
 public:
  Wounds(EntityRegistry& registry, std::string name, bool saves) : registry_(registry), saves_(saves) {
    if (saves)
      add_ = registry.subscribe(name + ".add", [this](const game::Damage& damage, Entity self) {
        const auto [wound, is_new] = wounds.try_emplace(self, damage);
        if (!is_new) wound->second.amount += damage.amount;
      });
    registry.add_manager(std::move(name), *this);
  }
  ~Wounds() override { registry_.remove_manager(*this); }
  Wounds(const Wounds&) = delete;
  Wounds& operator=(const Wounds&) = delete;

  void on_destroyed(std::span<const Entity> gone) override {
    for (const Entity e : gone) wounds.erase(e);
  }
  void describe(Entity e, const std::function<void(const Held&)>& take) const override {
    const auto at = wounds.find(e);
    if (at != wounds.end()) take({.name = "wound", .bytes = std::as_bytes(std::span(&at->second.amount, 1))});
  }
  bool save_entity(Entity e, BatchWriter& to) const override {
    if (!saves_) return false;
    const auto at = wounds.find(e);
    if (at != wounds.end()) to.append(e, at->second);
    return true;
  }

  std::map<Entity, game::Damage> wounds;

 private:
  EntityRegistry& registry_;
  const bool saves_;
  Subscription add_;
};

struct World : Editors {
  Entity camp = registry.create("camp"), orc = registry.create_under(camp, "orc", Health{1});
  Entity elf = registry.create_under(orc, "elf"), none = registry.create_under(orc, "none");
  Entity far = registry.create("far");
};

}  // namespace

TEST_CASE("a manager that saves what it holds for entities holds it again after an undo of their deletion") {
  World w;
  Wounds wounds(w.registry, "wounds", true);
  w.registry.push(w.orc, game::Damage{.amount = 3, .from = w.elf});
  w.registry.push(w.orc, game::Damage{.amount = 4, .from = w.elf});
  w.registry.push(w.elf, game::Damage{.amount = 1});
  w.registry.push(w.far, game::Damage{.amount = 9});
  const auto before = wounds.wounds;
  REQUIRE(before.size() == 3);
  const std::string contents = w.contents();
  CHECK(lost_if_destroyed(w.registry, std::vector{w.camp}).empty());
  for (int round = 0; round < 3; ++round) {
    if (round == 0)
      w.edit(1, w.camp, Destroy{});
    else
      CHECK(w.redo(1).done == 1);
    CHECK(wounds.wounds.size() == 1);
    if (round == 2) {  // as after a restart
      const std::vector<EditHistory::Saved> saved = w.history.all();
      REQUIRE(w.history.load(saved));
    }
    CHECK(w.history.list(1, 0, 1)[0].what == "destroy camp");
    const UndoReport undone = w.undo(1);
    CHECK(undone.done == 1);
    CHECK(undone.skipped.empty());
    CHECK((wounds.wounds == before));
    CHECK((w.contents() == contents));
  }
}

TEST_CASE("if a manager cannot save what it holds, the deletion is said to be final for it beforehand and afterward") {
  World w;
  Wounds scars(w.registry, "scars", false), wounds(w.registry, "wounds", true), bruises(w.registry, "bruises", false);
  for (const Entity e : {w.orc, w.elf, w.far}) {
    w.registry.push(e, game::Damage{.amount = 2});
    scars.wounds[e] = bruises.wounds[e] = {};
  }
  const auto before = wounds.wounds;
  // Nothing of an entity without data is lost, and no entity counts twice.
  CHECK(lost_if_destroyed(w.registry, std::vector{w.none}).empty());
  CHECK(lost_if_destroyed(w.registry, std::vector{Entity{77, 1}}).empty());
  const std::vector<LostData> lost = lost_if_destroyed(w.registry, std::vector{w.orc, w.camp, w.elf});
  REQUIRE(lost.size() == 2);
  CHECK(lost[0].manager == "bruises");
  CHECK(lost[0].entities == 2);
  CHECK(lost[1].manager == "scars");
  CHECK(lost[1].entities == 2);
  w.edit(1, w.camp, Destroy{});
  const std::vector<EditHistory::Saved> saved = w.history.all();
  REQUIRE(w.history.load(saved));
  const std::string what = "destroy camp (data of bruises, scars is lost)";
  CHECK(w.history.list(1, 0, 1)[0].what == what);
  CHECK(w.history.apply(HistoryAct::undo, w.by(1), Conflicts::skip, true).what == what);
  const UndoReport undone = w.undo(1);
  CHECK(undone.done == 1);
  CHECK(undone.what == what);
  CHECK((wounds.wounds == before));
  CHECK(scars.wounds.size() == 1);
}

TEST_CASE("what a manager saved comes back by messages that a replay repeats without a history") {
  struct Kept : InputSink {
    std::vector<std::pair<Envelope, std::vector<std::byte>>> inputs;
    void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
      inputs.emplace_back(envelope, std::vector(batch.begin(), batch.end()));
    }
    bool wants_receipts(InputKind) const noexcept override { return false; }
  } kept;
  World w, second;
  Wounds wounds(w.registry, "wounds", true), same(second.registry, "wounds", true);
  w.registry.host().add_sink(kept);
  w.registry.push(w.elf, game::Damage{.amount = 6, .from = w.orc});
  w.edit(1, w.camp, Destroy{});
  w.undo(1);
  w.registry.host().remove_sink(kept);
  second.history.clear();
  for (const auto& [envelope, bytes] : kept.inputs) {
    second.registry.host().replay(envelope, bytes);
    second.history.clear();
  }
  CHECK((same.wounds == wounds.wounds));
  CHECK((second.contents() == w.contents()));
}

TEST_CASE("a manager's messages are left out, and the undo says so, if their type has another layout now") {
  World w;
  Wounds wounds(w.registry, "wounds", true);
  w.registry.push(w.elf, game::Damage{.amount = 6});
  w.edit(1, w.camp, Destroy{});
  // As if the step had been saved by a build in which the message was different.
  std::vector<EditHistory::Saved> saved = w.history.all();
  REQUIRE(saved.size() == 1);
  const std::uint64_t fingerprint = w.registry.types().find(TypeTraits<game::Damage>::id)->fingerprint;
  const auto* const bits = reinterpret_cast<const std::byte*>(&fingerprint);
  const auto at = std::ranges::search(saved[0].bytes, std::span(bits, sizeof fingerprint)).begin();
  REQUIRE(at != saved[0].bytes.end());
  *at ^= std::byte{1};
  REQUIRE(w.history.load(saved));
  const UndoReport undone = w.undo(1);
  CHECK(undone.done == 1);
  REQUIRE(undone.skipped.size() == 1);
  CHECK(undone.skipped[0].reason == Skip::component_missing);
  CHECK(undone.skipped[0].entity == w.camp);
  CHECK(undone.skipped[0].component == TypeTraits<game::Damage>::id);
  CHECK(w.registry.alive(w.elf));
  CHECK(wounds.wounds.empty());
}

}  // namespace held_data_test

// A dry run says what the edit does that follows it, and changes nothing.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "messages/step_batches.h"
#include "registry/history/edit_history.h"
#include "server/edits/dry_run.h"
#include "server/edits/refusal_text.h"
#include "tests/registry/apply/random_edits.h"

namespace dry_run_test {

using namespace muster;

namespace {

/// Parents, names and components of all entities.
std::map<Entity, std::tuple<Entity, std::string, std::map<TypeId, std::string>>> contents(const EntityRegistry& r) {
  std::map<Entity, std::tuple<Entity, std::string, std::map<TypeId, std::string>>> all;
  r.each<>([&](Entity e) {
    std::map<TypeId, std::string> values;
    for (const TypeId type : r.host().components(e)) {
      const std::uint32_t size = r.types().find(type)->size;
      values[type] = size > 0 ? std::string(reinterpret_cast<const char*>(r.find(e, type)), size) : std::string();
    }
    all[e] = {r.parent(e), std::string(r.name(e)), values};
  });
  return all;
}

std::string shown(const session::Fault& fault) {
  return fault.reason + " | " + fault.text + " | #" + std::to_string(fault.entity.index) + " " +
         std::to_string(fault.type) + "." + fault.field + " = " + std::string(fault.value.begin(), fault.value.end()) +
         " | " + std::to_string(fault.handled) + " " + std::to_string(fault.unhandled) + " " +
         std::to_string(fault.dead) + " " + std::to_string(fault.refused);
}

using Ids = std::set<Entity>;
Ids listed(const session::WouldChange& would, session::Changing what) {
  Ids ids;
  for (std::size_t i = 0; i < would.entities.size(); ++i)
    if (would.changes[i] == static_cast<std::uint8_t>(what)) ids.insert(would.entities[i]);
  return ids;
}

/// Tries a batch, pushes it, and compares. Returns true if it was applied.
bool same(EntityRegistry& r, BatchView edit, const ServerLimits& limits, bool moves) {
  const auto before = contents(r);
  const std::uint64_t hash = r.hash(), sequence = r.sequence();
  const auto would = dry_run(r, limits, edit);
  CHECK(r.hash() == hash);
  CHECK(r.sequence() == sequence);
  CHECK(contents(r) == before);

  const Receipt receipt = r.host().push_batch(edit.bytes(), {.session = 1, .user = 10, .request = 5});
  if (receipt.refused > 0) {
    const session::Fault fault = refusal_fault(r, limits, receipt, edit.bytes());
    REQUIRE_FALSE(would.has_value());
    CHECK(would.error().sequence == sequence);
    CHECK(shown(would.error()) == shown(fault));
    return false;
  }
  if (!would) FAIL(shown(would.error()));
  CHECK(would->sequence == sequence);
  CHECK(std::tuple(would->handled, would->unhandled, would->dead) ==
        std::tuple(receipt.handled, receipt.unhandled, receipt.dead));
  const auto after = contents(r);
  Ids created, destroyed, changed;
  for (const auto& [e, what] : after)
    if (!before.contains(e))
      created.insert(e);
    else if (before.at(e) != what)
      changed.insert(e);
  for (const auto& [e, what] : before)
    if (!after.contains(e)) destroyed.insert(e);
  CHECK(listed(*would, session::Changing::created) == created);
  CHECK(listed(*would, session::Changing::destroyed) == destroyed);
  const Ids said = listed(*would, session::Changing::changed);
  // An entity that is moved to another place among its siblings is changed, too.
  if (moves)
    CHECK(std::ranges::includes(said, changed));
  else
    CHECK(said == changed);
  CHECK(std::tuple(would->created, would->destroyed, would->changed) ==
        std::tuple(created.size(), destroyed.size(), said.size()));
  for (std::size_t i = 0; i < would->entities.size(); ++i) {
    const auto& known = after.contains(would->entities[i]) ? after : before;
    CHECK(would->names[i] == std::get<1>(known.at(would->entities[i])));
  }
  return true;
}

BatchView step_of(BatchBuilder& edits, BatchBuilder& out) {
  Step step;
  step.batches = step_bytes(edits.bytes());
  out.append_table(TypeTraits<Step>::id, {}, encode(step));
  return out.front();
}

}  // namespace

TEST_CASE("a dry run of any edit gives the answer of the edit that follows, and changes nothing", "[dry_run]") {
  int applied = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    EntityRegistry registry;
    EditHistory history(registry, 64u << 20);
    test::Sessions sessions(registry, seed);
    const ServerLimits limits;
    for (int round = 0; round < 60; ++round) {
      INFO("seed " << seed << ", round " << round);
      BatchBuilder edits;
      sessions.write(edits);
      edits.for_each([&](BatchView edit) {
        INFO("batch of " << registry.types().find(edit.type())->name);
        ++(same(registry, edit, limits, edit.type() == TypeTraits<Reparent>::id) ? applied : refused);
      });
    }
  }
  CHECK(applied > 100);
  CHECK(refused > 30);
}

TEST_CASE("a dry run of a step gives the answer of the step that follows, and changes nothing", "[dry_run]") {
  int applied = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    EntityRegistry registry;
    EditHistory history(registry, 64u << 20);
    test::Sessions sessions(registry, seed + 100);
    const ServerLimits limits;
    for (int round = 0; round < 60; ++round) {
      INFO("seed " << seed << ", round " << round);
      BatchBuilder edits, out;
      sessions.write(edits);
      ++(same(registry, step_of(edits, out), limits, true) ? applied : refused);
    }
  }
  CHECK(applied > 50);
  CHECK(refused > 30);
}

TEST_CASE("a dry run calls no handler, tells no sink, and uses no id", "[dry_run]") {
  EntityRegistry registry;
  EditHistory history(registry, 1u << 20);
  registry.add_type<game::Health>();
  int called = 0;
  auto created = registry.subscribe("created", [&](const Create&, Entity) { ++called; });
  auto activated = registry.subscribe("activated", [&](const Activated&, Entity) { ++called; });
  auto destroyed = registry.subscribe("destroyed", [&](const Deactivated&, Entity) { ++called; });
  const Entity old = registry.create("old", game::Health{.value = 3});
  const Entity made = registry.host().grant(1, 1);
  called = 0;
  struct Counting final : InputSink {
    int inputs = 0;
    void on_input(const Envelope&, std::span<const std::byte>) override { ++inputs; }
  } sink;
  registry.host().add_sink(sink);
  BatchBuilder edits, out;
  edits.append(made, Create{.parent = old});
  edits.append(old, Destroy{});
  const auto would = dry_run(registry, ServerLimits(), step_of(edits, out));
  REQUIRE(would.has_value());
  CHECK(would->created == 0);  // it is below what is destroyed
  CHECK(would->destroyed == 1);
  CHECK(would->names == std::vector<std::string>{"old"});
  CHECK(called == 0);
  CHECK(sink.inputs == 0);
  CHECK(registry.host().storage().in_state(made, IdState::granted));
  registry.host().remove_sink(sink);
}

TEST_CASE("a dry run looks at siblings that the edit does not name", "[dry_run]") {
  EntityRegistry registry;
  EditHistory history(registry, 1u << 20);
  const Entity town = registry.create("town");
  for (const char* name : {"orc", "orc~2", "orc~4", "elf"}) registry.create_under(town, name).or_stop();
  const Entity elf = registry.find_child(town, "elf"), loner = registry.create("elf");
  const ServerLimits limits;
  BatchBuilder edits;
  for (const Entity e : {elf, loner}) edits.append(e, Rename{.name = text_of("orc"), .clash = NameClash::suffix});
  CHECK(same(registry, edits.front(), limits, false));
  CHECK(registry.name(elf) == "orc~3");
  CHECK(registry.name(loner) == "orc");
  BatchBuilder moves;
  moves.append(loner, Reparent{.parent = town});
  CHECK_FALSE(same(registry, moves.front(), limits, true));
}

TEST_CASE("a dry run names the managers whose data an undo could not bring back", "[dry_run]") {
  struct Meshes final : Manager {
    explicit Meshes(std::set<Entity> those) : of(std::move(those)) {}
    void describe(Entity e, const std::function<void(const Held&)>& take) const override {
      if (of.contains(e)) take({.name = "mesh", .bytes = {}});
    }
    std::set<Entity> of;
  };
  EntityRegistry registry;
  EditHistory history(registry, 1u << 20);
  const Entity town = registry.create("town"), gate = registry.create_under(town, "gate").or_stop(),
               bolt = registry.create_under(gate, "bolt").or_stop(), far = registry.create("far");
  Meshes meshes({gate, bolt, far});
  registry.add_manager("meshes", meshes);
  BatchBuilder edit, harmless;
  edit.append(town, Destroy{});
  const auto would = dry_run(registry, ServerLimits(), edit.front());
  REQUIRE(would.has_value());
  CHECK(would->lost_managers == std::vector<std::string>{"meshes"});
  CHECK(would->lost_entities == std::vector<std::uint32_t>{2});
  harmless.append(far, Rename{.name = text_of("gate")});
  const auto renamed = dry_run(registry, ServerLimits(), harmless.front());
  REQUIRE(renamed.has_value());
  CHECK(renamed->lost_managers.empty());
  registry.remove_manager(meshes);
}

}  // namespace dry_run_test

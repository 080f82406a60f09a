// A log of edits sees each structural message from a session, and nothing else.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/apply/edit_log.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/apply/random_edits.h"
#include "tests/registry/game.h"

namespace edits_test {

using namespace muster;
using game::Armor, game::Health;
using test::Sessions;

namespace {

/// All entities with their parents, next siblings, names and values, in any order of rows.
std::uint64_t contents(const EntityRegistry& registry) {
  const Storage& storage = registry.host().storage();
  std::uint64_t sum = registry.host().texts().size() + registry.host().template_count();
  for (const auto& archetype : storage.archetypes())
    for (const Group& group : archetype->groups)
      for (Chunk* chunk : group.chunks)
        for (std::uint32_t row = 0; row < chunk->count; ++row) {
          const Entity e = chunk->ids()[row];
          const Entity links[] = {e, registry.host().hierarchy().parent(e),
                                  registry.host().hierarchy().next_sibling(e)};
          std::string bytes(reinterpret_cast<const char*>(links), sizeof links);
          for (std::size_t i = 0; i < archetype->types.size(); ++i) {
            bytes += std::to_string(archetype->types[i]);
            if (archetype->columns[i] == no_column) continue;
            const std::uint32_t size = archetype->slot_bytes[archetype->columns[i]];
            bytes.append(reinterpret_cast<const char*>(Row{chunk, row}.at(archetype->columns[i], size)), size);
          }
          sum += hash64(bytes);
        }
  return sum;
}

struct Log final : EditLog {
  explicit Log(EntityRegistry& of) : registry(of), left(contents(of)) { of.host().set_edit_log(this); }
  ~Log() override { registry.host().set_edit_log(nullptr); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void before(const Edit& edit) override {
    REQUIRE_FALSE(open);
    open = true;
    CHECK(contents(registry) == left);  // nothing was written since the last edit
    CHECK(edit.by.session == session);
    CHECK(edit.by.user == session * 10);
    CHECK(edit.by.request == request);
    CHECK(edit.by.sequence == registry.sequence());
    seen.insert(edit.type);
    const std::size_t size = edit.table.empty() ? registry.types().find(edit.type)->size : edit.table.size();
    const std::byte* const bytes = edit.table.empty() ? edit.payload : edit.table.data();
    text += std::to_string(edit.type) + " to " + std::to_string(edit.targets.size()) + " " +
            std::to_string(edit.rows.size()) + " " +
            std::to_string(hash64({reinterpret_cast<const char*>(bytes), size})) + "\n";
    for (const Entity e : edit.targets) text += std::to_string(e.bits()) + " ";
  }
  void after(const Edit& edit, const Refusal& refusal) override {
    REQUIRE(open);
    open = false;
    const std::uint64_t now = contents(registry);
    if (refusal.code != RefusalCode::none) CHECK(now == left);
    refused += refusal.code != RefusalCode::none;
    left = now;
    text += std::to_string(edit.type) + " was " + name(refusal.code) + "\n";
  }
  void step_begins(const Editor&, const StepView&) override { FAIL("there is no Step"); }
  std::span<const std::byte> take_back() override { return {}; }
  void step_ends(bool) override {}
  EntityRegistry& registry;
  std::uint64_t session = 0, request = 0, left = 0;
  bool open = false;
  std::size_t refused = 0;
  std::set<TypeId> seen;
  std::string text;
};

}  // namespace

TEST_CASE(
    "whatever a session's messages change, they change in an edit that the log sees before and after, with its sender, "
    "with shortcuts and without") {
  std::set<TypeId> seen;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    std::vector<std::string> texts;
    std::vector<std::uint64_t> hashes;
    for (const bool shortcuts : {true, false}) {
      EntityRegistry registry({.shortcuts = shortcuts});
      Sessions sessions(registry, seed);
      {
        Log log(registry);
        for (int round = 0; round < 300; ++round) {
          log.session = 1 + static_cast<std::uint64_t>(round) % 2;
          ++log.request;
          BatchBuilder batches;
          sessions.write(batches);
          registry.host().push_batch(batches.bytes(), log.session, log.request, log.session * 10);
          REQUIRE(contents(registry) == log.left);
        }
        CHECK(log.refused > 0);
        seen.insert(log.seen.begin(), log.seen.end());
        texts.push_back(log.text);
      }
      hashes.push_back(registry.hash());
    }
    CHECK(texts[0] == texts[1]);
    CHECK(hashes[0] == hashes[1]);
  }
  CHECK(seen == std::set<TypeId>{TypeTraits<Create>::id, TypeTraits<Destroy>::id, TypeTraits<Set>::id,
                                 TypeTraits<Remove>::id, TypeTraits<SetField>::id, TypeTraits<SetFieldIf>::id,
                                 TypeTraits<Reparent>::id, TypeTraits<Rename>::id, TypeTraits<muster::Spawn>::id,
                                 TypeTraits<MergeTemplate>::id, TypeTraits<DefineTemplate>::id,
                                 TypeTraits<InternText>::id});
}

TEST_CASE("what the host, handlers and timers do is no edit, and a log changes no results") {
  std::vector<std::uint64_t> hashes;
  for (const bool logs : {true, false}) {
    EntityRegistry registry;
    const Handlers all = [&] {
      Handlers made;
      made.add(registry.subscribe(
          "dies", [](const game::Damage&, const Health&, Entity self, Outbox& out) { out.post(self, Destroy{}); }));
      made.add(registry.subscribe("splits", [](const game::Spawn&, const Health&, Entity self, Spawner& spawner) {
        spawner.create_under(self, "half", Health{});
      }));
      return made;
    }();
    struct None final : EditLog {
      void before(const Edit& edit) override { FAIL("an edit of type " << edit.type); }
      void after(const Edit&, const Refusal&) override {}
      void step_begins(const Editor&, const StepView&) override { FAIL("a Step"); }
      std::span<const std::byte> take_back() override { return {}; }
      void step_ends(bool) override {}
    } none;
    if (logs) registry.host().set_edit_log(&none);
    const Entity orc = registry.create("orc", Health{}), elf = registry.create(Health{});
    registry.set(elf, Armor{});
    registry.remove<Armor>(elf);
    registry.rename(elf, "elf");
    registry.reparent(elf, orc);
    registry.destroy(registry.create());
    registry.push(std::span<const Entity>(registry.create_many(3, Health{})), Destroy{});
    registry.post(orc, game::Spawn{});
    registry.post_at(5, elf, game::Damage{});
    registry.flush();
    // A session's message that is not the registry's own: its handler's pushes are no edits.
    BatchBuilder batches;
    batches.append(orc, game::Spawn{});
    registry.host().push_batch(batches.bytes(), 4, 1, 40);
    registry.advance(10);
    CHECK_FALSE(registry.alive(elf));
    CHECK(registry.child_count(orc) == 2);
    hashes.push_back(registry.hash());
    registry.host().set_edit_log(nullptr);
  }
  CHECK(hashes[0] == hashes[1]);
}

TEST_CASE("a replay shows a log the edits that it saw") {
  struct Recorded final : InputSink {
    std::vector<std::pair<Envelope, std::vector<std::byte>>> inputs;
    void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
      inputs.emplace_back(envelope, std::vector<std::byte>(batch.begin(), batch.end()));
    }
  } recorded;
  EntityRegistry first, second;
  Sessions sessions(first, 5), same(second, 5);
  first.host().add_sink(recorded);
  Log log(first), again(second);
  for (int round = 0; round < 100; ++round) {
    log.session = 1 + static_cast<std::uint64_t>(round) % 2;
    ++log.request;
    BatchBuilder batches;
    sessions.write(batches);
    first.host().push_batch(batches.bytes(), log.session, log.request, log.session * 10);
  }
  for (const auto& [envelope, bytes] : recorded.inputs) {
    again.session = envelope.author;
    again.request = envelope.request;
    second.host().replay(envelope, bytes);
  }
  CHECK(again.text == log.text);
  CHECK(second.hash() == first.hash());
  first.host().remove_sink(recorded);
}

}  // namespace edits_test

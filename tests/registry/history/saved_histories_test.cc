// Damaged bytes of saved steps, and values whose types have changed.
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "registry/history/parts.h"
#include "tests/registry/history/random_editors.h"

namespace saved_histories_test {

using namespace muster;
using namespace muster::history_test;

TEST_CASE("steps survive encoding, and are refused with a sentence if they end too early or go on") {
  RandomEditors w(3);
  for (int round = 0; round < 100; ++round) w.anything_once();
  const std::vector<EditHistory::Saved> saved = w.history.take_changes();
  std::size_t steps = 0;
  for (const EditHistory::Saved& step : saved) {
    if (step.bytes.empty()) continue;
    ++steps;
    const auto decoded = history::decode(step.number, step.bytes);
    REQUIRE(decoded);
    CHECK(history::encode(*decoded) == step.bytes);
    for (std::size_t size = 0; size < step.bytes.size(); size += 1 + size / 40) {
      const auto cut = history::decode(step.number, std::span(step.bytes).first(size));
      REQUIRE_FALSE(cut);
      CHECK(cut.error().starts_with("step " + std::to_string(step.number) + " of the saved history "));
    }
    std::vector<std::byte> longer = step.bytes;
    longer.push_back(std::byte{0});
    const auto refused = history::decode(step.number, longer);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().ends_with("is followed by unknown bytes"));
  }
  CHECK(steps > 20);
}

TEST_CASE("what is saved equals the history, whichever saves fail while edits go on") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    RandomEditors w(seed);
    std::mt19937_64 random(seed);
    std::map<std::uint64_t, std::vector<std::byte>> file;
    const auto write = [&](const std::vector<EditHistory::Saved>& changes) {
      for (const auto& [number, bytes, of_last_run] : changes)
        if (bytes.empty())
          file.erase(number);
        else
          file[number] = bytes;
    };
    for (int round = 0; round < 40; ++round) {
      std::vector<EditHistory::Saved> changes = w.history.take_changes();
      for (std::uint64_t edits = random() % 6; edits > 0; --edits) w.anything_once();
      if (random() % 2 == 0)
        write(changes);
      else
        w.history.put_back(std::move(changes));
    }
    write(w.history.take_changes());
    std::map<std::uint64_t, std::vector<std::byte>> all;
    for (const EditHistory::Saved& step : w.history.all()) all[step.number] = step.bytes;
    CHECK(file == all);
  }
}

TEST_CASE("a history with damaged bytes is refused, or can be used without harm") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    static const std::vector<EditHistory::Saved> intact = [] {
      RandomEditors w(5);
      for (int round = 0; round < 60; ++round) w.anything_once();
      std::vector<EditHistory::Saved> saved = w.history.take_changes();
      std::erase_if(saved, [](const EditHistory::Saved& step) { return step.bytes.empty(); });
      return saved;
    }();
    std::mt19937_64 random(seed);
    std::vector<EditHistory::Saved> damaged = intact;
    for (int i = 0; i < 3; ++i) {
      std::vector<std::byte>& bytes = damaged[random() % damaged.size()].bytes;
      bytes[random() % bytes.size()] = static_cast<std::byte>(random() % 4 == 0 ? random() % 256 : random() % 3);
    }
    RandomEditors w(5);
    for (int round = 0; round < 60; ++round) w.anything_once();
    const auto loaded = w.history.load(damaged);
    if (!loaded) {
      CHECK(loaded.error().starts_with("step "));
      CHECK(w.history.bytes() == 0);
      continue;
    }
    for (int i = 0; i < 60; ++i) w.undo(1 + random() % 3, Conflicts::overwrite);
    for (int i = 0; i < 60; ++i) w.redo(1 + random() % 3, Conflicts::overwrite);
    w.history.release_ids();
    w.contents();
  }
}

TEST_CASE("steps that are not in order are refused") {
  RandomEditors w(5);
  for (int round = 0; round < 30; ++round) w.edit_once();
  std::vector<EditHistory::Saved> saved = w.history.take_changes();
  std::erase_if(saved, [](const EditHistory::Saved& step) { return step.bytes.empty(); });
  std::swap(saved[0], saved[1]);
  const auto loaded = w.history.load(saved);
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().ends_with("of the saved history is not in order"));
  CHECK(w.history.steps(1, HistoryAct::undo) == 0);
}

TEST_CASE("a loaded gesture conflicts by its newest inputs, whatever the order of its parts") {
  Editors w;
  const Entity orc = w.registry.create("orc", Health{10}, Armor{1});
  const auto drag = [&](auto value) {
    BatchBuilder edits;
    edits.append_rows(orc, Set{}, value);
    w.step(2, edits, 5);
  };
  drag(Health{20});
  drag(Armor{2});
  w.set(1, orc, Health{30});
  drag(Health{40});
  const std::vector<EditHistory::Saved> saved = w.history.take_changes();
  REQUIRE(w.history.load(saved));
  const UndoReport report = w.undo(1);
  CHECK(report.done == 0);
  REQUIRE(report.skipped.size() == 1);
  CHECK(report.skipped[0].user == 2);
}

TEST_CASE("parts of a component with another layout are skipped") {
  Editors w;
  const Entity orc = w.registry.create("orc", Health{10}, Armor{1});
  w.set(1, orc, Health{20}, Armor{2});
  w.edit(1, orc, Remove{.component = TypeTraits<Health>::id});
  w.edit(1, orc, Destroy{});
  std::vector<EditHistory::Saved> saved = w.history.take_changes();
  for (EditHistory::Saved& step : saved) {
    auto decoded = history::decode(step.number, step.bytes);
    REQUIRE(decoded);
    for (history::Part& part : decoded->parts) {
      if (part.component == TypeTraits<Health>::id) part.fingerprint ^= 1;
      if (part.kind == history::PartKind::destroyed)
        for (auto& shape : part.details->snapshot.shapes)
          for (auto& layout : shape.components) layout.fingerprint ^= layout.type == TypeTraits<Armor>::id ? 1u : 0u;
    }
    step.bytes = history::encode(*decoded);
  }
  REQUIRE(w.history.load(saved));
  CHECK(w.undo(1).done == 1);
  CHECK(w.registry.alive(orc));
  CHECK_FALSE(w.registry.has<Armor>(orc));
  const UndoReport report = w.undo(1);
  CHECK(report.done == 0);
  CHECK(report.passed_over == 2);
  CHECK(report.skipped[0].reason == Skip::component_missing);
}

}  // namespace saved_histories_test

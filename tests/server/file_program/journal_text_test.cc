// The journal as people and programs read it.
#include "server/file_program/journal_text.h"
#include "messages/step_batches.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/registry/sight.h"
#include "tests/server/file_program/file_world.h"

using namespace muster;
using namespace muster::test;

namespace {

std::vector<std::string> lines(const std::string& path, const JournalChoice& choice) {
  std::vector<std::string> all;
  const auto shown = show_journal(path, choice, [&](const std::string& line) { all.push_back(line); });
  REQUIRE(shown);
  return all;
}
bool any(const std::vector<std::string>& all, const std::string& part) {
  return std::ranges::any_of(all, [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("the journal is told input by input: who, what, to whom, with which values") {
  const Folder folder;
  const std::string path = folder / "w.muster";
  Entity orc;
  std::uint64_t checkpoint = 0;
  std::string epoch;
  {
    FileWorld made(path);
    epoch = std::to_string(made.world.epoch());
    checkpoint = made.world.registry().sequence();
    orc = made.world.registry().find_path("/orc");
    made.edit();
  }
  const std::vector<std::string> all = lines(path, {});
  REQUIRE_FALSE(all.empty());
  CHECK(all.front().starts_with("group 1: inputs " + std::to_string(checkpoint + 1) + " to "));
  CHECK(any(all, "file test"));
  CHECK(any(all, ", epoch " + epoch + ", written by "));
  const std::string to = "  to " + std::to_string(orc.index) + ":" + std::to_string(orc.generation);
  CHECK(any(all, "  inbox  user 2, session 5, request 17  game.Damage" + to + "  amount=7"));
  CHECK(any(all, "  push  muster.Set" + to + "  mode=add_or_replace  game.Health {value=3}"));
  CHECK(any(all, "  tick "));
  // Texts are those that the journal itself tells; what would steer a terminal does not.
  CHECK(any(all, "  muster.Rename  to "));
  CHECK(any(all, "name=\"elf with \\u001b a bow\""));
  CHECK_FALSE(any(all, "\x1b"));

  const std::vector<std::string> json = lines(path, {.json = true});
  CHECK(json.front().starts_with("{\"sequence\": "));
  CHECK(any(json, "\"epoch\": " + epoch + ", "));
  CHECK(any(
      json,
      "\"kind\": \"inbox\", \"user\": 2, \"session\": 5, \"request\": 17, \"message\": \"game.Damage\", \"count\": 1, "
      "\"first\": [{\"to\": \"" +
          std::to_string(orc.index) + ":" + std::to_string(orc.generation) + "\", \"value\": {\"amount\": 7"));
  CHECK(any(json, "\"components\": {\"game.Health\": {\"value\": 3"));

  CHECK(lines(path, {.lines = 2, .json = true}).size() == 2);
  const auto later = lines(path, {.from = checkpoint + 2, .json = true});
  CHECK(later.size() < json.size());
  CHECK(later.front().starts_with("{\"sequence\": " + std::to_string(checkpoint + 2) + ","));
}

TEST_CASE("an input whose message no journal keeps is listed as one that is not kept") {
  const Folder folder;
  const std::string path = folder / "w.muster";
  std::uint64_t first = 0;
  {
    FileWorld made(path);
    EntityRegistry& registry = made.world.registry();
    first = registry.sequence() + 1;
    for (int i = 0; i < 3; ++i) registry.push(registry.find_path("/orc"), sight::Look{});
    made.edit();
  }
  const auto padded = [](std::uint64_t sequence) {
    const std::string text = std::to_string(sequence);
    return std::string(8 - text.size(), ' ') + text;
  };
  const std::vector<std::string> all = lines(path, {}), json = lines(path, {.json = true});
  for (std::uint64_t i = first; i < first + 3; ++i) {
    CHECK(std::ranges::count(all, padded(i) + "  push  not kept") == 1);
    CHECK(std::ranges::count_if(json, [&](const std::string& line) {
            return line.starts_with("{\"sequence\": " + std::to_string(i) + ",") &&
                   line.ends_with("\"kind\": \"push\", \"kept\": false}");
          }) == 1);
  }
  CHECK(any(all, "  counters: "));
  CHECK(any(json, "\"kind\": \"counters\", \"messages\": "));
}

TEST_CASE("a step is told with its name and what its batches do, and an undo with the step that it takes back") {
  const Folder folder;
  const std::string path = folder / "w.muster";
  std::string elf;
  {
    FileWorld made(path);
    EntityRegistry& registry = made.world.registry();
    const Entity target = registry.find_path("/elf");
    elf = std::to_string(target.index) + ":" + std::to_string(target.generation);
    BatchBuilder inner, batch;
    inner.append_rows(target, Set{}, game::Health{.value = 60});
    inner.append(registry.find_path("/tower"), Destroy{});
    batch.append_table(TypeTraits<Step>::id, {},
                       encode(Step{.batches = step_bytes(inner.bytes()), .label = "Make room"}));
    REQUIRE(registry.host().push_batch(batch.bytes(), {.session = 5, .user = 2, .request = 1}).refused == 0);
    REQUIRE(made.world.history().apply(HistoryAct::undo, {.session = 5, .user = 2}, Conflicts::skip, false).done == 2);
    made.edit();
  }
  const std::vector<std::string> all = lines(path, {}), json = lines(path, {.json = true});
  CHECK(any(all, "  muster.Step  edit  \"Make room\"  {muster.Set  to " + elf +
                     "  mode=add_or_replace  game.Health {value=60}}  {muster.Destroy  to "));
  CHECK(any(all, "  muster.Step  undo  \"Make room\"  {"));
  CHECK(any(json,
            "\"value\": {\"act\": \"edit\", \"label\": \"Make room\", \"gesture\": 0, "
            "\"batches\": [{\"message\": \"muster.Set\", \"count\": 1, "));
  CHECK(any(json, "\"act\": \"undo\", \"label\": \"Make room\", "));
}

TEST_CASE("a world whose checkpoint holds everything has an empty journal, and one that is open is shown as it is") {
  const Folder folder;
  const std::string path = folder / "w.muster";
  FileWorld made(path);
  CHECK(lines(path, {}).empty());
  made.edit();
  CHECK_FALSE(lines(path, {}).empty());
  made.world.save();
  CHECK(lines(path, {}).empty());
  const auto shown = show_journal(path, {}, [](const std::string&) {});
  CHECK(shown->sequence == made.world.registry().sequence());
  CHECK(shown->groups == 0);
}

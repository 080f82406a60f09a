// What a keeper that says what it has is asked for and given.
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <string>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/state/state.h"
#include "registry/templates/template_tree.h"
#include "tests/model/state_rows.h"
#include "tests/registry/game.h"

namespace kept_test {

using namespace muster;

namespace {

/// Keeps rows with their versions, and asks for those alone that changed.
class Keeper final : public StateSink {
 public:
  struct Row {
    std::uint64_t version = 0, save = 0;
    std::vector<std::byte> bytes = {};
  };
  std::uint64_t asked = 0, given = 0;

  void begin() {
    asked = given = 0;
    ++save_;
  }
  /// Rows that the save neither gave nor asked for are dropped.
  void end() {
    std::erase_if(rows_, [&](const auto& entry) {
      const auto& [key, row] = entry;
      return row.save != save_ && (key.section != StateSection::columns || !whole_.contains(key.key));
    });
    whole_.clear();
  }
  bool has(const StateKey& key, std::uint64_t version) override {
    ++asked;
    const auto at = rows_.find(key);
    if (at == rows_.end() || at->second.version != version) return false;
    REQUIRE(at->second.save != save_);
    at->second.save = save_;
    if (key.section == StateSection::chunks) whole_.insert(key.key);
    return true;
  }
  void row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) override {
    ++given;
    Row& row = rows_[key];
    REQUIRE(row.save != save_);
    row = {version, save_, {bytes.begin(), bytes.end()}};
  }
  naive::StateRows rows() const {
    naive::StateRows all;
    for (const auto& [key, row] : rows_) all[key] = row.bytes;
    return all;
  }
  std::size_t size() const { return rows_.size(); }

 private:
  std::map<StateKey, Row> rows_;
  std::set<std::uint64_t> whole_;  // chunks that did not change
  std::uint64_t save_ = 0;
};

void save(EntityRegistry& registry, Keeper& keeper) {
  registry.host().begin_version();
  keeper.begin();
  registry.save(keeper);
  keeper.end();
}

}  // namespace

TEST_CASE("a save after one change gives the rows that changed, and asks for chunks and pages, not for rows") {
  EntityRegistry registry;
  constexpr std::uint32_t entities = 200'000;
  const std::vector<Entity> all = registry.create_many(entities, game::Health{.value = 1}, game::Armor{});
  for (int i = 0; i < 2000; ++i) registry.create_under(all[0], "child " + std::to_string(i), game::Health{}).or_stop();
  Keeper keeper;
  save(registry, keeper);
  const std::uint64_t pages = entities / 4096 + entities / 1024 + 100;
  CHECK(keeper.given > 600);
  CHECK(naive::saved_rows(registry) == keeper.rows());

  save(registry, keeper);
  CHECK(keeper.given <= 2);  // what is given every time
  CHECK(keeper.asked <= 2 * pages);
  CHECK(naive::saved_rows(registry) == keeper.rows());

  registry.set(all[entities / 2], game::Health{.value = 7});
  save(registry, keeper);
  CHECK(keeper.given <= 2 + 2);  // the chunk and its column
  CHECK(keeper.asked <= 2 * pages);
  CHECK(naive::saved_rows(registry) == keeper.rows());

  registry.destroy(all[entities / 3]);
  save(registry, keeper);
  CHECK(keeper.given <= 2 + 2 + 2 * 4);  // a page of ids, the queue of free ones, two chunks with all their columns
  CHECK(naive::saved_rows(registry) == keeper.rows());
}

TEST_CASE("a keeper that asks for what changed alone has what a whole save gives, whatever happened between") {
  std::mt19937 random(51);
  for (int program = 0; program < 40; ++program) {
    EntityRegistry registry;
    Keeper keeper;
    std::vector<Entity> alive;
    const auto some = [&] { return alive.empty() ? Entity{} : alive[random() % alive.size()]; };
    for (int step = 0; step < 120; ++step) {
      std::erase_if(alive, [&](Entity e) { return !registry.alive(e); });
      switch (random() % 14) {
        case 0:
        case 1: {
          const auto made =
              registry.create_many(static_cast<std::uint32_t>(1 + random() % 300), game::Health{.value = float(step)});
          alive.insert(alive.end(), made.begin(), made.end());
          break;
        }
        case 2: alive.push_back(registry.create(game::Health{}, game::Armor{})); break;
        case 3:
          if (const Entity e = registry.create_under(some(), random() % 2 ? "n" + std::to_string(step) : ""))
            alive.push_back(e);
          break;
        case 4: registry.destroy(some()); break;
        case 5: {
          std::vector<Entity> doomed;
          for (auto i = random() % 200; i > 0 && !alive.empty(); --i) doomed.push_back(some());
          std::ranges::sort(doomed);
          const auto doubles = std::ranges::unique(doomed);
          doomed.erase(doubles.begin(), doubles.end());
          if (!doomed.empty()) registry.push(std::span<const Entity>(doomed), Destroy{});
          break;
        }
        case 6: registry.set(some(), game::Health{.value = float(random() % 9)}); break;
        case 7: registry.set(some(), game::Armor{}); break;
        case 8: registry.remove<game::Health>(some()); break;
        case 9: registry.push(some(), Reparent{.parent = random() % 3 ? some() : Entity{}}); break;
        case 10: registry.post(some(), game::Damage{.amount = 1}); break;
        case 11: registry.post_at(registry.now_ns() + 1 + random() % 5, some(), game::Damage{.amount = 1}); break;
        case 12: {
          TemplateTree tree("t" + std::to_string(random() % 2));
          tree.set("a", game::Health{.value = float(step)});
          registry.define_template(tree);
          break;
        }
        default: registry.advance(random() % 4); break;
      }
      if (random() % 4) continue;
      save(registry, keeper);
      REQUIRE(naive::saved_rows(registry) == keeper.rows());
    }
    CHECK(keeper.size() > 4);
  }
}

TEST_CASE("the links of a spawned tree are saved, though it has no parent and its page was saved before") {
  EntityRegistry registry;
  TemplateTree tree("pair");
  tree.set("a", game::Health{}).set("b", game::Health{});
  registry.define_template(tree);
  registry.spawn("pair").or_stop();  // the next finds room in its chunks
  Keeper keeper;
  save(registry, keeper);
  const Entity top = registry.spawn("pair");
  REQUIRE(registry.child_count(top) == 2);
  save(registry, keeper);
  CHECK(naive::saved_rows(registry) == keeper.rows());
}

}  // namespace kept_test

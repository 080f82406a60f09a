// Moments at random places of random programs. The naive model of a moment is everything that a
// save writes, and a second registry that loads it.
#include "tests/model/state_rows.h"
#include "tests/registry/moments/random_world.h"
#include "tests/support/change_marks.h"
#include "tests/support/seeds.h"

namespace random_moments_test {

using namespace muster;
using test::Random, test::step, test::Voice, test::World;

namespace {

/// Keeps rows as a world file does: those that it has at their version it does not take again.
class Keeper final : public StateSink {
 public:
  bool has(const StateKey& key, std::uint64_t version) override {
    const auto at = kept_.find(key);
    if (at == kept_.end() || at->second.version != version) return false;
    at->second.save = save_;
    if (key.section == StateSection::chunks)
      for (auto column = kept_.lower_bound({StateSection::columns, key.key, 0});
           column != kept_.end() && column->first.section == StateSection::columns && column->first.key == key.key;
           ++column)
        column->second.save = save_;
    return true;
  }
  void row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) override {
    kept_[key] = {version, save_, {bytes.begin(), bytes.end()}};
  }
  naive::StateRows save(EntityRegistry& registry) {
    ++save_;
    registry.host().begin_version();
    registry.save(*this);
    std::erase_if(kept_, [&](const auto& row) { return row.second.save != save_; });
    naive::StateRows rows;
    for (const auto& [key, row] : kept_) rows[key] = row.bytes;
    return rows;
  }

 private:
  struct Row {
    std::uint64_t version = 0, save = 0;
    std::vector<std::byte> bytes;
  };
  std::map<StateKey, Row> kept_;
  std::uint64_t save_ = 0;
};

/// Returns a named entity that its name does not find, or an empty string.
std::string wrong_names(const EntityRegistry& registry) {
  std::string wrong;
  registry.each<>([&](Entity e) {
    if (const std::string_view name = registry.name(e); !name.empty())
      if (registry.find_child(registry.parent(e), name) != e) wrong = "not found: " + registry.path(e);
  });
  return wrong;
}

/// Returns the first difference between the rows of two saves, or an empty string.
std::string difference(const naive::StateRows& a, const naive::StateRows& b) {
  for (const auto* one : {&a, &b})
    for (const auto& [key, bytes] : *one) {
      const naive::StateRows& other = one == &a ? b : a;
      if (const auto at = other.find(key); at == other.end() || at->second != bytes)
        return "section " + std::to_string(static_cast<int>(key.section)) + ", key " + std::to_string(key.key) +
               ", column " + std::to_string(key.column) + (at == other.end() ? " is missing" : " differs");
    }
  return {};
}

struct Kept {
  Moment moment;
  naive::StateRows rows;
  std::uint64_t hash;
  std::size_t steps;  // number of steps before it
};
struct Done {
  std::uint64_t draw;
  std::string result;
  std::uint64_t hash;
};

/// A registry that loads the rows goes on as the one that returned.
void go_on_like_loaded(World& world, const naive::StateRows& rows, std::uint32_t workers, Random random,
                       std::vector<Done>& done) {
  World loaded(workers);
  naive::RowsSource source(rows);
  REQUIRE(loaded.registry.load(source));
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t draw = random.next();
    INFO("step " << i << " after the return");
    const std::string result = step(world, Random(draw));
    REQUIRE(step(loaded, Random(draw)) == result);
    REQUIRE(loaded.registry.hash() == world.registry.hash());
    done.push_back({draw, result, world.registry.hash()});
  }
  REQUIRE(difference(naive::saved_rows(loaded.registry), naive::saved_rows(world.registry)) == "");
}

void run(std::uint64_t seed, std::uint32_t workers, int steps, std::size_t bytes_max) {
  Random random(seed);
  World world(workers);
  Moments ring(world.registry, bytes_max);
  test::ChangeMarks marks(world.registry);
  Keeper keeper;
  std::vector<Kept> kept;
  std::vector<Done> done;
  for (int i = 0; i < steps; ++i) {
    INFO("seed " << seed << ", step " << i << ", " << workers << " workers");
    if (random.percent(20)) {
      const auto moment = ring.keep();
      REQUIRE(moment);
      kept.push_back({*moment, naive::saved_rows(world.registry), world.registry.hash(), done.size()});
    }
    if (random.percent(3) && !kept.empty()) ring.forget_before(kept[random.below(kept.size())].moment);
    if (random.percent(12) && !kept.empty()) {
      const std::size_t at = random.percent(50) ? kept.size() - 1 : random.below(kept.size());
      const std::uint64_t before = world.registry.hash();
      const auto returned = ring.return_to(kept[at].moment);
      if (!returned) {
        REQUIRE(world.registry.hash() == before);
        REQUIRE(returned.error().find("moment ") == 0);
        kept.erase(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      } else {
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(at) + 1, kept.end());
        REQUIRE(world.registry.hash() == kept[at].hash);
        REQUIRE(difference(naive::saved_rows(world.registry), kept[at].rows) == "");
        REQUIRE(wrong_names(world.registry) == "");
        REQUIRE(marks.check() == "");
        const std::vector<Done> again(done.begin() + static_cast<std::ptrdiff_t>(kept[at].steps), done.end());
        done.resize(kept[at].steps);
        if (random.percent(30)) {
          go_on_like_loaded(world, kept[at].rows, workers, Random(random.next()), done);
        } else if (random.percent(70)) {
          for (const Done& each : again) {
            REQUIRE(step(world, Random(each.draw)) == each.result);
            REQUIRE(world.registry.hash() == each.hash);
            done.push_back(each);
            if (random.percent(10)) break;
          }
        }
      }
    }
    const std::uint64_t draw = random.next();
    const std::string result = step(world, Random(draw));
    done.push_back({draw, result, world.registry.hash()});
    REQUIRE(marks.check() == "");
    if (i % 7 == 0) REQUIRE(difference(keeper.save(world.registry), naive::saved_rows(world.registry)) == "");
  }
}

}  // namespace

// MUSTER_MOMENT_SEEDS: how many; MUSTER_MOMENT_SEED: the first.
TEST_CASE("a registry that returns to a moment is what it was, and does the same again with the same results",
          "[random]") {
  Voice::alive = 0;
  test::Seeds seeds("MUSTER_MOMENT_SEEDS", "MUSTER_MOMENT_SEED", 40);
  for (std::uint64_t seed = 0; seeds.next(seed);)
    run(seed, seed % 8 == 3 ? 3 : 1, 250, seed % 5 == 4 ? 200'000 : std::size_t{1} << 30);
  CHECK(Voice::alive == 0);
}

}  // namespace random_moments_test

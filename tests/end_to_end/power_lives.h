// A world over several lives, each of which ends with a power cut somewhere: in the middle of an edit, a step of a
// checkpoint, a merge, the making of the file, a recovery, a clean close. What was told to be durable is there afterwards,
// nothing is doubled, and the file is good.
#pragma once

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/history/edit_history.h"
#include "registry/host.h"
#include "registry/state/state_format.h"
#include "schema/hash.h"
#include "server/file_program/verify.h"
#include "server/world/world.h"
#include "tests/server/arena.h"
#include "tests/support/folder.h"
#include "tests/support/power_log.h"
#include "tests/support/seeds.h"

namespace muster::test {

class PowerLives {
 public:
  struct Counts {
    std::uint64_t cuts = 0;    ///< that were looked at
    std::uint64_t bad = 0;     ///< of those, where something durable was lost, or the world did not open
    std::uint64_t empty = 0;   ///< where there was no world yet
    std::uint64_t beside = 0;  ///< where more was there than had been told
    std::uint64_t inputs = 0;  ///< in all lives
    std::uint64_t kills = 0;   ///< lives that ended with the power on
    std::string first_bad = {};
  };

  PowerLives(std::uint64_t seed, PowerLog::Options disk) : seed_(seed), random_(seed), disk_(disk) {
    disk_.slow_syncs = random_() % 2 == 0;
    many_ = seed % 4 == 3;
  }

  /// Three lives, in each of which the power goes at `cuts` places. The next one goes on from one of them, or from where the
  /// process was killed while the power stayed.
  void live(int cuts) {
    std::unique_ptr<Folder> folder = std::make_unique<Folder>(memory_disk());
    auto log = std::make_unique<PowerLog>(folder->path().string(), disk_);
    std::size_t begin = 0;
    for (life_ = 0; life_ < 3; ++life_) {
      tell(*log, floor_);
      run(*log, folder->path() / "w.muster");
      const std::vector<std::size_t> points = log->turning_points();
      const std::size_t events = log->events();
      log->end();
      std::size_t last = events;
      std::uint64_t how = 0;
      for (int cut = 0; cut < cuts; ++cut) {
        const std::size_t at = draw_cut(begin, points, events);
        const std::uint64_t drawn = random_();
        // A life that goes on from no world would be one more first life.
        if (look(*log, at, drawn) == 0 && cut > 0) continue;
        last = at;
        how = drawn;
      }
      const bool is_killed = random_() % 3 == 0;
      if (is_killed) last = draw_cut(begin, points, events);
      const auto fill = [&](const Folder& into) {
        is_killed ? log->copy(last, into.path().string()) : log->cut(last, how, into.path().string());
      };
      floor_ = told_at(last);
      floor_acts_ = told_acts_at(last);
      if (!go_on(*log, last, fill)) return;
      auto next = std::make_unique<Folder>(memory_disk());
      fill(*next);
      if (is_killed) {
        log = std::make_unique<PowerLog>(*log, last, next->path().string(), disk_);
        told_.erase(told_.upper_bound(last), told_.end());
        told_acts_.erase(told_acts_.upper_bound(last), told_acts_.end());
        begin = last;
        ++counts_.kills;
      } else {
        log = std::make_unique<PowerLog>(next->path().string(), disk_);
        told_.clear();
        told_acts_.clear();
        begin = 0;
      }
      folder = std::move(next);
    }
  }
  const Counts& counts() const noexcept { return counts_; }

 private:
  /// Hashes of a state and of its users' stacks.
  struct Noted {
    std::uint64_t state = 0, history = 0;
    bool playing = false;
    bool operator==(const Noted&) const = default;
  };
  /// The input that a state follows, and how many runs had begun or ended: a run that ends changes
  /// the state without an input.
  struct At {
    std::uint64_t sequence = 0, acts = 0;
    auto operator<=>(const At&) const = default;
  };
  using Hashes = std::map<At, Noted>;
  static constexpr std::uint64_t users = 2;

  static Handlers install(EntityRegistry& registry) {
    registry.add_type<arena::Position>();
    return {registry.subscribe("damage",
                               [](const arena::Damage& hit, arena::Health& health) { health.value -= hit.amount; }),
            registry.subscribe("move", [](const Update&, arena::Position& at, Entity self, Outbox& out) {
              at.x += 1;
              if (static_cast<int>(at.x) % 64 == 0) out.destroy(self);
            })};
  }

  /// Notes the state after each flush.
  struct Noting final : FlushVisitor {
    Noting(PowerLives& lives, World& in) : all(lives), world(in) { world.add_visitor(*this); }
    ~Noting() override { world.remove_visitor(*this); }
    Noting(const Noting&) = delete;
    Noting& operator=(const Noting&) = delete;
    void before_flush() override { all.note(world); }
    void after_flush(EntityRegistry&) override { all.note(world); }
    PowerLives& all;
    World& world;
  };
  static Noted noted(World& world) {
    std::string steps;
    for (std::uint64_t user = 1; user <= users; ++user)
      for (const HistoryStep& step : world.history().list(user, 0, 1000))
        steps += std::to_string(user) + (step.redo ? "redo" : "undo") + std::to_string(step.sequence) + "," +
                 std::to_string(step.parts);
    return {.state = world.registry().hash(), .history = hash64(steps), .playing = world.run().has_value()};
  }
  void note(World& world) { hashes_[{world.registry().sequence(), acts_}] = noted(world); }
  /// Hash of all rows but for the sequence, which goes on when a run ends.
  static std::uint64_t content(World& world) {
    struct Rows final : StateSink {
      bool has(const StateKey&, std::uint64_t) override { return false; }
      void row(const StateKey& key, std::uint64_t, std::span<const std::byte> bytes) override {
        std::string row(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        if (key.section == StateSection::registry) row.replace(offsetof(RegistryRow, sequence), 8, 8, '\0');
        sum += hash64(row + std::to_string(key.key) + "," + std::to_string(key.column));
      }
      std::uint64_t sum = 0;
    } rows;
    world.registry().save(rows);
    return rows.sum;
  }
  /// Begins a run or ends it, and sometimes keeps something.
  void play(PowerLog& log, World& world) {
    if (!world.run()) {
      REQUIRE(world.play());
      levels_[world.run()->sequence] = content(world);
    } else {
      if (random_() % 2 == 0) {
        (void)world.keep({.all = true}, {.session = 1, .user = 1});
        note(world);
      }
      const std::uint64_t level = world.run()->sequence;
      REQUIRE(world.stop_playing());
      REQUIRE(world.set_pace({}));  // after a restart, a run ends with a paused clock
      const bool kept = std::ranges::any_of(world.kept(), [](const KeepReport& report) { return report.messages > 0; });
      if (!kept) CHECK(content(world) == levels_[level]);
    }
    ++acts_;
    note(world);
    // The level of a run that has ended is being saved.
    if (!world.run() && random_() % 2 == 0) return;
    if (!world.run()) REQUIRE(world.try_save());
    told_acts_[log.events()] = acts_;
    tell(log, world.durable_sequence());
  }
  void tell(PowerLog& log, std::uint64_t durable) {
    if (told_.empty() || durable > told_.rbegin()->second) told_[log.events()] = durable;
  }
  std::uint64_t told_at(std::size_t events) const {
    const auto behind = told_.upper_bound(events);
    return behind == told_.begin() ? floor_ : std::max(floor_, std::prev(behind)->second);
  }
  std::uint64_t told_acts_at(std::size_t events) const {
    const auto behind = told_acts_.upper_bound(events);
    return behind == told_acts_.begin() ? floor_acts_ : std::max(floor_acts_, std::prev(behind)->second);
  }

  WorldOptions draw_options() {
    static constexpr std::uint64_t merges[] = {4000, 100'000, 16u << 20};
    WorldOptions options{.hz = 100'000, .autosave = {}};
    const auto drawn = random_() % 5;
    options.durability = drawn < 3 ? Durability::each_flush : drawn == 3 ? Durability::batched : Durability::checkpoint;
    options.merge_bytes = merges[random_() % 3];
    if (random_() % 3 == 0) options.autosave = std::chrono::milliseconds(1);
    options.past_bytes = seed_ % 3 == 1 ? 1 << 20 : seed_ % 3 == 2 ? 10'000 : 0;
    return options;
  }

  void run(PowerLog& log, const std::filesystem::path& path) {
    World world(path, install, draw_options());
    note(world);
    tell(log, world.durable_sequence());
    const Noting noting(*this, world);
    if (world.is_new()) begin(log, world);
    const std::uint64_t before = world.registry().sequence();
    for (std::uint64_t turn = random_() % 30; turn > 0; --turn) {
      for (std::uint64_t left = random_() % 4; left > 0; --left) {
        edit(world);
        note(world);
      }
      if (random_() % 12 == 0) play(log, world);
      if (random_() % 10 == 0)
        (void)world.begin_save([&](const auto& saved) {
          if (saved) tell(log, saved->sequence);
        });
      if (random_() % 30 == 0) {
        const auto saved = world.try_save();
        REQUIRE(saved);
        tell(log, saved->sequence);
      }
      const Frame frame = world.next_frame();
      world.registry().push(Update{.dt = frame.dt});
      world.registry().flush();
      note(world);
      tell(log, world.durable_sequence());
    }
    if (random_() % 2 == 0) {
      const auto saved = world.try_save();
      REQUIRE(saved);
      tell(log, saved->sequence);
    }
    counts_.inputs += world.registry().sequence() - before;
  }
  void begin(PowerLog& log, World& world) {
    EntityRegistry& registry = world.registry();
    for (std::size_t i = 0; i < 8; ++i)
      units_.push_back(registry.create("unit" + std::to_string(i), arena::Health{.value = 1000}));
    for (int i = 0; many_ && i < 12'000; ++i) (void)registry.create(arena::Position{.x = double(random_() % 50)});
    note(world);
    const auto saved = world.try_save();
    REQUIRE(saved);
    tell(log, saved->sequence);
  }
  void edit(World& world) {
    EntityRegistry& registry = world.registry();
    switch (random_() % 8) {
      case 0: (void)registry.create(arena::Position{.x = double(random_() % 60)}); return;
      case 1: (void)registry.create("thing" + std::to_string(random_() % 1000) + "-" + std::to_string(seed_)); return;
      case 2:
      case 3: return edit_as_session(world);
      case 4: return undo(world.history());
      default: break;
    }
    const Entity unit = registry.find_path("/unit" + std::to_string(random_() % 8));
    registry.push(unit, arena::Damage{.amount = static_cast<float>(random_() % 9)});
  }
  /// One of two users sets, creates, or destroys.
  void edit_as_session(World& world) {
    EntityRegistry& registry = world.registry();
    const std::uint64_t user = 1 + random_() % users;
    const Entity unit = registry.find_path("/unit" + std::to_string(random_() % 8));
    BatchBuilder edit;
    switch (random_() % 3) {
      case 0: edit.append_rows(unit, Set{}, arena::Health{.value = static_cast<float>(random_() % 1000)}); break;
      case 1: {
        const Entity granted = registry.host().grant(1, user);
        note(world);  // a grant is an input, so the journal may end with it
        edit.append_rows(granted, Create{.parent = unit}, arena::Health{});
        break;
      }
      default: {
        const Entity child = registry.first_child(unit);
        if (!child) return;
        edit.append(child, Destroy{});
      }
    }
    registry.host().push_batch(edit.bytes(), {.session = user, .user = user, .request = 1});
  }
  void undo(EditHistory& history) {
    const std::uint64_t user = 1 + random_() % users;
    const auto act = random_() % 3 == 0 ? HistoryAct::redo : HistoryAct::undo;
    // Steps of which nothing is left are dropped without an input, so a replay still has them.
    if (history.apply(act, {.session = user, .user = user}, Conflicts::skip, true).done > 0)
      (void)history.apply(act, {.session = user, .user = user}, Conflicts::skip, false);
  }

  /// Behind `begin` events at least: some while the world is opened, others just before or behind a sync or a name.
  std::size_t draw_cut(std::size_t begin, const std::vector<std::size_t>& points, std::size_t events) {
    constexpr std::size_t opening = 40;
    switch (random_() % 4) {
      case 0:
        if (life_ > 0) return std::min(events, begin + random_() % opening);
        break;
      case 1: return begin + random_() % (events - begin + 1);
      default: break;
    }
    if (points.empty()) return events;
    return std::clamp(points[random_() % points.size()] - random_() % 2, begin, events);
  }

  /// Says what is wrong with the world at `path`, or nothing. `found` is what the world contains; its
  /// sequence is 0 if there is no world.
  std::string wrong_with(const std::string& path, std::uint64_t told, std::uint64_t told_acts, At& found) {
    found = {};
    std::uint64_t& sequence = found.sequence;
    try {
      std::optional<VerifyReport> verified;
      if (std::filesystem::exists(path)) {
        const auto report = verify(path);
        if (!report) return std::string("verify: ") + report.error().what();
        if (!report->remarks.empty()) return "verify: " + report->remarks.front();
        verified = *report;
      }
      World world(path, install);
      if (world.is_new() && told == 0) return {};
      if (world.is_new()) return "there is no world, and input " + std::to_string(told) + " was durable";
      sequence = world.registry().sequence();
      const RecoveryReport& recovery = world.recovery_report();
      const std::string at = ": input " + std::to_string(sequence) + ", told " + std::to_string(told);
      if (const std::string* why = world.stopped()) return "stopped: " + *why;
      if (!recovery.exact()) return "not recovered as it was: " + recovery.text() + at;
      if (sequence < told) return "lost" + at;
      if (verified && verified->durable != sequence) return "verify says " + std::to_string(verified->durable) + at;
      const auto first = hashes_.lower_bound({sequence, 0}), end = hashes_.upper_bound({sequence, ~std::uint64_t{0}});
      if (first == end) return "ends inside a turn" + at;
      const Noted now = noted(world);
      bool same_state = false, is_there = false;
      for (auto each = first; each != end; ++each) {
        same_state = same_state || each->second.state == now.state;
        if (each->second != now) continue;
        is_there = true;
        found.acts = each->first.acts;
      }
      if (!same_state) return "another state" + at;
      if (!is_there) return "another history" + at;
      if (found.acts < told_acts) return "a run that had begun or ended is lost" + at;
      if (!world.run()) return {};
      // The level is there beside the run.
      const std::uint64_t level = world.run()->sequence;
      if (auto ended = world.stop_playing(); !ended) return "the run does not end: " + ended.error().detail() + at;
      const bool kept = std::ranges::any_of(world.kept(), [](const KeepReport& report) { return report.messages > 0; });
      if (!kept && content(world) != levels_.at(level)) return "another level" + at;
    } catch (const std::exception& error) {
      return std::string("does not open: ") + error.what();
    }
    return {};
  }

  /// What sequence a cut leaves; 0: no world.
  std::uint64_t look(PowerLog& log, std::size_t at, std::uint64_t how) {
    const Folder left(memory_disk());
    log.cut(at, how, left.path().string());
    At left_at;
    const std::uint64_t told = told_at(at);
    const std::string wrong = wrong_with(left / "w.muster", told, told_acts_at(at), left_at);
    const std::uint64_t sequence = left_at.sequence;
    ++counts_.cuts;
    counts_.empty += wrong.empty() && sequence == 0 ? 1 : 0;
    counts_.beside += sequence > told ? 1 : 0;
    if (!wrong.empty()) found(log, at, wrong);
    return sequence;
  }
  void found(PowerLog& log, std::size_t at, const std::string& wrong) {
    if (++counts_.bad > 1) return;
    counts_.first_bad = "life " + std::to_string(life_) + ", cut behind " + std::to_string(at) + " events of " +
                        std::to_string(log.events()) + ": " + wrong + "\n" + log.text(at);
  }
  /// Forgets what is lost with the life that ends, of which `fill` puts the rest into a folder; false: nothing can go on from
  /// that.
  template <class F>
  bool go_on(PowerLog& log, std::size_t at, F&& fill) {
    const Folder twin(memory_disk());
    fill(twin);
    At left;
    const std::string wrong = wrong_with(twin / "w.muster", floor_, floor_acts_, left);
    if (!wrong.empty()) found(log, at, "the next life: " + wrong);
    std::erase_if(hashes_,
                  [&](const auto& each) { return each.first.sequence > left.sequence || each.first.acts > left.acts; });
    return wrong.empty();
  }

  const std::uint64_t seed_;
  std::mt19937_64 random_;
  PowerLog::Options disk_;
  bool many_ = false;
  int life_ = 0;
  std::vector<Entity> units_;
  Hashes hashes_;                                   // after each flush
  std::map<std::size_t, std::uint64_t> told_;       // durable, by number of events
  std::uint64_t floor_ = 0;                         // durable when the life began
  std::map<std::size_t, std::uint64_t> told_acts_;  // like told_: runs that had begun or ended
  std::uint64_t floor_acts_ = 0, acts_ = 0;
  std::map<std::uint64_t, std::uint64_t> levels_;  // content of each level, by its sequence
  Counts counts_;
};

}  // namespace muster::test

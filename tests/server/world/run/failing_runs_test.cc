// Runs, kept edits, undo and saves over a disk that fails at any operation, with worlds that are
// killed. Whatever happens, the file contains the level or the run as they were at some input, with
// everything that was durable.
#include <cstdio>
#include <memory>
#include <string>

#include "tests/server/world/run/played_world.h"
#include "tests/support/seeds.h"

namespace muster::play_test {

using test::Seeds;

namespace {

/// A world after an input.
struct Moment {
  bool playing = false;
  std::uint64_t sequence = 0;
  std::map<StateKey, std::string> rows;
  std::vector<std::string> history;
  std::shared_ptr<const Moment> level = {};  // of the run that is on
};

class Life {
 public:
  explicit Life(std::uint64_t seed) : random_(seed), path_(directory_ / "w.muster") {}
  void live() {
    open();
    for (int i = 0; i < 60; ++i) {
      act();
      note();
    }
    failing_.disk.operations_left = -1;
    close();
    open();
  }

 private:
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  World& world() { return played_->world; }

  void note() { moments_.push_back(now()); }
  /// Everything up to here is in the file.
  void all_durable() {
    note();
    moments_.erase(moments_.begin(), moments_.end() - 1);
  }
  /// Forgets what is older than the last input that was reported as durable.
  void durable() {
    const std::uint64_t sequence = world().durable_sequence();
    std::size_t first = 0;
    for (std::size_t i = 0; i < moments_.size() && moments_[i].sequence <= sequence; ++i)
      if (moments_[i].sequence < sequence) first = i + 1;
    moments_.erase(moments_.begin(), moments_.begin() + static_cast<std::ptrdiff_t>(std::min(first, moments_.size())));
  }

  void open() {
    WorldOptions with = options(draw(2) ? Durability::each_flush : Durability::batched);
    if (draw(3) == 0) with.autosave = std::chrono::microseconds(draw(3000) + 1);
    with.level_bytes_max = draw(2) ? 256u << 20 : 0;
    const bool as_level = !moments_.empty() && draw(4) == 0;
    with.level = as_level;
    played_ = std::make_unique<Played>(path_, with);
    log_ += world().run() ? "[run" : "[level";
    log_ += as_level ? " level]" : "]";
    played_->random.seed(random_());
    INFO("operation " << log_);
    if (moments_.empty()) {
      REQUIRE(world().try_save());
      return all_durable();
    }
    const Moment found = now();
    if (as_level) {
      // The level of the run, or the level itself. The file contains the run until the next save.
      bool known = false;
      for (const Moment& moment : moments_)
        known = known || marked_ || found.rows == (moment.playing ? moment.level->rows : moment.rows);
      CHECK(!found.playing);
      CHECK(known);
      level_.reset();
      return note();
    }
    std::string others;
    const Moment* known = nullptr;
    for (const Moment& moment : moments_) {
      const bool same_rows = moment.rows == found.rows, same_history = moment.history == found.history;
      if (moment.playing == found.playing && moment.sequence == found.sequence && same_rows && same_history)
        known = &moment;
      else
        others += " " + std::string(moment.playing ? "run " : "level ") + std::to_string(moment.sequence) +
                  (same_rows ? " same rows" : "") + (same_history ? " same history" : "") + ",";
    }
    INFO("found: " << (found.playing ? "run " : "level ") << found.sequence << "; known:" << others);
    CHECK(known);
    level_ = known ? known->level : nullptr;
    if (!level_) marked_ = false;
    all_durable();
  }
  void close() {
    durable();
    played_.reset();
  }

  void act() {
    const std::uint64_t what = draw(20);
    log_ += " " + std::to_string(what);
    CAPTURE(log_);
    switch (what) {
      case 0:
      case 1: play(); break;
      case 2:
      case 3: stop(); break;
      case 4: keep(); break;
      case 5: failing_.disk.operations_left = static_cast<std::int64_t>(draw(40)); break;
      case 6:
      case 7: failing_.disk.operations_left = -1; break;
      case 8: save(); break;
      case 9: (void)world().begin_save([](const auto&) {}); break;
      case 10: kill(); break;
      case 11:
        if (draw(3) == 0) leave();
        break;
      case 12:
      case 13: {
        // The clock of a level is paused.
        if (world().pace().paused)
          (void)world().poll();
        else
          CHECK(world().next_frame());
        note();
        world().registry().push(game::Ping{.hops = static_cast<std::uint32_t>(draw(100))});
        break;
      }
      default: played_->edit(); break;
    }
  }

  void play() {
    const Moment before = now();
    const bool was_on = world().run().has_value();
    const auto done = world().play();
    log_ += done ? "(ok)" : was_on ? "(on)" : "(failed)";
    CHECK(now().rows == before.rows);
    if (!done) {
      CHECK(world().run().has_value() == was_on);
      if (was_on) return;
      // A commit whose sync failed may be in the file: then the run has begun, and nothing has
      // happened in it.
      Moment begun = before;
      begun.playing = true;
      begun.history.clear();
      begun.level = std::make_shared<Moment>(before);
      moments_.push_back(std::move(begun));
      return;
    }
    level_ = std::make_shared<Moment>(before);
    marked_ = false;
    all_durable();
  }
  void stop() {
    if (!world().run()) {
      CHECK(!world().stop_playing());
      return;
    }
    const auto stopped = world().stop_playing();
    if (!stopped) return;
    CHECK(!world().run());
    // The end of the run applies the marked edits.
    if (!marked_ && level_) {
      CHECK(rows_of(world().registry()) == level_->rows);
      CHECK(played_->history() == level_->history);
    }
  }
  void keep() {
    KeepSelection selection{.all = draw(2) == 0};
    if (const auto edits = world().run_edits(0, 100); !edits.empty())
      selection.steps = {edits[draw(edits.size())].step};
    const Sender by{.session = 11, .user = 1, .request = ++played_->requests};
    const bool in_run = world().run().has_value();
    if (const auto kept = world().keep(selection, by); kept && in_run) marked_ = true;
  }
  void save() {
    if (world().try_save()) all_durable();
  }
  /// The process dies: nothing more reaches the disk.
  void kill() {
    durable();
    failing_.disk.operations_left = 0;
    played_.reset();
    failing_.disk.operations_left = -1;
    open();
  }
  void leave() {
    close();
    failing_.disk.operations_left = -1;
    open();
  }
  Moment now() {
    return {.playing = world().run().has_value(),
            .sequence = world().registry().sequence(),
            .rows = rows_of(world().registry()),
            .history = played_->history(),
            .level = world().run() ? level_ : nullptr};
  }

  std::mt19937_64 random_;
  const Directory directory_;
  const std::string path_;
  FailingDisk failing_;
  std::unique_ptr<Played> played_;
  std::vector<Moment> moments_;          // those to which a restart may return, in order
  std::shared_ptr<const Moment> level_;  // of the run that is on
  bool marked_ = false;
  std::string log_;
};

}  // namespace

TEST_CASE("whatever the disk fails at, the file contains the level or the run with all that was durable") {
  Seeds seeds("MUSTER_RUN_SEEDS", "MUSTER_RUN_SEED", 50, 2000);
  for (std::uint64_t seed; seeds.next(seed);) {
    INFO("again: MUSTER_RUN_SEEDS=1 MUSTER_RUN_SEED=" << seed);
    Life(seed).live();
  }
}

}  // namespace muster::play_test

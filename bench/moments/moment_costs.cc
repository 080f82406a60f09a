// The cost of moments (registry/moments/moments.h) in a game with rollback.
//
//   moment_costs [ENTITIES [ROUNDS]]        20000 entities, 300 rounds
//
// Each tick moves a tenth or all of the entities, hits some, and creates and destroys 20. Prints
// the median processor time of a tick without moments, of keep(), of a tick after it, and of one
// tick back and eight forward again, each of which is kept. Prints the same with Rollback,
// beside a loop without an engine: it copies the changed columns by memcpy, back once and away
// before each of the eight ticks. A frame at 60 Hz has 16667 us. Prints the time of a hash. Prints
// return_to() beside a loop of memcpy that copies as many columns of the same sizes, in the same
// run.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/moments/moments.h"
#include "registry/moments/rollback.h"
#include "schema/scene.h"
#include "schema/skirmish.h"

namespace {

double thread_us() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

class Times {
 public:
  template <class F>
  void time(F work) {
    const double before = thread_us();
    work();
    us_.push_back(thread_us() - before);
  }
  double median() {
    std::ranges::sort(us_);
    return us_.empty() ? 0 : us_[us_.size() / 2];
  }

 private:
  std::vector<double> us_;
};

/// A world of units that move, are hit, and are replaced.
class Game {
 public:
  Game(std::uint32_t entities, bool all_move) {
    handlers_.add(registry.subscribe("move", [](const muster::Update& tick, scene::Transform& at) {
      at.position.x += tick.dt;
      at.rotation.y += tick.dt * 0.1f;
    }));
    handlers_.add(registry.subscribe(
        "hit", [](const skirmish::Damage& hit, skirmish::Health& health) { health.value -= hit.amount; }));
    const std::uint32_t moving = all_move ? entities : entities / 10;
    registry.create_many(moving, scene::Transform{}, skirmish::Health{}, skirmish::Unit{});
    registry.create_many(entities - moving, skirmish::Health{}, skirmish::Unit{}, skirmish::March{});
    units_ = registry.create_many(20, skirmish::Health{}, skirmish::Weapon{});
  }
  void tick(bool replace = true) {
    registry.push(muster::Update{.dt = 1.0f / 60});
    for (const muster::Entity e : units_) registry.push(e, skirmish::Damage{.amount = 1});
    if (!replace) return;
    const std::vector<muster::Entity> made = registry.create_many(20, skirmish::Health{}, skirmish::March{});
    for (const muster::Entity e : made) registry.destroy(e);
  }

  muster::EntityRegistry registry;

 private:
  muster::Handlers handlers_;
  std::vector<muster::Entity> units_;
};

/// Copies of columns, and room for them, as a game without an engine would have.
class Columns {
 public:
  /// Adds the columns that were written after this version.
  Columns(const muster::Storage& storage, std::uint64_t version) {
    for (std::uint32_t number = 0; number < storage.chunk_numbers(); ++number) {
      const muster::Chunk* const chunk = storage.chunk(number);
      if (!chunk) continue;
      for (std::uint32_t slot = 0; slot < chunk->archetype->pod_slots; ++slot)
        if (const muster::ColumnSlot& column = chunk->slots()[slot]; column.data && column.version > version)
          add(std::size_t{chunk->count} * chunk->archetype->slot_bytes[slot]);
    }
  }
  void copy() {
    for (const Column& column : columns_) std::memcpy(column.to.get(), column.from.get(), column.size);
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Column& column : columns_) sum += column.size;
    return sum;
  }

 private:
  struct Column {
    std::unique_ptr<std::byte[]> from, to;
    std::size_t size;
  };
  void add(std::size_t size) {
    columns_.push_back({std::make_unique<std::byte[]>(size + 1), std::make_unique<std::byte[]>(size + 1), size});
  }
  std::vector<Column> columns_;
};

void measure(std::uint32_t entities, long rounds, bool all_move) {
  Times plain, keeps, kept_ticks, frames, returns, copies;
  std::uint64_t returned = 0;
  std::size_t copied = 0;
  {
    Game game(entities, all_move);
    for (long i = 0; i < rounds; ++i) plain.time([&] { game.tick(); });
  }
  Game game(entities, all_move);
  muster::Moments ring(game.registry, std::size_t{2} << 30);
  std::vector<muster::Moment> last;
  const auto keep = [&] {
    last.push_back(*ring.keep());
    if (last.size() > 12) last.erase(last.begin());
    ring.forget_before(last.front());
  };
  for (long i = 0; i < rounds; ++i) {
    keeps.time(keep);
    kept_ticks.time([&] { game.tick(); });
  }
  for (long i = 0; i < rounds / 4; ++i) {
    for (int tick = 0; tick < 8; ++tick) {
      keep();
      game.tick();
    }
    // One tick back and eight forward: what arrives late is put in its place.
    last.resize(last.size() - 7);
    const muster::Moment then = last.back();
    frames.time([&] {
      if (!ring.return_to(then)) std::abort();
      const muster::QuietInputs quiet(game.registry);
      for (int tick = 0; tick < 8; ++tick) {
        game.tick();
        keep();
      }
    });
  }
  Times rollbacks, by_hand, hashes;
  {
    Game other(entities, all_move);
    muster::Rollback rollback(other.registry, [&](std::uint64_t) { other.tick(); },
                              {.unconfirmed_max = 16, .bytes_max = std::size_t{2} << 30, .checksum_every = 0});
    for (int tick = 0; tick < 8; ++tick)
      if (!rollback.advance()) std::abort();
    // The columns that a tick changes.
    Game bare(entities, all_move);
    bare.tick();
    const std::uint64_t version = bare.registry.host().begin_version();
    bare.tick(false);
    Columns columns(bare.registry.host().storage(), version);
    for (long i = 0; i < rounds / 4; ++i) {
      rollback.changed(rollback.tick() - 6);
      rollback.confirm(rollback.tick() - 7);
      rollbacks.time([&] {
        if (!rollback.advance()) std::abort();  // seven ticks again, and one more
      });
      hashes.time([&] { (void)other.registry.hash(); });
    }
    for (long i = 0; i < rounds / 4; ++i)
      by_hand.time([&] {
        columns.copy();
        for (int tick = 0; tick < 8; ++tick) {
          columns.copy();
          bare.tick();
        }
      });
  }
  for (long i = 0; i < rounds; ++i) {
    const muster::Moment before = *ring.keep();
    const std::uint64_t version = game.registry.version() - 1;
    for (int tick = 0; tick < 1 + i % 3; ++tick) game.tick(false);
    Columns columns(game.registry.host().storage(), version);
    columns.copy();
    copies.time([&] { columns.copy(); });
    returns.time([&] {
      if (!ring.return_to(before)) std::abort();
    });
    returned = ring.copied();
    copied = columns.bytes();
  }
  const double a_return = returns.median(), a_copy = copies.median();
  std::printf("%u entities, %s move\n", entities, all_move ? "all" : "a tenth");
  std::printf("  tick without moments        %9.1f us\n", plain.median());
  std::printf("  keep                        %9.1f us\n", keeps.median());
  std::printf("  tick after keep             %9.1f us\n", kept_ticks.median());
  std::printf("  8 ticks back and 8 forward  %9.1f us\n", frames.median());
  std::printf("  the same with Rollback      %9.1f us\n", rollbacks.median());
  std::printf("  the same copies by hand     %9.1f us  ratio %.2f\n", by_hand.median(),
              rollbacks.median() / by_hand.median());
  std::printf("  hash                        %9.1f us\n", hashes.median());
  std::printf("  return                      %9.1f us  %llu bytes\n", a_return,
              static_cast<unsigned long long>(returned));
  std::printf("  memcpy of these columns     %9.1f us  %zu bytes  ratio %.2f\n", a_copy, copied, a_return / a_copy);
  std::printf("  moments hold                %9zu bytes, and %zu for ids\n", ring.bytes(), ring.id_bytes());
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, long otherwise) { return argc > i ? std::strtol(argv[i], nullptr, 10) : otherwise; };
  const auto entities = static_cast<std::uint32_t>(std::clamp(number(1, 20'000), 100l, 4'000'000l));
  const long rounds = std::clamp(number(2, 300), 8l, 100'000l);
  for (const bool all_move : {false, true}) measure(entities, rounds, all_move);
}

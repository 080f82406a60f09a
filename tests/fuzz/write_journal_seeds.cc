// write_journal_seeds FOLDER: what fuzz_journal starts from: a group with inputs of every kind.
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/server/world/journal/recorded_game.h"

using namespace muster;

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::filesystem::path folder = std::filesystem::path(arguments[1]) / "fuzz_journal";
  std::filesystem::create_directories(folder);
  test::RecordedGame game;
  EntityRegistry& r = game.registry;
  const Entity e = r.create(game::Health{.value = 50});
  const auto lane = r.inbox().open_lane(5, 1u << 20, 2);
  game.record();
  r.push(Entity{}, game::Damage{});  // as the target begins
  (void)game.recorder->take();
  r.push(e, game::Damage{.amount = 2});
  r.post(e, game::Ping{.hops = 4});
  BatchBuilder hit;
  hit.append(e, game::Damage{.amount = 8});
  (void)lane->put(hit.bytes(), 77);
  r.flush();
  r.post_at(5, e, game::Spawn{.children = 2});
  r.advance(10);
  game.recorder->made_tick(1);
  const Entity first = r.grant(4, 5);
  BatchBuilder create;
  create.append_rows(first, Create{}, game::Health{.value = 7});
  r.push_batch(create.bytes(), 5, 1, 2);
  r.intern("a text");
  for (const JournalGroup& group : game.recorder->take()) {
    std::ofstream file(folder / std::to_string(group.first), std::ios::binary);
    file.write(reinterpret_cast<const char*>(group.records.data()), static_cast<std::streamsize>(group.records.size()));
  }
  return 0;
}

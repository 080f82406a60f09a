// write_journal_seeds FOLDER: what fuzz_journal starts from: a group with inputs of every kind, and two with inputs that are not kept.
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "registry/host.h"
#include "tests/registry/sight.h"
#include "tests/server/world/journal/recorded_game.h"

using namespace muster;

namespace {

/// Of a game that begins as the target's does, and to which `happens`. Short ones: the target takes no more than 8 KiB.
void write(const std::filesystem::path& file, const std::function<void(test::RecordedGame&, Entity)>& happens) {
  test::RecordedGame game;
  game.registry.add_type<sight::Look>();
  const Entity e = game.registry.create(game::Health{.value = 50});
  game.record();
  game.registry.push(Entity{}, game::Damage{});
  (void)game.recorder->take();
  happens(game, e);
  for (const JournalGroup& group : game.recorder->take()) {
    std::ofstream out(file.string() + '-' + std::to_string(group.first), std::ios::binary);
    out.write(reinterpret_cast<const char*>(group.records.data()), static_cast<std::streamsize>(group.records.size()));
  }
}

template <class Message>
void put(EntityRegistry& r, Entity e, const Message& message) {
  BatchBuilder edit;
  edit.append(e, message);
  const auto lane = r.host().inbox().open_lane(5, 1u << 20, 2);
  (void)lane->put(edit.bytes(), 77);
  (void)lane->put(edit.bytes(), 78);
  r.flush();
}

void all_kinds(test::RecordedGame& game, Entity e) {
  EntityRegistry& r = game.registry;
  r.push(e, game::Damage{.amount = 2});
  r.post(e, game::Ping{.hops = 4});
  put(r, e, game::Damage{.amount = 8});
  r.post_at(5, e, game::Spawn{.children = 2});
  r.advance(10);
  game.recorder->made_tick(1);
  const Entity first = r.host().grant(4, 5);
  BatchBuilder create;
  create.append_rows(first, Create{}, game::Health{.value = 7});
  r.host().push_batch(create.bytes(), {.session = 5, .user = 2, .request = 1});
  r.intern("a text");
}

/// Messages that no journal keeps, among others, of each kind of input, and some that wait.
void unkept(test::RecordedGame& game, Entity e) {
  EntityRegistry& r = game.registry;
  r.push(e, game::Damage{.amount = 2});
  for (std::uint32_t at = 0; at < 5; ++at) r.push(e, sight::Look{.at = at});
  r.post(e, sight::Look{.at = 9});
  r.post(e, game::Ping{.hops = 2});
  put(r, e, sight::Look{.at = 3});
  put(r, e, sight::Steer{.to = 50});  // the last of these is
  r.post_at(5, e, sight::Look{.at = 4});
  r.advance(10);
  game.recorder->made_tick(1);
  r.push(sight::Look{.at = 6});
}

/// The journal has nothing else.
void unkept_alone(test::RecordedGame& game, Entity e) {
  game.registry.push(e, sight::Shout{.text = "here"});
  game.registry.post(e, sight::Shout{.text = "there"});
  game.registry.flush();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::filesystem::path folder = std::filesystem::path(arguments[1]) / "fuzz_journal";
  std::filesystem::create_directories(folder);
  write(folder / "all", all_kinds);
  write(folder / "unkept", unkept);
  write(folder / "unkept-alone", unkept_alone);
  return 0;
}

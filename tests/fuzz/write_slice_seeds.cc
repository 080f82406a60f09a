// write_slice_seeds FOLDER: what fuzz_slice starts from, slices of three ticks with an edit, with
// hashes and without.
#include <filesystem>

#include "include/muster/world.h"
#include "messages/batch_builder.h"
#include "registry/host.h"
#include "server/world/replay/slice.h"
#include "tests/registry/game.h"
#include "tests/support/folder.h"

using namespace muster;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path corpus = std::filesystem::path(argv[1]) / "fuzz_slice";
  std::filesystem::create_directories(corpus);
  const test::Folder folder;
  {
    World world(folder / "w.muster",
                [](EntityRegistry& r) -> Handlers {
                  return {r.subscribe("grow", [](const Update&, game::Health& health) { ++health.value; })};
                },
                {.hz = 20'000, .durability = Durability::each_flush, .autosave = {}});
    EntityRegistry& r = world.registry();
    const Entity orc = r.create("orc", game::Health{.value = 5});
    world.save();
    const auto lane = r.host().inbox().open_lane(3);
    for (int i = 0; i < 3; ++i) {
      (void)world.next_frame();
      r.push(Update{.dt = 1});
      BatchBuilder edit;
      edit.append(orc, game::Damage{.amount = 1});
      (void)lane->put(edit.bytes(), 1);
    }
  }
  auto slice = read_slice_or_world(folder / "w.muster");
  if (!slice || !write_slice((corpus / "slice").string(), *slice)) return 1;
  const std::uint64_t last = slice->last_sequence();
  slice->states = {{.sequence = last - 1, .tick = 2, .hash = 1, .columns = {{"game.Damage", 1}, {"game.Health", 2}}},
                   {.sequence = last, .tick = 3, .hash = 1}};
  slice->hashes = {{.tick = 2, .sequence = last - 1, .columns = {{"game.Health", 2}}}, {.tick = 3, .sequence = last}};
  return write_slice((corpus / "hashes").string(), *slice) ? 0 : 1;
}

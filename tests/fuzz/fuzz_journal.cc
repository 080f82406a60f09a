// Records of a journal group, whatever they are: reading ends, a fault names its byte, and what is read can be done.
#include <cstdio>
#include <cstring>

#include "server/world/journal/recovery.h"
#include "tests/registry/sight.h"
#include "tests/server/world/journal/recorded_game.h"

using namespace muster;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  test::RecordedGame game;
  game.registry.add_type<sight::Look>();
  game.registry.create(game::Health{.value = 50});
  game.record();
  JournalGroup group;
  group.first = 2;
  const auto bytes = std::as_bytes(std::span(data, size));
  group.records.assign(bytes.begin(), bytes.end());
  group.types = game.registry.types().fingerprint();
  const bool exact = size % 32 != 16;  // of other code the edits alone
  game.registry.push(Entity{}, game::Damage{});
  group.code = game.recorder->take().at(0).code;
  group.first = 3;
  RecordReader count(group.records, group.first);
  while (true) {
    const auto read = count.next(game.registry.types());
    if (read && !*read) break;
    if (!read && !read.error().can_go_on) break;
  }
  group.last = count.next_sequence() - 1;
  Recovery recovery(game.registry,
                    {.code = test::RecordedGame::code, .not_exact = exact ? "" : "so the test wants it"});
  const auto taken = recovery.take(group);
  if (!taken && taken.error().find("journal group 0") != 0) {
    std::fprintf(stderr, "%s\n", taken.error().c_str());
    __builtin_trap();
  }
  return 0;
}

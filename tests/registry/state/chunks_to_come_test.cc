// How much memory is taken for chunks that saved state says are to come.
#include "registry/state/chunks_to_come.h"

#include <catch2/catch.hpp>
#include "tests/support/open_storage.h"

using namespace muster;

TEST_CASE("of the chunks that state says are to come no more are believed than came") {
  test::OpenStorage storage;
  const Archetype& archetype = storage.archetype({});
  const std::size_t chunk_bytes = std::size_t{chunk_capacity(archetype, 1)} * sizeof(Entity) + 512;
  ChunksToCome to_come;
  for (int i = 0; i < 5000; ++i) to_come.add(archetype.number, 0);
  for (std::size_t place = 0; place <= 64; ++place) {
    to_come.place(storage, archetype, 0, place);
    REQUIRE(storage.chunk_bytes() <= 2 * place * chunk_bytes);
  }
  CHECK(storage.chunk_bytes() > 0);
}

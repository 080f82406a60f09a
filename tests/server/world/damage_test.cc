// Every byte of a world file may be wrong. Reading one must end in an error or in exactly what was written: never in a
// crash, never in something else.
#include <catch2/catch.hpp>

#include "tests/server/world/made_up_rows.h"

using namespace muster;
using namespace muster::test;

namespace {

struct Outcomes {
  int refused = 0, unharmed = 0;
};

/// Reads the damaged file.
void judge(const std::string& path, const Contents& written, Outcomes& outcomes) {
  const std::string before = read_file(path);
  const auto read = read_world(path);
  if (read_file(path) != before) FAIL("a file was changed by reading it");
  if (!read) {
    if (read.error().detail().empty() || read.error().code() == WorldErrorCode::in_use)
      FAIL("refused without a reason: " << read.error().what());
    ++outcomes.refused;
    return;
  }
  if (*read != written) FAIL("other rows were read than were written");
  ++outcomes.unharmed;
}

}  // namespace

TEST_CASE("a world file with flipped bits gives an error or what was written") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  const Contents written = contents(make_world(path, 11, 3000));
  const std::string whole = read_file(path);
  ::unlink((path + "-lock").c_str());
  std::mt19937_64 random(5);
  Outcomes outcomes;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = whole;
    // The first page, the schema, is where a flip does most: a third of them goes there.
    const std::size_t at = random() % (random() % 3 ? bytes.size() : 4096);
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    if (random() % 4 == 0) bytes[random() % bytes.size()] = static_cast<char>(random());
    write_file(path, bytes);
    CAPTURE(round, at);
    judge(path, written, outcomes);
  }
  CAPTURE(outcomes.refused, outcomes.unharmed);
  CHECK(outcomes.refused > 500);
  CHECK(outcomes.unharmed > 10);  // unused space
}

TEST_CASE("a world file cut off anywhere gives an error") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  const Contents written = contents(make_world(path, 12, 3000));
  const std::string whole = read_file(path);
  std::mt19937_64 random(6);
  Outcomes outcomes;
  for (std::size_t length = 0; length < whole.size(); length += 1 + random() % 97) {
    write_file(path, whole.substr(0, length));
    CAPTURE(length);
    judge(path, written, outcomes);
  }
  CHECK(outcomes.unharmed == 0);
  CHECK(outcomes.refused > 300);
  write_file(path, whole);
  judge(path, written, outcomes);
  CHECK(outcomes.unharmed == 1);
}

TEST_CASE("pages that changed places or became zero give an error or what was written") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  const Contents written = contents(make_world(path, 13, 9000));
  const std::string whole = read_file(path);
  std::mt19937_64 random(7);
  Outcomes outcomes;
  const std::size_t pages = whole.size() / 4096;
  for (int round = 0; round < 400; ++round) {
    std::string bytes = whole;
    const std::size_t to = random() % pages * 4096, from = random() % pages * 4096;
    if (random() % 2)
      bytes.replace(to, 4096, whole, from, 4096);
    else
      bytes.replace(to, 4096, std::string(4096, 0));
    write_file(path, bytes);
    CAPTURE(round, to, from);
    judge(path, written, outcomes);
  }
  CHECK(outcomes.refused > 200);
}

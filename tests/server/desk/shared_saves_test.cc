#include "server/desk/shared_saves.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <utility>

using namespace muster;

namespace {

/// A world whose saves end when the test says so.
struct SavedByHand {
  SharedSaves saves{{.begin =
                         [this](SharedSaves::Then then) {
                           if (running) return false;
                           ++begun;
                           running = std::move(then);
                           return true;
                         },
                     .sequence = [this] { return sequence; },
                     .saved = [this] { return saved; }}};
  std::uint64_t sequence = 5, saved = 5;
  int begun = 0;
  std::optional<SharedSaves::Then> running;

  void end(const WorldSide::Saved& how = {}) {
    const SharedSaves::Then then = *std::exchange(running, std::nullopt);
    then(how);
    saves.look();
  }
  SharedSaves::Then count(int& told, int& failed) {
    return [&](const WorldSide::Saved& how) { ++(how ? told : failed); };
  }
};

}  // namespace

TEST_CASE("all who ask while a save is being written share the next save") {
  SavedByHand of;
  int first = 0, others = 0, failed = 0;
  of.saves.ask(of.count(first, failed));
  for (int i = 0; i < 100; ++i) {
    of.saves.ask(of.count(others, failed));
    of.saves.look();
  }
  CHECK(of.begun == 1);
  of.end();
  CHECK(first == 1);
  CHECK(others == 0);  // their save begins after they asked
  CHECK(of.begun == 2);
  of.end();
  CHECK(others == 100);
  CHECK(of.begun == 2);
  CHECK(failed == 0);
}

TEST_CASE("a save that fails is reported to all who share it, and to no others") {
  SavedByHand of;
  int told = 0, failed = 0, later = 0;
  of.saves.ask(of.count(told, failed));
  of.saves.ask(of.count(later, failed));
  of.end(std::unexpected(std::string("the disk is full")));
  CHECK(failed == 1);
  CHECK(told == 0);
  CHECK(later == 0);
  of.end();
  CHECK(later == 1);
}

TEST_CASE("a save is reported when its state is current, before the rows that it replaces are removed") {
  SavedByHand of;
  of.sequence = 7;
  int told = 0, failed = 0;
  of.saves.ask(of.count(told, failed));
  of.saves.look();
  CHECK(told == 0);
  of.sequence = 9;  // the world goes on
  of.saved = 6;     // by a save that began before
  of.saves.look();
  CHECK(told == 0);
  of.saved = 7;
  of.saves.look();
  CHECK(told == 1);
  int next = 0;
  of.saves.ask(of.count(next, failed));
  CHECK(of.begun == 1);
  of.end();
  CHECK(told == 1);
  CHECK(of.begun == 2);
  of.saved = 9;
  of.saves.look();
  CHECK(next == 1);
}

TEST_CASE("a save of a state that is already saved is reported when it ends") {
  SavedByHand of;
  int told = 0, failed = 0;
  of.saves.ask(of.count(told, failed));
  of.saves.look();
  CHECK(told == 0);
  of.end();
  CHECK(told == 1);
}

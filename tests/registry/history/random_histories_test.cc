// Users who edit, undo and redo at random.
#include <catch2/catch.hpp>
#include <random>
#include <utility>

#include "registry/delivery/input_sink.h"
#include "tests/registry/history/random_editors.h"

namespace random_histories_test {

using namespace history_test;

TEST_CASE("n undos and n redos restore the state from before the first undo, whoever edited in between") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    RandomEditors w(seed);
    for (int round = 0; round < 120; ++round) {
      CAPTURE(round);
      w.edit_once();
      if (w.one_of(6) != 0) continue;
      const std::uint64_t user = 1 + w.one_of(3);
      const std::string before = w.contents();
      // A reference to an entity that is not alive counts as nil, and is written as nil.
      const std::uint32_t all = w.history.steps(user, HistoryAct::undo);
      std::uint32_t done = 0;
      for (std::uint32_t n = 1 + w.one_of(6); n > 0; --n) done += w.undo(user).done != 0 ? 1 : 0;
      for (std::uint32_t n = 0; n < done; ++n) {
        const UndoReport report = w.redo(user);
        CHECK(report.done > 0);
        CHECK(report.skipped.empty());
        CHECK(report.passed_over == 0);
      }
      REQUIRE(w.contents() == before);
      CHECK(w.history.steps(user, HistoryAct::undo) <= all);
    }
  }
}

TEST_CASE("undoing everything restores the state from before, if nobody else is about") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    RandomEditors w(seed);
    w.users = 1;
    std::vector<std::string> states;
    for (int round = 0; round < 150; ++round) {
      const std::uint32_t steps = w.history.steps(1, HistoryAct::undo);
      const std::string before = w.contents();
      w.edit_once();
      if (w.history.steps(1, HistoryAct::undo) != steps) {
        REQUIRE(w.history.steps(1, HistoryAct::undo) == steps + 1);
        states.push_back(before);
      } else {
        REQUIRE(w.contents() == before);
      }
    }
    const std::string last = w.contents();
    for (std::size_t i = states.size(); i > 0; --i) {
      CAPTURE(i);
      const UndoReport report = w.undo(1);
      REQUIRE(report.done > 0);
      CHECK(report.skipped.empty());
      CHECK(report.other_names + report.other_parents == 0);
      REQUIRE(w.contents() == states[i - 1]);
    }
    CHECK(w.undo(1).done == 0);
    for (std::size_t i = 0; i < states.size(); ++i) {
      REQUIRE(w.contents() == states[i]);
      REQUIRE(w.redo(1).done > 0);
    }
    CHECK(w.contents() == last);
  }
}

namespace {

struct Recorded final : InputSink {
  std::vector<std::pair<Envelope, std::vector<std::byte>>> inputs;
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    inputs.emplace_back(envelope, std::vector<std::byte>(batch.begin(), batch.end()));
  }
};

std::string lists(const EditHistory& history) {
  std::string text;
  for (std::uint64_t user = 0; user <= 3; ++user) {
    for (const HistoryStep& step : history.list(user, 0, 1'000'000))
      text += std::to_string(step.sequence) + " " + std::string(step.label) + " " + std::to_string(step.parts) +
              (step.redo ? " redo\n" : "\n");
    text += "--\n";
  }
  return text;
}

}  // namespace

TEST_CASE("a replay makes the same state and the same stacks, without being told of undos") {
  for (const std::uint64_t limit : {std::uint64_t{256} << 20, std::uint64_t{8000}}) {
    CAPTURE(limit);
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      CAPTURE(seed);
      RandomEditors first(seed, limit), second(seed, limit);
      Recorded recorded;
      first.registry.host().add_sink(recorded);
      for (int round = 0; round < 200; ++round) {
        first.anything_once();
        if (first.one_of(3) == 0) first.history.release_ids();
      }
      first.history.release_ids();
      for (const auto& [envelope, bytes] : recorded.inputs) second.registry.host().replay(envelope, bytes);
      CHECK(second.registry.hash() == first.registry.hash());
      CHECK(lists(second.history) == lists(first.history));
      CHECK(second.history.bytes() == first.history.bytes());
      const std::uint64_t sequence = second.registry.sequence();
      second.history.release_ids();
      CHECK(second.registry.sequence() == sequence);
      first.registry.host().remove_sink(recorded);
    }
  }
}

TEST_CASE("a history that is saved and loaded at any time behaves the same") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    RandomEditors first(seed), second(seed);
    std::map<std::uint64_t, std::vector<std::byte>> file;
    for (int round = 0; round < 200; ++round) {
      first.anything_once();
      second.anything_once();
      REQUIRE(lists(second.history) == lists(first.history));
      REQUIRE(second.registry.hash() == first.registry.hash());
      const int what = static_cast<int>(second.one_of(6));
      first.one_of(6);
      if (what > 1) continue;
      std::vector<EditHistory::Saved> changes = second.history.take_changes();
      if (what == 1) {
        second.history.put_back(changes);
        changes = second.history.take_changes();
      }
      for (EditHistory::Saved& change : changes)
        if (change.bytes.empty())
          file.erase(change.number);
        else
          file[change.number] = std::move(change.bytes);
      CHECK(second.history.take_changes().empty());
      std::vector<EditHistory::Saved> saved;
      for (const auto& [number, bytes] : file) saved.push_back({number, bytes});
      const auto loaded = second.history.load(saved);
      REQUIRE(loaded);
      CHECK(second.history.take_changes().empty());
      CHECK(second.history.bytes() == first.history.bytes());
      first.history.release_ids();
      second.history.release_ids();
      REQUIRE(second.registry.hash() == first.registry.hash());
    }
  }
}

}  // namespace random_histories_test

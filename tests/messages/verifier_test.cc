#include "messages/verifier.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "messages/batch_builder.h"
#include "tests/messages/hex.h"
#include "tests/messages/test_types.h"

namespace {

using namespace muster;
using namespace test;

const TypeTable& types() {
  static TypeTable table;
  static const bool added = table.add<Damage>().has_value();
  REQUIRE(added);
  return table;
}

std::vector<std::vector<std::byte>> good_batches() {
  std::vector<std::vector<std::byte>> all;
  for (const bool causes : {false, true}) {
    BatchBuilder to;
    to.set_causes(causes);
    to.set_cause(7);
    Painted painted;
    painted.on = true;
    painted.color = Color::green;
    painted.wings = Wings::left | Wings::tail;
    painted.steps[1] = Step::back;
    painted.slots[1].full = true;
    to.append(Entity{1, 1}, painted);
    to.append(Entity{2, 1}, painted);
    to.append_world(Tick{.dt = 1});
    to.append_subtree(Entity{1, 1}, subtree_self, Nudge{});
    to.append_shared(std::vector<Entity>{{1, 1}, {2, 1}, {3, 1}}, painted);
    to.append_rows(Entity{1, 1}, Make{}, Lamp{.lit = true}, Matrix{}, Health{});
    to.append_rows_shared(std::vector<Entity>{{1, 1}, {2, 1}}, Make{}, Lamp{.lit = true}, Tag64{.bits = 1});
    Say say;
    say.text = "hello";
    say.loud = true;
    say.numbers = {1, 2, 3};
    say.words.resize(2);
    say.words[0].text = "word";
    say.names = {"a", "bc"};
    say.lamps.resize(2);
    const std::vector<std::byte> table = encode(say);
    to.append_table(TypeTraits<Say>::id, Entity{1, 1}, table);
    to.append_table(TypeTraits<Say>::id, Entity{}, table);
    BatchBuilder inner;
    inner.append(Entity{1, 1}, painted);
    to.append_timed(100, 5, inner.front());
    to.for_each([&](BatchView batch) { all.emplace_back(batch.bytes().begin(), batch.bytes().end()); });
  }
  return all;
}

TEST_CASE("batches made here are accepted, and every truncation of them is refused") {
  for (const auto& bytes : good_batches()) {
    {
      const AlignedBytes whole(bytes);
      const auto verdict = verify_batch(whole.span(), types());
      INFO((verdict ? std::string() : verdict.error().text));
      REQUIRE(verdict.has_value());
    }
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      AlignedBytes cut(std::span(bytes).first(length));
      REQUIRE(!verify_batch(cut.span(), types()));
      if (length < 4) continue;
      const auto claimed = static_cast<std::uint32_t>(length);  // the header admits the shorter length
      std::memcpy(cut.span().data(), &claimed, 4);
      REQUIRE(!verify_batch(cut.span(), types()));
    }
  }
}

TEST_CASE("200,000 mutations are judged without a fault of ours; what is accepted can be read and keeps its bytes") {
  const auto good = good_batches();
  std::mt19937 random(1);
  std::size_t accepted = 0;
  std::uint64_t read = 0;
  for (int round = 0; round < 200000; ++round) {
    AlignedBytes bytes(good[random() % good.size()]);
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      std::byte& at = bytes.span()[random() % bytes.span().size()];
      switch (random() % 4) {
        case 0: at = static_cast<std::byte>(random()); break;
        case 1: at ^= static_cast<std::byte>(1u << random() % 8); break;
        case 2: at = std::byte{0}; break;
        default: at = static_cast<std::byte>(std::to_integer<unsigned>(at) + 1); break;
      }
    }
    const auto verdict = verify_batch(bytes.span(), types());
    if (!verdict) {
      REQUIRE(!verdict.error().text.empty());
      REQUIRE(verdict.error().offset <= bytes.span().size());
      continue;
    }
    ++accepted;
    REQUIRE(verdict->bytes().size() == bytes.span().size());
    BatchView batch = *verdict;
    if (batch.kind() == BatchKind::timed) batch = batch.inner();
    BatchBuilder again(batch_bytes_max);
    const BatchHeader& h = batch.header();
    again.set_causes(batch.has_causes());
    const auto cause_at = [&](const std::byte* at) {
      std::uint64_t cause;
      std::memcpy(&cause, at, 8);
      again.set_cause(cause);
    };
    const TypeDescriptor& type = *types().find(h.type);
    std::vector<const TypeDescriptor*> components;
    for (const RowSetEntry& entry : batch.row_set()) components.push_back(types().find(entry.type));
    if (batch.kind() == BatchKind::table) {
      const std::byte* at = batch.body();
      for (std::uint32_t i = 0; i < h.count; ++i) {
        const TableItem item = table_item(batch, at);
        if (batch.has_causes()) cause_at(at + 16);
        const SayView say(TableReader::root(item.table));
        read += say.text().size();
        for (const auto word : say.words()) read += word.text().size();
        for (const auto text : say.names()) read += text.size();
        for (const Lamp& lamp : say.lamps()) read += lamp.lit;
        for (const double value : say.numbers()) read += value > 0;
        again.append_table(h.type, item.target, item.table, h.argument);
        at = item.next;
      }
    } else if (batch.kind() == BatchKind::shared) {
      std::vector<Entity> targets;
      for (std::uint32_t i = 0; i < h.count; ++i) targets.push_back(batch.target(i));
      if (batch.has_causes()) cause_at(batch.body());
      std::byte* at = batch.has_rows() ? again.append_rows_shared(RowSet(type, components), targets)
                                       : again.append_shared(PayloadShape::of(type), targets);
      std::memcpy(at, batch.payload(0), h.payload_bytes);
    } else {
      for (std::uint32_t i = 0; i < h.count; ++i) {
        const bool world = batch.kind() == BatchKind::world;
        if (batch.has_causes()) cause_at(batch.item(i) + (world ? 0 : 8));
        std::byte* at = batch.has_rows() ? again.append_rows(RowSet(type, components), batch.target(i))
                        : world          ? again.append_world(PayloadShape::of(type))
                        : batch.kind() == BatchKind::each
                            ? again.append(PayloadShape::of(type), batch.target(i))
                            : again.append_subtree(PayloadShape::of(type), batch.target(i), h.argument);
        std::memcpy(at, batch.payload(i), h.payload_bytes);
      }
    }
    REQUIRE(hex_text(again.bytes()) == hex_text(batch.bytes()));
  }
  CHECK(accepted > 10000);
  CHECK(accepted < 190000);
  CHECK(read > 0);
}

}  // namespace

// The bytes of a journal group: drawn once, and judged before anybody acts on them.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "registry/host.h"
#include "schema/scene.h"
#include "server/world/journal/journal_format.h"
#include "server/world/journal/record_reader.h"
#include "server/world/journal/recovery.h"
#include "tests/server/world/journal/recorded_game.h"

using namespace muster;
using namespace muster::test;

namespace {

/// 16 bytes a line.
std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    text += digits[std::to_integer<unsigned>(bytes[i]) >> 4];
    text += digits[std::to_integer<unsigned>(bytes[i]) & 15];
    if (i % 16 == 15)
      text += '\n';
    else if (i % 4 == 3)
      text += ' ';
  }
  return text;
}

/// The bytes again.
std::vector<std::byte> unhex(std::string_view text) {
  std::vector<std::byte> bytes;
  unsigned high = 16;
  for (const char c : text) {
    if (c == ' ' || c == '\n') continue;
    const unsigned digit = static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
    if (high == 16) {
      high = digit;
    } else {
      bytes.push_back(static_cast<std::byte>(high << 4 | digit));
      high = 16;
    }
  }
  return bytes;
}

constexpr std::uint64_t its_session = 0x1122334455667788, its_user = 0x99aa;

/// A push, a post and an input of a lane (its session, its request), each with a batch of 64 bytes; a flush; an Advance with one of 48;
/// a tick. So it was written before users were.
constexpr const char* format_0 =
    "80000000 01000000 00000000 00000000\n"
    "02000000 00000000 00000000 00000000\n"
    "00000000 00000000 00000000 00000000\n"
    "00000000 00000000 00000000 00000000\n"
    "40000000 2ab2c880 01000208 01000000\n"
    "10000000 18000000 00000000 00000000\n"
    "01000000 01000000 00000040 00000000\n"
    "00000000 00000000 00000000 00000000\n"
    "80000000 02000000 00000000 00000000\n"
    "03000000 00000000 00000000 00000000\n"
    "00000000 00000000 00000000 00000000\n"
    "00000000 00000000 00000000 00000000\n"
    "40000000 2ab2c880 01000208 01000000\n"
    "10000000 18000000 00000000 00000000\n"
    "01000000 01000000 00008040 00000000\n"
    "00000000 00000000 00000000 00000000\n"
    "80000000 05000000 00000000 00000000\n"
    "04000000 00000000 00000000 00000000\n"
    "88776655 44332211 4d000000 00000000\n"
    "00000000 00000000 00000000 00000000\n"
    "40000000 2ab2c880 01000208 01000000\n"
    "10000000 18000000 00000000 00000000\n"
    "01000000 01000000 00000041 00000000\n"
    "00000000 00000000 00000000 00000000\n"
    "40000000 03000000 00000000 00000000\n"
    "05000000 00000000 00000000 00000000\n"
    "00000000 00000000 00000000 00000000\n"
    "00000000 00000000 00000000 00000000\n"
    "70000000 04000000 00000000 00000000\n"
    "06000000 00000000 00000000 00000000\n"
    "00000000 00000000 00000000 00000000\n"
    "00000000 00000000 00000000 00000000\n"
    "30000000 1b740679 04000200 01000000\n"
    "08000000 08000000 00000000 00000000\n"
    "2a50fe00 00000000 00000000 00000000\n"
    "40000000 10000000 00000000 00000000\n"
    "06000000 00000000 03000000 00000000\n"
    "00000000 00000000 00000000 00000000\n"
    "00000000 00000000 00000000 00000000\n";

/// A group with an input of every kind, a tick and, where wanted, a schema.
JournalGroup every_kind(bool with_schema) {
  RecordedGame of;
  EntityRegistry& r = of.registry;
  r.add_type<Advance>();
  r.add_type<Create>();
  const Entity a = r.create(game::Health{.value = 50});
  const auto lane = r.host().inbox().open_lane(its_session, 1u << 20, its_user);
  of.record();
  if (with_schema) r.add_type<scene::Shape>();
  r.push(a, game::Damage{.amount = 2});
  r.post(a, game::Damage{.amount = 4});
  BatchBuilder hit;
  hit.append(a, game::Damage{.amount = 8});
  REQUIRE(lane->put(hit.bytes(), 77));
  r.flush();
  r.advance(16'666'666);
  of.recorder->made_tick(3);
  return of.journal().at(0);
}

/// How many records are read, and the error's text; "" at a good end.
std::pair<int, std::string> read_all(std::span<const std::byte> records, std::uint64_t first, const TypeTable& types) {
  RecordReader reader(records, first);
  for (int count = 0;; ++count) {
    const auto read = reader.next(types);
    if (!read) return {count, read.error().text};
    if (!*read) return {count, ""};
  }
}

std::vector<std::byte> copied(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

TEST_CASE("the records of a group are these bytes") {
  const JournalGroup group = every_kind(false);
  CHECK(group.first == 2);
  CHECK(group.last == 6);
  CHECK(group.first_tick == 0);
  CHECK(group.last_tick == 3);
  CHECK(group.epoch == 7);
  // As it was before users were written, but for the format of each input and the user of the one that has one.
  std::string expected = format_0;
  for (const char* kind : {"80000000 01", "80000000 02", "80000000 05", "40000000 03", "70000000 04"})
    expected.replace(expected.find(std::string(kind) + "000000 00000000") + 11, 2, "01");
  expected.replace(expected.find("04000000 00000000 00000000 00000000\n88776655") + 18, 8, "aa990000");
  CHECK(hex(group.records) == expected);
}

TEST_CASE("a group that was written before users were is read and done again: nobody's") {
  const std::vector<std::byte> old = unhex(format_0);
  JournalGroup group = every_kind(false);
  REQUIRE(old.size() == group.records.size());
  RecordedGame now, before;
  for (RecordedGame* game : {&now, &before}) game->registry.create(game::Health{.value = 50});
  std::vector<Envelope> inputs;
  RecordReader reader(old, group.first);
  for (auto read = reader.next(now.registry.types());; read = reader.next(now.registry.types())) {
    REQUIRE(read.has_value());
    if (!*read) break;
    if ((*read)->kind == JournalRecord::Kind::input) inputs.push_back((*read)->envelope);
  }
  REQUIRE(inputs.size() == 5);
  for (const Envelope& each : inputs) CHECK(each.user == 0);
  CHECK(inputs[2].session == its_session);
  CHECK(inputs[2].request == 77);

  Recovery of_now(now.registry, {.code = RecordedGame::code}), of_before(before.registry, {.code = RecordedGame::code});
  REQUIRE(of_now.take(group));
  group.records = old;
  REQUIRE(of_before.take(group));
  CHECK(of_before.report().exact());
  CHECK(before.registry.hash() == now.registry.hash());

  // There the place of the user is one that must be zero.
  auto wrong = old;
  wrong[24] = std::byte{1};
  CHECK(read_all(wrong, group.first, now.registry.types()) ==
        std::pair{0, std::string("byte 24: a byte that must be zero")});
}

TEST_CASE("the user of an input is read as it was written") {
  const JournalGroup group = every_kind(true);
  RecordedGame of;
  of.registry.add_type<scene::Shape>();
  RecordReader reader(group.records, group.first);
  int users = 0;
  for (auto read = reader.next(of.registry.types());; read = reader.next(of.registry.types())) {
    REQUIRE(read.has_value());
    if (!*read) break;
    if ((*read)->envelope.session == 0) {
      CHECK((*read)->envelope.user == 0);
      continue;
    }
    CHECK((*read)->envelope.session == its_session);
    CHECK((*read)->envelope.user == its_user);
    ++users;
  }
  CHECK(users == 1);
}

TEST_CASE("a group cut off anywhere is refused, or ends after a whole record") {
  const JournalGroup group = every_kind(true);
  RecordedGame of;
  of.registry.add_type<scene::Shape>();
  REQUIRE(read_all(group.records, group.first, of.registry.types()).second.empty());
  const int all = read_all(group.records, group.first, of.registry.types()).first;
  CHECK(all == 7);
  int whole = 0;
  for (std::size_t length = 0; length < group.records.size(); ++length) {
    CAPTURE(length);
    const auto cut = copied(std::span(group.records).first(length));
    const auto [count, error] = read_all(cut, group.first, of.registry.types());
    CHECK(count < all);
    if (error.empty())
      ++whole;
    else
      CHECK(error.starts_with("byte "));
  }
  CHECK(whole == all);
}

TEST_CASE("a group with one bit changed is refused with its byte, or is read and done as something else whole") {
  const JournalGroup group = every_kind(false);
  int refused = 0, taken = 0;
  for (std::size_t at = 0; at < group.records.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      CAPTURE(at, bit);
      JournalGroup changed = group;
      changed.records[at] ^= static_cast<std::byte>(1 << bit);
      RecordedGame of;
      of.registry.create(game::Health{.value = 50});
      Recovery recovery(of.registry, {.code = RecordedGame::code});
      changed.code = group.code;
      const auto done = recovery.take(changed);
      if (!done) {
        CHECK(done.error().find("byte ") != std::string::npos);
        ++refused;
      } else {
        CHECK(of.registry.sequence() == group.last);
        CHECK(recovery.report().exact());
        ++taken;
      }
    }
  }
  CHECK(refused > 1000);
  CHECK(taken > 500);  // amounts, targets, the sender's own numbers: the checksum of the group is for these
}

TEST_CASE("what a record may not say is refused, naming the byte") {
  const JournalGroup group = every_kind(true);
  RecordedGame of;
  of.registry.add_type<scene::Shape>();
  const auto error = [&](std::size_t at, std::uint8_t value) {
    auto bytes = copied(group.records);
    bytes[at] = static_cast<std::byte>(value);
    return read_all(bytes, group.first, of.registry.types()).second;
  };
  CHECK(error(4, 9) == "byte 4: unknown kind of record 9");
  std::uint32_t first = 0;
  std::memcpy(&first, group.records.data(), sizeof first);
  REQUIRE(group.records[4] == std::byte{17});
  CHECK(error(2, 1).starts_with("byte 0: a record of "));
  const std::size_t input = first;  // the push
  CHECK(error(input + 5, 2) == "byte " + std::to_string(input + 5) +
                                   ": an input of format 2, which only a newer Muster reads; this one reads up to 1");
  CHECK(error(input + 6, 1) == "byte " + std::to_string(input + 6) + ": a byte that must be zero");
  CHECK(error(input + 16, 9) == "byte " + std::to_string(input + 16) + ": sequence 9, where 2 comes next");
  CHECK(error(input + 24, 1).empty());                       // a user
  CHECK(error(5, 1) == "byte 5: a byte that must be zero");  // of a schema
  CHECK(error(input + 12, 2) == "byte " + std::to_string(input + 12) + ": more ids drawn than the batch names");
  CHECK(error(input + 48, 1) == "byte " + std::to_string(input + 48) + ": a number of a timer, where none was posted");
}

TEST_CASE("values that no field can have are read as they were recorded: a handler or host of that world made them") {
  RecordedGame of;
  of.registry.add_type<game::Swear>();
  const Entity a = of.registry.create(game::Health{});
  of.record();
  of.registry.push(a, game::Swear{.team = static_cast<game::Team>(9)});
  CHECK(read_all(of.journal().at(0).records, 2, of.registry.types()) == std::pair{1, std::string()});
}

TEST_CASE("the cuts that time made follow their input, and precede the next one if the cascade was resumed") {
  RecordedGame of({.cascade_ns_max = 1, .on_warning = [](const std::string&) {}});
  EntityRegistry& r = of.registry;
  const Entity a = r.create(game::Health{});
  of.record();
  r.push(a, game::Ping{.hops = 20});  // 16 of 20 are delivered
  r.push(a, game::Ping{.hops = 40});  // the other 4, and then 16 of 40
  r.push(a, game::Ping{.hops = 0});   // 16 of the 24, and then 8
  const JournalGroup group = of.journal().at(0);
  RecordReader reader(group.records, group.first);
  std::string read;
  std::vector<std::size_t> cuts;
  while (const auto record = reader.next(r.types()).value()) {
    if (record->kind == JournalRecord::Kind::cut) cuts.push_back(record->offset);
    read += record->kind == JournalRecord::Kind::cut
                ? "cut " + std::to_string(record->cut.resumed) + " " + std::to_string(record->cut.messages)
                : "input with " + std::to_string(record->cuts.size());
    read += ", ";
  }
  CHECK(read == "input with 1, cut 0 16, input with 2, cut 0 16, cut 1 16, input with 0, ");
  REQUIRE(cuts.size() == 3);
  const auto error = [&](std::size_t at, std::uint8_t value) {
    auto bytes = copied(group.records);
    bytes[cuts[0] + at] = static_cast<std::byte>(value);
    return read_all(bytes, group.first, r.types()).second;
  };
  const auto at = [&](std::size_t offset) { return "byte " + std::to_string(cuts[0] + offset) + ": "; };
  for (const std::size_t zero : {5u, 7u, 32u, 63u}) CHECK(error(zero, 1) == at(zero) + "a byte that must be zero");
  CHECK(error(16, 9) == at(16) + "a cut at another input than the last");
  CHECK(error(0, 128).starts_with(at(0)));
}

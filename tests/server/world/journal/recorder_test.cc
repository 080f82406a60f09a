// What a recorder says of its groups, whatever comes between, and what each byte of their records may be.
#include "server/world/journal/journal_recorder.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "registry/host.h"
#include "schema/scene.h"
#include "server/world/journal/code_identity.h"
#include "server/world/journal/journal_format.h"
#include "server/world/journal/record_reader.h"
#include "server/world/journal/recovery.h"
#include "tests/server/world/journal/recorded_game.h"

using namespace muster;
using namespace muster::test;

namespace {

/// What one record says, in words: "input 5 push 64+64", "tick 3 after 5", "schema after 5".
std::string named(const JournalRecord& record) {
  const std::string sequence = std::to_string(record.envelope.sequence);
  switch (record.kind) {
    case JournalRecord::Kind::tick: return "tick " + std::to_string(record.tick) + " after " + sequence;
    case JournalRecord::Kind::schema: return "schema after " + sequence;
    case JournalRecord::Kind::counters: return "counters after " + sequence;
    case JournalRecord::Kind::cut: return "cut after " + sequence;
    case JournalRecord::Kind::input: break;
  }
  return "input " + sequence;
}

std::vector<std::string> records_of(const JournalGroup& group, TypeTable& types) {
  std::vector<std::string> all;
  RecordReader reader(group.records, group.first);
  for (;;) {
    const auto read = reader.next(types);
    if (!read) FAIL(read.error().text);
    if (!*read) return all;
    if (!(*read)->schema.empty()) REQUIRE(types.add_schema((*read)->schema));
    all.push_back(named(**read));
  }
}

using Words = std::vector<std::string>;

struct Full final : InputSink {
  void on_input(const Envelope&, std::span<const std::byte>) override {
    if (full) throw 1;
  }
  bool full = false;
};

}  // namespace

TEST_CASE("groups follow one another without a gap, each with its ticks, its epoch, its types and its code") {
  RecordedGame of;
  EntityRegistry& r = of.registry;
  const Entity e = r.create(game::Health{});
  r.add_type<Advance>();
  const std::uint64_t first = r.sequence() + 1;
  of.record(512, 40);
  std::uint64_t tick = 40;
  for (int i = 0; i < 50; ++i) {
    r.push(e, game::Damage{});
    if (i % 3 != 0) continue;
    r.advance(1);
    of.recorder->made_tick(++tick);
  }
  std::size_t bytes = 0;
  const std::size_t waiting = of.recorder->waiting_bytes();
  const auto groups = of.recorder->take();
  CHECK(of.recorder->waiting_bytes() == 0);
  CHECK(of.recorder->take().empty());
  REQUIRE(groups.size() > 5);
  std::uint64_t next = first, ticks = 40;
  for (const JournalGroup& group : groups) {
    CHECK(group.first == next);
    CHECK(group.last >= group.first);
    CHECK(group.first_tick == ticks);
    CHECK(group.epoch == 7);
    CHECK(group.types == r.types().fingerprint());
    CHECK(group.code == code_identity(RecordedGame::code, r));
    // It ends with the record that made it long enough; a tick goes with its Advance.
    if (&group != &groups.back()) {
      CHECK(group.records.size() >= 512);
      CHECK(group.records.size() < 512 + 2 * 128);
    }
    bytes += group.records.size();
    RecordReader reader(group.records, group.first);
    std::uint64_t inputs = 0;
    while (true) {
      const auto read = reader.next(r.types());
      REQUIRE(read);
      if (!*read) break;
      if ((*read)->kind == JournalRecord::Kind::tick) {
        CHECK((*read)->tick == ++ticks);
      } else {
        ++inputs;
      }
    }
    CHECK(inputs == group.last - group.first + 1);
    CHECK(group.last_tick == ticks);
    next = group.last + 1;
  }
  CHECK(next == r.sequence() + 1);
  CHECK(ticks == tick);
  CHECK(bytes == waiting);
}

TEST_CASE("while it is paused nothing is written down; then what comes, from the sequence and the tick there are") {
  RecordedGame of;
  EntityRegistry& r = of.registry;
  const Entity e = r.create(game::Health{});
  of.record();
  r.push(e, game::Damage{});
  CHECK_FALSE(of.recorder->paused());
  of.recorder->pause();
  CHECK(of.recorder->paused());
  CHECK(of.recorder->waiting_bytes() == 0);
  r.push(e, game::Damage{});
  of.recorder->made_tick(5);
  r.add_type<scene::Shape>();  // learned meanwhile: it is in what is saved
  r.set(e, scene::Shape{});
  CHECK(of.recorder->waiting_bytes() == 0);
  CHECK(of.recorder->take().empty());
  of.recorder->resume(9);
  CHECK_FALSE(of.recorder->paused());
  const std::uint64_t first = r.sequence() + 1;
  r.push(e, game::Damage{});
  const auto groups = of.recorder->take();
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].first == first);
  CHECK(groups[0].last == first);
  CHECK(groups[0].first_tick == 9);
  CHECK(groups[0].last_tick == 9);
  CHECK(groups[0].types == r.types().fingerprint());
  TypeTable types;
  for (const auto& schema : r.types().schemas()) REQUIRE(types.add_schema(schema));
  CHECK(records_of(groups[0], types) == Words{"input " + std::to_string(first)});
}

TEST_CASE("an input that is withdrawn leaves no trace in the journal, nor does a schema that was learned with it") {
  for (const bool paused : {false, true}) {
    Full full;
    RecordedGame of;
    EntityRegistry& r = of.registry;
    const Entity e = r.create(game::Health{});
    TypeTable types;
    for (const auto& schema : r.types().schemas()) REQUIRE(types.add_schema(schema));
    of.record();
    r.host().add_sink(full);
    if (paused) of.recorder->pause();
    full.full = true;
    CHECK_THROWS(r.set(e, scene::Shape{}));
    CHECK(of.recorder->take().empty());
    full.full = false;
    if (paused) of.recorder->resume(0);
    const std::uint64_t first = r.sequence() + 1;
    const std::uint64_t known = types.fingerprint();
    r.set(e, scene::Shape{});
    r.push(e, game::Damage{});
    const auto groups = of.recorder->take();
    REQUIRE(groups.size() == 1);
    CHECK(groups[0].first == first);
    CHECK(groups[0].last == first + 1);
    const std::string n = std::to_string(first), m = std::to_string(first + 1), before = std::to_string(first - 1);
    if (paused) {
      for (const auto& schema : r.types().schemas()) (void)types.add_schema(schema);
      CHECK(records_of(groups[0], types) == Words{"input " + n, "input " + m});
    } else {
      CHECK(groups[0].types == known);
      CHECK(records_of(groups[0], types) == Words{"schema after " + before, "input " + n, "input " + m});
    }
    r.host().remove_sink(full);
  }
}

TEST_CASE("each byte of a record that says nothing is zero, and each that says something wrong is named") {
  using namespace journal_format;
  RecordedGame of;
  EntityRegistry& r = of.registry;
  r.add_type<Advance>();
  const Entity e = r.create(game::Health{.value = 50});
  of.record();
  r.add_type<scene::Shape>();
  r.push(e, game::Damage{});
  r.post(e, game::Damage{});
  r.flush();
  r.advance(10);
  of.recorder->made_tick(3);
  const JournalGroup group = of.journal().at(0);
  // Where each record begins.
  std::vector<std::pair<std::size_t, std::uint8_t>> records;
  for (std::size_t at = 0; at < group.records.size();) {
    std::uint32_t bytes;
    std::memcpy(&bytes, &group.records[at], sizeof bytes);
    records.emplace_back(at, static_cast<std::uint8_t>(group.records[at + 4]));
    at += bytes;
  }
  std::vector<std::uint8_t> kinds;
  for (const auto& [at, kind] : records) kinds.push_back(kind);
  REQUIRE(kinds == std::vector<std::uint8_t>{kind_schema, 1, 2, 3, 4, kind_tick});
  const auto error = [&](std::span<const std::byte> bytes) {
    RecordReader reader(bytes, group.first);
    for (;;) {
      const auto read = reader.next(r.types());
      if (!read) {
        CHECK(read.error().text.starts_with("byte " + std::to_string(read.error().offset) + ": "));
        return read.error().text.substr(read.error().text.find(": ") + 2) + (read.error().can_go_on ? ", on" : "");
      }
      if (!*read) return std::string();
    }
  };
  CHECK(error(group.records).empty());
  const auto with = [&](std::size_t at, auto value) {
    auto bytes = group.records;
    std::memcpy(&bytes[at], &value, sizeof value);
    return error(bytes);
  };
  for (const auto& [begin, kind] : records) {
    const auto zero = [&](std::size_t from, std::size_t to) {
      for (std::size_t at = begin + from; at < begin + to; ++at) {
        CAPTURE(at - begin, int{kind});
        CHECK(with(at, std::uint8_t{1}) == "a byte that must be zero");
      }
    };
    if (kind == kind_tick) {
      zero(5, 16);
      zero(32, 64);
      CHECK(with(begin + 16, group.last + 1) == "a tick at another input than the last");
    } else if (kind == kind_schema) {
      zero(5, 16);
      zero(24, 40);
      zero(48, 64);
      CHECK(with(begin + 16, group.first) == "a schema at another input than the last");
      std::uint32_t bytes;
      std::memcpy(&bytes, &group.records[begin], sizeof bytes);
      std::uint64_t length;
      std::memcpy(&length, &group.records[begin + 40], sizeof length);
      const auto refused = [&](std::uint64_t other) {
        return "a schema of " + std::to_string(other) + " bytes in " + std::to_string(bytes - 64);
      };
      CHECK(with(begin + 40, std::uint64_t{bytes - 63}) == refused(bytes - 63));
      CHECK(with(begin + 40, std::uint64_t{bytes - 64 - 16}) == refused(bytes - 64 - 16));
      CHECK(with(begin + 40, ~std::uint64_t{0}) == refused(~std::uint64_t{0}));
      for (std::size_t at = begin + 64 + length; at < begin + bytes; ++at)
        CHECK(with(at, std::uint8_t{1}) == "a byte that must be zero");
    } else {
      zero(6, 8);
      zero(56, 64);
      CHECK(with(begin + 5, std::uint8_t{2}) ==
            "an input of format 2, which only a newer Muster reads; this one reads up to 1");
      auto older = group.records;
      older[begin + 5] = std::byte{0};
      CHECK(error(older).empty());
      for (std::size_t at = begin + 24; at < begin + 32; ++at) {
        auto with_user = older;
        with_user[at] = std::byte{1};
        CHECK(error(with_user) == "a byte that must be zero");
        CHECK(with(at, std::uint8_t{1}).empty());
      }
      if (kind != 2) CHECK(with(begin + 48, std::uint64_t{1}) == "a number of a timer, where none was posted");
      std::uint64_t sequence;
      std::memcpy(&sequence, &group.records[begin + 16], sizeof sequence);
      CHECK(with(begin + 16, sequence + 1) ==
            "sequence " + std::to_string(sequence + 1) + ", where " + std::to_string(sequence) + " comes next");
      const std::uint32_t drawn_too_many = kind == 3 ? 1 : 2;
      CHECK(with(begin + 12, drawn_too_many) ==
            (kind == 3 ? "ids that a flush drew, on" : "more ids drawn than the batch names, on"));
    }
  }
  // Kinds that there are not, and bounds that no record has.
  const std::size_t push = records[1].first, flush = records[3].first, tick = records[5].first;
  for (const int kind : {0, 6, 15, 21, 255})
    CHECK(with(push + 4, static_cast<std::uint8_t>(kind)) == "unknown kind of record " + std::to_string(kind));
  CHECK(with(push + 4, std::uint8_t{3}) == "a flush with a batch, on");
  CHECK(with(flush + 4, std::uint8_t{1}) == "an input without its batch, on");
  CHECK(with(push + 4, std::uint8_t{4}) == "the clock is moved by another message than Advance, on");
  const auto left = [&](std::size_t at) { return std::to_string(group.records.size() - at); };
  for (const std::uint32_t bytes : {0u, 48u, 72u}) {
    CHECK(with(push, bytes) == "a record of " + std::to_string(bytes) + " bytes, where " + left(push) + " are left");
  }
  CHECK(with(tick, 80u) == "a record of 80 bytes, where 64 are left");
  CHECK(error(std::span(group.records).first(tick + 48)) ==
        "the group ends inside a record's header, after 48 bytes of it");
  auto longer = group.records;
  longer.resize(longer.size() + 16);
  const std::uint32_t of_tick = 80;
  std::memcpy(&longer[tick], &of_tick, sizeof of_tick);
  CHECK(error(longer) == "a tick of 80 bytes");
}

TEST_CASE("a recovery says in sentences what became of the journal, counts of one without an s") {
  RecoveryReport report;
  CHECK(report.text().empty());
  CHECK(report.exact());
  report.groups = 5;
  CHECK(report.text().empty());
  report.inputs = 1;
  report.ticks = 2;
  CHECK(report.text() == "1 input with 2 ticks were done again from the journal.");
  report.inputs = 3;
  report.ticks = 1;
  CHECK(report.text() == "3 inputs with 1 tick were done again from the journal.");
  report.edits_only = 2;
  report.why = "of that";
  report.edits = 1;
  report.left_out = 4;
  report.ticks_lost = 6;
  CHECK_FALSE(report.exact());
  const std::string two =
      "3 inputs with 1 tick were done again from the journal. of 2 groups of the journal the edits alone were applied, "
      "because of that: 1 edit applied, 4 inputs and 6 ticks left out.";
  CHECK(report.text() == two);
  report.failed = 2;
  CHECK(report.text() == two + " 2 edits could not be applied.");
}

namespace {

/// A journal of what `act` does to a game with two entities; the rows before it.
struct Recorded {
  RecordedGame live;
  std::vector<Entity> units;
  naive::StateRows checkpoint;
  std::vector<JournalGroup> groups;
  explicit Recorded(const std::function<void(RecordedGame&, std::vector<Entity>&)>& act) {
    for (int i = 0; i < 2; ++i) units.push_back(live.registry.create(game::Health{.value = 100}));
    live.registry.add_type<Grant>();
    checkpoint = naive::saved_rows(live.registry);
    live.record();
    act(live, units);
    groups = live.journal();
  }
};

void session_hits(EntityRegistry& r, Entity e, float amount) {
  BatchBuilder edit;
  edit.append(e, game::Damage{.amount = amount});
  r.host().push_batch(edit.bytes(), {.session = 5, .request = 1});
}

}  // namespace

TEST_CASE("a group that does not end where it says is refused, and one with bytes that mean nothing") {
  const Recorded recorded([](RecordedGame& live, auto& units) { session_hits(live.registry, units[0], 1); });
  const std::uint64_t last = recorded.groups.at(0).last;
  for (const bool same_code : {true, false}) {
    RecordedGame again;
    again.load(recorded.checkpoint);
    Recovery recovery(again.registry, {.code = same_code ? RecordedGame::code : "other"});
    JournalGroup group = recorded.groups.at(0);
    ++group.last;
    CHECK(recovery.take(group).error() ==
          "journal group 1: ends with input " + std::to_string(last) + ", not " + std::to_string(last + 1));
    RecordedGame third;
    third.load(recorded.checkpoint);
    Recovery other(third.registry, {.code = same_code ? RecordedGame::code : "other"});
    group = recorded.groups.at(0);
    group.records[4] = std::byte{9};
    CHECK(other.take(group).error() == "journal group 1, byte 4: unknown kind of record 9");
  }
}

TEST_CASE("types that are others than those that were recorded make it the edits alone, and say so") {
  const Recorded recorded([](RecordedGame& live, auto& units) {
    session_hits(live.registry, units[0], 1);
    live.registry.push(units[0], game::Damage{.amount = 50});
  });
  RecordedGame again;
  again.load(recorded.checkpoint);
  again.registry.add_type<scene::Shape>();
  Recovery recovery(again.registry, {.code = RecordedGame::code});
  REQUIRE(recovery.take(recorded.groups.at(0)));
  CHECK(recovery.report().why == "the types are others than when it was written");
  CHECK(recovery.report().groups == 1);
  CHECK(recovery.report().edits_only == 1);
  CHECK(recovery.report().edits == 1);
  CHECK(recovery.report().left_out == 1);
  CHECK(recovery.report().inputs == 0);
  CHECK(again.registry.get<game::Health>(recorded.units[0]).value == 99);
}

TEST_CASE("of the edits alone those that fail are counted, and the first of them listed with their places") {
  const Recorded recorded([](RecordedGame& live, auto& units) {
    live.registry.destroy(units[0]);  // the host's own: left out
    for (int i = 0; i < 70; ++i) {
      BatchBuilder edit;  // refused: no such component
      edit.append(units[1], Remove{.component = TypeTraits<game::Armor>::id});
      live.registry.host().push_batch(edit.bytes(), {.session = 5, .request = 1});
    }
    session_hits(live.registry, {900, 1}, 1);
  });
  RecordedGame again;
  again.load(recorded.checkpoint);
  Recovery recovery(again.registry, {.code = "other"});
  REQUIRE(recovery.take(recorded.groups.at(0)));
  const RecoveryReport& report = recovery.report();
  CHECK(report.edits == 71);
  CHECK(report.left_out == 1);
  CHECK(report.failed == 71);
  REQUIRE(report.listed.size() == RecoveryReport::listed_max);
  const std::uint64_t first = recorded.groups.at(0).first + 1;
  for (std::size_t i = 0; i < report.listed.size(); ++i) {
    const std::string place = "journal group 1, input " + std::to_string(first + i) + ": muster.Remove was refused: ";
    CHECK(report.listed[i].starts_with(place));
    CHECK(report.listed[i].size() > place.size());
  }
  CHECK(again.registry.alive(recorded.units[0]));
  CHECK(again.registry.sequence() == recorded.groups.at(0).last);
}

TEST_CASE("of the edits alone texts, templates and grants are kept, and passes, clocks and posts are not") {
  const Recorded recorded([](RecordedGame& live, auto& units) {
    EntityRegistry& r = live.registry;
    r.intern("of the server");
    r.push(units[0], game::Spawn{.children = 3});  // handlers draw ids
    const Entity first = r.host().grant(10, 5);
    BatchBuilder create;
    create.append_rows(first, Create{}, game::Health{.value = 7});
    create.append_rows(Entity{first.index + 9, 1}, Create{}, game::Health{.value = 8});
    r.host().push_batch(create.bytes(), {.session = 5, .request = 1});
    r.advance(500);
    live.recorder->made_tick(4);
    r.post(units[0], game::Damage{.amount = 30});
    r.flush();
    session_hits(r, {first.index + 9, 1}, 1);
  });
  RecordedGame again;
  again.load(recorded.checkpoint);
  Recovery recovery(again.registry, {.code = "other", .tick = 3});
  REQUIRE(recovery.take(recorded.groups.at(0)));
  const RecoveryReport& report = recovery.report();
  CHECK(report.failed == 0);
  CHECK(report.edits == 2);
  CHECK(report.ticks_lost == 1);
  CHECK(report.ticks == 0);
  CHECK(report.left_out == 4);  // the spawn, the clock, the post, the flush
  CHECK(recovery.tick() == 3);
  CHECK(again.registry.now_ns() == 0);
  CHECK_FALSE(again.registry.text(text_of("of the server")).empty());
  CHECK(again.registry.get<game::Health>(recorded.units[0]).value == 100);
  CHECK(again.registry.child_count(recorded.units[0]) == 0);
  CHECK(again.registry.entity_count() == 4);
  CHECK(again.registry.sequence() == recorded.groups.at(0).last);
  std::vector<float> values;
  again.registry.each<const game::Health>([&](const game::Health& health) { values.push_back(health.value); });
  std::ranges::sort(values);
  CHECK(values == std::vector<float>{7, 7, 100, 100});
}

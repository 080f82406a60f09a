// The same bytes through our classes and through those that flatc itself writes (namespaces led by flat_).
#include <bit>
#include <catch2/catch.hpp>
#include <cstring>

#include "everything.h"
#include "everything_generated.h"

namespace {

golden::Health full_health() {
  golden::Health h;
  h.value = -5;
  h.regen = 2.25f;
  h.team = golden::Team::red;
  h.gate = golden::Gate::broken;
  h.traits = golden::Trait::ice | golden::Trait::class_;
  h.alive = false;
  h.class_ = 9;
  h.at = {.x = 7, .y = 8, .z = 9};
  h.tint = {{1, 2, 3, 4}};
  h.slots[1] = {.count = 12, .item = {.hash = 77}, .owner = {.index = 5, .generation = 6}};
  h.path[1].z = 42;
  h.big = 1;
  h.low = -2;
  h.precise = 1e300;
  h.tiny = 3;
  h.mesh = {.hash = 88};
  h.target = {.index = 10, .generation = 11};
  h.place.m[15] = 0.5f;
  h.flags = {{false, true, false}};
  return h;
}

}  // namespace

TEST_CASE("flatc's struct reads our bytes", "[bytes]") {
  STATIC_REQUIRE(sizeof(golden::Health) == sizeof(flat_golden::Health));
  STATIC_REQUIRE(alignof(golden::Health) == alignof(flat_golden::Health));
  const golden::Health ours = full_health();
  const auto& theirs = *reinterpret_cast<const flat_golden::Health*>(&ours);
  CHECK(theirs.value() == -5);
  CHECK(theirs.regen() == 2.25f);
  CHECK(theirs.team() == flat_golden::Team::red);
  CHECK(theirs.gate() == flat_golden::Gate::broken);
  CHECK(theirs.traits() == (flat_golden::Trait::ice | flat_golden::Trait::class_));
  CHECK_FALSE(theirs.alive());
  CHECK(theirs.class_() == 9);
  CHECK(theirs.at().y() == 8);
  CHECK(theirs.tint()->Get(3) == 4);
  CHECK(theirs.slots()->Get(0)->count() == 2);  // a default
  CHECK(theirs.slots()->Get(1)->item() == 77);
  CHECK(theirs.slots()->Get(1)->owner().generation() == 6);
  CHECK(theirs.path()->Get(1)->z() == 42);
  CHECK(theirs.path()->Get(0)->y() == 2);  // a default
  CHECK(theirs.big() == 1);
  CHECK(theirs.low() == -2);
  CHECK(theirs.precise() == 1e300);
  CHECK(theirs.tiny() == 3);
  CHECK(theirs.mesh() == 88);
  CHECK(theirs.target().index() == 10);
  CHECK(theirs.place().m()->Get(15) == 0.5f);
  CHECK(theirs.place().m()->Get(0) == 1.0f);  // a default
  CHECK(theirs.flags()->Get(1));
}

TEST_CASE("We read the bytes of flatc's struct", "[bytes]") {
  const flat_golden::Damage theirs(12, flat_muster::Entity(3, 4));
  const auto ours = std::bit_cast<golden::Damage>(theirs);
  CHECK(ours == golden::Damage{.amount = 12, .from = {.index = 3, .generation = 4}});
  CHECK(std::memcmp(&ours, &theirs, sizeof ours) == 0);
}

namespace {

golden::Chat full_chat() {
  golden::Chat c;
  c.text = "hello";
  c.from = {.index = 1, .generation = 2};
  c.channel = {.hash = 3};
  c.volume = 4;
  c.count = 5;
  c.loud = false;
  c.team = golden::Team::red;
  c.traits = golden::Trait::fire;
  c.big = 6;
  c.maybe = 0;
  c.maybe_team = golden::Team::neutral;
  c.place = golden::Vec3{.x = 1, .y = 2, .z = 3};
  c.home = {.x = 4, .y = 5, .z = 6};
  c.bytes = {1, 2, 3};
  c.path = {{.x = 1}, {.y = 2}};
  c.readers = {{.index = 8, .generation = 9}};
  c.teams = {golden::Team::blue, golden::Team::red};
  c.switches = {1, 0, 1};
  c.words = {"a", "", "ccc"};
  c.precise = {0.5, 1.5};
  c.first = golden::Line{.text = "first"};
  c.last = {.text = "last", .at = 2};
  c.lines = {{.text = "one"}, {.text = "two", .at = 3}, {}};
  c.decode_ = 11;
  return c;
}

}  // namespace

TEST_CASE("flatc's verifier and accessors accept our table", "[bytes]") {
  const std::vector<std::byte> bytes = muster::encode(full_chat());
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  flatbuffers::Verifier verifier(data, bytes.size());
  REQUIRE(verifier.VerifyBuffer<flat_golden::Chat>(nullptr));
  const auto* c = flatbuffers::GetRoot<flat_golden::Chat>(data);
  CHECK(c->text()->str() == "hello");
  CHECK(c->from()->generation() == 2);
  CHECK(c->channel() == 3);
  CHECK(c->volume() == 4);
  CHECK(c->count() == 5);
  CHECK_FALSE(c->loud());
  CHECK(c->team() == flat_golden::Team::red);
  CHECK(c->traits() == flat_golden::Trait::fire);
  CHECK(c->big() == 6);
  CHECK(c->maybe() == flatbuffers::Optional<int32_t>(0));
  CHECK(c->maybe_team().has_value());
  CHECK(c->place()->z() == 3);
  CHECK(c->home()->x() == 4);
  CHECK(c->bytes()->size() == 3);
  CHECK(c->path()->Get(1)->y() == 2);
  CHECK(c->readers()->Get(0)->index() == 8);
  CHECK(c->teams()->size() == 2);
  CHECK(c->switches()->Get(2) == 1);
  CHECK(c->words()->Get(1)->str().empty());
  CHECK(c->words()->Get(2)->str() == "ccc");
  CHECK(c->precise()->Get(1) == 1.5);
  CHECK(c->first()->text()->str() == "first");
  CHECK(c->first()->at() == 0.25);
  CHECK(c->last()->at() == 2);
  CHECK(c->lines()->Get(1)->at() == 3);
  CHECK(c->lines()->Get(2)->text() == nullptr);
  CHECK(c->decode() == 11);
}

TEST_CASE("We read a table that flatc's builder made", "[bytes]") {
  flatbuffers::FlatBufferBuilder b;
  const flat_golden::Vec3 home(4, 5, 6);
  const flat_muster::Entity from(1, 2);
  const std::vector<flatbuffers::Offset<flat_golden::Line>> lines = {flat_golden::CreateLineDirect(b, "one"),
                                                                     flat_golden::CreateLineDirect(b, "two", 3)};
  const std::vector<flat_muster::Entity> readers = {{8, 9}};
  const auto all = b.CreateVector(lines);
  const auto who = b.CreateVectorOfStructs(readers);
  const auto words = b.CreateVectorOfStrings({"x", "yy"});
  const auto text = b.CreateString("hi");
  const auto last = flat_golden::CreateLineDirect(b, "last");
  flat_golden::ChatBuilder chat(b);
  chat.add_text(text);
  chat.add_from(&from);
  chat.add_home(&home);
  chat.add_lines(all);
  chat.add_readers(who);
  chat.add_words(words);
  chat.add_last(last);
  chat.add_maybe(7);
  b.Finish(chat.Finish());
  const auto made = std::as_bytes(std::span(b.GetBufferPointer(), b.GetSize()));
  const std::vector<std::byte> bytes(made.begin(), made.end());

  const auto view = golden::ChatView::from(bytes);
  CHECK(view.text() == "hi");
  CHECK(view.from() == muster::Entity{.index = 1, .generation = 2});
  CHECK(view.home().z == 6);
  CHECK(view.place() == nullptr);
  CHECK(view.volume() == 1.5f);
  CHECK(view.team() == golden::Team::blue);
  CHECK(view.big() == 9223372036854775807u);
  CHECK(view.maybe() == 7);
  CHECK_FALSE(view.maybe_team().has_value());
  CHECK(view.readers().size() == 1);
  CHECK(view.readers()[0].generation == 9);
  CHECK(view.words().size() == 2);
  CHECK(view.words()[1] == "yy");
  CHECK(view.lines()[1].at() == 3);
  CHECK_FALSE(view.first());
  CHECK(view.first().at() == 0.25);  // an absent table reads as one without fields
  CHECK(view.bytes().empty());
  std::size_t counted = 0;
  for (const golden::LineView line : view.lines()) counted += line.text().size();
  CHECK(counted == 6);

  const golden::Chat native = view.decode();
  CHECK(native.text == "hi");
  CHECK(native.lines.at(0) == golden::Line{.text = "one"});
  CHECK_FALSE(native.first.has_value());
  CHECK(golden::ChatView::from(muster::encode(native)).decode() == native);
}

TEST_CASE("A table comes back from its bytes as it was", "[bytes]") {
  const golden::Chat chat = full_chat();
  std::vector<std::byte> bytes;
  muster::encode(chat, bytes);
  CHECK(golden::ChatView::from(bytes).decode() == chat);
  const golden::Chat empty;
  muster::encode(empty, bytes);
  CHECK(golden::ChatView::from(bytes).decode() == empty);
  muster::encode(golden::Nothing{}, bytes);
  CHECK(golden::NothingView::from(bytes).decode() == golden::Nothing{});
  CHECK(muster::encode(chat) == muster::encode(chat));  // equal tables are equal bytes
}

TEST_CASE("A table that holds itself comes back, compared by content", "[bytes]") {
  golden::Tree tree{.value = 1};
  tree.left = std::make_unique<golden::Tree>();
  tree.left->value = 2;
  tree.rest.resize(3);
  tree.rest[2].value = 3;
  const std::vector<std::byte> bytes = muster::encode(tree);
  golden::Tree back = golden::TreeView::from(bytes).decode();
  CHECK(back == tree);
  back.left->value = 4;
  CHECK_FALSE(back == tree);
  back.left.reset();
  CHECK_FALSE(back == tree);
}

TEST_CASE("Equal vtables are written once", "[bytes]") {
  golden::Chat few, many;
  few.lines.resize(1, {.text = "line", .at = 1});
  many.lines.resize(101, {.text = "line", .at = 1});
  // offset, vtable link, text offset, at, string with its length and zero: 4 + 4 + 4 + 8 + 12 and padding.
  CHECK(muster::encode(many).size() - muster::encode(few).size() <= 100 * 37);
}

TEST_CASE("Enums have names, and flags combine", "[bytes]") {
  using golden::Trait;
  STATIC_REQUIRE(name_of(golden::Gate::broken) == "broken");
  STATIC_REQUIRE(name_of(static_cast<golden::Gate>(5)).empty());
  STATIC_REQUIRE(any((Trait::fire | Trait::ice) & Trait::ice));
  STATIC_REQUIRE_FALSE(any(Trait::fire & ~Trait::fire));
  STATIC_REQUIRE((Trait::fire ^ Trait::fire) == Trait{});
}

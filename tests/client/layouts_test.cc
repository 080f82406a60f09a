// A program that was compiled with headers of another day than the world it is connected to: of a server that is made up.
#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <vector>

#include "messages/row_set.h"
#include "program_td.h"
#include "tests/client/made_up_server.h"
#include "tests/support/folder.h"

namespace layouts_test {

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;
using Asked = MadeUpServer::Asked;
using Kind = ClientError::Kind;

namespace {

constexpr Entity creep{5, 1};

const std::string other = " has a different layout in the world than in this program: ";
const std::string creep_fault = "td.Creep" + other + "td.Creep.armor: is called hp in this program";
const std::string hit_fault = "td.Hit" + other + "td.Hit.by: is called amount in this program";

std::vector<std::uint8_t> schema_file(const char* name) {
  const std::string text = test::read_file(std::string(MUSTER_TEST_SCHEMAS "/") + name);
  return {text.begin(), text.end()};
}

/// The types of the world, to make its bytes with.
struct World {
  TypeTable types;
  World() {
    for (const char* file : {"world_td.bfbs", "learned_td.bfbs"}) {
      const auto bytes = schema_file(file);
      REQUIRE(types.add_schema(std::as_bytes(std::span(bytes))));
    }
  }
  /// A Set of one component.
  std::vector<std::byte> set(const char* component) const {
    const TypeDescriptor& type = *types.find(component);
    const PayloadShape shape = PayloadShape::of(type);
    const RowSet rows(PayloadShape::of<Set>(), std::span(&shape, 1));
    BatchBuilder builder;
    std::memset(builder.append_rows(rows, creep), 0, rows.shape().bytes);
    return {builder.bytes().begin(), builder.bytes().end()};
  }
  std::vector<std::byte> message(const char* name) const {
    BatchBuilder builder;
    const PayloadShape shape = PayloadShape::of(*types.find(name));
    std::memset(builder.append(shape, creep), 0, shape.bytes);
    return {builder.bytes().begin(), builder.bytes().end()};
  }
};

/// Acknowledges what comes, opens watches, and sends them a frame with each Save.
struct Script {
  std::vector<std::vector<std::byte>> frames = {};
  std::vector<std::byte> shown = {};
  std::vector<std::uint8_t> learned = {};
  std::uint64_t watch = 0;
  void operator()(MadeUpServer& it, const Asked& asked) {
    if (asked.is<session::Follow>()) {
      watch = asked.request;
      it.say(watch, session::Watching{.sequence = 1});
      for (const auto& frame : frames) it.say_batch(watch, frame);
    } else if (asked.is<session::Show>()) {
      it.say(asked.request, session::Shown{}, frame_more);
      it.say_batch(asked.request, shown);
    } else if (asked.is<session::Save>()) {
      if (!learned.empty()) it.say(0, session::Schema{.count = 1, .bytes = learned});
      it.say(asked.request, session::Saved{.sequence = 3});
    } else {
      it.say(asked.request, session::Ack{.sequence = 1});
    }
  }
};

struct Connected {
  MadeUpServer server;
  Client client;
  explicit Connected(Script script = {}, CompiledSchemas compiled = detail::compiled_schemas())
      : server(std::move(script)), client(with_schema(server, compiled)) {}
  static Client with_schema(MadeUpServer& server, CompiledSchemas compiled) {
    server.schema = schema_file("world_td.bfbs");
    return Client::connect(server.options(), compiled).value();
  }
  /// How many messages came that are none of the session's own.
  std::size_t sent() const {
    std::size_t count = 0;
    for (const Asked& each : server.asked()) {
      const TypeDescriptor* const type = client.types().find(each.batch().type());
      count += !type || !type->name.starts_with("muster.session.");
    }
    return count;
  }
};

template <class T>
void refused(const Result<T>& result, const std::string& text) {
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == Kind::mistaken);
  CHECK(result.error().text == text);
}

/// Fetches what a watch brings: the types of what came, then the error.
std::pair<std::vector<TypeId>, std::string> fetched(Client& client, std::uint64_t watch) {
  std::vector<TypeId> came;
  while (true) {
    const auto frame = client.next(watch, 5s);
    if (!frame) return {came, frame.error().text};
    if (!*frame) return {came, "nothing more"};
    if (!(*frame)->is<session::Watching>()) came.push_back((*frame)->batch().type());
    if ((*frame)->is<Destroy>()) return {came, ""};
  }
}
std::vector<std::byte> last() {
  BatchBuilder builder;
  builder.append(creep, Destroy{});
  return {builder.bytes().begin(), builder.bytes().end()};
}

}  // namespace

TEST_CASE("a message or component that the world lays out otherwise is not sent, and the sentence names the field",
          "[client]") {
  Connected it;
  refused(it.client.push(creep, td::Hit{.amount = 7}), hit_fault);
  refused(it.client.push(std::span(&creep, 1), td::Hit{.amount = 7}), hit_fault);
  refused(it.client.push(td::Hit{.amount = 7}), hit_fault);
  refused(it.client.set(creep, td::Creep{.hp = 1}), creep_fault);
  refused(it.client.set(creep, td::Same{}, td::Creep{.hp = 1}), creep_fault);
  refused(it.client.create({}, "new", td::Creep{.hp = 1}), creep_fault);
  CHECK(it.sent() == 0);
  CHECK(it.client.push(creep, td::Heal{.amount = 7}));
  CHECK(it.client.set(creep, td::Same{.value = 3}));
  CHECK(it.sent() == 2);
}

TEST_CASE("a batch of a program's own making is looked at as well, whatever its kind", "[client]") {
  Connected it;
  BatchBuilder each, rows, table;
  each.append(creep, td::Hit{.amount = 7});
  rows.append_rows(creep, Set{}, td::Same{}, td::Creep{.hp = 1});
  table.append_table(TypeTraits<td::Say>::id, {}, encode(td::Say{.lines = {{.text = "hello"}}}));
  refused(it.client.push_batch(each.bytes()), hit_fault);
  refused(it.client.post_batch(each.bytes()), hit_fault);
  refused(it.client.post_batch(each.bytes(), false), hit_fault);
  refused(it.client.send(each.bytes()), hit_fault);
  refused(it.client.push_batch(rows.bytes()), creep_fault);
  refused(it.client.push_batch(table.bytes()), "td.Say" + other + "td.Line.text: is at 6, but at 4 in this program");
  CHECK(it.sent() == 0);
}

TEST_CASE("each way in which two layouts differ is found", "[client]") {
  Connected it;
  refused(it.client.set(creep, td::Tower{}), "td.Tower" + other + "td.Place.y: is called x in this program");
  refused(it.client.set(creep, td::Slots{}),
          "td.Slots" + other + "td.Slots.items: has 3 elements of 4 bytes, but 2 of 4 in this program");
  refused(it.client.set(creep, td::Shield{}),
          "td.Shield" + other + "td.Shield: is enableable here, but not in this program");
  refused(it.client.set(creep, td::Side{}),
          "td.Side" + other + "td.Side.team: red of td.Team is 2, but 1 in this program");
  refused(it.client.push(creep, td::Ask{}),
          "td.Ask" + other + "td.Ask.side: red of td.Team is 2, but 1 in this program");
  refused(it.client.push(creep, td::Gone{}), "the world has no type td.Gone");
  BatchBuilder gone;
  gone.append(creep, td::Gone{});
  refused(it.client.push_batch(gone.bytes()), "the world has no type td.Gone");
  CHECK(it.sent() == 0);
}

TEST_CASE("a table that has more fields in the world is sent and read, one that has fewer is not", "[client]") {
  BatchBuilder chat, order;
  chat.append_table(TypeTraits<td::Chat>::id, {}, encode(td::Chat{.text = "hello"}));
  order.append_table(TypeTraits<td::Order>::id, {}, encode(td::Order{.what = "bread", .count = 3}));
  Connected it(Script{.frames = {{chat.bytes().begin(), chat.bytes().end()}, last()}});
  CHECK(it.client.push_batch(chat.bytes()));
  refused(it.client.push_batch(order.bytes()), "td.Order" + other + "td.Order.count: is new in this program");
  const auto watch = it.client.follow({.world = true, .inputs = true});
  REQUIRE(watch);
  const auto [came, error] = fetched(it.client, *watch);
  CHECK(came == std::vector<TypeId>{TypeTraits<td::Chat>::id, TypeTraits<Destroy>::id});
}

TEST_CASE("a watch hands out what came before a value with another layout, and fails from there on", "[client]") {
  const World world;
  for (const char* component : {"td.Creep", "td.Slots"}) {
    Connected it(Script{.frames = {world.set("td.Same"), world.set(component), world.set("td.Same"), last()}});
    const auto watch = it.client.follow({.world = true, .values = true});
    REQUIRE(watch);
    const auto [came, error] = fetched(it.client, *watch);
    CHECK(came == std::vector<TypeId>{TypeTraits<Set>::id});
    CHECK(error.starts_with(component + other));
    CHECK_FALSE(it.client.next(*watch, 0s));
    // Other calls go on, and so does another watch.
    CHECK(it.client.ask<session::Save>());
    CHECK(it.client.unwatch(*watch).error().kind == Kind::lost);  // the script knows no other answer
    REQUIRE(it.client.next(0, 0s));
  }
}

TEST_CASE("events and columns of values with another layout are not handed out either", "[client]") {
  const World world;
  BatchBuilder columns;
  session::append(columns, session::Values{.component = TypeTraits<td::Creep>::id,
                                           .value_bytes = 16,
                                           .entities = {creep},
                                           .values = std::vector<std::uint8_t>(16)});
  session::append(columns, session::Values{.component = TypeTraits<td::Same>::id});
  const std::vector<std::pair<std::vector<std::byte>, std::string>> frames = {
      {world.message("td.Hit"), hit_fault}, {{columns.bytes().begin(), columns.bytes().end()}, creep_fault}};
  for (const auto& [frame, fault] : frames) {
    Connected it(Script{.frames = {world.message("td.Heal"), frame, last()}});
    const auto watch = it.client.follow({.world = true, .values = true, .inputs = true});
    REQUIRE(watch);
    const auto [came, error] = fetched(it.client, *watch);
    CHECK(came == std::vector<TypeId>{TypeTraits<td::Heal>::id});
    CHECK(error == fault);
  }
}

TEST_CASE("what waits for its time is not handed out either if it holds another layout", "[client]") {
  const World world;
  for (const auto& [waits, fault] :
       {std::pair{world.message("td.Hit"), hit_fault}, {world.set("td.Creep"), creep_fault}}) {
    BatchBuilder timed;
    timed.append_timed(1000, 1, BatchView(std::span(waits)));
    Connected it(Script{.frames = {world.message("td.Heal"), {timed.bytes().begin(), timed.bytes().end()}, last()}});
    const auto watch = it.client.follow({.world = true, .inputs = true});
    REQUIRE(watch);
    const auto [came, error] = fetched(it.client, *watch);
    CHECK(came == std::vector<TypeId>{TypeTraits<td::Heal>::id});
    CHECK(error == fault);
  }
}

TEST_CASE("a watch that asks for a type with another layout is refused before it is opened", "[client]") {
  Connected it;
  refused(it.client.follow(
              {.world = true, .values = true, .components = {TypeTraits<td::Same>::id, TypeTraits<td::Creep>::id}}),
          creep_fault);
  refused(it.client.follow({.world = true, .inputs = true, .input_types = {TypeTraits<td::Hit>::id}}), hit_fault);
  refused(it.client.follow({.world = true, .pushed = {TypeTraits<td::Hit>::id}}), hit_fault);
  CHECK(it.server.count<session::Follow>() == 0);
  CHECK(it.client.follow({.world = true, .values = true, .components = {TypeTraits<td::Same>::id}}));
}

TEST_CASE("of an entity that is shown, the values whose layout fits are had by class, the others by name alone",
          "[client]") {
  const World world;
  Connected it(Script{.shown = world.set("td.Creep")});
  const auto shown = it.client.show(creep);
  REQUIRE(shown);
  REQUIRE(shown->components.size() == 1);
  CHECK(shown->has<td::Creep>());
  refused(shown->get<td::Creep>(), creep_fault);
  refused(shown->get<td::Same>(), "the entity has no td.Same");
  CHECK(shown->components[0].value.size() == 16);
  BatchBuilder question;
  session::append(question, session::Show{.entity = creep});
  refused(it.client.wait(it.client.send(question.bytes()).value()), creep_fault);

  Connected same(Script{.shown = world.set("td.Same")});
  CHECK(same.client.show(creep)->get<td::Same>());
}

TEST_CASE("what is done by name has the world's layout", "[client]") {
  const World world;
  Connected it(Script{.shown = world.set("td.Creep")});
  REQUIRE(it.client.push("Hit", creep, {{"amount", "7"}}));
  REQUIRE(it.client.set(creep, "Creep", {{"hp", "3"}}));
  REQUIRE(it.client.set_field(creep, "Creep.hp", "3"));
  std::vector<Asked> sent;
  for (const Asked& each : it.server.asked())
    if (each.batch().type() == TypeTraits<td::Hit>::id || each.is<Set>()) sent.push_back(each);
  REQUIRE(sent.size() == 2);
  std::int32_t amount = 0;
  std::memcpy(&amount, sent[0].batch().payload(0) + 8, sizeof amount);
  CHECK(amount == 7);
  float hp = 0;
  std::memcpy(&hp, sent[1].batch().payload(0) + sent[1].batch().row_set()[0].offset + 8, sizeof hp);
  CHECK(hp == 3);
}

TEST_CASE("a type that the world learns while a client is connected is compared then", "[client]") {
  const World world;
  Connected it(Script{.frames = {world.set("td.Same")}, .learned = schema_file("learned_td.bfbs")});
  refused(it.client.set(creep, td::Learned{}), "the world has no type td.Learned");
  REQUIRE(it.client.ask<session::Save>());
  const std::string fault = "td.Learned" + other + "td.Learned.since: is called value in this program";
  refused(it.client.set(creep, td::Learned{}), fault);
  refused(it.client.follow({.world = true, .values = true, .components = {TypeTraits<td::Learned>::id}}), fault);
}

TEST_CASE("a type that the world suddenly has with another layout ends the session", "[client]") {
  // A server ends its sessions when a type changes; this one says it to a client that is connected.
  Connected it(Script{.learned = {TypeTraits<td::Creep>::schema.begin(), TypeTraits<td::Creep>::schema.end()}});
  const auto saved = it.client.ask<session::Save>();
  REQUIRE_FALSE(saved);
  CHECK(saved.error().kind == Kind::lost);
  CHECK(saved.error().text.starts_with("the server sent a bad schema: td."));
}

TEST_CASE("a program that says it was compiled with nothing is handed all bytes as they are", "[client]") {
  // As all were before: this is what the tests above must not find.
  const World world;
  Connected it(Script{.frames = {world.set("td.Creep"), last()}}, {});
  const auto watch = it.client.follow({.world = true, .values = true});
  REQUIRE(watch);
  const auto [came, error] = fetched(it.client, *watch);
  CHECK(came == std::vector<TypeId>{TypeTraits<Set>::id, TypeTraits<Destroy>::id});
  BatchBuilder each;
  each.append(creep, td::Hit{.amount = 7});
  CHECK(it.client.push_batch(each.bytes()));
}

}  // namespace layouts_test

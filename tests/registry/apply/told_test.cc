// Who hears of what, and what is counted: each message of the registry's own, whoever follows it, whichever way it came.
#include <catch2/catch.hpp>

#include <flatbuffers/reflection.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/delivery/input_sink.h"
#include "registry/entity_registry.h"
#include "registry/handlers/dynamic_handler.h"
#include "registry/handlers/handler_order.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/model/state_rows.h"
#include "tests/registry/game.h"
#include "tests/registry/many.h"

namespace told_test {

using namespace muster;
using game::Armor, game::Damage, game::Health, game::Ping;

TEST_CASE(
    "a handler of a structure message is called once, when it was applied, and one of Destroy before; of none "
    "refused") {
  EntityRegistry registry;
  const Entity town = registry.create("town"), orc = registry.create("orc", Health{});
  registry.add_type<Armor>();
  std::string log;
  Handlers all;
  const auto path = [&](const char* what, Entity e) { log += std::string(what) + " " + registry.path(e) + "; "; };
  all.add(registry.subscribe("create", [&](const Create&, Entity e) { path("create", e); }));
  all.add(registry.subscribe("destroy", [&](const Destroy&, Entity e) { path("destroy", e); }));
  all.add(registry.subscribe("reparent", [&](const Reparent&, Entity e) { path("reparent", e); }));
  all.add(registry.subscribe("rename", [&](const Rename&, Entity e) { path("rename", e); }));
  all.add(registry.subscribe("set", [&](const Set&, const Armor* armor) { log += armor ? "set; " : "unset; "; }));
  all.add(
      registry.subscribe("remove", [&](const Remove&, const Armor* armor) { log += armor ? "there; " : "gone; "; }));
  const auto value = [&](const Health& health) { log += std::to_string(static_cast<int>(health.value)) + "; "; };
  all.add(registry.subscribe("field", [&](const SetField&, const Health& health) { value(health); }));
  all.add(registry.subscribe("field if", [&](const SetFieldIf&, const Health& health) { value(health); }));
  const auto told = [&] { return std::exchange(log, {}); };

  const Entity elf = registry.create_under(town, "elf");
  CHECK(told() == "create /town/elf; ");
  registry.reparent(orc, town);
  CHECK(told() == "reparent /town/orc; ");
  registry.rename(orc, "ork");
  CHECK(told() == "rename /town/ork; ");
  registry.set(orc, Armor{});
  CHECK(told() == "set; ");
  registry.remove<Armor>(orc);
  CHECK(told() == "gone; ");
  SetField half{.component = TypeTraits<Health>::id, .field = hash32("value"), .bytes = 4};
  const float fifty = 50, hundred = 100;
  std::memcpy(half.value.data(), &fifty, 4);
  registry.push(orc, half);
  CHECK(told() == "50; ");
  SetFieldIf whole{.set = half};
  std::memcpy(whole.expected.data(), &fifty, 4);
  std::memcpy(whole.set.value.data(), &hundred, 4);
  registry.push(orc, whole);
  CHECK(told() == "100; ");
  CHECK(registry.push(orc, whole).refused == 1);
  CHECK(registry.rename(orc, "elf").refused == 1);
  CHECK(registry.reparent(town, orc).refused == 1);
  CHECK(registry.remove<Armor>(orc).refused == 1);
  CHECK(told().empty());
  registry.destroy(town);
  CHECK(told() == "destroy /town/ork; destroy /town/elf; destroy /town; ");
  CHECK_FALSE(registry.alive(elf));
}

TEST_CASE(
    "whoever follows how entities come, change and go hears of the next one, whatever was done before without it") {
  using Subscribe = std::function<Subscription(EntityRegistry&, int&)>;
  struct Row {
    const char* what;
    Subscribe subscribe;
    std::vector<int> heard;  // of: create, set, set again, remove, destroy
  };
  const auto heard = []<class M>(std::in_place_type_t<M>) -> Subscribe {
    return [](EntityRegistry& registry, int& count) {
      return registry.subscribe("", [&count](const M&, Entity) { ++count; });
    };
  };
  const Row rows[] = {
      {"Create", heard(std::in_place_type<Create>), {1, 0, 0, 0, 0}},
      {"Activated", heard(std::in_place_type<Activated>), {1, 0, 0, 0, 0}},
      {"Loaded", heard(std::in_place_type<Loaded>), {1, 0, 0, 0, 0}},
      {"Added<Health>", heard(std::in_place_type<Added<Health>>), {1, 0, 0, 0, 0}},
      {"Set", heard(std::in_place_type<Set>), {0, 1, 1, 0, 0}},
      {"Added<Armor>", heard(std::in_place_type<Added<Armor>>), {0, 1, 0, 0, 0}},
      {"Changed<Armor>", heard(std::in_place_type<Changed<Armor>>), {0, 0, 1, 0, 0}},
      {"Remove", heard(std::in_place_type<Remove>), {0, 0, 0, 1, 0}},
      {"Removed<Armor>", heard(std::in_place_type<Removed<Armor>>), {0, 0, 0, 1, 0}},
      {"Destroy", heard(std::in_place_type<Destroy>), {0, 0, 0, 0, 1}},
      {"Deactivated", heard(std::in_place_type<Deactivated>), {0, 0, 0, 0, 1}},
      {"Removed<Health>", heard(std::in_place_type<Removed<Health>>), {0, 0, 0, 0, 1}},
      {"Changed<Health>", heard(std::in_place_type<Changed<Health>>), {0, 0, 0, 0, 0}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    EntityRegistry registry;
    int count = 0;
    const auto life = [&] {
      std::vector<int> counts;
      const auto next = [&] { counts.push_back(std::exchange(count, 0)); };
      const Entity e = registry.create(Health{});
      next();
      registry.set(e, Armor{.factor = 2});
      next();
      registry.set(e, Armor{.factor = 3});
      next();
      registry.remove<Armor>(e);
      next();
      registry.destroy(e);
      next();
      return counts;
    };
    const std::vector<int> nothing(5);
    for (int i = 0; i < 3; ++i) CHECK(life() == nothing);
    {
      const Subscription follower = row.subscribe(registry, count);
      CHECK(life() == row.heard);
      CHECK(life() == row.heard);
    }
    CHECK(life() == nothing);
  }
}

TEST_CASE("what a receipt counts: a pass to nobody, posts before an advance, each of several trees") {
  EntityRegistry registry;
  const Entity orc = registry.create(Health{});
  const Receipt alone = registry.push(Damage{});
  CHECK((alone.unhandled == 1 && alone.handled == 0));
  std::vector<Entity> hit;
  const auto handler = registry.subscribe("hit", [&](const Damage&, const Health&, Entity e) { hit.push_back(e); });
  registry.post(orc, Damage{});
  registry.post(Entity{99, 1}, Damage{});
  const Receipt advanced = registry.advance(5);
  CHECK((advanced.handled == 2 && advanced.dead == 1));  // the post that was handled, and the advance itself
  CHECK(advanced.sequence == registry.sequence());
  hit.clear();
  TemplateTree tree("tree");
  tree.set("", Health{}).message("", Damage{});
  registry.define_template(tree);
  std::vector<Entity> ids;
  registry.spawn("tree", {.count = 3, .ids = &ids}).or_stop();
  CHECK(hit == ids);
}

TEST_CASE("sinks before the one that throws hear of the withdrawal in reverse order") {
  struct Sink final : InputSink {
    Sink(std::string called, std::string& written) : name(std::move(called)), log(written) {}
    void on_input(const Envelope&, std::span<const std::byte>) override {
      log += name + "; ";
      if (throws) throw std::runtime_error("full");
    }
    void on_withdrawn(const Envelope&) noexcept override { log += "not " + name + "; "; }
    std::string name;
    std::string& log;
    bool throws = false;
  };
  std::string log;
  EntityRegistry registry;
  Sink sinks[] = {{"a", log}, {"b", log}, {"c", log}, {"d", log}};
  for (Sink& sink : sinks) registry.host().add_sink(sink);
  sinks[2].throws = true;
  CHECK_THROWS_WITH(registry.push(Ping{}), "full");
  CHECK(log == "a; b; c; not b; not a; ");
  for (Sink& sink : sinks) registry.host().remove_sink(sink);
}

TEST_CASE("a handler that was asked for inside another never begins where its subscription went before its turn") {
  EntityRegistry registry({.cascade_messages_max = 1});
  const Entity orc = registry.create(Health{});
  int calls = 0;
  Subscription late;
  const auto asks = registry.subscribe("asks", [&](const Damage&, const Health&, Entity self, Outbox& out) {
    out.post(self, Ping{});
    late = out.subscribe("late", [&](const Ping&, const Health&) { ++calls; });
  });
  CHECK(registry.push(orc, Damage{}).cut_short);  // the request waits behind the Ping
  late.end();
  registry.flush();
  registry.push(orc, Ping{});
  CHECK(calls == 0);
  CHECK(registry.host().handlers().handlers().size() == 1);
}

TEST_CASE("messages that handlers send for later count by their bytes in a cascade's bound") {
  EntityRegistry registry({.cascade_bytes_max = 200});
  const Entity orc = registry.create(Health{});
  const auto handler = registry.subscribe("later", [](const Damage&, const Health&, Entity self, Outbox& out) {
    for (std::uint64_t i = 1; i <= 10; ++i) out.post_after(i, self, game::Blob{});
  });
  CHECK(registry.push(orc, Damage{}).cut_short);
  CHECK(registry.host().counters().carried == 1);
}

TEST_CASE("who follows a component does not hear of a change of one that is gone by then, nor of a link that stays") {
  EntityRegistry registry;
  const Entity town = registry.create("town"), orc = registry.create_under(town, "orc", Health{});
  int changed = 0, unlinked = 0;
  Handlers all;
  all.add(registry.subscribe("hit", [](const Damage&, Health& health, Entity self, Outbox& out) {
    health.value -= 1;
    out.remove<Health>(self);
  }));
  all.add(registry.subscribe("changed", [&](const Changed<Health>&, Entity) { ++changed; }));
  all.add(registry.subscribe("unlinked", [&](const Removed<ChildOf>&, Entity) { ++unlinked; }));
  registry.push(orc, Damage{});
  CHECK_FALSE(registry.has<Health>(orc));
  CHECK(changed == 0);
  CHECK(registry.push(orc, Remove{.component = TypeTraits<ChildOf>::id}).refused == 1);
  CHECK(unlinked == 0);
}

TEST_CASE("all counters are saved, each as its own") {
  EntityRegistry registry({.cascade_messages_max = 2});
  const Entity orc = registry.create("orc", Health{});
  const auto handler = registry.subscribe("echo", [](const Ping& ping, const Health&, Entity self, Outbox& out) {
    for (std::uint32_t i = 0; i < ping.hops; ++i) out.post(self, Ping{});
  });
  registry.push(orc, Ping{.hops = 7});  // five are left, then three, then one: cut three times, overtaken twice
  for (int i = 0; i < 11; ++i) registry.push(Entity{99, 1}, Ping{});
  for (int i = 0; i < 12; ++i) registry.push(orc, Damage{});
  for (int i = 0; i < 13; ++i) registry.remove<Armor>(orc);
  const RegistryCounters& saved = registry.host().counters();
  const std::uint64_t all[] = {saved.carried, saved.overtaken, saved.dead, saved.unhandled, saved.refused};
  for (const std::uint64_t& one : all)
    for (const std::uint64_t& other : all) CHECK((&one == &other || one != other));
  EntityRegistry loaded;
  const naive::StateRows rows = naive::saved_rows(registry);
  naive::RowsSource source(rows);
  REQUIRE(loaded.load(source));
  const RegistryCounters& read = loaded.host().counters();
  CHECK(read.messages == saved.messages);
  CHECK(read.carried == saved.carried);
  CHECK(read.overtaken == saved.overtaken);
  CHECK(read.dead == saved.dead);
  CHECK(read.unhandled == saved.unhandled);
  CHECK(read.refused == saved.refused);
}

TEST_CASE("the other of a message is the one in its field of that name, else its only entity, arrays left out") {
  EntityRegistry registry;
  const Entity one = registry.create(Health{.value = 1}), two = registry.create(Health{.value = 2}),
               self = registry.create(Armor{});
  std::vector<float> compiled, by_ids;
  Handlers all;
  const auto both = [&]<class M>(std::in_place_type_t<M>) {
    all.add(registry.subscribe("compiled",
                               [&](const M&, const Armor&, Other<const Health> of) { compiled.push_back(of->value); }));
    all.add(registry.subscribe(
        "by ids",
        DynamicShape{.message = TypeTraits<M>::id,
                     .terms = {{.type = TypeTraits<Health>::id, .source = Source::other}}},
        [&](const DynamicCall& call) { by_ids.push_back(reinterpret_cast<const Health*>(call.values[0])->value); }));
  };
  both(std::in_place_type<many::Touch>);
  both(std::in_place_type<many::Gather>);
  registry.push(self, many::Touch{.by = one, .other = two});
  registry.push(self, many::Gather{.leader = two, .who = {one, one, one}});
  CHECK(compiled == std::vector<float>{2, 2});
  CHECK(by_ids == compiled);
}

TEST_CASE(
    "a handler by run-time ids without terms is called for each entity unless it says otherwise; its own value is "
    "nearest") {
  EntityRegistry registry;
  const Entity top = registry.create("top", Health{.value = 1});
  const Entity below = registry.create_under(top, "below", Health{.value = 2}),
               last = registry.create_under(below, "last");
  std::vector<Entity> called, once;
  std::vector<float> nearest;
  registry.add_type<Ping>();
  Handlers all;
  constexpr TypeId ping = TypeTraits<Ping>::id;
  all.add(registry.subscribe("each", DynamicShape{.message = ping},
                             [&](const DynamicCall& call) { called.push_back(call.self); }));
  all.add(registry.subscribe("once", DynamicShape{.message = ping, .per_entity = false},
                             [&](const DynamicCall& call) { once.push_back(call.self); }));
  all.add(registry.subscribe(
      "nearest",
      DynamicShape{.message = ping, .terms = {{.type = TypeTraits<Health>::id, .source = Source::self_or_parent}}},
      [&](const DynamicCall& call) { nearest.push_back(reinterpret_cast<const Health*>(call.values[0])->value); }));
  registry.push(Ping{});
  CHECK(called == std::vector{top, below, last});
  CHECK(once == std::vector{Entity{}});
  CHECK(nearest == std::vector<float>{1, 2, 2});
}

TEST_CASE("a circle of handlers is told without those that have nothing to do with it") {
  EntityRegistry registry;
  Handlers all;
  const auto add = [&](const char* name, HandlerOptions options) {
    all.add(registry.subscribe(name, [](const Ping&, const Health&) {}, std::move(options)));
  };
  add("alone", {});
  add("a", {.before = {"b"}});
  add("b", {.before = {"c"}});
  CHECK_THROWS_WITH(add("c", {.before = {"a"}}), "the order of these handlers is circular: a, b, c");
}

TEST_CASE("two fields whose paths have one hash are reached by neither, and others beside them are") {
  // schemac refuses such a struct, but a schema can come from elsewhere.
  static_assert(hash32("yaczfa") == hash32("glbppa"));
  flatbuffers::FlatBufferBuilder b;
  std::vector<flatbuffers::Offset<reflection::Field>> fields;
  std::uint16_t at = 0;
  for (const char* name : {"glbppa", "one", "yaczfa"}) {
    fields.push_back(reflection::CreateFieldDirect(b, name, reflection::CreateType(b, reflection::Float), at,
                                                   std::uint16_t(at * 4)));
    ++at;
  }
  std::vector<flatbuffers::Offset<reflection::KeyValue>> attributes{
      reflection::CreateKeyValueDirect(b, "component", "0")};
  std::vector<flatbuffers::Offset<reflection::Object>> objects{
      reflection::CreateObjectDirect(b, "far.Twins", &fields, true, 4, 12, &attributes)};
  std::vector<flatbuffers::Offset<reflection::Enum>> enums;
  b.Finish(reflection::CreateSchemaDirect(b, &objects, &enums), reflection::SchemaIdentifier());
  EntityRegistry registry;
  REQUIRE(registry.types().add_schema(std::as_bytes(std::span(b.GetBufferPointer(), b.GetSize()))));
  const TypeDescriptor& type = *registry.types().find("far.Twins");
  CHECK(registry.types().place(type, hash32("yaczfa")) == nullptr);
  REQUIRE(registry.types().place(type, hash32("one")));
  CHECK(registry.types().place(type, hash32("one"))->offset == 4);

  const Entity e = registry.create();
  const PayloadShape shape = PayloadShape::of(type);
  const RowSet rows(PayloadShape::of<Set>(), std::span(&shape, 1));
  BatchBuilder builder;
  builder.append_rows(rows, e);
  registry.add_type<Set>();
  CHECK(registry.host().push_batch(builder.bytes()).handled == 1);
  const auto set = [&](const char* path) {
    return registry.push(e, SetField{.component = type.id, .field = hash32(path), .bytes = 4, .value = {1}});
  };
  for (const char* path : {"yaczfa", "glbppa"}) {
    const Receipt refused = set(path);
    CHECK(refused.refusal.code == RefusalCode::unknown_field);
    CHECK(refused.refusal.field == hash32(path));
  }
  CHECK(registry.find(e, type.id)[0] == std::byte{0});
  CHECK(registry.find(e, type.id)[8] == std::byte{0});
  CHECK(set("one").handled == 1);
  CHECK(registry.find(e, type.id)[4] == std::byte{1});
}

}  // namespace told_test

// Texts whose hashes are the same. They are rare, but anybody can look them up and send them: what the world has is never another text,
// and nobody gets a name that is not his.
#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/entity_registry.h"
#include "registry/handlers/handler_order.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/model/state_rows.h"
#include "tests/registry/game.h"

using namespace muster;
using game::Health;

namespace {

constexpr std::string_view first = "8yn0iYCKYHlIj4-BwPqk", second = "GReLUrM4wMqfg9yzV3KQ";
constexpr std::string_view third = "gMPflVXtwGDXbIhP73TX", fourth = "LtHf1prlU1bCeYZEdqWf";
static_assert(hash64(first) == hash64(second) && hash64(third) == hash64(fourth));

/// Everything that a refused text must leave as it was.
struct Seen {
  std::size_t texts, templates;
  std::uint64_t bytes, entities, hash_of_rows;
  friend bool operator==(const Seen&, const Seen&) = default;
};
Seen look(const EntityRegistry& registry) {
  std::uint64_t rows = 0;
  registry.each<>([&](Entity e) { rows = hash64(registry.path(e), rows); });
  return {registry.host().texts().size(), registry.host().template_count(), registry.host().texts().bytes(),
          registry.entity_count(), rows};
}

// Texts whose hash is that of no text at all.
constexpr std::string_view zero = "77kepQFQ8Kl", zero_too = "!0IC=VloaY";
static_assert(hash64(zero) == 0 && hash64(zero_too) == 0);

struct Silent final : Manager {};

}  // namespace

TEST_CASE("a second text of one hash is refused, and the first stays what it was") {
  EntityRegistry registry;
  const Text known = registry.intern(first);
  CHECK(registry.text(known) == first);
  const Seen before = look(registry);
  CHECK(registry.intern(second) == Text{});
  CHECK(look(registry) == before);
  CHECK(registry.text(known) == first);
  CHECK(registry.host().counters().refused == 1);
  const Receipt told = registry.push(InternText{.text = std::string(second)});
  CHECK(told.refused == 1);
  CHECK(told.handled == 0);
  CHECK(told.refusal.code == RefusalCode::text_collision);
  CHECK(registry.push(InternText{.text = std::string(first)}).handled == 1);
  CHECK(look(registry) == before);
  CHECK(registry.intern(first) == known);
}

TEST_CASE("a name of another's hash is given to nobody, and takes nobody's away") {
  EntityRegistry registry;
  const Entity known = registry.create(first), other = registry.create("other", Health{.value = 5});
  registry.define_template(TemplateTree("pair"));
  const Seen before = look(registry);
  CHECK_FALSE(registry.create(second));
  CHECK_FALSE(registry.create_under(known, second));
  CHECK_FALSE(registry.spawn("pair", {.name = second}));
  CHECK(look(registry) == before);
  const Receipt renamed = registry.rename(other, second);
  CHECK(renamed.refused == 1);
  CHECK(renamed.refusal.code == RefusalCode::text_collision);
  CHECK(registry.name(other) == "other");
  // Handlers without a name are not those of a name that cannot be.
  int calls = 0;
  const auto nameless = registry.subscribe("", [&](const game::Damage&, const Health&) { ++calls; });
  const Receipt disabled = registry.set_handler_enabled(second, false);
  CHECK(disabled.refused == 1);
  CHECK(disabled.refusal.code == RefusalCode::text_collision);
  registry.push(other, game::Damage{});
  CHECK(calls == 1);
  CHECK(look(registry) == before);
}

TEST_CASE("a template with a text of another's hash is refused, wherever the text is, and keeps none of its texts") {
  EntityRegistry registry;
  registry.intern(first);
  const auto refused = [&](const TemplateTree& tree) {
    const Seen before = look(registry);
    const Receipt receipt = registry.define_template(tree);
    CHECK(receipt.refused == 1);
    CHECK(receipt.refusal.code == RefusalCode::text_collision);
    CHECK(receipt.refusal.type == TypeTraits<DefineTemplate>::id);
    CHECK(look(registry) == before);
    CHECK(registry.text(text_of("fresh")).empty());
  };
  const auto tree = [] {
    TemplateTree made("fresh");
    made.at("child");
    return made;
  };
  refused(TemplateTree(std::string(second)));
  TemplateTree names = tree();
  names.at(second);
  refused(names);
  TemplateTree texts = tree();
  texts.text(second);
  refused(texts);
  // Neither is known yet.
  TemplateTree both = tree();
  CHECK(both.text(third) == both.text(fourth));
  refused(both);
  TemplateTree apart = tree();
  apart.at(third);
  apart.text(fourth);
  refused(apart);
  TemplateTree own{std::string(third)};
  own.at(fourth);
  refused(own);
  CHECK(registry.define_template(tree()).handled == 1);
}

TEST_CASE("children of a template's node are told apart by their names, not by the hashes of these") {
  for (const int others : {2, 40}) {  // few are looked through, many are in an index
    CAPTURE(others);
    TemplateTree tree("tree");
    for (int i = 0; i < others; ++i) tree.at("other" + std::to_string(i));
    CHECK(tree.find(first) == nullptr);
    const std::uint32_t one = tree.at(first).key(), two = tree.at(second).key();
    CHECK(one != two);
    CHECK(tree.find(first)->key() == one);
    CHECK(tree.find(second)->key() == two);
    tree.remove_child(tree.root(), one);
    CHECK(tree.find(first) == nullptr);
    CHECK(tree.find(second)->key() == two);
  }
}

TEST_CASE("saved texts of one hash are refused") {
  EntityRegistry registry;
  registry.intern(first);
  registry.intern("another");
  naive::StateRows rows = naive::saved_rows(registry);
  std::vector<std::byte>& page = rows.at({StateSection::texts, 0, 0});
  std::vector<std::byte> texts;
  for (const std::string_view text : {first, second}) {
    const auto length = static_cast<std::uint32_t>(text.size());
    const auto head = std::as_bytes(std::span(&length, 1)), bytes = std::as_bytes(std::span(text));
    texts.insert(texts.end(), head.begin(), head.end());
    texts.insert(texts.end(), bytes.begin(), bytes.end());
  }
  page = texts;
  EntityRegistry loaded;
  naive::RowsSource source(rows);
  const auto done = loaded.load(source);
  REQUIRE_FALSE(done);
  CHECK(done.error().text() == "texts 0: two texts have the same hash");
}

TEST_CASE("managers whose names have one hash cannot be saved beside each other, and the second is told so") {
  const std::string why =
      "managers \"" + std::string(second) + "\" and \"" + std::string(first) + "\" have the same hash; rename one";
  EntityRegistry registry;
  Silent one, two;
  registry.add_manager(std::string(first), one);
  CHECK_THROWS_WITH(registry.add_manager(std::string(second), two), why);
  registry.remove_manager(one);
  // What the first would save waits for it.
  CHECK_THROWS_WITH(registry.add_manager(std::string(second), two), why);
  registry.add_manager(std::string(first), one);
  registry.remove_manager(one);
  CHECK(registry.host().waiting_managers().size() == 1);
}

TEST_CASE("a text whose hash is 0 is refused everywhere, and never counts as no text") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc", Health{.value = 5});
  registry.define_template(TemplateTree("pair"));
  int calls = 0;
  const auto nameless = registry.subscribe("", [&](const game::Damage&, const Health&) { ++calls; });
  const Seen before = look(registry);
  for (const std::string_view name : {zero, zero_too}) {
    CHECK(registry.intern(name) == Text{});
    CHECK(registry.push(InternText{.text = std::string(name)}).refusal.code == RefusalCode::text_collision);
    CHECK(registry.rename(orc, name).refusal.code == RefusalCode::text_collision);
    CHECK(registry.name(orc) == "orc");
    CHECK(registry.create(name).refusal().code == RefusalCode::text_collision);
    CHECK_FALSE(registry.create_under(orc, name));
    CHECK(std::string(registry.spawn("pair", {.name = name}).text()).find("its hash is 0") != std::string::npos);
    CHECK(registry.set_handler_enabled(name, false).refusal.code == RefusalCode::text_collision);
    CHECK(registry.define_template(TemplateTree(std::string(name))).refusal.code == RefusalCode::text_collision);
    TemplateTree child("child"), text("text");
    child.at(name);
    text.text(name);
    CHECK(registry.define_template(child).refusal.code == RefusalCode::text_collision);
    CHECK(registry.define_template(text).refusal.code == RefusalCode::text_collision);
    CHECK_THROWS_WITH(registry.subscribe(std::string(name), [](const game::Damage&, const Health&) {}),
                      "a handler cannot be named \"" + std::string(name) +
                          "\", because the hash of this text is 0, which means no text; choose another name");
  }
  CHECK(look(registry) == before);
  registry.push(orc, game::Damage{});
  CHECK(calls == 1);
}

TEST_CASE("a handler gives nobody a name of another's hash, or of hash 0, and each refusal is counted") {
  for (const std::string_view bad : {second, zero}) {
    EntityRegistry registry;
    registry.intern(first);
    registry.define_template(TemplateTree("pair"));
    const Entity orc = registry.create("orc", Health{});
    int calls = 0;
    std::vector<Entity> made;
    const auto nameless = registry.subscribe("", [&](const game::Heal&, const Health&) { ++calls; });
    const auto renames = registry.subscribe(
        "renames", [&](const game::Damage&, const Health&, Entity self, Outbox& out) { out.rename(self, bad); });
    const auto disables = registry.subscribe(
        "disables", [&](const game::Ping&, const Health&, Outbox& out) { out.set_handler_enabled(bad, false); });
    const auto spawns = registry.subscribe("spawns", [&](const game::Spawn&, const Health&, Spawner& spawner) {
      made = {spawner.create_under({}, bad, Health{}), spawner.spawn("pair", {.name = bad})};
    });
    const Seen before = look(registry);
    const std::uint64_t refused = registry.host().counters().refused;
    registry.push(orc, game::Damage{});
    registry.push(orc, game::Ping{});
    registry.push(orc, game::Spawn{});
    CHECK(registry.name(orc) == "orc");
    CHECK((made == std::vector<Entity>{{}, {}}));
    registry.push(orc, game::Heal{});
    CHECK(calls == 1);
    CHECK(look(registry) == before);
    CHECK(registry.host().counters().refused == refused + 4);
  }
}

TEST_CASE("a saved text whose hash is 0 is refused") {
  EntityRegistry registry;
  registry.intern("another");
  naive::StateRows rows = naive::saved_rows(registry);
  std::vector<std::byte>& page = rows.at({StateSection::texts, 0, 0});
  const auto length = static_cast<std::uint32_t>(zero.size());
  const auto head = std::as_bytes(std::span(&length, 1)), bytes = std::as_bytes(std::span(zero));
  page.assign(head.begin(), head.end());
  page.insert(page.end(), bytes.begin(), bytes.end());
  EntityRegistry loaded;
  naive::RowsSource source(rows);
  const auto done = loaded.load(source);
  REQUIRE_FALSE(done);
  CHECK(done.error().text() == "texts 0: two texts have the same hash");
}

// Texts are dropped by an input, and only those that nothing mentions.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "messages/session.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/model/state_rows.h"
#include "tests/registry/game.h"
#include "tests/registry/templates/barracks.h"

using namespace muster;

namespace {

std::vector<Text> all_texts(const EntityRegistry& registry) {
  std::vector<Text> all;
  for (std::size_t i = 0; i < registry.host().texts().size(); ++i) all.push_back(registry.host().texts().at(i));
  return all;
}

std::vector<std::string> shown(const EntityRegistry& registry) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < registry.host().texts().size(); ++i) all.emplace_back(registry.host().texts()[i]);
  return all;
}

std::vector<std::byte> timed(std::uint64_t due_ns, BatchBuilder& later) {
  BatchBuilder builder;
  builder.append_timed(due_ns, 0, later.front());
  return {builder.bytes().begin(), builder.bytes().end()};
}

}  // namespace

TEST_CASE("texts that nothing mentions are dropped, and those that stay keep their order") {
  EntityRegistry registry;
  for (int i = 0; i < 1000; ++i) registry.intern("text " + std::to_string(i));
  const Entity orc = registry.create("orc");
  registry.intern("after");
  CHECK(registry.host().drop_texts(all_texts(registry)).refused == 0);
  CHECK(shown(registry) == std::vector<std::string>{"orc"});
  CHECK(registry.text(text_of("text 7")).empty());
  CHECK(registry.host().texts().bytes() == 3);
  CHECK(registry.name(orc) == "orc");
  CHECK(registry.find_path("orc") == orc);
  // Those that come again are behind those that stayed.
  registry.intern("text 7");
  registry.intern("text 3");
  CHECK(shown(registry) == std::vector<std::string>{"orc", "text 7", "text 3"});
  // Only those that are named, and those that are not known are passed over.
  const Text named[] = {text_of("text 3"), text_of("nobody"), Text{}};
  registry.host().drop_texts(named);
  CHECK(shown(registry) == std::vector<std::string>{"orc", "text 7"});
}

TEST_CASE(
    "a text stays while anything mentions it: names, templates, timers, posts, what is carried over, handlers that are "
    "off") {
  EntityRegistry registry({.cascade_messages_max = 1});
  registry.add_type<game::Health>();
  const Subscription chain = registry.subscribe("chain", [](const game::Ping& ping, Entity self, Outbox& out) {
    if (ping.hops == 0) return;
    for (int i = 0; i < 8; ++i) out.post(self, game::Ping{0});
    out.rename(self, "carried");
  });
  TemplateTree tree("template");
  tree.set("node", game::Health{});
  registry.define_template(tree);
  registry.set_handler_enabled("handler", false);
  const Entity e = registry.create("name");
  for (const char* text : {"timer", "row", "later", "table", "posted", "carried"}) registry.intern(text);
  {
    BatchBuilder later;
    later.append(e, Rename{.name = text_of("timer")});
    registry.host().push_batch(timed(1000, later));
  }
  {
    BatchBuilder later;
    later.append_rows(e, Create{.name = text_of("later")}, game::Health{});
    registry.host().push_batch(timed(1000, later));
  }
  {
    BatchBuilder later;
    session::append(later, InternText{.text = "table"});
    registry.host().push_batch(timed(1000, later));
  }
  REQUIRE(registry.push(e, game::Ping{1}).cut_short);
  registry.intern("nobody");
  const auto expect = [&](std::vector<std::string> texts) {
    registry.host().drop_texts(all_texts(registry));
    std::vector<std::string> found = shown(registry);
    std::ranges::sort(found);
    std::ranges::sort(texts);
    CHECK(found == texts);
  };
  // Of what was carried over only some was delivered before.
  expect({"template", "node", "handler", "name", "timer", "later", "table", "carried"});
  registry.advance(1000);
  for (int i = 0; i < 10; ++i) registry.flush();
  CHECK(registry.name(e) == "timer");
  expect({"template", "node", "handler", "timer"});
  registry.rename(e, "");
  registry.set_handler_enabled("handler", true);
  expect({"template", "node"});
  BatchBuilder forget;
  session::append(forget, DefineTemplate{.name = "template", .nodes = {}, .texts = {}});
  REQUIRE(registry.host().push_batch(forget.bytes()).refused == 0);
  expect({});
}

TEST_CASE("a text at the very end of what waits is kept") {
  EntityRegistry registry;
  const Entity e = registry.create(barracks::Soldier{.title = {}});
  registry.intern("chief");
  BatchBuilder later;
  later.append_rows(e, Set{}, barracks::Soldier{.title = text_of("chief")});
  const BatchHeader& header = later.front().header();
  REQUIRE(header.payload_bytes % 8 == 0);  // the title's bytes are the last ones
  registry.host().push_batch(timed(1000, later));
  registry.host().drop_texts(all_texts(registry));
  CHECK(shown(registry) == std::vector<std::string>{"chief"});
  registry.advance(1000);
  CHECK(registry.text(registry.get<barracks::Soldier>(e).title) == "chief");
}

TEST_CASE("a posted message keeps its text, one that is delivered before the texts are dropped does not") {
  EntityRegistry registry;
  const Entity e = registry.create("a"), other = registry.create("b");
  registry.intern("c");
  registry.intern("d");
  // The batch that drops is an input among posts: what is behind it waits.
  BatchBuilder drop;
  session::append(drop, DropTexts{.texts = {text_of("c").hash, text_of("d").hash}});
  registry.add_type<DropTexts>();
  registry.host().post_batch(drop.bytes());
  registry.post(e, Rename{.name = text_of("c")});
  registry.flush();
  CHECK(registry.name(e) == "c");
  CHECK(registry.text(text_of("d")).empty());
  CHECK(registry.name(other) == "b");
}

TEST_CASE("a replay and a loaded registry drop the same texts, and saved pages are those that are left") {
  struct Journal final : InputSink {
    void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
      inputs.emplace_back(envelope.kind, std::vector<std::byte>(batch.begin(), batch.end()));
    }
    std::vector<std::pair<InputKind, std::vector<std::byte>>> inputs;
  } journal;
  EntityRegistry registry;
  registry.host().add_sink(journal);
  const auto fill = [](EntityRegistry& r, int from) {
    for (int i = from; i < from + 700; ++i) {
      r.intern("text " + std::to_string(i));
      if (i % 3 == 0) (void)r.create("entity " + std::to_string(i));
    }
  };
  fill(registry, 0);
  registry.host().begin_version();
  naive::StateRows before = naive::saved_rows(registry);
  EntityRegistry loaded;
  naive::RowsSource source(before);
  REQUIRE(loaded.load(source));
  for (EntityRegistry* r : {&registry, &loaded}) {
    const std::vector<Text> all = all_texts(*r);
    r->host().drop_texts(std::span(all).first(500));
    fill(*r, 350);
    r->host().drop_texts(all);
  }
  CHECK(registry.host().texts().size() < 1000);
  CHECK(loaded.hash() == registry.hash());
  CHECK(naive::saved_rows(loaded) == naive::saved_rows(registry));
  registry.host().remove_sink(journal);
  EntityRegistry replayed;
  for (const auto& [kind, batch] : journal.inputs) {
    REQUIRE(kind == InputKind::push);
    replayed.host().push_batch(batch);
  }
  CHECK(replayed.hash() == registry.hash());
  // A keeper of rows is told that pages changed though they hold as many texts as before.
  struct Keeper final : StateSink {
    bool has(const StateKey& key, std::uint64_t version) override {
      return key.section == StateSection::texts && kept.contains(key) && kept[key].first == version;
    }
    void row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) override {
      kept[key] = {version, {bytes.begin(), bytes.end()}};
    }
    std::map<StateKey, std::pair<std::uint64_t, std::vector<std::byte>>> kept;
  } keeper;
  EntityRegistry few;
  few.intern("one");
  few.host().begin_version();
  few.save(keeper);
  few.host().drop_texts(all_texts(few));
  few.intern("two");
  few.host().begin_version();
  few.save(keeper);
  const naive::StateRows rows = naive::saved_rows(few);
  const StateKey page{StateSection::texts, 0, 0};
  CHECK(keeper.kept.at(page).second == rows.at(page));
}

TEST_CASE("what the host interned in this process is told apart from names") {
  EntityRegistry registry;
  registry.create("orc").or_stop();
  registry.intern("kept");
  CHECK(registry.host().is_host_text(text_of("kept")));
  CHECK_FALSE(registry.host().is_host_text(text_of("orc")));
  registry.intern("orc");
  CHECK(registry.host().is_host_text(text_of("orc")));
}

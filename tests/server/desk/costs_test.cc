// What each edit costs, and each bound that it is judged by: met exactly, and exceeded by one.
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "server/edits/edit_cost.h"
#include "tests/server/arena.h"

using namespace muster;

namespace {

/// A small world, one seat with ids of its own, and a judge that knows nothing yet.
struct Court {
  EntityRegistry registry;
  ServerLimits limits;
  Seat from;
  std::vector<Entity> line, children, units, own;  // line: each below the one before
  Entity town;

  Court() {
    registry.add_type<arena::Damage>();
    registry.add_type<arena::Say>();
    for (int i = 0; i < 5; ++i) line.push_back(registry.create_under(i ? line.back() : Entity{}, ""));
    town = registry.create("town");
    for (int i = 0; i < 10; ++i) children.push_back(registry.create_under(town, ""));
    units = registry.create_many(20, arena::Health{});
    TemplateTree pair("pair");
    pair.set("below", arena::Health{});
    registry.define_template(pair);
    registry.intern("known");
    const Entity first = registry.host().grant(100, 7);
    for (std::uint32_t i = 0; i < 100; ++i) own.push_back({first.index + i, 1});
    from.grants.push_back({.first = first.index, .count = 100});
  }
  using Write = std::function<void(Court&, BatchBuilder&)>;
  std::vector<std::byte> bytes_of(const Write& write) {
    BatchBuilder builder;
    write(*this, builder);
    REQUIRE(builder.batches() == 1);
    const auto bytes = builder.bytes();
    return {bytes.begin(), bytes.end()};
  }
  std::expected<EditCost, session::Fault> judge(const Write& write) {
    const auto bytes = bytes_of(write);
    return EditJudge(registry, limits).judge(from, BatchView(std::span<const std::byte>(bytes)));
  }
  std::uint64_t template_batch_bytes() const { return registry.host().template_batch("pair").size(); }
};

using Write = Court::Write;

std::vector<Entity> some(const std::vector<Entity>& of, std::size_t count) {
  return {of.begin(), of.begin() + static_cast<std::ptrdiff_t>(count)};
}
/// Each to one of these.
template <class M>
Write each(std::function<std::vector<Entity>(Court&)> targets, M message) {
  return [=](Court& court, BatchBuilder& to) {
    for (const Entity e : targets(court)) to.append(e, message);
  };
}
Write timed(std::uint64_t due_ns, Write inside) {
  return [=](Court& court, BatchBuilder& to) {
    BatchBuilder inner;
    inside(court, inner);
    to.append_timed(due_ns, 0, inner.front());
  };
}
Write define(DefineTemplate what) {
  return [=](Court&, BatchBuilder& to) { session::append(to, what); };
}
DefineTemplate nodes_called(const std::string& name, std::vector<std::string> below) {
  TemplateTree tree(name);
  for (const std::string& each : below) tree.set(each, arena::Health{});
  return *tree.compile();
}
std::uint64_t table_bytes(const DefineTemplate& what) {
  BatchBuilder builder;
  session::append(builder, what);
  return table_item(builder.front(), builder.front().body()).table.size();
}
Write intern(std::string text) {
  return [=](Court&, BatchBuilder& to) { session::append(to, InternText{.text = text}); };
}
Write say(std::function<Entity(Court&)> to_whom, int times) {
  return [=](Court& court, BatchBuilder& to) {
    for (int i = 0; i < times; ++i)
      to.append_table(TypeTraits<arena::Say>::id, to_whom(court), encode(arena::Say{.text = "hey"}));
  };
}

/// 36 entities.
constexpr std::uint64_t pass = 36 / 8 + 1;

struct Costed {
  const char* what;
  Write write;
  std::function<std::uint64_t(Court&, BatchView)> steps;  // but for its bytes
};

const std::vector<Costed>& costed() {
  const auto fixed = [](std::uint64_t steps) { return [=](Court&, BatchView) { return steps; }; };
  static const std::vector<Costed> all = {
      {"Rename of three", each([](Court& c) { return some(c.units, 3); }, Rename{}), fixed(6)},
      {"Rename of five with one name", [](Court& c, BatchBuilder& to) { to.append_shared(some(c.units, 5), Rename{}); },
       fixed(10)},
      {"SetField of four", each([](Court& c) { return some(c.units, 4); }, SetField{}), fixed(8)},
      {"Remove of one", each([](Court& c) { return some(c.units, 1); }, Remove{}), fixed(2)},
      {"Set of twenty, one value",
       [](Court& c, BatchBuilder& to) {
         to.append_rows_shared(std::span<const Entity>(c.units), Set{}, arena::Position{});
       },
       [](Court&, BatchView edit) { return std::uint64_t{edit.header().payload_bytes} * 20 / 64 + 40; }},
      {"Set of two, a value each",
       [](Court& c, BatchBuilder& to) {
         for (const Entity e : some(c.units, 2)) to.append_rows(e, Set{}, arena::Health{});
       },
       fixed(4)},
      {"Destroy of a town", each([](Court& c) { return std::vector{c.town}; }, Destroy{}), fixed(1 + 11)},
      {"Destroy of a town and of who is in it",
       each([](Court& c) { return std::vector{c.town, c.children[3]}; }, Destroy{}), fixed(1 + 11 + 1)},
      {"Destroy of a child before its town",
       each([](Court& c) { return std::vector{c.children[3], c.town}; }, Destroy{}), fixed(1 + 1 + 1 + 10)},
      {"Destroy of nobody", each([](Court&) { return std::vector{Entity{9999, 1}}; }, Destroy{}), fixed(1)},
      {"Destroy of the world", [](Court&, BatchBuilder& to) { to.append_world(Destroy{}); }, fixed(1)},
      {"Reparent to the end of a line",
       each([](Court& c) { return std::vector{c.children[0]}; }, Reparent{.parent = Entity{}}), fixed(2 + 1)},
      {"Reparent of a town below the end of a line",
       [](Court& c, BatchBuilder& to) { to.append(c.town, Reparent{.parent = c.line[4]}); }, fixed(2 + 11 + 5 / 4)},
      {"Reparent of two that do not meet",
       [](Court& c, BatchBuilder& to) {
         for (const Entity e : some(c.units, 2)) to.append(e, Reparent{.parent = c.line[3]});
       },
       fixed(4 + 2 * (2 + 1 + 4 / 4))},
      {"Reparent of two, one of which moves below the other",
       [](Court& c, BatchBuilder& to) {
         to.append(c.units[0], Reparent{.parent = c.line[4]});
         to.append(c.line[0], Reparent{});
       },
       fixed(5 + (2 + 1 + 1) + (2 + 5) + 6 * 2)},
      {"Reparent of the world", [](Court&, BatchBuilder& to) { to.append_world(Reparent{}); }, fixed(1)},
      {"Create of three", each([](Court& c) { return some(c.own, 3); }, Create{}), fixed(6)},
      {"Create of ten, one value",
       [](Court& c, BatchBuilder& to) { to.append_rows_shared(some(c.own, 10), Create{}, arena::Health{}); },
       [](Court&, BatchView edit) { return 20 + std::uint64_t{edit.header().payload_bytes} * 10 / 64; }},
      {"Create of the world", [](Court&, BatchBuilder& to) { to.append_world(Create{}); }, fixed(1)},
      {"Spawn of two trees",
       [](Court& c, BatchBuilder& to) { to.append_shared(some(c.own, 4), Spawn{.what = text_of("pair")}); },
       [](Court& c, BatchView) { return 3 * 4 + 3 * c.template_batch_bytes() / 64; }},
      {"Spawn of two trees with values of their own",
       [](Court& c, BatchBuilder& to) {
         to.append_rows_shared(some(c.own, 4), Spawn{.what = text_of("pair")}, arena::Position{});
       },
       [](Court& c, BatchView edit) {
         return 3 * 4 + 3 * c.template_batch_bytes() / 64 + std::uint64_t{edit.header().payload_bytes} * 4 / 64;
       }},
      {"Spawn of an unknown template",
       [](Court& c, BatchBuilder& to) { to.append_shared(some(c.own, 4), Spawn{.what = text_of("none")}); }, fixed(4)},
      {"Spawn that names each", each([](Court& c) { return some(c.own, 3); }, Spawn{.what = text_of("pair")}),
       fixed(3)},
      {"MergeTemplate over one that lives",
       [](Court& c, BatchBuilder& to) {
         const Entity over[] = {c.town, c.own[0]};
         to.append_shared(over, MergeTemplate{.what = text_of("pair")});
       },
       [](Court& c, BatchView) { return 3 * 2 + 2 * c.template_batch_bytes() / 64; }},
      {"a text", intern(std::string(96, 't')), fixed(3 + 3)},
      {"a text that is known", intern("known"), fixed(3)},
      {"no text", intern(""), fixed(3)},
      {"a template", define(nodes_called("tower", {"top", std::string(64, 'b')})),
       [](Court&, BatchView) {
         const DefineTemplate what = nodes_called("tower", {"top", std::string(64, 'b')});
         return 30 + table_bytes(what) / 16 + 3 + 3 + 3 + 5 +
                1;  // name, root, top, the long one; one template is counted
       }},
      {"Damage to seven", each([](Court& c) { return some(c.units, 7); }, arena::Damage{}), fixed(7)},
      {"one Damage to seven", [](Court& c, BatchBuilder& to) { to.append_shared(some(c.units, 7), arena::Damage{}); },
       fixed(7)},
      {"two passes",
       [](Court&, BatchBuilder& to) {
         to.append_world(arena::Damage{});
         to.append_world(arena::Damage{});
       },
       fixed(2 * pass)},
      {"to ancestors and the entity",
       [](Court& c, BatchBuilder& to) {
         to.append_subtree(c.line[2], subtree_ancestors | subtree_self, arena::Damage{});
       },
       fixed((1 + 2) / 2 + 1)},
      {"to all below",
       [](Court& c, BatchBuilder& to) {
         to.append_subtree(c.town, subtree_self | subtree_descendants, arena::Damage{});
       },
       fixed((1 + 11) / 2 + 1)},
      {"to all above and below",
       [](Court& c, BatchBuilder& to) {
         to.append_subtree(c.line[1], subtree_ancestors | subtree_descendants, arena::Damage{});
       },
       fixed((1 + 1 + 4) / 2 + 1)},
      {"to the line of nobody",
       [](Court&, BatchBuilder& to) { to.append_subtree({9999, 1}, subtree_descendants, arena::Damage{}); },
       fixed(1 / 2 + 1)},
      {"two tables to one", say([](Court& c) { return c.town; }, 2), fixed(2)},
      {"a table to the world", say([](Court&) { return Entity{}; }, 1), fixed(pass)},
      {"later", timed(1'000'000'000, each([](Court& c) { return some(c.units, 3); }, arena::Damage{})), fixed(10 + 3)},
  };
  return all;
}

}  // namespace

TEST_CASE("each edit costs what is stated, and one step less than that is too little for it", "[limits]") {
  for (const Costed& each : costed()) {
    CAPTURE(each.what);
    Court court;
    const auto bytes = court.bytes_of(each.write);
    BatchView edit{std::span<const std::byte>(bytes)};
    if (edit.kind() == BatchKind::timed) edit = edit.inner();
    const std::uint64_t steps = edit.bytes().size() / 64 + each.steps(court, edit);
    const auto cost = court.judge(each.write);
    REQUIRE(cost.has_value());
    CHECK(cost->steps == steps);

    court.limits.edit_steps_max = static_cast<std::uint32_t>(steps);
    CHECK(court.judge(each.write).has_value());
    court.limits.edit_steps_max = static_cast<std::uint32_t>(steps - 1);
    const auto dear = court.judge(each.write);
    const bool of_the_game = cost->delivery > 0;
    // One message of the game is a pass, as ticks are.
    if (of_the_game && edit.count() == 1) {
      CHECK(dear.has_value());
      continue;
    }
    REQUIRE_FALSE(dear.has_value());
    CHECK(dear.error().code == session::FaultCode::refused);
    CHECK(dear.error().reason == "edit_steps_max");
    CHECK(dear.error().type == edit.type());
    CHECK(dear.error().refused == edit.count());
    CHECK_FALSE(dear.error().closes);
    CHECK(dear.error().text == court.registry.types().find(edit.type())->name + " would cost " + std::to_string(steps) +
                                   " steps or more; " + std::to_string(steps - 1) +
                                   " are allowed for one batch, and it may be split into several");
    if (of_the_game) continue;
    // What is done seldom may cost more.
    CHECK(
        EditJudge(court.registry, court.limits).judge_bounds(court.from, BatchView(std::span<const std::byte>(bytes))));
  }
}

TEST_CASE("what an edit brings for good is counted: texts, rows, templates, and whom its messages reach", "[limits]") {
  struct Brought {
    const char* what;
    Write write;
    EditCost cost;
  };
  const std::uint64_t health = sizeof(arena::Health), position = sizeof(arena::Position);
  const DefineTemplate tower = nodes_called("tower", {"top"});
  Court any;
  const auto pair_bytes = template_bytes(any.registry, "pair");
  REQUIRE(pair_bytes > 0);
  REQUIRE(pair_bytes < any.template_batch_bytes());
  DefineTemplate forgotten;
  forgotten.name = "pair";
  const std::vector<Brought> all = {
      {"nothing", each([](Court& c) { return some(c.units, 3); }, Rename{}), {}},
      {"messages", each([](Court& c) { return some(c.units, 7); }, arena::Damage{}), {.delivery = 7}},
      {"a pass", [](Court&, BatchBuilder& to) { to.append_world(arena::Damage{}); }, {.delivery = pass}},
      {"entities", each([](Court& c) { return some(c.own, 3); }, Create{}), {.row_bytes = 3 * 16}},
      {"entities with values",
       [](Court& c, BatchBuilder& to) {
         to.append_rows_shared(some(c.own, 10), Create{}, arena::Health{}, arena::Position{});
       },
       {.row_bytes = 10 * (16 + health + position)}},
      {"values",
       [](Court& c, BatchBuilder& to) {
         for (const Entity e : some(c.units, 2)) to.append_rows(e, Set{}, arena::Position{});
       },
       {.row_bytes = 2 * position}},
      {"trees",
       [](Court& c, BatchBuilder& to) {
         to.append_rows_shared(some(c.own, 4), Spawn{.what = text_of("pair")}, arena::Position{});
       },
       {.row_bytes = 16 * 4 + (position + pair_bytes) * 3}},
      {"what a merge adds",
       [](Court& c, BatchBuilder& to) {
         const Entity over[] = {c.town, c.own[0]};
         to.append_shared(over, MergeTemplate{.what = text_of("pair")});
       },
       {.row_bytes = 16 * 1 + pair_bytes * 2}},
      {"a text", intern("abc"), {.texts = 1, .text_bytes = 3, .told = {text_of("abc").hash}}},
      {"a text that is known", intern("known"), {.told = {text_of("known").hash}}},
      {"no text", intern(""), {}},
      {"a template",
       define(tower),
       {.texts = 2,
        .text_bytes = 8,
        .template_bytes = table_bytes(tower),
        .told = {text_of("tower").hash, text_of("top").hash}}},
      {"no template any more", define(forgotten), {.told = {text_of("pair").hash}}},
  };
  for (const Brought& each : all) {
    CAPTURE(each.what);
    Court court;
    const auto cost = court.judge(each.write);
    REQUIRE(cost.has_value());
    CHECK(cost->delivery == each.cost.delivery);
    CHECK(cost->texts == each.cost.texts);
    CHECK(cost->text_bytes == each.cost.text_bytes);
    CHECK(cost->row_bytes == each.cost.row_bytes);
    CHECK(cost->template_bytes == each.cost.template_bytes);
    CHECK(cost->told == each.cost.told);
  }
}

TEST_CASE("each bound of an edit is met exactly; the least that is more is refused with both numbers", "[limits]") {
  struct Bound {
    const char* limit;
    std::uint64_t exact;
    Write write;
    const char* reason;
    std::string text;  // where one less is allowed
    std::function<Entity(Court&)> whom = [](Court&) { return Entity{}; };
    std::function<void(Court&)> before = [](Court&) {};
  };
  const auto id = [](Entity e) { return "#" + std::to_string(e.index) + ":1"; };
  Court any;  // all are alike
  const std::uint64_t texts = any.registry.host().texts().size(), text_bytes = any.registry.host().texts().bytes();
  const std::uint64_t rows = [&] {
    WorldBudget budget(any.registry);
    (void)budget.rows_exceed(0, 0);
    return budget.rows();
  }();
  const std::uint64_t pair_bytes = template_bytes(any.registry, "pair");
  const DefineTemplate tower = nodes_called("tower", {"top"});
  const std::uint64_t tower_bytes = table_bytes(tower);
  const Write later = timed(1'000'000'000, each([](Court& c) { return some(c.units, 3); }, arena::Damage{}));
  const std::uint64_t later_bytes = any.bytes_of(later).size();
  const auto text_of_number = [](std::uint64_t now, std::uint64_t allowed, const std::string& before,
                                 const std::string& what) {
    return before + std::to_string(now) + what + std::to_string(allowed) + " are allowed";
  };
  const auto later_waits = [=](Court& c) {
    BatchBuilder builder;
    later(c, builder);
    c.from.timers.push_back(c.registry.host().next_timer());
    c.registry.host().push_batch(builder.bytes(), {.session = 7, .request = 1});
  };
  const std::vector<Bound> bounds = {
      {"depth_max", 5, [](Court& c, BatchBuilder& to) { to.append(c.own[0], Create{.parent = c.line[4]}); },
       "depth_max", id(any.own[0]) + " would be 5 levels below its root; 4 are allowed",
       [](Court& c) { return c.own[0]; }},
      {"depth_max", 6,
       [](Court& c, BatchBuilder& to) {
         to.append(c.own[0], Create{.parent = c.line[4]});
         to.append(c.own[1], Create{.parent = c.own[0]});
       },
       "depth_max", id(any.own[1]) + " would be 6 levels below its root; 5 are allowed",
       [](Court& c) { return c.own[1]; }},
      {"depth_max", 6, [](Court& c, BatchBuilder& to) { to.append(c.town, Reparent{.parent = c.line[4]}); },
       "depth_max", id(any.town) + " would be 6 levels below its root; 5 are allowed", [](Court& c) { return c.town; }},
      {"depth_max", 6,
       [](Court& c, BatchBuilder& to) {
         to.append_shared(some(c.own, 2), Spawn{.what = text_of("pair"), .parent = c.line[4]});
       },
       "depth_max", id(any.own[0]) + " would be 6 levels below its root; 5 are allowed",
       [](Court& c) { return c.own[0]; }},
      {"depth_max", 1,
       [](Court& c, BatchBuilder& to) { to.append_shared(some(c.own, 2), Spawn{.what = text_of("pair")}); },
       "depth_max", id(any.own[0]) + " would be 1 levels below its root; 0 are allowed",
       [](Court& c) { return c.own[0]; }},
      {"depth_max", 5,
       [](Court& c, BatchBuilder& to) {
         const Entity over[] = {c.line[4], c.own[0]};
         to.append_shared(over, MergeTemplate{.what = text_of("pair")});
       },
       "depth_max", id(any.line[4]) + " would be 5 levels below its root; 4 are allowed",
       [](Court& c) { return c.line[4]; }},
      {"depth_max", 5 + (1 + 5),
       [](Court& c, BatchBuilder& to) {
         to.append(c.units[0], Reparent{.parent = c.line[4]});
         to.append(c.line[0], Reparent{});
       },
       "depth_max", id(any.units[0]) + " would be 11 levels below its root; 10 are allowed",
       [](Court& c) { return c.units[0]; }},
      {"name_bytes_max", 5,
       [](Court& c, BatchBuilder& to) {
         c.registry.intern("tower");
         to.append(c.own[0], Create{.name = text_of("tower")});
       },
       "name_bytes_max", "a name of 5 bytes; 4 are allowed"},
      {"name_bytes_max", 5,
       [](Court& c, BatchBuilder& to) {
         c.registry.intern("tower");
         to.append(c.town, Rename{.name = text_of("tower")});
       },
       "name_bytes_max", "a name of 5 bytes; 4 are allowed"},
      {"name_bytes_max", 5,
       [](Court& c, BatchBuilder& to) {
         c.registry.intern("tower");
         to.append_shared(some(c.own, 2), Spawn{.what = text_of("pair"), .name = text_of("tower")});
       },
       "name_bytes_max", "a name of 5 bytes; 4 are allowed"},
      {"name_bytes_max", 5, define(nodes_called("tower", {"top"})), "name_bytes_max",
       "a name of 5 bytes; 4 are allowed"},
      {"name_bytes_max", 5, define(nodes_called("tw", {"inner"})), "name_bytes_max",
       "a name of 5 bytes; 4 are allowed"},
      {"world_entities_max", 36 + 3, each([](Court& c) { return some(c.own, 3); }, Create{}), "world_entities_max",
       "the world would have 39 entities; sessions may make up to 38"},
      {"world_entities_max", 36 + 4,
       [](Court& c, BatchBuilder& to) { to.append_shared(some(c.own, 4), Spawn{.what = text_of("pair")}); },
       "world_entities_max", "the world would have 40 entities; sessions may make up to 39"},
      {"world_entities_max", 36 + 1,
       [](Court& c, BatchBuilder& to) {
         const Entity over[] = {c.town, c.own[0]};
         to.append_shared(over, MergeTemplate{.what = text_of("pair")});
       },
       "world_entities_max", "the world would have 37 entities; sessions may make up to 36"},
      {"text_bytes_max", 9, intern("nine byte"), "text_bytes_max", "a text of 9 bytes; 8 are allowed"},
      {"texts_max", 4 + 2, define(tower), "texts_max", "this session would have 6 texts of its own; 5 are allowed",
       [](Court&) { return Entity{}; }, [](Court& c) { c.from.texts = 4; }},
      {"texts_bytes_max", 100 + 8, define(tower), "texts_max",
       "this session would have 108 bytes of texts of its own; 107 are allowed", [](Court&) { return Entity{}; },
       [](Court& c) { c.from.text_bytes = 100; }},
      {"world_texts_max", texts + 1, intern("x"), "world_texts_max",
       text_of_number(texts + 1, texts, "the world would have ", " texts; ")},
      {"world_texts_bytes_max", text_bytes + 3, intern("xyz"), "world_texts_max",
       text_of_number(text_bytes + 3, text_bytes + 2, "the world would have ", " bytes of texts; ")},
      {"template_nodes_max", 3, define(nodes_called("wide", {"a", "b"})), "template_nodes_max",
       "a template of 3 nodes; 2 are allowed"},
      {"templates_max", 2, define(tower), "templates_max", "the world would have 2 templates; 1 are allowed"},
      {"templates_bytes_max", pair_bytes + tower_bytes, define(tower), "templates_bytes_max",
       text_of_number(pair_bytes + tower_bytes, pair_bytes + tower_bytes - 1, "the world's templates would have ",
                      " bytes; ")},
      {"templates_bytes_max", table_bytes(nodes_called("pair", {"one", "two"})),
       define(nodes_called("pair", {"one", "two"})), "templates_bytes_max",
       text_of_number(table_bytes(nodes_called("pair", {"one", "two"})),
                      table_bytes(nodes_called("pair", {"one", "two"})) - 1, "the world's templates would have ",
                      " bytes; ")},
      {"world_rows_bytes_max", rows + 3 * 16, each([](Court& c) { return some(c.own, 3); }, Create{}),
       "world_rows_bytes_max",
       text_of_number(rows + 48, rows + 47, "the values of the world's entities would have ", " bytes; ")},
      {"world_rows_bytes_max", rows + 2 * sizeof(arena::Position),
       [](Court& c, BatchBuilder& to) {
         const Entity some_of[] = {c.units[0], c.units[1]};
         to.append_rows_shared(some_of, Set{}, arena::Position{}, arena::Health{});
       },
       "world_rows_bytes_max",
       text_of_number(rows + 2 * sizeof(arena::Position), rows + 2 * sizeof(arena::Position) - 1,
                      "the values of the world's entities would have ", " bytes; ")},
      {"timers_max", 2, later, "timers_max", "this session has 1 timers waiting; 1 are allowed",
       [](Court&) { return Entity{}; }, later_waits},
      {"world_timers_max", 2, later, "world_timers_max", "the world has 1 timers waiting; 1 are allowed",
       [](Court&) { return Entity{}; }, later_waits},
      {"timer_bytes_max", later_bytes, later, "timer_bytes_max",
       text_of_number(later_bytes, later_bytes - 1, "a timed batch of ", " bytes; ")},
      {"world_timers_bytes_max", 2 * later_bytes, later, "world_timers_bytes_max",
       text_of_number(2 * later_bytes, 2 * later_bytes - 1, "the timed batches that wait would have ", " bytes; "),
       [](Court&) { return Entity{}; }, later_waits},
  };
  for (const Bound& bound : bounds) {
    CAPTURE(bound.limit, bound.exact, bound.text);
    Court court;
    bound.before(court);
    REQUIRE(set_limit(court.limits, bound.limit, bound.exact));
    const auto fits = court.judge(bound.write);
    if (!fits) FAIL_CHECK(fits.error().reason << ": " << fits.error().text);
    Court other;
    bound.before(other);
    REQUIRE(set_limit(other.limits, bound.limit, bound.exact - 1));
    const auto refused = other.judge(bound.write);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == session::FaultCode::refused);
    CHECK(refused.error().reason == bound.reason);
    CHECK(refused.error().text == bound.text);
    CHECK(refused.error().entity == bound.whom(other));
    const auto bytes = other.bytes_of(bound.write);
    BatchView edit{std::span<const std::byte>(bytes)};
    if (edit.kind() == BatchKind::timed) edit = edit.inner();
    CHECK(refused.error().type == edit.type());
    CHECK(refused.error().refused == edit.count());
  }
}

TEST_CASE("what sessions leave for one span of the clock has a bound of steps, beside what is left alone", "[limits]") {
  const Write later = timed(1'000'000'000, each([](Court& c) { return some(c.units, 3); }, arena::Damage{}));
  for (const bool fits : {true, false}) {
    Court court;
    EditJudge judge(court.registry, court.limits);
    const auto bytes = court.bytes_of(later);
    const BatchView batch{std::span<const std::byte>(bytes)};
    const auto cost = judge.judge(court.from, batch);
    REQUIRE(cost.has_value());
    court.limits.timer_steps_max = static_cast<std::uint32_t>(2 * cost->steps - (fits ? 0 : 1));
    judge.waits(batch, *cost);
    const auto second = judge.judge(court.from, batch);
    CHECK(second.has_value() == fits);
    if (!fits)
      CHECK(second.error().text ==
            "the messages scheduled for that time would cost " + std::to_string(2 * cost->steps) + " steps; " +
                std::to_string(2 * cost->steps - 1) + " are allowed within 16 ms of the world's clock");
    // At the end of the span, and at the beginning of the next one.
    const std::uint64_t span_end = (1'000'000'000 / TimerBudget::span_ns + 1) * TimerBudget::span_ns;
    const auto at = [&](std::uint64_t due_ns) {
      const auto other =
          court.bytes_of(timed(due_ns, each([](Court& c) { return some(c.units, 3); }, arena::Damage{})));
      return judge.judge(court.from, BatchView(std::span<const std::byte>(other))).has_value();
    };
    CHECK(at(span_end - 1) == fits);
    CHECK(at(span_end));
    // Alone it is never too dear.
    court.limits.timer_steps_max = 1;
    CHECK(at(span_end));
    CHECK_FALSE(at(span_end - 1));
    // When it is over there is room.
    court.registry.advance(span_end);
    CHECK(at(span_end));
  }
}

TEST_CASE("ids of a session are those of its grants, the first and the last of each, of generation 1", "[limits]") {
  Seat seat;
  CHECK_FALSE(owns(seat, {10, 1}));
  seat.grants = {{.first = 10, .count = 2}, {.first = 20, .count = 1}};
  std::vector<std::uint32_t> owned;
  for (std::uint32_t index = 0; index < 30; ++index)
    if (owns(seat, {index, 1})) owned.push_back(index);
  CHECK(owned == std::vector<std::uint32_t>{10, 11, 20});
  CHECK_FALSE(owns(seat, {10, 2}));
  CHECK_FALSE(owns(seat, {10, 0}));
}

// What answers say, in whatever pages and slices they come: all there is, in its order, each once; and why a question has none.
#include <catch2/catch.hpp>
#include <set>
#include <thread>

#include "registry/apply/manager.h"
#include "registry/apply/timers.h"
#include "registry/handlers/handler_table.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/server/desk/hand_desk.h"

using namespace muster;
using namespace muster::testing;

namespace {

/// Some of everything that is listed.
struct Library : HandDesk {
  explicit Library(const ServerLimits& limits = {}) : HandDesk(limits) {
    EntityRegistry& r = registry;
    town = r.create("town", arena::Position{});
    for (int i = 0; i < 13; ++i) {
      const std::string name = "house" + std::to_string(i % 10) + std::string(static_cast<std::size_t>(i) * 3, 'x');
      const Entity house = i % 3 == 0 ? r.create_under(town, name, arena::Health{}) : r.create_under(town, name);
      for (int k = 0; k < i % 4; ++k)
        r.create_under(house, "room" + std::to_string(k), arena::Health{}, arena::Label{}).or_stop();
    }
    for (int i = 0; i < 9; ++i) r.create(i % 2 == 0 ? "root" + std::to_string(i) : "").or_stop();
    r.destroy(r.find_path("/root4"));
    r.destroy(r.find_path("/town/house3xxxxxxxxx"));
    for (int i = 0; i < 7; ++i) {
      TemplateTree tree("t" + std::to_string(i * 7 % 10) + std::string(static_cast<std::size_t>(i), 'y'));
      for (int k = 0; k < i; ++k) tree.set("n" + std::to_string(k), arena::Health{});
      r.define_template(tree);
    }
    for (int i = 0; i < 11; ++i) {
      BatchBuilder inner, timed;
      if (i % 3 == 0)
        inner.append_world(arena::Damage{});
      else if (i % 3 == 1)
        for (int k = 0; k <= i; ++k) inner.append(town, arena::Damage{});
      else
        inner.append_table(TypeTraits<arena::Say>::id, town, encode(arena::Say{.text = "hey"}));
      timed.append_timed(1'000'000 + static_cast<std::uint64_t>(i * 5 % 7), 0, inner.front());
      r.host().push_batch(timed.bytes());
    }
    for (int i = 0; i < 9; ++i)
      handlers.push_back(r.subscribe("h" + std::to_string(i), [](const arena::Damage&, arena::Health&) {}));
    one = join();
  }
  Entity town;
  std::vector<Subscription> handlers;
  std::shared_ptr<Session> one;
};

/// Bounds of pages and slices, small ones among them.
std::vector<ServerLimits> bounds() {
  std::vector<ServerLimits> all;
  for (const std::uint32_t rows : {1u, 2u, 5u, 10'000u})
    for (const std::uint32_t bytes : {300u, 1u << 20})
      for (const std::uint32_t steps : {12u, 20'000u}) {
        ServerLimits limits;
        limits.rows_max = rows;
        limits.page_bytes_max = bytes;
        limits.slice_steps = steps;
        all.push_back(limits);
      }
  return all;
}

struct ChildRow {
  Entity entity;
  std::string name;
  std::uint32_t children = 0;
  std::vector<TypeId> components;
  friend bool operator==(const ChildRow&, const ChildRow&) = default;
};
ChildRow row_of(const EntityRegistry& registry, Entity e) {
  const auto components = registry.host().components(e);
  return {e, std::string(registry.name(e)), registry.child_count(e), {components.begin(), components.end()}};
}

std::vector<Entity> children_of(const EntityRegistry& registry, Entity parent) {
  std::vector<Entity> children;
  if (parent) {
    for (Entity e = registry.first_child(parent); e; e = registry.next_sibling(e)) children.push_back(e);
  } else {
    registry.each<>([&](Entity e) {
      if (!registry.parent(e)) children.push_back(e);
    });
    std::ranges::sort(children, {}, &Entity::index);
  }
  return children;
}
std::vector<Entity> everyone(const EntityRegistry& registry) {
  std::vector<Entity> all;
  registry.each<>([&](Entity e) { all.push_back(e); });
  std::ranges::sort(all, {}, &Entity::index);
  return all;
}

}  // namespace

TEST_CASE("children are all listed in their order, however small pages and slices are", "[questions]") {
  for (const ServerLimits& limits : bounds()) {
    Library world(limits);
    CAPTURE(limits.rows_max, limits.page_bytes_max, limits.slice_steps);
    for (const Entity parent : {world.town, Entity{}}) {
      const auto children = children_of(world.registry, parent);
      std::vector<ChildRow> told;
      std::uint32_t pages = 0;
      while (told.size() < children.size()) {
        const auto offset = static_cast<std::uint32_t>(told.size());
        const auto page = world.answer_to<session::Children>(
            *world.one, session::ListChildren{.entity = parent, .offset = offset, .limit = 7});
        CHECK(page.entity == parent);
        CHECK(page.offset == offset);
        CHECK(page.total == children.size());
        CHECK(page.sequence == world.registry.sequence());
        REQUIRE_FALSE(page.entities.empty());
        CHECK(page.entities.size() <= std::min(limits.rows_max, 7u));
        std::size_t next = 0;
        for (std::size_t i = 0; i < page.entities.size(); ++i) {
          ChildRow row{page.entities[i], page.names[i], page.child_counts[i], {}};
          for (std::uint32_t k = 0; k < page.component_counts[i]; ++k)
            row.components.push_back(page.components[next++]);
          told.push_back(std::move(row));
        }
        CHECK(next == page.components.size());
        ++pages;
      }
      std::vector<ChildRow> rows;
      for (const Entity e : children) rows.push_back(row_of(world.registry, e));
      CHECK(told == rows);
      if (limits.page_bytes_max > 300)
        CHECK(pages == (rows.size() + std::min(limits.rows_max, 7u) - 1) / std::min(limits.rows_max, 7u));
    }
    // Behind the last one there is none.
    const auto none =
        world.answer_to<session::Children>(*world.one, session::ListChildren{.entity = world.town, .offset = 100});
    CHECK(none.entities.empty());
    CHECK(none.offset == 100);
    CHECK(none.total == 12);
  }
}

TEST_CASE("what is found comes by index, page by page, and says whether there is more", "[questions]") {
  const TypeId health = TypeTraits<arena::Health>::id, label = TypeTraits<arena::Label>::id;
  for (const ServerLimits& limits : bounds()) {
    Library world(limits);
    CAPTURE(limits.rows_max, limits.page_bytes_max, limits.slice_steps);
    const EntityRegistry& r = world.registry;
    struct Wanted {
      session::Find what;
      std::function<bool(Entity)> fits;
    };
    const auto below_town = [&](Entity e) {
      for (; e; e = r.parent(e))
        if (e == world.town) return true;
      return false;
    };
    const std::vector<Wanted> all = {
        {{}, [](Entity) { return true; }},
        {{.name = "OOM"}, [&](Entity e) { return r.name(e).find("oom") != std::string_view::npos; }},
        {{.components = {label, health}}, [&](Entity e) { return r.find(e, health) && r.find(e, label); }},
        {{.under = world.town}, below_town},
        {{.name = "house", .components = {health}, .under = world.town},
         [&](Entity e) { return below_town(e) && r.find(e, health) && r.name(e).find("house") == 0; }},
        {{.name = "nobody"}, [](Entity) { return false; }}};
    for (const Wanted& wanted : all) {
      std::vector<Entity> expected, told;
      for (const Entity e : everyone(r))
        if (wanted.fits(e)) expected.push_back(e);
      session::Find what = wanted.what;
      what.limit = 4;
      for (bool more = true; more;) {
        const auto page = world.answer_to<session::Found>(*world.one, what);
        CHECK(page.sequence == r.sequence());
        REQUIRE(page.paths.size() == page.entities.size());
        for (std::size_t i = 0; i < page.entities.size(); ++i) {
          CHECK(page.paths[i] == r.path(page.entities[i]));
          told.push_back(page.entities[i]);
        }
        more = page.more;
        CHECK(page.entities.size() <= std::min(limits.rows_max, 4u));
        CHECK(more == (told.size() < expected.size()));
        if (more) {
          REQUIRE_FALSE(page.entities.empty());
          what.after = page.entities.back();
          if (limits.page_bytes_max > 300) CHECK(page.entities.size() == std::min(limits.rows_max, 4u));
        }
      }
      CHECK(told == expected);
    }
    // The end of a path, or all of it.
    session::Resolve room;
    room.path = "room0";
    room.limit = 3;
    std::vector<Entity> rooms;
    for (const Entity e : everyone(r))
      if (r.name(e) == "room0") rooms.push_back(e);
    REQUIRE(rooms.size() > 3);
    const auto page = world.answer_to<session::Found>(*world.one, room);
    CHECK(page.more);
    CHECK(page.entities.size() <= std::min(limits.rows_max, 3u));
    CHECK(page.entities.front() == rooms.front());
    session::Resolve whole;
    whole.path = "/town/house1xxx/room0";
    const auto found = world.answer_to<session::Found>(*world.one, whole);
    REQUIRE(found.entities.size() == 1);
    CHECK(found.paths == std::vector<std::string>{whole.path});
    CHECK(found.entities[0] == r.find_path(whole.path));
    CHECK(found.sequence == r.sequence());
    CHECK_FALSE(found.more);
    whole.path = "/town/nobody";
    CHECK(world.answer_to<session::Found>(*world.one, whole).entities.empty());
  }
}

TEST_CASE("timers, handlers and templates are all listed in their order, however small pages and slices are",
          "[questions]") {
  for (const ServerLimits& limits : bounds()) {
    Library world(limits);
    CAPTURE(limits.rows_max, limits.page_bytes_max, limits.slice_steps);
    const EntityRegistry& r = world.registry;
    const std::size_t rows_max = std::min(limits.rows_max, 3u);
    {
      session::PendingTimers all, page;
      session::ListTimers what{.limit = 3};
      do {
        page = world.answer_to<session::PendingTimers>(*world.one, what);
        CHECK(page.sequence == r.sequence());
        CHECK(page.clock_ns == r.now_ns());
        CHECK(page.total == 11);
        REQUIRE_FALSE(page.timers.empty());
        CHECK(page.timers.size() <= rows_max);
        const auto add = [](auto& to, const auto& more) { to.insert(to.end(), more.begin(), more.end()); };
        add(all.timers, page.timers);
        add(all.due_ns, page.due_ns);
        add(all.types, page.types);
        add(all.targets, page.targets);
        add(all.counts, page.counts);
        add(all.own, page.own);
        what.after_due_ns = all.due_ns.back();
        what.after_timer = all.timers.back();
        CHECK(page.more == (all.timers.size() < 11));
      } while (page.more);
      std::size_t i = 0;
      REQUIRE(all.timers.size() == 11);
      for (const auto& [key, waiting] : r.host().timers().waiting()) {
        const BatchView inner = BatchView(waiting.batch).inner();
        CHECK(all.timers[i] == key.id);
        CHECK(all.due_ns[i] == key.due_ns);
        CHECK(all.types[i] == inner.type());
        CHECK(all.targets[i] == (inner.kind() == BatchKind::world ? Entity{} : world.town));
        CHECK(all.counts[i] == inner.count());
        CHECK(all.own[i] == 0);
        ++i;
      }
    }
    {
      std::vector<std::uint64_t> numbers;
      std::vector<std::string> names;
      session::ListHandlers what{.limit = 3};
      for (bool more = true; more;) {
        const auto page = world.answer_to<session::HandlerList>(*world.one, what);
        CHECK(page.sequence == r.sequence());
        CHECK(page.total == 9);
        REQUIRE_FALSE(page.handlers.empty());
        CHECK(page.handlers.size() <= rows_max);
        numbers.insert(numbers.end(), page.handlers.begin(), page.handlers.end());
        names.insert(names.end(), page.names.begin(), page.names.end());
        more = page.more;
        CHECK(more == (numbers.size() < 9));
        what.after = numbers.back();
      }
      CHECK(std::ranges::is_sorted(numbers));
      CHECK(names == std::vector<std::string>{"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"});
    }
    {
      const auto frames = world.answers(*world.one, session::ListTemplates{});
      std::vector<std::string> names, expected;
      for (std::size_t i = 0; i < frames.size(); ++i) {
        REQUIRE(frames[i].is<session::Templates>());
        CHECK((frames[i].header.flags == (i + 1 < frames.size() ? std::uint32_t{frame_more} : 0)));
        const auto part = session::read<session::Templates>(frames[i].batch());
        CHECK(part.sequence == r.sequence());
        REQUIRE(part.names.size() == part.nodes.size());
        for (std::size_t k = 0; k < part.names.size(); ++k) {
          CHECK(part.nodes[k] == r.host().find_template(part.names[k])->size());
          names.push_back(part.names[k]);
        }
      }
      for (const std::string_view name : r.host().template_names()) expected.emplace_back(name);
      std::ranges::sort(expected);
      CHECK(names == expected);
      CHECK(names.size() == 7);
      if (limits.page_bytes_max > 300) CHECK(frames.size() == 1);
    }
  }
}

TEST_CASE("an entity is shown with all there is about it, then with its values", "[questions]") {
  Library world;
  EntityRegistry& r = world.registry;
  const Text title = r.intern("a title");
  const Entity room = r.find_path("/town/house1xxx/room0");
  REQUIRE(r.alive(room));
  r.set(room, arena::Label{.title = title}, arena::Health{.value = 12});
  r.advance(50);
  auto frames = world.answers(*world.one, session::Show{.entity = room});
  REQUIRE(frames.size() == 4);
  std::set<std::string> texts;
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(frames[i].header.request == 0);
    texts.insert(session::read<InternText>(frames[i].batch()).text);
  }
  CHECK(texts == std::set<std::string>{"a title", "room0"});
  frames.erase(frames.begin());
  CHECK(frames[1].header.request == 77);
  CHECK(frames[1].header.flags == frame_more);
  CHECK(frames[2].header.request == 77);
  CHECK(frames[2].header.flags == 0);
  const auto shown = session::read<session::Shown>(frames[1].batch());
  CHECK(shown.sequence == r.sequence());
  CHECK(shown.clock_ns == 50);
  CHECK(shown.entity == room);
  CHECK(shown.parent == r.parent(room));
  CHECK(shown.name == "room0");
  CHECK(shown.path == "/town/house1xxx/room0");
  CHECK(shown.depth == 2);
  CHECK(shown.child_count == 0);
  CHECK(shown.components == std::vector<TypeId>(r.host().components(room).begin(), r.host().components(room).end()));
  CHECK(frames[2].batch().type() == TypeTraits<Set>::id);
  CHECK(frames[2].batch().target(0) == room);
  bool label = false, health = false;
  for (const RowSetEntry& entry : frames[2].batch().row_set()) {
    const std::byte* at = frames[2].batch().payload(0) + entry.offset;
    if (entry.type == TypeTraits<arena::Label>::id) label = std::memcmp(at, &title, sizeof title) == 0;
    const float value = 12;
    if (entry.type == TypeTraits<arena::Health>::id) health = std::memcmp(at, &value, sizeof value) == 0;
  }
  CHECK(label);
  CHECK(health);
  // A text is sent once; who asks for it gets it again.
  CHECK(world.answers(*world.one, session::Show{.entity = room}).size() == 2);
  frames = world.answers(*world.one, session::GetText{.hash = title.hash});
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].header.request == 77);
  CHECK(session::read<InternText>(frames[0].batch()).text == "a title");
  // Another session was sent none; where it asks for the text first it comes once.
  const auto other = world.join("other");
  CHECK(world.answers(*other, session::GetText{.hash = title.hash}).size() == 1);
  CHECK(world.answers(*other, session::Show{.entity = room}).size() == 3);  // its name
  CHECK(session::read<session::Shown>(world.answers(*other, session::Show{.entity = world.town})[1].batch())
            .child_count == 12);
}

TEST_CASE("an entity is shown with the values that managers hold for it", "[questions]") {
  struct Holder final : Manager {
    Entity of;
    Text title;
    std::vector<std::byte> large;
    void describe(Entity e, const std::function<void(const Held&)>& take) const override {
      if (e != of) return;
      const arena::Label label{.title = title};
      take({.type = TypeTraits<arena::Label>::id, .name = "label", .bytes = std::as_bytes(std::span(&label, 1))});
      const std::uint8_t raw[]{1, 2, 255};
      for (const std::uint64_t instance : {7u, 9u})
        take({.name = "mesh", .instance = instance, .bytes = std::as_bytes(std::span(raw))});
      // Bytes that are no value of the type are no value of it anywhere.
      take({.type = TypeTraits<arena::Label>::id, .name = "short", .bytes = std::as_bytes(std::span(raw))});
      take({.name = "large", .bytes = large});
      take({.type = 12345, .name = "unknown \xff type", .bytes = {}});
    }
  } holder, second;
  Library world;
  EntityRegistry& r = world.registry;
  holder.title = r.intern("a held title");
  holder.of = second.of = world.town;
  holder.large.resize(60'000);
  second.large.resize(70'000);
  r.add_manager("b.second", second);
  r.add_manager("a.holder", holder);
  auto frames = world.answers(*world.one, session::Show{.entity = world.town});
  const auto is_text = [](const auto& frame) { return frame.header.request == 0; };
  std::set<std::string> texts;
  for (const auto& frame : frames)
    if (is_text(frame)) texts.insert(session::read<InternText>(frame.batch()).text);
  CHECK(texts == std::set<std::string>{"a held title", "town"});
  const auto shown = session::read<session::Shown>(std::ranges::find_if_not(frames, is_text)->batch());
  REQUIRE(shown.held.size() >= 6);
  CHECK(shown.held[0].manager == "a.holder");
  CHECK(shown.held[0].name == "label");
  CHECK(shown.held[0].type == TypeTraits<arena::Label>::id);
  REQUIRE(shown.held[0].value.size() == sizeof(arena::Label));
  CHECK(std::memcmp(shown.held[0].value.data(), &holder.title, sizeof holder.title) == 0);
  CHECK(shown.held[1].instance == 7);
  CHECK(shown.held[1].type == 0);
  CHECK(shown.held[1].value == std::vector<std::uint8_t>{1, 2, 255});
  CHECK(shown.held[2].instance == 9);
  CHECK(shown.held[3].name == "short");
  CHECK(shown.held[3].type == 0);
  CHECK(shown.held[4].value.size() == 60'000);
  CHECK(shown.held[5].type == 0);
  // The large one of the second does not fit any more.
  CHECK(shown.held.back().manager == "b.second");
  CHECK(shown.held_left_out == 1);
  CHECK(shown.held.size() == 11);
  const Entity other = r.create("other");
  frames = world.answers(*world.one, session::Show{.entity = other});
  CHECK(session::read<session::Shown>(std::ranges::find_if_not(frames, is_text)->batch()).held.empty());
  r.remove_manager(holder);
  r.remove_manager(second);
}

TEST_CASE("a question that makes no sense is answered with its code, its word, its part and a sentence",
          "[questions]") {
  using namespace muster::session;
  ServerLimits limits;
  limits.path_bytes_max = 20;
  limits.watches_max = 1;
  limits.watched_entities_max = 15;
  limits.reserved_watched_entities = 0;
  Library world(limits);
  const Entity dead{900, 3};
  const std::string long_text(21, 'x');
  const TypeId damage = TypeTraits<arena::Damage>::id, health = TypeTraits<arena::Health>::id;
  const auto all = world.registry.types().types().size();
  struct Wrong {
    std::function<Fault()> ask;
    FaultCode code;
    std::string reason, field, text;
    Entity entity = {};
    TypeId type = 0;
  };
  const auto of = [&](auto question) {
    return [&world, question] { return world.answer_to<Fault>(*world.one, question); };
  };
  Find by_name, by_damage, by_unknown, by_many, under;
  by_name.name = long_text;
  by_damage.components = {health, damage};
  by_unknown.components = {5};
  by_many.components.assign(all + 1, health);
  under.under = dead;
  Resolve long_path;
  long_path.path = long_text;
  GetTemplate unknown;
  unknown.name = "no such";
  Follow fast, both, with, without, pushed, inputs, except, values, rate;
  both.world = true;
  both.entities = {world.town};
  with.with = without.without = values.components = {damage};
  pushed.pushed = inputs.input_types = except.inputs_except = {health};
  fast.rate_max = -1;
  rate.rate_max = 1e6f + 1;
  const std::string rate_text = "a rate is between 0 and 1000000 per second";
  const std::vector<Wrong> wrong = {
      {of(Show{.entity = dead}), FaultCode::dead_entity, "dead_entity", "entity", "no entity #900:3 is alive", dead},
      {of(ListChildren{.entity = dead}), FaultCode::dead_entity, "dead_entity", "entity", "no entity #900:3 is alive",
       dead},
      {of(under), FaultCode::dead_entity, "dead_entity", "under", "no entity #900:3 is alive", dead},
      {of(by_name), FaultCode::bad_question, "too_long", "name", "name has 21 bytes; 20 are allowed"},
      {of(long_path), FaultCode::bad_question, "too_long", "path", "path has 21 bytes; 20 are allowed"},
      {of(Resolve{}), FaultCode::bad_question, "bad_question", "path", "the path is empty"},
      {of(by_damage),
       FaultCode::unknown_type,
       "unknown_type",
       "components",
       "arena.Damage is not a component",
       {},
       damage},
      {of(by_unknown), FaultCode::unknown_type, "unknown_type", "components", "no type has the id 5", {}, 5},
      {of(by_many), FaultCode::bad_question, "too_many", "components",
       "components names " + std::to_string(all + 1) + "; the world has " + std::to_string(all) + " types"},
      {of(GetText{.hash = 5}), FaultCode::not_found, "unknown_text", "", "the world knows no text of hash 5"},
      {of(unknown), FaultCode::not_found, "unknown_template", "name", "the world has no template called \"no such\""},
      {of(Unwatch{.watch = 9}), FaultCode::not_found, "unknown_watch", "watch", "this session has no watch 9"},
      {of(FollowMore{.watch = 9}), FaultCode::not_found, "unknown_watch", "watch", "this session has no watch 9"},
      {of(Follow{.watch = 9}), FaultCode::not_found, "unknown_watch", "watch", "this session has no watch 9"},
      {of(fast), FaultCode::bad_question, "bad_question", "rate_max", rate_text},
      {of(rate), FaultCode::bad_question, "bad_question", "rate_max", rate_text},
      {of(both), FaultCode::bad_question, "bad_question", "entities",
       "a watch of the whole world cannot also name entities"},
      {of(values),
       FaultCode::unknown_type,
       "unknown_type",
       "components",
       "arena.Damage is not a component",
       {},
       damage},
      {of(with), FaultCode::unknown_type, "unknown_type", "with", "arena.Damage is not a component", {}, damage},
      {of(without), FaultCode::unknown_type, "unknown_type", "without", "arena.Damage is not a component", {}, damage},
      {of(pushed), FaultCode::unknown_type, "unknown_type", "pushed", "arena.Health is not a message", {}, health},
      {of(inputs), FaultCode::unknown_type, "unknown_type", "input_types", "arena.Health is not a message", {}, health},
      {of(except),
       FaultCode::unknown_type,
       "unknown_type",
       "inputs_except",
       "arena.Health is not a message",
       {},
       health},
      {of(EndTrace{}), FaultCode::not_found, "no_trace", "", "this session has not begun a trace"},
      {of(Heartbeat{}), FaultCode::bad_question, "bad_question", "", "this server does not answer this message"},
  };
  const auto check = [](const Wrong& each) {
    CAPTURE(each.text);
    const Fault fault = each.ask();
    CHECK(fault.code == each.code);
    CHECK(fault.reason == each.reason);
    CHECK(fault.field == each.field);
    CHECK(fault.text == each.text);
    CHECK(fault.entity == each.entity);
    CHECK(fault.type == each.type);
    CHECK_FALSE(fault.closes);
    CHECK(fault.refused == 0);
  };
  for (const Wrong& each : wrong) check(each);
  CHECK(world.desk->sessions() == 1);
  // With a watch that is open.
  const Follow watch{.entities = {world.town}, .values = true, .rate_max = 1e6f};
  const auto under_request = [&](std::uint64_t request, auto question) {
    return [&world, request, question] { return world.answer_to<Fault>(*world.one, question, request); };
  };
  check({under_request(0, watch), FaultCode::bad_question, "bad_question", "request",
         "a watch needs a request id: its frames carry it"});
  REQUIRE(std::ranges::any_of(world.answers(*world.one, watch, 5), &Received::is<Watching>));
  check({under_request(5, watch), FaultCode::request_in_use, "request_in_use", "",
         "request 5 is a watch that is still open"});
  check({under_request(6, watch), FaultCode::bad_question, "watches_max", "",
         "this session has 1 watches open, which is the limit"});
  REQUIRE(world.answers(*world.one, Unwatch{.watch = 5}, 6).front().is<Unwatched>());
  Follow everyone;
  everyone.world = everyone.values = true;
  REQUIRE(std::ranges::any_of(world.answers(*world.one, everyone, 5), &Received::is<Watching>));
  FollowMore add, drop;
  add.watch = drop.watch = 5;
  add.add = drop.drop = {world.town};
  const std::string names_none = "a watch of the whole world cannot name entities";
  check({under_request(6, add), FaultCode::bad_question, "bad_question", "add", names_none});
  check({under_request(6, drop), FaultCode::bad_question, "bad_question", "drop", names_none});
  check({under_request(0, Follow{.watch = 5}), FaultCode::bad_question, "bad_question", "request",
         "a change needs a request id: Following and Followed name it"});
  check({under_request(5, Follow{.watch = 5}), FaultCode::request_in_use, "request_in_use", "",
         "request 5 is a watch that is still open"});
  // One that is of many keeps others from being opened, its own changes not.
  const auto other = world.join("other");
  const std::string too_many =
      "all watches together cover " + std::to_string(world.registry.entity_count()) + " entities; 15 are allowed";
  for (const Follow& opened : {everyone, watch}) {
    const Fault fault = world.answer_to<Fault>(*other, opened, 3);
    CHECK(fault.code == FaultCode::bad_question);
    CHECK(fault.reason == "watched_entities_max");
    CHECK(fault.text == too_many);
  }
  everyone.watch = 5;
  world.ask(*world.one, 7, everyone);
  world.settle();
  const auto frames = world.heard(*world.one);
  REQUIRE(frames.size() >= 2);
  CHECK(frames.front().header.request == 5);
  CHECK(frames.front().is<Following>());
  CHECK(frames.back().header.request == 7);
  CHECK(frames.back().is<Followed>());
}

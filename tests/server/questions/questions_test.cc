#include <catch2/catch.hpp>

#include "registry/host.h"
#include "tests/server/live_world.h"

namespace questions_test {

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

/// Processor time of the world thread. A slice is about 2 ms, and what these questions cost where they are not cut, or not counted
/// before, is seconds: far from both, so that neither a busy machine nor a slow build decides.
constexpr auto turn_max = 400ms;

/// A chain of entities, root first.
std::vector<Entity> chain(EntityRegistry& registry, int length, std::string_view name = {}) {
  std::vector<Entity> made;
  for (int i = 0; i < length; ++i) made.push_back(registry.create_under(i ? made.back() : Entity{}, name));
  return made;
}

ClientOptions patient(const LiveWorld& world, std::string with_token = token) {
  ClientOptions options = world.client_options(std::move(with_token));
  options.time_max = 300s;  // far more than it takes: checks of threads slow it down
  return options;
}

}  // namespace

TEST_CASE("a Find over a deep chain is worked on in slices, and each ancestor is passed once", "[abuse]") {
  LiveWorld world;
  constexpr int length = 20'000;
  const auto made = world.run([](EntityRegistry& r) { return chain(r, length); });
  auto client = Client::connect(patient(world, viewer_token));
  REQUIRE(client.has_value());
  world.longest_turn();
  session::Find find;
  find.under = made.front();
  find.limit = 10'000;
  std::size_t found = 0;
  for (bool more = true; more;) {
    const auto page = client->ask(find);
    REQUIRE(page.has_value());
    found += page->entities.size();
    for (const std::string& path : page->paths) REQUIRE(path.size() <= ServerLimits{}.path_bytes_max);
    more = page->more;
    find.after = page->entities.back();
  }
  CHECK(found == length);
  CHECK(world.longest_turn() < turn_max);
}

TEST_CASE("a path that would be longer than what answers show is given as an id", "[abuse]") {
  LiveWorld world;
  const std::string name(1u << 20, 'x');  // of the host: a session may not give such a name
  const auto made = world.run([&](EntityRegistry& r) { return chain(r, 80, name); });
  Client client = world.client(viewer_token);
  const auto found = client.ask(session::Find{});
  REQUIRE(found.has_value());
  REQUIRE(found->entities.size() == 80);
  CHECK(found->paths.back() == "#" + std::to_string(made.back().index) + ":1");
  const auto shown = client.show(made.back());
  REQUIRE(shown.has_value());
  CHECK(shown->about.path == "#" + std::to_string(made.back().index) + ":1");
  CHECK(shown->about.name.size() == ServerLimits{}.path_bytes_max);
}

TEST_CASE("a Find that names one component again and again is refused or costs what one would", "[abuse]") {
  LiveWorld world;
  world.run([](EntityRegistry& r) {
    r.create_many(20'000, arena::Health{});
    return 0;
  });
  Client client = world.client(viewer_token);
  world.longest_turn();
  session::Find find;
  find.limit = 5;
  find.components.assign(3, TypeTraits<arena::Health>::id);
  const auto few = client.ask(find);
  REQUIRE(few.has_value());
  CHECK(few->entities.size() == 5);
  find.components.assign(200'000, TypeTraits<arena::Health>::id);
  const auto many = client.ask(find);
  REQUIRE_FALSE(many.has_value());
  CHECK(many.error().fault.reason == "too_many");
  CHECK(many.error().fault.field == "components");
  find.components.assign(3'000'000, TypeTraits<arena::Health>::id);
  const auto long_question = client.ask(find);
  REQUIRE_FALSE(long_question.has_value());
  CHECK(long_question.error().fault.reason == "question_bytes_max");
  CHECK(world.longest_turn() < turn_max);
}

TEST_CASE("a part of a name is looked for in one pass over the name", "[abuse]") {
  LiveWorld world;
  world.run([](EntityRegistry& r) {
    for (int i = 0; i < 50; ++i) r.create(std::to_string(i) + std::string(100'000, 'a')).or_stop();
    r.create("abcabcabd").or_stop();
    return 0;
  });
  Client client = world.client(viewer_token);
  session::Find find;
  find.name = "ABCABD";
  const auto found = client.ask(find);
  REQUIRE(found.has_value());
  CHECK(found->paths == std::vector<std::string>{"/abcabcabd"});
  world.longest_turn();
  find.name = std::string(4000, 'a') + "b";
  const auto none = client.ask(find);
  REQUIRE(none.has_value());
  CHECK(none->entities.empty());
  CHECK(world.longest_turn() < turn_max);
}

TEST_CASE("Find takes a letter of ASCII in either case, each of them, and nothing else for another") {
  LiveWorld world;
  // "@", "[", "`" and "{" stand beside the letters.
  const std::string lower = "@abcdefghijklmnopqrstuvwxyz[", upper = "@ABCDEFGHIJKLMNOPQRSTUVWXYZ[";
  world.run([&](EntityRegistry& r) {
    for (const char letter : lower + "`{") r.create(std::string("low ") + letter).or_stop();
    return 0;
  });
  Client client = world.client(viewer_token);
  const auto named = [&](const std::string& part) {
    session::Find find;
    find.name = part;
    const auto found = client.ask(find);
    REQUIRE(found.has_value());
    return found->paths;
  };
  for (std::size_t i = 0; i < lower.size(); ++i) {
    CAPTURE(upper[i]);
    CHECK(named(std::string("LOW ") + upper[i]) == std::vector<std::string>{std::string("/low ") + lower[i]});
  }
}

TEST_CASE("an answer that is larger than what may wait for a client comes in pages and ends no session", "[abuse]") {
  LiveWorldOptions options;
  options.limits.outgoing.control_bytes_max = 256 << 10;
  options.limits.page_bytes_max = 64 << 10;
  LiveWorld world(options);
  constexpr int count = 3000;
  const Entity town = world.run([](EntityRegistry& r) {
    const Entity made = r.create("town");
    for (int i = 0; i < count; ++i) r.create_under(made, std::string(200, 'h') + std::to_string(i)).or_stop();
    return made;
  });
  Client client = world.client(viewer_token);
  session::Find find;
  find.under = town;
  find.limit = 10'000;
  std::vector<std::uint64_t> asked;
  for (int i = 0; i < 20; ++i) {  // 20 answers of which each would be 600 kB, and nobody reads
    BatchBuilder builder;
    session::append(builder, find);
    asked.push_back(client.send(builder.bytes()).value());
  }
  std::size_t rows = 0;
  for (const std::uint64_t request : asked) {
    const auto frames = client.wait(request);
    REQUIRE(frames.has_value());
    const auto page = session::read<session::Found>(frames->front().batch());
    REQUIRE(page.more);
    REQUIRE(frames->front().bytes.size() < 80u << 10);
    rows = page.entities.size();
  }
  REQUIRE(rows > 100);
  std::size_t children = 0;
  for (std::uint32_t offset = 0; children < count;) {
    const auto page = client.ask(session::ListChildren{.entity = town, .offset = offset, .limit = 10'000});
    REQUIRE(page.has_value());
    REQUIRE(page->total == count);
    REQUIRE(page->names.front().ends_with("h" + std::to_string(offset)));
    children += page->entities.size();
    offset += static_cast<std::uint32_t>(page->entities.size());
  }
  CHECK(children == count);
}

TEST_CASE("texts that one entity mentions are sent as there is room for them", "[abuse]") {
  LiveWorldOptions options;
  options.limits.outgoing.control_bytes_max = 256 << 10;
  LiveWorld world(options);
  const Entity e = world.run([](EntityRegistry& r) {
    const std::string long_text(4u << 20, 't');
    return r.create("reader", arena::Label{.title = r.intern(long_text)});
  });
  Client client = world.client(viewer_token);
  const auto shown = client.show(e);
  REQUIRE(shown.has_value());
  CHECK(client.text(shown->get<arena::Label>()->title).size() == 4u << 20);
}

TEST_CASE("children are listed right while the list changes between two slices", "[abuse]") {
  LiveWorldOptions options;
  options.limits.slice_steps = 300;
  LiveWorld world(options);
  const Entity town = world.run([](EntityRegistry& r) {
    const Entity made = r.create("town");
    for (int i = 0; i < 5000; ++i) r.create_under(made, "h" + std::to_string(i)).or_stop();
    return made;
  });
  Client client = world.client(viewer_token);
  session::ListChildren what;
  what.entity = town;
  what.limit = 10'000;
  BatchBuilder builder;
  session::append(builder, what);
  const auto request = client.send(builder.bytes());
  REQUIRE(request.has_value());
  for (int i = 0; i < 50; ++i)
    world.run([&](EntityRegistry& r) {
      r.destroy(r.find_child(town, "h" + std::to_string(i * 100)));
      return 0;
    });
  const auto frames = client.wait(*request);
  REQUIRE(frames.has_value());
  const auto page = session::read<session::Children>(frames->front().batch());
  CHECK(page.entities.size() >= 4950);
  CHECK(page.entities.size() <= 5000);
  CHECK(page.component_counts.size() == page.entities.size());
  CHECK(page.components.size() == std::size_t{page.entities.size()} * page.component_counts.front());
  CHECK(std::ranges::is_sorted(page.entities));
}

TEST_CASE("questions of one session leave turns to those of others", "[abuse]") {
  LiveWorld world;
  world.run([](EntityRegistry& r) {
    r.create_many(100'000, arena::Health{});
    return 0;
  });
  Client greedy = world.client(viewer_token), honest = world.client(viewer_token);
  session::Find find;
  find.name = "nobody";
  BatchBuilder builder;
  session::append(builder, find);
  std::vector<std::uint64_t> asked;
  for (int i = 0; i < 200; ++i) asked.push_back(greedy.send(builder.bytes()).value());
  REQUIRE(greedy.wait(asked.front()).has_value());
  for (int i = 0; i < 20; ++i) REQUIRE(honest.ask(session::Resolve{.path = "/nobody"}).has_value());
  const auto answered = world.desk_counters().answered;
  CHECK(answered < 150);  // the greedy one still waits
}

TEST_CASE("a session that ends takes its questions with it, and a server stops while there are some", "[abuse]") {
  LiveWorld world;
  world.run([](EntityRegistry& r) {
    r.create_many(300'000, arena::Health{});
    return 0;
  });
  session::Find find;
  find.name = "nobody";
  {
    RawClient client(world.address());
    client.hello();
    for (std::uint64_t i = 1; i <= 200; ++i) client.send_message(find, i);
    client.receive();
  }
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (world.desk_counters().waiting > 0) REQUIRE(std::chrono::steady_clock::now() < until);
  CHECK(world.desk_counters().answered < 150);
  RawClient other(world.address());
  other.hello();
  for (std::uint64_t i = 1; i <= 200; ++i) other.send_message(find, i);
  other.receive();
  const auto begin = std::chrono::steady_clock::now();
  world.stop_listening();
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
}

TEST_CASE("a file of templates whose bases double is refused before the work", "[abuse]") {
  LiveWorld world;
  Client client = world.client();
  std::string text = R"({templates: [{name: "t0", children: [{name: "a"}, {name: "b"}]})";
  for (int i = 1; i < 24; ++i) {
    const std::string below = "\"t" + std::to_string(i - 1) + "\"";
    text += ",{name: \"t" + std::to_string(i) + "\", children: [{name: \"a\", bases: [" + below +
            "]}, {name: \"b\", bases: [" + below + "]}]}";
  }
  text += "]}";
  world.longest_turn();
  const auto refused = client.read_templates(text, "doubling.json");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().fault.reason == "bad_templates");
  CHECK(refused.error().text.find("more than 10000 nodes") != std::string::npos);
  CHECK(client.templates()->names.empty());
  CHECK(world.longest_turn() < 4 * turn_max);
}

TEST_CASE("a file of templates with very many names side by side is refused before they are compared", "[abuse]") {
  LiveWorld world;
  Client client = world.client();
  world.longest_turn();
  std::string many = "{templates: [";
  for (int i = 0; i < 40'000; ++i) many += "{name:\"" + std::to_string(i) + "\"},";
  CHECK_FALSE(client.read_templates(many + "]}", "many.json").has_value());
  std::string wide = "{templates: [{name: \"wide\", children: [";
  for (int i = 0; i < 9'000; ++i) wide += "{name:\"" + std::to_string(i) + "\"},";
  CHECK_FALSE(client.read_templates(wide + "]}]}", "wide.json").has_value());
  CHECK(world.longest_turn() < 4 * turn_max);
}

TEST_CASE("timers that wait are listed page by page with their numbers, and taken back by them") {
  LiveWorld world;
  const Entity orc = world.run([](EntityRegistry& r) { return r.create("orc", arena::Health{}); });
  Client client = world.client(), other = world.client();
  CHECK(client.ask<session::ListTimers>()->timers.empty());
  const auto set = [&](Client& by, std::uint64_t due_ns, std::uint32_t count) {
    BatchBuilder later, timed;
    for (std::uint32_t i = 0; i < count; ++i) later.append(orc, arena::Damage{});
    timed.append_timed(due_ns, 0, later.front());
    REQUIRE(by.push_batch(timed.bytes()).has_value());
  };
  set(client, 500, 1);
  set(client, 100, 2);
  set(other, 300, 3);
  set(client, 300, 4);
  world.run([](EntityRegistry& r) {
    BatchBuilder later, timed;
    later.append_world(Update{});
    timed.append_timed(200, 0, later.front());
    return r.host().push_batch(timed.bytes());
  });
  session::PendingTimers page, all;
  int pages = 0;
  do {
    session::ListTimers question{.limit = 2};
    if (!page.timers.empty())
      question = {.after_due_ns = page.due_ns.back(), .after_timer = page.timers.back(), .limit = 2};
    page = *client.ask(question);
    CHECK(page.total == 5);
    all.timers.insert(all.timers.end(), page.timers.begin(), page.timers.end());
    all.due_ns.insert(all.due_ns.end(), page.due_ns.begin(), page.due_ns.end());
    all.types.insert(all.types.end(), page.types.begin(), page.types.end());
    all.targets.insert(all.targets.end(), page.targets.begin(), page.targets.end());
    all.counts.insert(all.counts.end(), page.counts.begin(), page.counts.end());
    all.own.insert(all.own.end(), page.own.begin(), page.own.end());
    ++pages;
  } while (page.more);
  CHECK(pages == 3);
  const TypeId damage = TypeTraits<arena::Damage>::id;
  CHECK(all.due_ns == std::vector<std::uint64_t>{100, 200, 300, 300, 500});
  CHECK(all.types == std::vector<TypeId>{damage, TypeTraits<Update>::id, damage, damage, damage});
  CHECK(all.targets == std::vector<Entity>{orc, {}, orc, orc, orc});
  CHECK(all.counts == std::vector<std::uint32_t>{2, 1, 3, 4, 1});
  CHECK(all.own == std::vector<std::uint8_t>{1, 0, 0, 1, 1});
  REQUIRE(client.push(CancelTimer{.timer = all.timers[2]}).has_value());
  CHECK(client.ask<session::ListTimers>()->due_ns == std::vector<std::uint64_t>{100, 200, 300, 500});
  CHECK(client.ask<session::ListTimers>()->own == std::vector<std::uint8_t>{1, 0, 1, 1});
}

TEST_CASE("a hundred thousand timers are listed in slices", "[abuse]") {
  LiveWorld world;
  world.run([](EntityRegistry& r) {
    BatchBuilder later;
    later.append_world(Update{});
    for (std::uint64_t i = 0; i < 100'000; ++i) {
      BatchBuilder timed;
      timed.append_timed(1000 + i % 7, 0, later.front());
      r.host().push_batch(timed.bytes());
    }
    return 0;
  });
  auto client = Client::connect(patient(world, viewer_token));
  REQUIRE(client.has_value());
  session::PendingTimers page;
  std::size_t seen = 0;
  do {
    session::ListTimers question{.limit = 10'000};
    if (seen > 0) {
      question.after_due_ns = page.due_ns.back();
      question.after_timer = page.timers.back();
    }
    const session::PendingTimers next = *client->ask(question);
    CHECK(next.timers.size() == 10'000);
    seen += next.timers.size();
    if (!page.timers.empty())
      CHECK(std::pair(page.due_ns.back(), page.timers.back()) < std::pair(next.due_ns.front(), next.timers.front()));
    page = next;
  } while (page.more);
  CHECK(seen == 100'000);
  CHECK(world.desk_counters().slice_steps_max < 3 * ServerLimits{}.slice_steps);
}

}  // namespace questions_test

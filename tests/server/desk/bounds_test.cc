// What sessions may bring the world for good: bounded in bytes, each bound hit exactly.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>

#include "registry/templates/template_tree.h"
#include "tests/server/live_world.h"

namespace bounds_test {

using namespace muster;
using namespace muster::testing;

namespace {

session::Fault refused(const Result<session::Ack>& result) {
  REQUIRE_FALSE(result.has_value());
  REQUIRE(result.error().kind == ClientError::Kind::refused);
  return result.error().fault;
}

/// All of the same size: names of the same length.
DefineTemplate tower(const std::string& name) {
  TemplateTree tree(name);
  tree.set("top", arena::Health{.value = 5}).set("base", arena::Health{.value = 9});
  return *tree.compile();
}

Result<session::Ack> define(Client& client, const DefineTemplate& what) {
  BatchBuilder builder;
  session::append(builder, what);
  return client.push_batch(builder.bytes());
}

std::uint64_t bytes_of(const DefineTemplate& what) {
  BatchBuilder builder;
  session::append(builder, what);
  return table_item(builder.front(), builder.front().body()).table.size();
}

std::string file_of(const std::vector<std::string>& names) {
  std::string text = "{templates: [";
  for (const std::string& name : names) text += "{name: \"" + name + "\", components: {\"arena.Health\": {}}},";
  return text + "]}";
}

struct Rows {
  explicit Rows(std::uint32_t count) {
    LiveWorldOptions options;
    // An id, a nil parent and a Health each.
    options.limits.world_rows_bytes_max = std::uint64_t{count} * (16 + sizeof(arena::Health));
    world.emplace(options);
    client.emplace(world->client());
    const auto answer = client->ask(session::RequestGrant{.count = 200});
    REQUIRE(answer.has_value());
    for (std::uint32_t i = 0; i < 200; ++i) ids.push_back({answer->first + i, 1});
  }
  Result<session::Ack> create(std::size_t from, std::size_t count) {
    BatchBuilder builder;
    for (std::size_t i = from; i < from + count; ++i) builder.append_rows(ids[i], Create{}, arena::Health{});
    return client->push_batch(builder.bytes());
  }
  template <class Component>
  Result<session::Ack> set(std::size_t at, const Component& value) {
    BatchBuilder builder;
    builder.append_rows(ids[at], Set{}, value);
    return client->push_batch(builder.bytes());
  }
  std::optional<LiveWorld> world;
  std::optional<Client> client;
  std::vector<Entity> ids;
};

}  // namespace

TEST_CASE("each limit is set by its name, where the number fits it", "[limits]") {
  ServerLimits limits;
  const auto names = limit_names();
  CHECK(std::ranges::is_sorted(names));
  for (const std::string_view name : names) CHECK(set_limit(limits, name, 5) == (least_of_limit(name) <= 5));
  CHECK(limits.depth_max == 5);
  CHECK(limits.world_texts_bytes_max == 5);
  CHECK(limits.outgoing.data_bytes_max == 5);
  CHECK(limits.silence_max == std::chrono::nanoseconds(5));
  CHECK_FALSE(set_limit(limits, "depth_max", 1ull << 32));
  CHECK_FALSE(set_limit(limits, "silence_ns_max", ~0ull));
  CHECK_FALSE(set_limit(limits, "depth", 7));
  CHECK(limits.depth_max == 5);
}

TEST_CASE("a limit with which pages would stay empty for ever is refused, and the one before stays", "[limits]") {
  ServerLimits limits;
  const std::map<std::string_view, std::uint64_t> least = {
      {"page_bytes_max", 1024}, {"rows_max", 1}, {"slice_steps", 64}};
  for (const std::string_view name : limit_names()) {
    CAPTURE(name);
    const auto found = least.find(name);
    const std::uint64_t expected = found == least.end() ? 0 : found->second;
    CHECK(least_of_limit(name) == expected);
    CHECK(set_limit(limits, name, expected));
    if (expected > 0) CHECK_FALSE(set_limit(limits, name, expected - 1));
  }
  CHECK(limits.page_bytes_max == 1024);
  CHECK(limits.rows_max == 1);
  CHECK(limits.slice_steps == 64);
  CHECK(least_of_limit("no such") == 0);
}

TEST_CASE("each limit's name is that of its member, and the largest number that fits it is taken", "[limits]") {
  const auto ns = [](std::chrono::nanoseconds time) { return static_cast<std::uint64_t>(time.count()); };
  using Member = std::function<std::uint64_t(const ServerLimits&)>;
  const std::map<std::string_view, Member> members = {
      {"all_request_bytes_max",
       [](const ServerLimits& limits) -> std::uint64_t { return limits.all_request_bytes_max; }},
      {"away_sessions_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.away_sessions_max; }},
      {"kept_answers_bytes_max",
       [](const ServerLimits& limits) -> std::uint64_t { return limits.kept_answers_bytes_max; }},
      {"resume_ns_max", [&](const ServerLimits& limits) -> std::uint64_t { return ns(limits.resume_time_max); }},
      {"user_away_sessions_max",
       [](const ServerLimits& limits) -> std::uint64_t { return limits.user_away_sessions_max; }},
      {"depth_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.depth_max; }},
      {"edit_steps_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.edit_steps_max; }},
      {"flush_ns", [](const ServerLimits& limits) -> std::uint64_t { return limits.flush_ns; }},
      {"frame_bytes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.frame_bytes_max; }},
      {"grant_count_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.grant_count_max; }},
      {"hello_bytes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.hello_bytes_max; }},
      {"hello_ns_max", [&](const ServerLimits& limits) -> std::uint64_t { return ns(limits.hello_time_max); }},
      {"intake_steps", [](const ServerLimits& limits) -> std::uint64_t { return limits.intake_steps; }},
      {"left_sessions_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.left_sessions_max; }},
      {"name_bytes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.name_bytes_max; }},
      {"outgoing.control_bytes_max",
       [](const ServerLimits& limits) -> std::uint64_t { return limits.outgoing.control_bytes_max; }},
      {"outgoing.data_bytes_max",
       [](const ServerLimits& limits) -> std::uint64_t { return limits.outgoing.data_bytes_max; }},
      {"page_bytes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.page_bytes_max; }},
      {"path_bytes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.path_bytes_max; }},
      {"question_bytes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.question_bytes_max; }},
      {"request_bytes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.request_bytes_max; }},
      {"requests_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.requests_max; }},
      {"rows_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.rows_max; }},
      {"schemas_bytes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.schemas_bytes_max; }},
      {"sessions_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.sessions_max; }},
      {"silence_ns_max", [&](const ServerLimits& limits) -> std::uint64_t { return ns(limits.silence_max); }},
      {"slice_steps", [](const ServerLimits& limits) -> std::uint64_t { return limits.slice_steps; }},
      {"stall_ns_max", [&](const ServerLimits& limits) -> std::uint64_t { return ns(limits.stall_max); }},
      {"stranger_bytes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.stranger_bytes_max; }},
      {"strangers_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.strangers_max; }},
      {"template_bytes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.template_bytes_max; }},
      {"template_nodes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.template_nodes_max; }},
      {"templates_bytes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.templates_bytes_max; }},
      {"templates_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.templates_max; }},
      {"text_bytes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.text_bytes_max; }},
      {"texts_bytes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.texts_bytes_max; }},
      {"texts_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.texts_max; }},
      {"timer_bytes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.timer_bytes_max; }},
      {"timer_steps_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.timer_steps_max; }},
      {"timers_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.timers_max; }},
      {"unused_ids_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.unused_ids_max; }},
      {"watch_ns", [](const ServerLimits& limits) -> std::uint64_t { return limits.watch_ns; }},
      {"watched_entities_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.watched_entities_max; }},
      {"watches_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.watches_max; }},
      {"world_entities_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.world_entities_max; }},
      {"world_rows_bytes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.world_rows_bytes_max; }},
      {"world_texts_bytes_max",
       [](const ServerLimits& limits) -> std::uint64_t { return limits.world_texts_bytes_max; }},
      {"world_texts_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.world_texts_max; }},
      {"world_timers_bytes_max",
       [](const ServerLimits& limits) -> std::uint64_t { return limits.world_timers_bytes_max; }},
      {"world_timers_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.world_timers_max; }},
      {"frames_bytes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.frames_bytes_max; }},
      {"reserved_sessions", [](const ServerLimits& limits) -> std::uint64_t { return limits.reserved_sessions; }},
      {"reserved_watched_entities",
       [](const ServerLimits& limits) -> std::uint64_t { return limits.reserved_watched_entities; }},
      {"user_sessions_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.user_sessions_max; }},
      {"user_watches_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.user_watches_max; }},
      {"user_watched_entities_max",
       [](const ServerLimits& limits) -> std::uint64_t { return limits.user_watched_entities_max; }},
      {"user_frames_bytes_max",
       [](const ServerLimits& limits) -> std::uint64_t { return limits.user_frames_bytes_max; }},
      {"user_unused_ids_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.user_unused_ids_max; }},
      {"user_timers_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.user_timers_max; }},
      {"user_timers_bytes_max",
       [](const ServerLimits& limits) -> std::uint64_t { return limits.user_timers_bytes_max; }},
      {"user_templates_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.user_templates_max; }},
      {"user_templates_bytes_max",
       [](const ServerLimits& limits) -> std::uint64_t { return limits.user_templates_bytes_max; }},
      {"user_texts_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.user_texts_max; }},
      {"user_texts_bytes_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.user_texts_bytes_max; }},
      {"user_entities_max", [](const ServerLimits& limits) -> std::uint64_t { return limits.user_entities_max; }},
      {"user_bytes_rate", [](const ServerLimits& limits) -> std::uint64_t { return limits.user_bytes_rate; }},
      {"user_requests_rate", [](const ServerLimits& limits) -> std::uint64_t { return limits.user_requests_rate; }},
      {"user_edits_rate", [](const ServerLimits& limits) -> std::uint64_t { return limits.user_edits_rate; }},
      {"wrong_token_delay_ns_max",
       [&](const ServerLimits& limits) -> std::uint64_t { return ns(limits.wrong_token_delay_max); }},
  };
  const auto names = limit_names();
  CHECK(names.size() == members.size());
  for (const std::string_view name : names) {
    CAPTURE(name);
    REQUIRE(members.contains(name));
    ServerLimits limits;
    REQUIRE(set_limit(limits, name, 4242));
    for (const auto& [other, member] : members) CHECK((member(limits) == 4242) == (other == name));
  }
  ServerLimits limits;
  CHECK(set_limit(limits, "depth_max", 0xffffffffu));
  CHECK(limits.depth_max == 0xffffffffu);
  CHECK(set_limit(limits, "silence_ns_max", 0x7fffffffffffffffu));
  CHECK_FALSE(set_limit(limits, "silence_ns_max", 0x8000000000000000u));
  CHECK(set_limit(limits, "flush_ns", 0xffffffffffffffffu));
}

TEST_CASE("what the limits allow in memory is a sum with these weights", "[limits]") {
  ServerLimits none;
  for (const std::string_view name : limit_names()) REQUIRE(set_limit(none, name, least_of_limit(name)));
  none.page_bytes_max = 0;
  CHECK(memory_sum(none, 7) == 7);
  const auto weight = [&](const char* name, std::uint64_t sessions, std::uint64_t strangers) {
    ServerLimits limits = none;
    limits.sessions_max = static_cast<std::uint32_t>(sessions);
    limits.strangers_max = static_cast<std::uint32_t>(strangers);
    if (std::string_view(name) == "page_bytes_max")
      limits.page_bytes_max = 10;
    else
      REQUIRE(set_limit(limits, name, 10));
    return memory_sum(limits, 0);
  };
  const std::pair<const char*, std::uint64_t> alone[] = {{"all_request_bytes_max", 4},
                                                         {"watched_entities_max", 200},
                                                         {"reserved_watched_entities", 200},
                                                         {"frames_bytes_max", 3},
                                                         {"world_rows_bytes_max", 5},
                                                         {"world_entities_max", 128},
                                                         {"world_texts_bytes_max", 2},
                                                         {"world_texts_max", 128},
                                                         {"world_timers_bytes_max", 2},
                                                         {"world_timers_max", 256},
                                                         {"templates_bytes_max", 4},
                                                         {"schemas_bytes_max", 40},
                                                         {"rows_max", 0},
                                                         {"depth_max", 0}};
  for (const auto& [name, times] : alone) {
    CAPTURE(name);
    CHECK(weight(name, 0, 0) == 10 * times);
  }
  const std::pair<const char*, std::uint64_t> of_sessions[] = {{"frame_bytes_max", 3},
                                                               {"outgoing.control_bytes_max", 2},
                                                               {"outgoing.data_bytes_max", 2},
                                                               {"page_bytes_max", 1},
                                                               {"texts_max", 48}};
  for (const auto& [name, times] : of_sessions) {
    CAPTURE(name);
    CHECK(weight(name, 3, 0) == 3 * 10 * times);
  }
  CHECK(weight("hello_bytes_max", 0, 3) == 3 * 10 * 2);
  CHECK(weight("stranger_bytes_max", 0, 3) == 3 * 10);
  CHECK(weight("world_texts_max", 3, 0) == 10 * (128 + 3 * 48));
  ServerLimits left = none;
  left.left_sessions_max = 5;
  left.page_bytes_max = 11;
  CHECK(memory_sum(left, 0) == 55);
}

TEST_CASE("what the limits allow in memory grows with each of those that are bytes or counts", "[limits]") {
  const ServerLimits usual;
  const std::uint64_t sum = memory_sum(usual, 0);
  CHECK(memory_sum(usual, 1000) == sum + 1000);
  for (const char* name : {"all_request_bytes_max",   "frame_bytes_max",
                           "frames_bytes_max",        "hello_bytes_max",
                           "left_sessions_max",       "outgoing.control_bytes_max",
                           "outgoing.data_bytes_max", "page_bytes_max",
                           "schemas_bytes_max",       "sessions_max",
                           "stranger_bytes_max",      "strangers_max",
                           "templates_bytes_max",     "texts_max",
                           "watched_entities_max",    "world_entities_max",
                           "world_rows_bytes_max",    "world_texts_bytes_max",
                           "world_texts_max",         "world_timers_bytes_max",
                           "world_timers_max"}) {
    ServerLimits more;
    REQUIRE(set_limit(more, name, 1u << 30));
    ServerLimits less;
    REQUIRE(set_limit(less, name, std::max<std::uint64_t>(least_of_limit(name), 1)));
    INFO(name);
    CHECK(memory_sum(more, 0) >= sum);
    CHECK(memory_sum(less, 0) < sum);
  }
}

TEST_CASE("all templates together have a stated number of bytes; what is replaced or forgotten makes room",
          "[limits]") {
  LiveWorldOptions options;
  options.limits.templates_bytes_max = 2 * bytes_of(tower("a"));
  LiveWorld world(options);
  Client client = world.client();
  CHECK(define(client, tower("a")).has_value());
  CHECK(define(client, tower("b")).has_value());
  const session::Fault fault = refused(define(client, tower("c")));
  CHECK(fault.reason == "templates_bytes_max");
  CHECK(fault.text == "the world's templates would have " + std::to_string(3 * bytes_of(tower("a"))) + " bytes; " +
                          std::to_string(2 * bytes_of(tower("a"))) + " are allowed");
  for (int i = 0; i < 5; ++i) CHECK(define(client, tower("b")).has_value());
  DefineTemplate gone;
  gone.name = "a";
  CHECK(define(client, gone).has_value());
  CHECK(define(client, tower("c")).has_value());
  CHECK(refused(define(client, tower("a"))).reason == "templates_bytes_max");
  CHECK(client.templates()->names == std::vector<std::string>{"b", "c"});
}

TEST_CASE("a file of templates is held to the same limits as a DefineTemplate of what is in it, as a whole",
          "[limits]") {
  LiveWorldOptions options;
  options.limits.templates_max = 3;
  options.limits.texts_max = 5;
  LiveWorld world(options);
  Client client = world.client();
  const auto many = client.read_templates(file_of({"a", "b", "c", "d"}), "many.json");
  REQUIRE_FALSE(many.has_value());
  CHECK(many.error().fault.reason == "templates_max");
  CHECK(client.templates()->names.empty());
  CHECK(client.read_templates(file_of({"a", "b", "c"}), "few.json").has_value());
  CHECK(client.templates()->names.size() == 3);
  // The names are texts that the session made known.
  CHECK(client.intern("x").has_value());
  CHECK(client.intern("y").has_value());
  CHECK_FALSE(client.intern("z").has_value());

  options.limits.templates_bytes_max = 64;
  LiveWorld small(options);
  Client other = small.client();
  const auto large = other.read_templates(file_of({"a"}), "large.json");
  REQUIRE_FALSE(large.has_value());
  CHECK(large.error().fault.reason == "templates_bytes_max");
}

TEST_CASE("the rows of the world have a stated number of bytes when a session adds some", "[limits]") {
  Rows rows(100);
  CHECK(rows.create(0, 100).has_value());
  const session::Fault fault = refused(rows.create(100, 1));
  CHECK(fault.reason == "world_rows_bytes_max");
  CHECK(fault.refused == 1);
  // What is there may change; what would be more is refused.
  CHECK(rows.set(5, arena::Health{.value = 7}).has_value());
  CHECK(refused(rows.set(5, arena::Position{})).reason == "world_rows_bytes_max");
  CHECK(rows.client->destroy(rows.ids[0]).has_value());
  CHECK(rows.create(100, 1).has_value());
  CHECK(refused(rows.create(101, 1)).reason == "world_rows_bytes_max");
}

TEST_CASE("rows that many small edits bring are counted, too", "[limits]") {
  Rows rows(100);
  for (std::size_t i = 0; i < 100; ++i) CHECK(rows.create(i, 1).has_value());
  CHECK(refused(rows.create(100, 1)).reason == "world_rows_bytes_max");
}

TEST_CASE("the schemas of a world have a stated number of bytes when a session adds one", "[limits]") {
  const auto bytes = std::as_bytes(TypeTraits<arena::Health>::schema);
  std::uint64_t before = 0;
  for (const std::uint64_t less : {std::uint64_t{1}, std::uint64_t{0}}) {
    LiveWorldOptions options;
    LiveWorld world(options);
    before = world.run([](EntityRegistry& r) {
      std::uint64_t all = 0;
      for (const auto& schema : r.types().schemas()) all += schema.size();
      return all;
    });
    options.limits.schemas_bytes_max = before + bytes.size() - less;
    LiveWorld limited(options);
    Client client = limited.client();
    session::AddSchema what;
    const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
    what.bytes.assign(first, first + bytes.size());
    const auto added = client.ask(what);
    CHECK(added.has_value() == (less == 0));
    if (!added) CHECK(added.error().fault.reason == "schemas_bytes_max");
  }
}

}  // namespace bounds_test

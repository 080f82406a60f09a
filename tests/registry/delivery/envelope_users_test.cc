// Whose doing an input is: a sink is told the session that sent it, and the user whose session that is.
#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <stdexcept>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

struct Envelopes final : InputSink {
  void on_input(const Envelope& envelope, std::span<const std::byte>) override { told.push_back(envelope); }
  void on_receipt(const Envelope& envelope, const Receipt&) noexcept override { settled.push_back(envelope); }
  void on_withdrawn(const Envelope& envelope) noexcept override { withdrawn.push_back(envelope); }
  std::vector<Envelope> told, settled, withdrawn;
};
struct Watched {
  explicit Watched(RegistryOptions options = {}) : registry(options) {
    registry.add_type<game::Damage>();
    registry.add_type<Create>();
    registry.host().add_sink(sink);
  }
  ~Watched() { registry.host().remove_sink(sink); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  Envelopes sink;
  EntityRegistry registry;
};

std::vector<std::byte> damage(Entity e) {
  BatchBuilder builder;
  builder.append(e, game::Damage{.amount = 1});
  return {builder.bytes().begin(), builder.bytes().end()};
}
std::vector<std::byte> damage_at(std::uint64_t due_ns, Entity e) {
  BatchBuilder inner, timed;
  inner.append(e, game::Damage{.amount = 1});
  timed.append_timed(due_ns, 0, inner.front());
  return {timed.bytes().begin(), timed.bytes().end()};
}

}  // namespace

TEST_CASE("an input carries session and user, whichever way a session's bytes come in") {
  const bool shortcuts = GENERATE(true, false);
  Watched w({.shortcuts = shortcuts});
  EntityRegistry& r = w.registry;
  const Entity orc = r.create("orc", game::Health{});
  const auto first = r.host().inbox().open_lane(5, 1u << 20, 2), second = r.host().inbox().open_lane(6, 1u << 20, 2);
  const auto nobodys = r.host().inbox().open_lane(7);
  CHECK((first->user() == 2 && second->user() == 2 && nobodys->user() == 0));
  w.sink.told.clear();
  w.sink.settled.clear();
  r.host().push_batch(damage(orc), {.session = 5, .user = 2, .request = 40});
  REQUIRE(first->put(damage(orc), 41));
  REQUIRE(second->put(damage(orc), 41));  // a request's number is the session's own
  REQUIRE(nobodys->put(damage(orc), 41));
  r.flush();
  const auto two = [&] {
    auto both = damage(orc);
    const auto more = damage(orc);
    both.insert(both.end(), more.begin(), more.end());
    return both;
  }();
  r.host().push_batch(two, {.session = 6, .user = 2, .request = 42});  // two inputs

  const auto seen = [](const std::vector<Envelope>& envelopes) {
    std::vector<std::array<std::uint64_t, 3>> all;
    for (const Envelope& each : envelopes)
      if (each.kind != InputKind::flush) all.push_back({each.user, each.session, each.request});
    return all;
  };
  const std::vector<std::array<std::uint64_t, 3>> expected{{2, 5, 40}, {2, 5, 41}, {2, 6, 41},
                                                           {0, 7, 41}, {2, 6, 42}, {2, 6, 42}};
  CHECK(seen(w.sink.told) == expected);
  CHECK(seen(w.sink.settled) == expected);
}

TEST_CASE("what the host does is nobody's: every other way in has user 0, also behind a user's input") {
  const bool shortcuts = GENERATE(true, false);
  Watched w({.shortcuts = shortcuts});
  EntityRegistry& r = w.registry;
  r.add_type<Update>();
  // What handlers post is no input, whoever caused it.
  const auto s = r.subscribe("again", [](const game::Damage& hit, game::Health&, Entity self, Outbox& out) {
    if (hit.amount > 0) out.post(self, game::Damage{.amount = hit.amount - 1});
  });
  const Entity orc = r.create("orc", game::Health{});
  const auto lane = r.host().inbox().open_lane(5, 1u << 20, 2);
  const std::vector<std::function<void()>> ways{
      [&] { r.push(orc, game::Damage{.amount = 3}); },
      [&] { r.push(Update{.dt = 1}); },
      [&] { r.post(orc, game::Damage{}); },
      [&] { r.post_at(r.now_ns() + 5, orc, game::Damage{}); },
      [&] { r.host().post_batch(damage(orc)); },
      [&] { r.advance(10); },
      [&] { r.host().push_batch(damage(orc)); },
      [&] { r.create(game::Health{}); },
      [&] { r.create_many(2, game::Health{}); },
      [&] { r.destroy(r.create("gone")); },
      [&] { r.set(orc, game::Health{.value = 2}); },
      [&] { r.rename(orc, "elf"); },
      [&] { r.host().return_grant(r.host().grant(4, 5), 4); },
      [&] { r.intern("a text"); },
      [&] {
        TemplateTree tree("squad");
        tree.set("", game::Health{.value = 9});
        r.define_template(tree);
        r.spawn("squad").or_stop();
      },
  };
  std::uint64_t due = 1000;
  for (const auto& way : ways) {
    r.host().push_batch(damage(orc), {.session = 5, .user = 2, .request = 1});
    r.host().push_batch(damage_at(r.now_ns() + due, orc),
                        {.session = 5, .user = 2, .request = 2});  // its delivery is no input, and nobody's
    REQUIRE(lane->put(damage(orc), 3));
    r.flush();
    w.sink.told.clear();
    way();
    r.flush();
    r.advance(2 * due);
    REQUIRE_FALSE(w.sink.told.empty());
    for (const Envelope& each : w.sink.told) CHECK((each.user == 0 && each.session == 0 && each.request == 0));
  }
}

TEST_CASE("a user without a session says for whom the host did it, and the batch is the host's own") {
  Watched w;
  EntityRegistry& r = w.registry;
  BatchBuilder builder;
  builder.append(r.host().storage().ids().peek(), Create{});
  const Receipt receipt = r.host().push_batch(builder.bytes(), {.user = 2});
  CHECK(receipt.refused == 0);  // a session would need a grant for it
  REQUIRE(w.sink.told.size() == 1);
  CHECK((w.sink.told[0].user == 2 && w.sink.told[0].session == 0 && w.sink.told[0].drawn == 1));
}

TEST_CASE("an input that is withdrawn and told again has its user both times") {
  Watched w;
  struct Full final : InputSink {
    void on_input(const Envelope&, std::span<const std::byte>) override {
      if (full) throw std::runtime_error("full");
    }
    bool full = false;
  } behind;
  EntityRegistry& r = w.registry;
  const Entity orc = r.create(game::Health{});
  r.host().add_sink(behind);
  const auto lane = r.host().inbox().open_lane(5, 1u << 20, 2);
  REQUIRE(lane->put(damage(orc), 9));
  behind.full = true;
  w.sink.told.clear();
  CHECK_THROWS(r.flush());
  behind.full = false;
  r.flush();
  REQUIRE(w.sink.withdrawn.size() == 1);
  CHECK(w.sink.withdrawn[0].user == 2);
  REQUIRE(w.sink.told.size() >= 2);
  for (int i : {0, 1}) CHECK((w.sink.told[i].user == 2 && w.sink.told[i].request == 9));
  r.host().remove_sink(behind);
}

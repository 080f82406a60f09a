#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "messages/judge/verifier.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/game.h"

namespace sink_test {

using namespace muster;

namespace {

struct Recorded {
  Envelope envelope;
  std::vector<std::byte> bytes;
  Receipt receipt;
};

struct Recorder : InputSink {
  explicit Recorder(EntityRegistry& r) : registry(r) { registry.host().add_sink(*this); }
  ~Recorder() override { registry.host().remove_sink(*this); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    if (!batch.empty()) {
      REQUIRE(reinterpret_cast<std::uintptr_t>(batch.data()) % 16 == 0);
      const auto verdict = verify_batch(batch, registry.types());
      if (!verdict) FAIL(verdict.error().text);
    }
    inputs.push_back({envelope, {batch.begin(), batch.end()}, {}});
  }
  void on_receipt(const Envelope& envelope, const Receipt& receipt) noexcept override {
    REQUIRE(inputs.back().envelope.sequence == envelope.sequence);
    inputs.back().receipt = receipt;
  }
  const Recorded& operator[](std::size_t i) const { return inputs.at(i); }
  EntityRegistry& registry;
  std::vector<Recorded> inputs;
};

TypeId type_of(const Recorded& recorded) { return BatchView(recorded.bytes).type(); }

}  // namespace

TEST_CASE("every outermost input passes the sink, sealed, numbered and in order, before it is delivered") {
  EntityRegistry registry;
  registry.add_type<Update>();
  const Entity orc = registry.create("orc", game::Health{});
  const auto s = registry.subscribe("hit", [](const game::Damage& hit, game::Health& health, Entity self, Outbox& out) {
    health.value -= hit.amount;
    if (hit.amount > 1) out.post(self, game::Damage{.amount = 1});  // a consequence, not an input
  });
  const Recorder seen(registry);
  const std::uint64_t before = registry.sequence();
  registry.post(orc, game::Damage{.amount = 1});
  registry.post(orc, game::Damage{.amount = 2});
  registry.post(orc, game::Heal{.amount = 3});
  CHECK(seen.inputs.empty());  // not sealed yet
  registry.push(orc, game::Damage{.amount = 4});
  registry.push(Update{.dt = 1});
  registry.advance(5);
  registry.post(orc, game::Damage{.amount = 5});
  registry.flush();

  REQUIRE(seen.inputs.size() == 7);
  for (std::size_t i = 0; i < seen.inputs.size(); ++i) CHECK(seen[i].envelope.sequence == before + 1 + i);
  CHECK(seen[0].envelope.kind == InputKind::post);
  CHECK(type_of(seen[0]) == TypeTraits<game::Damage>::id);
  CHECK(BatchView(seen[0].bytes).count() == 2);  // consecutive posts of one type are one batch
  CHECK(seen[0].receipt.handled == 2);
  CHECK(type_of(seen[1]) == TypeTraits<game::Heal>::id);
  CHECK(seen[1].receipt.unhandled == 1);
  CHECK(seen[2].envelope.kind == InputKind::push);
  CHECK(seen[2].receipt.handled == 1);
  CHECK(type_of(seen[3]) == TypeTraits<Update>::id);
  CHECK(seen[4].envelope.kind == InputKind::advance);
  CHECK(type_of(seen[4]) == TypeTraits<Advance>::id);
  CHECK(seen[5].envelope.kind == InputKind::post);
  CHECK(seen[6].envelope.kind == InputKind::flush);
  CHECK(seen[6].bytes.empty());
  CHECK(registry.sequence() == before + 7);
  for (const Recorded& one : seen.inputs) CHECK(one.envelope.session == 0);
}

TEST_CASE("sealed bytes do not change when a handler changes its copy of the message") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc", game::Health{});
  const auto s = registry.subscribe("armor", [](game::Damage& hit, const game::Health&) { hit.amount = 99; });
  const Recorder seen(registry);
  registry.push(orc, game::Damage{.amount = 7});
  game::Damage sealed;
  std::memcpy(&sealed, BatchView(seen[0].bytes).payload(0), sizeof sealed);
  CHECK(sealed.amount == 7);
}

TEST_CASE("a sink that was taken away hears of nothing any more, neither inputs nor receipts") {
  struct Counting final : InputSink {
    int inputs = 0, receipts = 0;
    void on_input(const Envelope&, std::span<const std::byte>) override { ++inputs; }
    void on_receipt(const Envelope&, const Receipt&) noexcept override { ++receipts; }
  } counting;
  EntityRegistry registry;
  const Entity orc = registry.create("orc", game::Health{});
  registry.host().add_sink(counting);
  registry.push(orc, game::Damage{});
  CHECK(counting.inputs > 0);
  CHECK(counting.receipts == counting.inputs);
  registry.host().remove_sink(counting);
  const int heard = counting.inputs;
  registry.push(orc, game::Damage{});
  registry.post(orc, game::Damage{});
  registry.flush();
  registry.advance(1);
  CHECK(counting.inputs == heard);
  CHECK(counting.receipts == heard);
}

TEST_CASE("a registry without sinks numbers its inputs all the same") {
  EntityRegistry registry, watched;
  const Recorder seen(watched);
  for (EntityRegistry* r : {&registry, &watched}) {
    const Entity orc = r->create("orc", game::Health{});
    r->push(orc, game::Damage{});
    r->post(orc, game::Damage{});
    r->flush();
    r->flush();  // nothing to do: no input
    r->destroy(orc);
  }
  CHECK(registry.sequence() == watched.sequence());
  CHECK(registry.sequence() == seen.inputs.size());
  CHECK(registry.hash() == watched.hash());
}

TEST_CASE("the same inputs make the same state") {
  EntityRegistry original;
  const auto install = [](EntityRegistry& registry) {
    return Handlers(
        registry.subscribe("hit",
                           [](const game::Damage& hit, game::Health& health, Entity self, Outbox& out) {
                             health.value -= hit.amount;
                             if (health.value <= 0) out.destroy(self);
                           }),
        registry.subscribe("spawn", [](const game::Spawn& spawn, const game::Health&, Entity self, Spawner& spawner) {
          for (std::uint32_t i = 0; i < spawn.children; ++i)
            spawner.create_under(self, "child", game::Health{.value = 3});
        }));
  };
  const Handlers handlers = install(original);
  const Recorder seen(original);
  const Entity a = original.create("a", game::Health{}), b = original.create_under(a, "b", game::Health{.value = 5});
  original.push(a, game::Spawn{.children = 4});
  original.post(b, game::Damage{.amount = 10});
  original.post(a, game::Damage{.amount = 1});
  original.post_at(50, a, game::Spawn{.children = 2});
  original.advance(100);
  original.create_many(3, game::Health{.value = 1});
  original.rename(a, "new");
  original.destroy(original.find_path("/new/child~2"));

  EntityRegistry replayed;
  const Handlers again = install(replayed);
  for (const TypeDescriptor* type : original.types().types())
    if (!replayed.types().find(type->id)) {
      replayed.add_type<game::Health>();
      replayed.add_type<game::Damage>();
      replayed.add_type<game::Spawn>();
    }
  for (const Recorded& one : seen.inputs) replayed.host().replay(one.envelope, one.bytes);
  CHECK(replayed.entity_count() == original.entity_count());
  CHECK(replayed.sequence() == original.sequence());
  CHECK(replayed.hash() == original.hash());
}

namespace {

/// Removes `goes` when it is called for the `when`-th time.
struct Leaver final : InputSink {
  enum class In { input, receipt, withdrawn };
  EntityRegistry* registry = nullptr;
  InputSink* goes = nullptr;
  In in = In::input;
  int when = 0, inputs = 0, receipts = 0, withdrawn = 0;
  bool throws = false;

  void removes(EntityRegistry& of, InputSink& sink, In called, int times) {
    registry = &of;
    goes = &sink;
    in = called;
    when = times;
  }
  void leave(In now) {
    if (goes && now == in && --when == 0) registry->host().remove_sink(*goes);
  }
  void on_input(const Envelope&, std::span<const std::byte>) override {
    ++inputs;
    leave(In::input);
    if (throws) throw 1;
  }
  void on_receipt(const Envelope&, const Receipt&) noexcept override {
    ++receipts;
    leave(In::receipt);
  }
  void on_withdrawn(const Envelope&) noexcept override {
    ++withdrawn;
    leave(In::withdrawn);
  }
};

}  // namespace

TEST_CASE("a sink may remove itself or another while it is called, and the others see every input and receipt") {
  for (const Leaver::In in : {Leaver::In::input, Leaver::In::receipt})
    for (std::size_t count = 1; count <= 4; ++count)
      for (std::size_t who = 0; who < count; ++who)
        for (std::size_t gone = 0; gone < count; ++gone) {
          CAPTURE(static_cast<int>(in), count, who, gone);
          EntityRegistry registry;
          const Entity orc = registry.create("orc", game::Health{});
          std::vector<Leaver> sinks(count);
          for (Leaver& sink : sinks) registry.host().add_sink(sink);
          sinks[who].removes(registry, sinks[gone], in, 2);
          registry.set(orc, game::Health{});
          registry.push(orc, game::Damage{});
          registry.post(orc, game::Damage{});
          registry.post(orc, game::Heal{});
          registry.flush();
          registry.advance(1);
          constexpr int all = 6;  // among them the flush, which has no receipt
          for (std::size_t i = 0; i < count; ++i) {
            CAPTURE(i);
            if (i != gone) {
              CHECK(sinks[i].inputs == all);
              CHECK(sinks[i].receipts == all - 1);
              registry.host().remove_sink(sinks[i]);
              continue;
            }
            const bool before = in == Leaver::In::input && who < gone;
            CHECK(sinks[i].inputs == (before ? 1 : 2));
            CHECK(sinks[i].receipts == (in == Leaver::In::input || who < gone ? 1 : 2));
          }
        }
}

TEST_CASE("a sink that removes itself before it throws, or while an input is withdrawn, leaves the others told") {
  for (const bool in_input : {true, false}) {
    CAPTURE(in_input);
    EntityRegistry registry;
    std::vector<Leaver> sinks(3);
    for (Leaver& sink : sinks) registry.host().add_sink(sink);
    Leaver& goes = sinks[in_input ? 2 : 1];
    goes.removes(registry, goes, in_input ? Leaver::In::input : Leaver::In::withdrawn, 1);
    sinks[2].throws = true;
    CHECK_THROWS(registry.push(Update{}));
    CHECK(sinks[0].withdrawn == 1);
    CHECK(sinks[1].withdrawn == 1);
    CHECK(sinks[2].withdrawn == 0);
    sinks[2].throws = false;
    registry.push(Update{});
    CHECK(sinks[0].inputs == 2);
    CHECK(sinks[1].inputs == (in_input ? 2 : 1));
    CHECK(sinks[2].inputs == (in_input ? 1 : 2));
    CHECK(registry.sequence() == 1);
    for (Leaver& sink : sinks) registry.host().remove_sink(sink);
  }
}

}  // namespace sink_test

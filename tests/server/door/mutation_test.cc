// Frames as a broken or hostile client sends them, against a live server over its sockets: it does not crash, every session that
// it ends is told why, and the world is as if the frames that were refused had never come.
//
// That is judged by a twin: a second registry that is fed with the inputs the live one took in whole or in part, and with
// a message to nobody in place of each it refused, since a refused input takes a sequence number too. After every round
// both have the same hash.
#include <catch2/catch.hpp>
#include <cstdio>
#include <map>

#include "registry/host.h"
#include "tests/server/door/frame_mutator.h"
#include "tests/server/live_world.h"
#include "tests/support/folder.h"

using namespace muster;
using namespace muster::testing;

namespace {

constexpr std::uint32_t frames_sent = 100'000;
constexpr std::size_t sessions = 32;
constexpr std::uint64_t sentinel = 0x5e47'0000'0000'0001;
constexpr std::uint32_t seed = 20'261;

/// Keeps every input and whether it had any effect.
class Recorder final : public InputSink {
 public:
  struct Input {
    Envelope envelope;
    std::vector<std::byte> batch;
    bool taken = false;
  };
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    inputs_.push_back({envelope, {batch.begin(), batch.end()}, false});
  }
  void on_receipt(const Envelope& envelope, const Receipt& receipt) noexcept override {
    if (inputs_.back().envelope.sequence != envelope.sequence) std::abort();
    if (receipt.handled > 0) inputs_.back().taken = true;
  }
  std::vector<Input> take() { return std::exchange(inputs_, {}); }

 private:
  std::vector<Input> inputs_;
};

/// For a failure: what the round was about.
std::string listed(const std::vector<Recorder::Input>& inputs) {
  std::string text;
  for (const Recorder::Input& input : inputs) {
    text += std::to_string(input.envelope.sequence) + (input.taken ? " taken" : " refused");
    text += " kind " + std::to_string(int(input.envelope.kind));
    if (!input.batch.empty()) {
      const BatchView batch{std::span<const std::byte>(input.batch)};
      text += ", batch kind " + std::to_string(int(batch.kind())) + " type " + std::to_string(batch.type()) +
              " count " + std::to_string(batch.count());
    }
    text += '\n';
  }
  return text;
}

class Twin {
 public:
  Twin() {
    registry_.add_type<arena::Health>();
    damage_ = subscribe_damage(registry_);
    registry_.add_type<Set>();
    lane_ = registry_.host().inbox().open_lane(1);
    nothing_.append(Entity{0xfffffff0u, 1}, arena::Damage{});
  }
  void apply(const Recorder::Input& input) {
    const std::span<const std::byte> batch = input.taken ? std::span<const std::byte>(input.batch) : nothing_.bytes();
    switch (input.envelope.kind) {
      case InputKind::flush:
        // A flush that found nothing, because the one before was quicker than the word of an arrival, has a number too.
        if (!std::exchange(arrived_, false)) (void)registry_.host().push_batch(nothing_.bytes());
        (void)registry_.flush();
        return;
      case InputKind::inbox:
        if (!lane_->put(batch)) std::abort();
        arrived_ = true;
        return;
      case InputKind::advance: (void)registry_.advance(session::read<Advance>(BatchView(batch)).ns); return;
      case InputKind::push:
      case InputKind::post: (void)registry_.host().push_batch(batch); return;
    }
  }
  std::uint64_t hash() const { return registry_.hash(); }

 private:
  EntityRegistry registry_;
  Subscription damage_;
  std::shared_ptr<InboxLane> lane_;
  BatchBuilder nothing_;
  bool arrived_ = false;
};

/// Keeps the world small and alive: between 20 and 200 entities, timers delivered now and then, ids to create with.
Targets tend(EntityRegistry& registry, std::uint32_t round) {
  Targets targets;
  registry.each<>([&](Entity e) { targets.alive.push_back(e); });
  for (std::size_t i = 0; targets.alive.size() > 200 && i < 150; ++i)
    if (registry.alive(targets.alive[i])) registry.destroy(targets.alive[i]);
  if (targets.alive.size() < 20) {
    const Entity parent = registry.create("", arena::Health{.value = 500});
    for (int i = 0; i < 10; ++i)
      registry.create_under(parent, "", arena::Health{.value = 100}, arena::Position{1, 2, 3}, arena::Target{})
          .or_stop();
  }
  if (round % 64 == 0) (void)registry.advance(1'000'000'000);
  targets.alive.clear();
  registry.each<>([&](Entity e) { targets.alive.push_back(e); });
  const Entity first = registry.host().grant(4, 1);
  for (std::uint32_t i = 0; i < 4; ++i) targets.granted.push_back({first.index + i, 1});
  targets.text = registry.intern("a name");
  return targets;
}

/// One session that is sent mutated frames until it is closed.
struct Lane {
  std::unique_ptr<RawClient> client;
  FrameDecoder model{1, false};  // cuts the same bytes as the server does
  int frames = 0;
  bool whole = false;  // what was sent ends at the end of a frame

  void connect(const std::string& address, std::uint32_t frame_bytes_max, const char* with_token) {
    client = std::make_unique<RawClient>(address);
    client->hello(with_token);
    model = FrameDecoder(frame_bytes_max, false);
    frames = 0;
  }
  /// Sends it and, where the server is then ready for another frame, a question behind it. Returns how many frames it was.
  int send(std::span<const std::byte> bytes, std::span<const std::byte> question) {
    int cut = 0;
    bool sound = true;
    for (std::span<const std::byte> rest = bytes; sound && !rest.empty();) {
      const std::span<std::byte> room = model.room();
      const std::size_t part = std::min(room.size(), rest.size());
      std::memcpy(room.data(), rest.data(), part);
      model.received(part);
      rest = rest.subspan(part);
      while (sound) {
        const auto frame = model.next();
        if (frame && !*frame) break;
        sound = frame.has_value();
        if (sound) ++cut;
      }
    }
    whole = sound && model.finish().has_value();
    std::vector<std::byte> sent(bytes.begin(), bytes.end());
    if (whole) sent.insert(sent.end(), question.begin(), question.end());
    client->send(sent);
    if (sound && !whole) client->end();  // the server waits for the rest
    ++frames;
    return cut;
  }
};

struct Tally {
  std::uint32_t sent = 0, past_framing = 0, closed = 0, acknowledged = 0;
  std::map<std::string, std::uint32_t> faults;
};

/// Reads what the server says of the frame just sent. False: it closed the session.
bool hear(Lane& lane, Tally& tally) {
  while (true) {
    const auto received = lane.client->receive();
    if (!received) FAIL("a session ended, or nothing came, without a word");
    if (received->is<session::Ack>()) ++tally.acknowledged;
    if (received->is<session::Fault>()) {
      const auto fault = session::read<session::Fault>(received->batch());
      ++tally.faults[fault.reason];
      if (fault.text.empty() || fault.reason.empty()) FAIL("a fault without a reason, code " << int(fault.code));
      if (fault.closes) {
        if (!lane.client->closed()) FAIL("something came behind the last fault: " << fault.text);
        ++tally.closed;
        return false;
      }
    }
    if (received->header.request == sentinel && received->is<session::Info>()) {
      if (!lane.whole) FAIL("an answer to a question that was not asked");
      return true;
    }
  }
}

void bombard(const LiveWorldOptions& options, std::uint32_t count, std::uint32_t with_seed, Tally& tally) {
  Recorder recorder;
  LiveWorld world(options);
  const std::string address = world.address();
  world.run([&](EntityRegistry& registry) {
    registry.host().add_sink(recorder);
    return 0;
  });
  Twin twin;
  FrameMutator mutator(with_seed);
  BatchBuilder question;
  session::append(question, session::GetInfo{});
  std::vector<std::byte> asked;
  append_frame(asked, question.bytes(), sentinel);
  std::vector<Lane> lanes(sessions);
  // A share of the sessions may do less, so that rights are in the way too.
  const auto token_of = [&](std::size_t i) { return i % 8 == 6 ? editor_token : i % 8 == 7 ? viewer_token : token; };

  for (std::uint32_t round = 0, sent = 0; sent < count; ++round) {
    for (std::size_t i = 0; i < lanes.size(); ++i)
      if (!lanes[i].client || lanes[i].frames >= 64)
        lanes[i].connect(address, options.limits.frame_bytes_max, token_of(i));
    const Targets targets = world.run([&](EntityRegistry& registry) { return tend(registry, round); });
    for (Lane& lane : lanes) {
      ++sent;
      ++tally.sent;
      if (lane.send(mutator.next(targets), asked) > 0) ++tally.past_framing;
    }
    for (Lane& lane : lanes)
      if (!hear(lane, tally)) lane.client.reset();
    const auto [inputs, hash] =
        world.run([&](EntityRegistry& registry) { return std::pair(recorder.take(), registry.hash()); });
    for (const Recorder::Input& input : inputs) twin.apply(input);
    if (twin.hash() != hash)
      FAIL("round " << round << " of seed " << with_seed << ": the world is not as the accepted inputs make it\n"
                    << listed(inputs));
  }
  // And it goes on serving.
  Client client = world.client();
  const auto elf = client.create({}, "", arena::Health{.value = 5});
  REQUIRE(elf.has_value());
  REQUIRE(client.push(*elf, arena::Damage{.amount = 2})->handled == 1);
  REQUIRE(client.show(*elf)->get<arena::Health>()->value == 3);
}

}  // namespace

TEST_CASE("mutated frames crash nothing, refused ones change nothing", "[mutation]") {
  Tally tally;
  LiveWorldOptions options;
  options.limits.frame_bytes_max = 1u << 20;
  options.limits.grant_count_max = 256;
  options.limits.watches_max = 4;
  options.limits.rows_max = 50;
  bombard(options, frames_sent / 5, seed, tally);
  options.tcp = false;
  const test::Folder folder;
  options.unix_path = folder / "socket";
  bombard(options, frames_sent - tally.sent, seed + 1, tally);

  std::printf("%u mutated frames (seeds %u, %u): %u past framing, %u acknowledged, %u sessions closed\n", tally.sent,
              seed, seed + 1, tally.past_framing, tally.acknowledged, tally.closed);
  for (const auto& [reason, times] : tally.faults) std::printf("  %8u %s\n", times, reason.c_str());
  REQUIRE(tally.sent >= frames_sent);
  REQUIRE(tally.past_framing >= tally.sent / 2);
  // They are near enough to good ones that some are applied, and far enough that most are refused.
  REQUIRE(tally.acknowledged > tally.sent / 50);
  for (const char* reason : {"oversized", "misaligned", "too_short", "ended_inside", "wrong_count", "wrong_size",
                             "unknown_type", "unknown_kind", "nonzero_padding", "bad_table", "bad_row_set", "no_right",
                             "wrong_direction", "dead_entity", "id_not_granted", "unknown_field"}) {
    INFO(reason);
    CHECK(tally.faults[reason] > 0);
  }
}

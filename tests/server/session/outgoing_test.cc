// What waits to be sent to a session: each bound met exactly, who is called when, and what is the last frame.
#include "server/session/outgoing.h"

#include <catch2/catch.hpp>
#include <vector>

#include "messages/batch_builder.h"
#include "tests/server/arena.h"

using namespace muster;

namespace {

struct Queue {
  explicit Queue(OutgoingLimits limits = {}) : out(limits) {
    out.on_ready([this] { ++ready; });
    out.on_room([this] { ++room; });
    out.on_answer_room([this] { ++room; });
    BatchBuilder builder;
    builder.append_world(arena::Damage{});
    const auto made = builder.bytes();
    batch.assign(made.begin(), made.end());
  }
  /// That one of these counts.
  std::size_t frame() const { return frame_overhead_max + batch.size(); }
  void control(std::uint64_t request = 1) { out.control(batch, request); }
  void data(std::uint64_t request = 1) { out.data(batch, request, frame_more, nullptr); }
  /// Requests and flags of the frames that the writer takes, and what was of faults in them.
  std::vector<std::uint64_t> take() {
    std::vector<std::uint64_t> requests;
    flags.clear();
    faults.clear();
    if (!out.take(bytes)) return requests;
    for (std::size_t at = 0; at < bytes.size();) {
      FrameHeader header;
      std::memcpy(&header, &bytes[at], sizeof header);
      requests.push_back(header.request);
      flags.push_back(header.flags);
      const std::size_t before = sizeof header + (header.flags & frame_envelope ? sizeof(FrameEnvelope) : 0);
      const BatchView view(&bytes[at + before]);
      if (view.type() == TypeTraits<session::Fault>::id) faults.push_back(session::read<session::Fault>(view));
      at += header.bytes;
    }
    return requests;
  }
  Outgoing out;
  int ready = 0, room = 0;
  std::vector<std::byte> batch, bytes;
  std::vector<std::uint32_t> flags;
  std::vector<session::Fault> faults;
};

using Requests = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("frames keep their order, whatever they are, and the writer is called where something comes into nothing",
          "[outgoing]") {
  Queue queue;
  CHECK(queue.take().empty());
  queue.control(1);
  CHECK(queue.ready == 1);
  queue.data(2);
  queue.control(3);
  CHECK(queue.ready == 1);
  CHECK(queue.out.control_bytes() == 2 * queue.frame());
  CHECK(queue.out.waiting_bytes() == 3 * queue.frame());
  CHECK(queue.take() == Requests{1, 2, 3});
  CHECK(queue.flags == std::vector<std::uint32_t>{0, frame_more, 0});
  // What the writer has counts until it was sent.
  CHECK(queue.out.control_bytes() == 2 * queue.frame());
  CHECK(queue.out.waiting_bytes() == 3 * queue.frame());
  queue.control(4);
  CHECK(queue.ready == 2);
  CHECK(queue.out.control_bytes() == 3 * queue.frame());
  queue.out.sent();
  CHECK(queue.out.control_bytes() == queue.frame());
  CHECK(queue.out.waiting_bytes() == queue.frame());
  CHECK(queue.room == 0);
  CHECK(queue.take() == Requests{4});
  const FrameEnvelope envelope{.sequence = 5, .author = 6, .author_request = 7, .clock_ns = 8};
  queue.out.data(queue.batch, 9, 0, &envelope);
  queue.out.control(queue.batch, 10, frame_more, &envelope);
  CHECK(queue.take() == Requests{9, 10});
  CHECK(queue.flags == std::vector<std::uint32_t>{frame_envelope, frame_envelope | frame_more});
  FrameEnvelope told;
  std::memcpy(&told, &queue.bytes[sizeof(FrameHeader)], sizeof told);
  CHECK(told.sequence == 5);
  CHECK(told.author == 6);
  CHECK(told.author_request == 7);
  CHECK(told.clock_ns == 8);
}

TEST_CASE("as many bytes of answers wait as are allowed; with one frame more the session is a slow reader, and ends",
          "[outgoing]") {
  for (const bool sending : {false, true}) {
    const std::size_t frame = Queue().frame();
    Queue queue({.control_bytes_max = 3 * frame});
    for (std::uint64_t i = 1; i <= 3; ++i) {
      queue.control(i);
      if (sending && i == 1) CHECK(queue.take() == Requests{1});
    }
    // Data does not count for it.
    queue.data(4);
    CHECK_FALSE(queue.out.closed());
    queue.control(5);
    CHECK(queue.out.closed());
    queue.control(6);
    queue.data(7);
    CHECK(queue.take() == (sending ? Requests{2, 3, 4, 0} : Requests{1, 2, 3, 4, 0}));
    REQUIRE(queue.faults.size() == 1);
    CHECK(queue.faults[0].code == session::FaultCode::slow_reader);
    CHECK(queue.faults[0].reason == "slow_reader");
    CHECK(queue.faults[0].closes);
    CHECK(queue.faults[0].text == "the client does not read its answers: " + std::to_string(3 * frame) + " bytes wait");
    queue.out.sent();
    CHECK(queue.take().empty());
    CHECK(queue.room == 0);
  }
  // One alone may be longer than all that may wait.
  Queue small({.control_bytes_max = 1});
  small.control(1);
  CHECK_FALSE(small.out.closed());
  small.control(2);
  CHECK(small.out.closed());
}

TEST_CASE("a fault that closes is the last frame; one that does not is one of many; who closes is heard",
          "[outgoing]") {
  Queue queue;
  session::Fault fault;
  fault.code = session::FaultCode::refused;
  fault.reason = "why";
  queue.out.fault(fault, 5);
  CHECK_FALSE(queue.out.closed());
  CHECK(queue.ready == 1);
  queue.control(6);
  fault.closes = true;
  queue.out.fault(fault, 7);
  CHECK(queue.out.closed());
  CHECK(queue.ready == 2);  // also where something waits: the writer is to know
  queue.out.fault(fault, 8);
  queue.control(9);
  queue.data(10);
  CHECK(queue.take() == Requests{5, 6, 7});
  CHECK(queue.faults.size() == 2);
  CHECK(queue.out.has_answer_room(1u << 30));  // nobody waits for it
  CHECK_FALSE(queue.out.has_room());

  Queue other;
  other.control(1);
  other.out.close();
  CHECK(other.ready == 2);
  CHECK(other.out.closed());
  other.out.close();
  CHECK(other.ready == 2);
  other.control(2);
  CHECK(other.take() == Requests{1});
}

TEST_CASE("data has room below its bound, and who found none is called when half of it is free", "[outgoing]") {
  const std::size_t frame = Queue().frame();
  Queue queue({.data_bytes_max = 4 * frame});
  for (int i = 0; i < 4; ++i) {
    CHECK(queue.out.has_room());
    queue.data();
  }
  CHECK_FALSE(queue.out.has_room());
  queue.take();
  CHECK_FALSE(queue.out.has_room());  // it is being sent
  for (int i = 0; i < 2; ++i) queue.data();
  queue.out.sent();
  CHECK(queue.room == 0);  // half is waiting again
  CHECK(queue.out.has_room());
  queue.take();
  queue.data();
  queue.out.sent();
  CHECK(queue.room == 1);
  queue.take();
  queue.out.sent();
  CHECK(queue.room == 1);  // once
  // Answers do not count.
  for (int i = 0; i < 10; ++i) queue.control();
  CHECK(queue.out.has_room());
  // Of a session that is closed nobody is called.
  for (int i = 0; i < 4; ++i) queue.data();
  CHECK_FALSE(queue.out.has_room());
  queue.out.close();
  queue.take();
  queue.out.sent();
  CHECK(queue.room == 1);
}

TEST_CASE("an answer has room in half of what may wait, or where nothing does; who found none is called",
          "[outgoing]") {
  const std::size_t frame = Queue().frame();
  Queue queue({.control_bytes_max = 8 * frame});
  CHECK(queue.out.has_answer_room(100 * frame));
  queue.control();
  CHECK(queue.out.has_answer_room(3 * frame));
  CHECK_FALSE(queue.out.has_answer_room(3 * frame + 1));
  queue.take();
  CHECK_FALSE(queue.out.has_answer_room(3 * frame + 1));
  queue.control();
  CHECK(queue.out.has_answer_room(2 * frame));
  CHECK_FALSE(queue.out.has_answer_room(2 * frame + 1));
  CHECK(queue.room == 0);
  queue.out.sent();
  CHECK(queue.room == 1);
  queue.out.sent();
  CHECK(queue.room == 1);
  queue.data();
  queue.take();
  queue.out.sent();
  CHECK(queue.room == 1);
  CHECK(queue.out.has_answer_room(100 * frame));  // data does not count
}

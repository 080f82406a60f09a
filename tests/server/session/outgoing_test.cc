// What waits to be sent to a session: each bound met exactly, who is called when, and what is the last frame.
#include "server/session/outgoing.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/observe/clock.h"
#include "tests/server/arena.h"
#include "tests/support/all_threads.h"

namespace outgoing_test {

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
    if (!out.take(piece)) return requests;
    bytes.clear();
    for (const std::span<const std::byte> part : piece.parts()) bytes.insert(bytes.end(), part.begin(), part.end());
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
  OutgoingPiece piece;
  std::vector<std::uint32_t> flags;
  std::vector<session::Fault> faults;
};

using Requests = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE(
    "answers go before what watches bring, each in their order; the writer is called where something comes into "
    "nothing",
    "[outgoing]") {
  Queue queue;
  CHECK(queue.take().empty());
  queue.control(1);
  CHECK(queue.ready == 1);
  queue.data(2);
  queue.control(3);
  queue.data(4);
  queue.out.watch_control(queue.batch, 5);
  queue.data(6);
  CHECK(queue.ready == 1);
  CHECK(queue.out.waiting().control == 3 * queue.frame());
  CHECK(queue.out.waiting().bytes() == 6 * queue.frame());
  CHECK(queue.take() == Requests{1, 3, 2, 4, 5, 6});
  CHECK(queue.flags == std::vector<std::uint32_t>{0, 0, frame_more, frame_more, 0, frame_more});
  // What the writer has counts until it was sent.
  CHECK(queue.out.waiting().control == 3 * queue.frame());
  CHECK(queue.out.waiting().data == 3 * queue.frame());
  CHECK(queue.out.taken() == queue.bytes.size());
  queue.control(7);
  CHECK(queue.ready == 2);
  CHECK(queue.out.waiting().control == 4 * queue.frame());
  queue.out.sent();
  CHECK(queue.out.waiting().bytes() == queue.frame());
  CHECK(queue.room == 0);
  CHECK(queue.take() == Requests{7});
  const FrameEnvelope envelope{.sequence = 5, .session = 6, .sender_request = 7, .clock_ns = 8};
  queue.out.data(queue.batch, 9, 0, &envelope);
  queue.out.control(queue.batch, 10, frame_more, &envelope);
  CHECK(queue.take() == Requests{10, 9});
  CHECK(queue.flags == std::vector<std::uint32_t>{frame_envelope | frame_more, frame_envelope});
  FrameEnvelope told;
  std::memcpy(&told, &queue.bytes[sizeof(FrameHeader)], sizeof told);
  CHECK(told.sequence == 5);
  CHECK(told.session == 6);
  CHECK(told.sender_request == 7);
  CHECK(told.clock_ns == 8);
}

TEST_CASE("what watches bring is taken in pieces of whole frames, and an answer waits for one of them", "[outgoing]") {
  Queue queue({.data_bytes_max = 1u << 30});
  BatchBuilder builder;
  builder.append_world(arena::Damage{});
  const std::size_t bytes = sizeof(FrameHeader) + builder.bytes().size(), in_a_piece = Outgoing::piece_bytes / bytes;
  const std::size_t all = 3 * in_a_piece + 5;
  for (std::uint64_t i = 1; i <= all; ++i) queue.data(i);
  std::uint64_t next = 1;
  for (int piece = 0; piece < 4; ++piece) {
    queue.control(1'000'000);
    const Requests taken = queue.take();
    REQUIRE(taken.front() == 1'000'000);
    REQUIRE(taken.size() == 1 + (piece < 3 ? in_a_piece : 5));
    for (std::size_t i = 1; i < taken.size(); ++i) REQUIRE(taken[i] == next++);
    CHECK(queue.out.waiting().data == (all - next + 1 + taken.size() - 1) * queue.frame());
    queue.out.sent();
    CHECK(queue.out.waiting().data == (all - next + 1) * queue.frame());
  }
  CHECK(next == all + 1);
  CHECK(queue.take().empty());
  // A frame that is longer than a piece goes alone.
  std::vector<std::byte> large(Outgoing::piece_bytes * 3);
  std::ranges::copy(queue.batch, large.begin());
  queue.data(1);
  queue.out.data(large, 2, 0, nullptr);
  queue.data(3);
  for (const std::uint64_t request : {1, 2, 3}) {
    REQUIRE(queue.take().size() == 1);
    FrameHeader header;
    std::memcpy(&header, queue.bytes.data(), sizeof header);
    CHECK(header.request == request);
    CHECK(header.bytes == queue.bytes.size());
    queue.out.sent();
  }
  CHECK(queue.take().empty());
}

TEST_CASE("what watches bring is sent as far as the client has said that it has room; answers are sent in any case",
          "[outgoing]") {
  Queue queue;
  queue.data(1);
  queue.take();
  queue.out.sent();
  const std::uint64_t frame = queue.bytes.size();
  CHECK(queue.out.taken() == frame);
  queue.out.credit(2 * frame + 1);
  for (std::uint64_t i = 2; i <= 9; ++i) queue.data(i);
  // The frame with which `through` is reached is sent whole.
  CHECK(queue.take() == Requests{2, 3});
  queue.out.sent();
  CHECK(queue.take().empty());
  CHECK(queue.out.waiting().data == 6 * queue.frame());
  const int ready = queue.ready;
  queue.data(10);
  CHECK(queue.ready == ready);  // there is nothing to take
  queue.control(20);
  CHECK(queue.ready == ready + 1);
  CHECK(queue.take() == Requests{20});
  queue.out.sent();
  CHECK(queue.out.taken() == 4 * frame);
  queue.out.credit(3 * frame);  // less than before: nothing
  CHECK(queue.take().empty());
  queue.out.credit(5 * frame);
  CHECK(queue.ready == ready + 2);
  CHECK(queue.take() == Requests{4});
  queue.out.sent();
  queue.control(21);  // counts as what is sent
  queue.out.credit(7 * frame);
  CHECK(queue.take() == Requests{21, 5});
  queue.out.sent();
  // Whoever is closed gets the rest.
  queue.out.close();
  CHECK(queue.take() == Requests{6, 7, 8, 9, 10});
}

TEST_CASE("how much control waits is known without a lock whenever something was queued, taken or sent", "[outgoing]") {
  Queue queue;
  const auto known = [&] { return queue.out.control_waiting() / queue.frame(); };
  CHECK(known() == 0);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    queue.control(i);
    CHECK(known() == i);
  }
  queue.data(4);
  queue.out.watch_control(queue.batch, 5);
  CHECK(known() == 4);
  CHECK(queue.out.control_waiting() == queue.out.waiting().control);
  queue.take();  // with the writer, it still waits
  CHECK(queue.out.control_waiting() == queue.out.waiting().control);
  queue.out.sent();
  CHECK(queue.out.control_waiting() == queue.out.waiting().control);
  CHECK(known() == 0);
}

TEST_CASE("how old what waits is counts until it was sent, and what it waits for is told", "[outgoing]") {
  using session::WaitsFor;
  Queue queue;
  const auto backlog = [&](std::uint64_t later_ns = 0) { return queue.out.backlog(steady_ns() + later_ns); };
  CHECK(backlog(1000).oldest_ns == 0);
  queue.control();
  CHECK(backlog(1000).oldest_ns == 0);  // an answer is no value
  queue.out.watch_control(queue.batch, 1);
  CHECK(backlog(1000).oldest_ns == 0);
  queue.data(1);
  queue.data(2);
  CHECK(backlog(1'000'000'000).oldest_ns >= 1'000'000'000);
  CHECK(backlog().waits_for == WaitsFor::nothing);
  queue.take();
  queue.data(3);
  CHECK(backlog(1'000'000'000).oldest_ns >= 1'000'000'000);  // it is with the writer
  CHECK(backlog().waits_for == WaitsFor::line);
  CHECK(backlog(5'000'000'000).stuck_ns >= 5'000'000'000);
  const std::uint64_t before_ns = steady_ns();
  queue.out.went_on();
  CHECK(queue.out.backlog(before_ns).stuck_ns == 0);
  queue.out.sent();
  CHECK(backlog().waits_for == WaitsFor::nothing);
  CHECK(backlog(1'000'000'000).oldest_ns >= 1'000'000'000);  // the third
  queue.out.credit(1);
  CHECK(backlog().waits_for == WaitsFor::credit);
  CHECK(backlog(3'000'000'000).stuck_ns >= 3'000'000'000);
  queue.out.credit(1u << 20);
  queue.take();
  queue.out.sent();
  CHECK(backlog(1000).oldest_ns == 0);
  CHECK(backlog(1000).stuck_ns == 0);
}

TEST_CASE("for a slow line no more is queued than it takes in a tenth of a second, or one batch", "[outgoing]") {
  Queue queue;
  BatchBuilder builder;
  std::vector<Entity> many(3000, Entity{5, 1});
  builder.append_shared(std::span<const Entity>(many), arena::Damage{});
  const std::vector<std::byte> large(builder.bytes().begin(), builder.bytes().end());
  REQUIRE(large.size() > Outgoing::piece_bytes / 2);
  REQUIRE(large.size() < Outgoing::piece_bytes);
  queue.out.data(large, 1, frame_more, nullptr);
  queue.out.data(large, 2, frame_more, nullptr);
  CHECK(queue.out.has_room());  // nobody knows how slow it is
  queue.take();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));  // 80 KB a second at most
  queue.out.sent();
  CHECK_FALSE(queue.out.has_room());
  CHECK(queue.room == 0);
  queue.take();
  queue.out.sent();
  CHECK(queue.room == 1);  // there is nothing else
  CHECK(queue.out.has_room());
  queue.out.data(large, 3, frame_more, nullptr);
  CHECK_FALSE(queue.out.has_room());
}

TEST_CASE("a line that was slow once has as much queued as any when it is fast again", "[outgoing]") {
  Queue queue({.data_bytes_max = 1u << 30});
  std::vector<std::byte> large(30'000);
  std::ranges::copy(queue.batch, large.begin());
  REQUIRE(large.size() > Outgoing::piece_bytes / 2);
  queue.out.data(large, 1, frame_more, nullptr);
  queue.take();
  std::this_thread::sleep_for(std::chrono::milliseconds(120));  // 250 KB a second at most
  queue.out.sent();
  for (int i = 0; i < 10; ++i) queue.out.data(large, 2, frame_more, nullptr);
  CHECK_FALSE(queue.out.has_room());
  int pieces = 0;
  for (; pieces < 100'000 && !queue.out.has_room(); ++pieces) {
    queue.out.data(large, 3, frame_more, nullptr);
    queue.take();
    queue.out.sent();
  }
  CHECK(pieces < 100'000);
}

TEST_CASE("what is dropped for the fault that closes is what the writer has not taken, and no more", "[outgoing]") {
  Queue queue({.data_bytes_max = 1u << 30});
  std::uint64_t frames = 0;
  for (; frames * (sizeof(FrameHeader) + queue.batch.size()) < 5 * Outgoing::piece_bytes; ++frames) queue.data(1);
  queue.out.watch_control(queue.batch, 2);
  const std::size_t taken = queue.take().size();
  REQUIRE(taken > 0);
  REQUIRE(taken < frames / 2);
  session::Fault fault;
  fault.code = session::FaultCode::stalled;
  fault.closes = true;
  queue.out.fault(fault, 9);
  CHECK(queue.out.waiting().data == taken * queue.frame());
  queue.out.sent();
  CHECK(queue.out.waiting().data == 0);
  CHECK(queue.out.backlog(steady_ns() + 1000).oldest_ns == 0);
  CHECK(queue.take() == Requests{9});
  queue.out.sent();
  CHECK(queue.out.waiting().bytes() == 0);
}

TEST_CASE("who found no room for want of credit is called when the client gives some, once", "[outgoing]") {
  Queue queue;
  queue.out.credit(0);
  CHECK_FALSE(queue.out.has_room());
  queue.out.credit(0);
  CHECK(queue.room == 0);
  queue.out.credit(1000);
  CHECK(queue.room == 1);
  queue.out.credit(2000);
  CHECK(queue.room == 1);
  CHECK(queue.out.has_room());
}

TEST_CASE("what waits is counted where credit is asked for: no more is queued than the client has room for",
          "[outgoing]") {
  Queue queue;
  queue.data(1);
  REQUIRE(queue.take() == Requests{1});
  queue.out.sent();
  const std::uint64_t frame = queue.out.taken();
  queue.out.credit(3 * frame);
  CHECK(queue.out.has_room());
  queue.data(2);
  CHECK(queue.out.has_room());
  queue.data(3);
  CHECK_FALSE(queue.out.has_room());
  CHECK(queue.take() == Requests{2, 3});
  queue.out.sent();
  CHECK_FALSE(queue.out.has_room());
  queue.out.credit(3 * frame + 1);
  CHECK(queue.room == 1);
  CHECK(queue.out.has_room());
}

TEST_CASE("what is said of watches counts as answers do: who does not read it ends", "[outgoing]") {
  Queue queue({.control_bytes_max = 2 * Queue().frame()});
  queue.out.watch_control(queue.batch, 1);
  queue.out.watch_control(queue.batch, 2);
  CHECK_FALSE(queue.out.closed());
  queue.out.watch_control(queue.batch, 3);
  CHECK(queue.out.closed());
  REQUIRE(queue.out.closed_by().has_value());
  CHECK(queue.out.closed_by()->code == session::FaultCode::slow_reader);
  CHECK(queue.take() == Requests{0});
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
    // What watches brought is dropped.
    CHECK(queue.take() == (sending ? Requests{2, 3, 0} : Requests{1, 2, 3, 0}));
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
  queue.data(11);
  fault.closes = true;
  CHECK_FALSE(queue.out.closed_by().has_value());
  queue.out.fault(fault, 7);
  REQUIRE(queue.out.closed_by().has_value());
  CHECK(queue.out.closed_by()->reason == "why");
  CHECK(queue.out.closed());
  CHECK(queue.ready == 2);  // also where something waits: the writer is to know
  queue.out.fault(fault, 8);
  queue.control(9);
  queue.data(10);
  CHECK(queue.take() == Requests{5, 6, 7});
  CHECK(queue.faults.size() == 2);
  CHECK(queue.out.has_answer_room(1u << 30));  // nobody waits for it
  CHECK_FALSE(queue.out.has_room());

  // What a server that stops has still to tell goes before its farewell.
  Queue stopping;
  fault.code = session::FaultCode::stopping;
  stopping.data(1);
  stopping.control(2);
  stopping.out.fault(fault, 3);
  CHECK(stopping.take() == Requests{2, 1, 3});

  Queue other;
  other.control(1);
  other.out.close();
  CHECK_FALSE(other.out.closed_by().has_value());
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

TEST_CASE("a batch that others send too is sent from where it lies, and kept until it was", "[outgoing]") {
  Queue queue, copying;
  const auto shared = std::make_shared<std::vector<std::byte>>(queue.batch);
  const FrameEnvelope envelope{.sequence = 7, .clock_ns = 9};
  const auto fill = [&](Queue& to, const std::shared_ptr<const void>& keeps) {
    to.control(1);
    to.out.data(to.batch, 2, frame_more, nullptr);
    to.out.data(keeps ? std::span<const std::byte>(*shared) : to.batch, 3, frame_more, &envelope, keeps);
    to.out.data(to.batch, 4, 0, nullptr);
    to.out.data(keeps ? std::span<const std::byte>(*shared) : to.batch, 5, 0, nullptr, keeps);
  };
  fill(queue, shared);
  fill(copying, nullptr);
  CHECK(shared.use_count() == 3);
  CHECK(queue.out.waiting().bytes() == copying.out.waiting().bytes());
  CHECK(queue.take() == Requests{1, 2, 3, 4, 5});
  CHECK(queue.flags == std::vector<std::uint32_t>{0, frame_more, frame_more | frame_envelope, 0, 0});
  // Both queues send equal bytes; one of them never copied the shared batch.
  CHECK(copying.take() == Requests{1, 2, 3, 4, 5});
  CHECK(queue.bytes == copying.bytes);
  CHECK(queue.piece.bytes() == queue.bytes.size());
  CHECK(queue.out.taken() == copying.out.taken());
  CHECK(copying.piece.parts().size() == 1);
  REQUIRE(queue.piece.parts().size() == 4);
  CHECK(queue.piece.parts()[1].data() == shared->data());
  CHECK(queue.piece.parts()[3].data() == shared->data());
  CHECK(shared.use_count() == 3);
  queue.out.sent();
  queue.piece.clear();
  CHECK(shared.use_count() == 1);
  CHECK_FALSE(queue.out.take(queue.piece));
}

TEST_CASE("what is shared counts for credit and room as what is copied does, and goes where watches are dropped",
          "[outgoing]") {
  Queue queue({.data_bytes_max = 1});
  const auto shared = std::make_shared<std::vector<std::byte>>(queue.batch);
  const std::size_t bytes = sizeof(FrameHeader) + queue.batch.size();
  queue.out.credit(2 * bytes);
  queue.out.data(*shared, 1, 0, nullptr, shared);
  CHECK_FALSE(queue.out.has_room());  // of data
  CHECK(queue.take() == Requests{1});
  queue.out.sent();
  CHECK(queue.out.has_room());
  queue.out.data(*shared, 2, 0, nullptr, shared);
  CHECK(queue.take() == Requests{2});
  queue.out.sent();
  CHECK(queue.out.taken() == 2 * bytes);
  CHECK_FALSE(queue.out.has_room());  // the credit is spent
  queue.out.data(*shared, 3, 0, nullptr, shared);
  CHECK(queue.take().empty());
  CHECK(shared.use_count() == 2);
  session::Fault fault;
  fault.closes = true;
  queue.out.fault(fault, 0);
  CHECK(shared.use_count() == 1);
  CHECK(queue.out.waiting().data == 0);
}

TEST_CASE("what is shared counts for a piece: an answer waits for no more of it than of what is copied", "[outgoing]") {
  Queue queue;
  const auto shared = std::make_shared<std::vector<std::byte>>(10'000);
  std::ranges::copy(queue.batch, shared->begin());
  for (std::uint64_t i = 1; i <= 8; ++i) queue.out.data(*shared, i, 0, nullptr, shared);
  std::uint64_t next = 1;
  for (const std::size_t frames : {3u, 3u, 2u}) {
    const Requests taken = queue.take();
    CHECK(taken.size() == frames);
    for (const std::uint64_t request : taken) CHECK(request == next++);
    CHECK(queue.piece.bytes() <= Outgoing::piece_bytes);
    queue.out.sent();
  }
  CHECK(queue.take().empty());
}

}  // namespace outgoing_test

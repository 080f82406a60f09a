// A desk that is driven by hand: no sockets, no threads, and a clock that only a test moves. What a session is sent is read
// back frame by frame.
#pragma once

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/cpp/client.h"
#include "messages/frame.h"
#include "server/desk/desk.h"
#include "tests/server/arena.h"
#include "tests/server/hand_world.h"
#include "tests/server/queued_frames.h"
#include "tests/support/all_threads.h"

namespace muster::testing {

class HandDesk {
 public:
  explicit HandDesk(const ServerLimits& limits = {}, const std::function<void(HandWorld&)>& change = {},
                    const RegistryOptions& options = {})
      : registry(options) {
    registry.add_type<arena::Health>();
    host.on_wake = [this] { ++wakes; };
    host.on_wake_in = [this](std::chrono::nanoseconds time) { asked_to_wake_in.push_back(time); };
    host.gives_processor_ns = [this] { return time_ns; };
    host.known.world = "by hand";
    host.known.program = "test 1";
    if (change) change(host);
    desk = std::make_unique<Desk>(registry, host, limits);
  }

  std::shared_ptr<Session> join(const std::string& name = "one", session::Role role = session::Role::admin,
                                OutgoingLimits outgoing = {}, std::uint64_t user = 0) {
    return desk->join({role}, name, "test", std::make_shared<Connection>(outgoing), user, [](Session&) {});
  }
  void put(Session& from, std::uint64_t request, BatchView batch, bool for_world) {
    REQUIRE(desk->take_next(from, request, batch, for_world, false));
    desk->pass_on(from);
  }
  template <GeneratedType M>
  void ask(Session& from, std::uint64_t request, const M& question) {
    BatchBuilder builder;
    session::append(builder, question);
    put(from, request, builder.front(), false);
  }
  void edit(Session& from, std::uint64_t request, const std::function<void(BatchBuilder&)>& write) {
    BatchBuilder builder;
    write(builder);
    put(from, request, builder.front(), true);
  }
  void flush() {
    desk->before_flush();
    registry.flush();
    desk->after_flush(registry);
  }
  /// Until a flush has nothing left to do; what is done seldom is waited for.
  void settle() {
    for (int i = 0; i < 10'000; ++i) {
      const int before = wakes;
      const std::size_t asked = asked_to_wake_in.size();
      flush();
      if (wakes == before && asked_to_wake_in.size() == asked && desk->questions_waiting() == 0) return;
      if (wakes == before) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    FAIL("the desk does not come to rest");
  }
  /// What it was sent since the last call.
  static std::vector<Received> heard(Session& session) {
    std::vector<Received> frames;
    take_all_frames(*session.outgoing(), [&](const WireFrame& frame) {
      frames.push_back({frame.header, frame.envelope, {frame.batch.begin(), frame.batch.end()}});
    });
    return frames;
  }
  /// Asks, waits until it was answered, and gives the answer: the only frames there are, all under this request.
  template <GeneratedType M>
  std::vector<Received> answers(Session& from, const M& question, std::uint64_t request = 77) {
    ask(from, request, question);
    settle();
    return heard(from);
  }
  template <GeneratedType Answer, GeneratedType M>
  Answer answer_to(Session& from, const M& question, std::uint64_t request = 77) {
    const std::vector<Received> frames = answers(from, question, request);
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].header.request == request);
    CHECK(frames[0].header.flags == 0);
    if (frames[0].is<session::Fault>() && !std::is_same_v<Answer, session::Fault>)
      FAIL(session::read<session::Fault>(frames[0].batch()).text);
    REQUIRE(frames[0].is<Answer>());
    return session::read<Answer>(frames[0].batch());
  }

  EntityRegistry registry;
  std::uint64_t time_ns = 0;   // processor time
  std::atomic<int> wakes = 0;  // the watch thread wakes too
  std::vector<std::chrono::nanoseconds> asked_to_wake_in;
  HandWorld host;
  std::unique_ptr<Desk> desk;
};

}  // namespace muster::testing

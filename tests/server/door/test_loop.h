// A loop without a thread: tests take its steps; and a stream on it.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "server/door/loop.h"
#include "server/door/wire_stream.h"

namespace muster::testing {

/// What is posted is done in turn, and what is to wait has waited.
class TestLoop final : public Loop {
 public:
  void post(std::move_only_function<void()> f) override { waiting_.push_back(std::move(f)); }
  void call_in(std::chrono::nanoseconds, std::move_only_function<void()> f) override { post(std::move(f)); }
  /// False: there was nothing to do.
  bool step() {
    if (waiting_.empty()) return false;
    auto f = std::move(waiting_.front());
    waiting_.pop_front();
    f();
    return true;
  }
  void run() {
    while (step()) {
    }
  }

 private:
  std::deque<std::move_only_function<void()>> waiting_;
};

/// Brings `input`, and then nothing until it is closed; keeps what is written.
class SilentStream : public WireStream {
 public:
  SilentStream(TestLoop& loop, std::string input, std::string& written)
      : loop_(loop), input_(std::move(input)), written_(written) {}
  void read_some(std::span<std::byte> room, ReadDone done) override {
    pending_ = std::make_shared<ReadDone>(std::move(done));
    if (closed_) return close();
    if (input_.empty()) return;
    const std::size_t bytes = std::min(room.size(), input_.size());
    std::memcpy(room.data(), input_.data(), bytes);
    input_.erase(0, bytes);
    loop_.post([done = std::exchange(pending_, nullptr), bytes] { (*done)({bytes, StreamRead::End::none}); });
  }
  void write(std::span<const std::span<const std::byte>> parts, WriteDone done) override {
    for (const auto part : parts) written_.append(reinterpret_cast<const char*>(part.data()), part.size());
    loop_.post([done = std::make_shared<WriteDone>(std::move(done))] { (*done)(true); });
  }
  void end(Farewell) override {}
  std::size_t unsent() override { return 0; }
  void close() override {
    closed_ = true;
    if (!pending_) return;
    loop_.post([done = std::exchange(pending_, nullptr)] { (*done)({0, StreamRead::End::broken}); });
  }
  bool is_open() const override { return true; }

 private:
  TestLoop& loop_;
  std::string input_;
  std::string& written_;
  bool closed_ = false;
  std::shared_ptr<ReadDone> pending_;
};

}  // namespace muster::testing

#include "tests/abuse/honest.h"

#include <algorithm>
#include <stdexcept>

#include "schema/scene.h"

namespace muster::abuse {

namespace {

constexpr auto pause = std::chrono::milliseconds(10);  // between an answer and the next request
// How long others may have the clock run as they like.
constexpr auto clock_patience = std::chrono::milliseconds(250);

Times times_of(const std::vector<session::TimeCount>& counts, std::uint64_t longest_ns) {
  Times made;
  for (const session::TimeCount& each : counts) made.counts[each.below_ns] = each.count;
  made.longest_ns = longest_ns;
  return made;
}

}  // namespace

void Honest::hear(const WireFrame& frame) {
  const BatchView batch(frame.batch);
  const auto now = Clock::now();
  if (waits_for_)
    report_.honest_silence_max = std::max<std::chrono::nanoseconds>(report_.honest_silence_max, now - asked_);
  if (batch.type() == TypeTraits<session::Fault>::id) {
    const auto fault = session::read<session::Fault>(batch);
    throw std::runtime_error("an honest client was refused: " + fault.reason + ": " + fault.text);
  }
  if (batch.type() == TypeTraits<session::Granted>::id) own_ = {session::read<session::Granted>(batch).first, 1};
  if (batch.type() == TypeTraits<session::Ack>::id) {
    ++report_.honest_edits;
    if (session::read<session::Ack>(batch).handled == 0)
      throw std::runtime_error("an honest client's edit was not done");
  }
  if (batch.type() == TypeTraits<session::Load>::id) {
    report_.last = session::read<session::Load>(batch);
    report_.ticks = times_of(report_.last.ticks, report_.last.tick_ns_max);
    report_.honest_waits = times_of(report_.last.edits, report_.last.edit_ns_max);
  }
  if (batch.type() == TypeTraits<session::Welcome>::id)
    known_.clock_ns = session::read<session::Welcome>(batch).clock_ns;
  if (batch.type() == TypeTraits<session::Info>::id) {
    known_.clock_ns = session::read<session::Info>(batch).clock_ns;
    ++report_.honest_questions;
  }
  if (batch.type() == TypeTraits<session::ClockState>::id) {
    const auto clock = session::read<session::ClockState>(batch);
    known_.clock_ns = clock.clock_ns;
    const bool odd = clock.paused != 0 || clock.speed != 1;
    if (!odd) odd_since_.reset();
    if (odd && !odd_since_) odd_since_ = now;
  }
  if (frame.header.request == waits_for_ && (frame.header.flags & frame_more) == 0) {
    waits_for_.reset();
    asked_ = now;
  }
}

void Honest::ask() {
  const auto now = Clock::now();
  if (waits_for_ || now - asked_ < pause) return;
  asked_ = now;
  waits_for_ = next_request_++;
  if (!own_) return connection_.queue(session::RequestGrant{.count = 1}, *waits_for_);
  if (!follows_clock_) {
    follows_clock_ = true;
    return connection_.queue(session::GetClock{.follow = 1}, *waits_for_);
  }
  if (odd_since_ && now - *odd_since_ > clock_patience) {
    odd_since_.reset();
    ++report_.clocks_set_right;
    return connection_.queue(session::SetClock{.speed = 1, .paused = 0}, *waits_for_);
  }
  if (now >= load_due_) {
    load_due_ = now + std::chrono::milliseconds(500);
    return connection_.queue(session::GetLoad{}, *waits_for_);
  }
  if (edits_ % 10 == 5) {
    ++edits_;
    return connection_.queue(session::GetInfo{}, *waits_for_);
  }
  BatchBuilder builder;
  const scene::Transform at{.position = {.x = static_cast<float>(edits_), .y = 0, .z = -1000}};
  if (edits_++ == 0)
    builder.append_rows(own_, Create{}, at);
  else
    builder.append_rows(own_, Set{}, at);
  connection_.queue(builder, *waits_for_);
}

void Honest::go_on() {
  if (connection_.welcomed()) ask();
  connection_.send(1u << 20);
  connection_.receive(1u << 20, [&](const WireFrame& frame) { hear(frame); });
  if (connection_.lost()) throw std::runtime_error("the server closed an honest client's session");
  if (waits_for_ && Clock::now() - asked_ > std::chrono::minutes(2))
    throw std::runtime_error("an honest client had no answer for two minutes");
}

}  // namespace muster::abuse

#include "tests/abuse/abuser.h"

#include <algorithm>

namespace muster::abuse {

namespace {

constexpr std::size_t queued_max = 256u << 10;

}  // namespace

void Abuser::begin(bool large) {
  has_ = {};
  has_.large = large;
  // Half of them edit; who may do more is rarer.
  static constexpr std::uint32_t rights[] = {0, 0, 0, 1, 1, 1, 1, 1, 2, 3};
  const std::uint32_t right = large ? 1 : rights[random_.small(10)];
  has_.role = static_cast<session::Role>(right + 1);
  patience_ = random_.percent(75)   ? Patience::reads_all
              : random_.percent(70) ? Patience::reads_slowly
                                    : Patience::reads_nothing;
  ends_ = Clock::now() + std::chrono::milliseconds(50 + random_.below(random_.percent(30) ? 1000 : 20'000));
  next_request_ = 2;
  connection_.emplace(address_, tokens_[right], "abuser");
  ++report_.sessions;
}

void Abuser::hear(const WireFrame& frame) {
  const BatchView batch(frame.batch);
  ++report_.frames;
  report_.bytes += frame.header.bytes;
  switch (batch.type()) {
    case TypeTraits<session::Ack>::id: ++report_.acks; return;
    case TypeTraits<session::Fault>::id: {
      const auto fault = session::read<session::Fault>(batch);
      ++report_.faults[fault.reason];
      if (fault.code == session::FaultCode::bad_batch || fault.code == session::FaultCode::bad_frame)
        ++report_.malformed;
      return;
    }
    case TypeTraits<session::Granted>::id: {
      const auto granted = session::read<session::Granted>(batch);
      for (std::uint32_t i = 0; i < granted.count; ++i) has_.ids.push_back({granted.first + i, 1});
      has_.ids_asked -= std::min<std::uint64_t>(has_.ids_asked, granted.count);
      return;
    }
    default: return;
  }
}

void Abuser::go_on(std::uint32_t count, bool large) {
  if (!connection_) begin(large);
  if (connection_->welcomed()) {
    BatchBuilder made(15u << 20);
    for (std::uint32_t i = 0; i < count && connection_->queued() < queued_max; ++i) {
      requests_.draw(made, has_, next_request_);
      // Some want no answer to their edits.
      connection_->queue(made, random_.percent(5) ? 0 : next_request_);
      ++next_request_;
    }
  }
  connection_->send(1u << 20);
  if (patience_ == Patience::reads_all)
    connection_->receive(4u << 20, [&](const WireFrame& frame) { hear(frame); });
  else if (patience_ == Patience::reads_slowly || !connection_->welcomed())
    connection_->receive(4096, [&](const WireFrame& frame) { hear(frame); });
  if (connection_->lost()) {
    ++report_.cut;
    connection_.reset();
  } else if (Clock::now() >= ends_) {
    connection_.reset();  // in the middle of a frame, often
  }
}

}  // namespace muster::abuse

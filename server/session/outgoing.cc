#include "server/session/outgoing.h"

#include <utility>

#include "messages/batch_builder.h"

namespace muster {

void Outgoing::append(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags,
                      const FrameEnvelope* envelope, bool data, bool last) {
  bool was_empty = false, overflow = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    const std::size_t bytes = frame_overhead_max + batch.size();
    const std::size_t waiting = queued_control_ + taken_control_;
    if (!data && !last && waiting > 0 && waiting + bytes > limits_.control_bytes_max) {
      overflow = true;
    } else {
      was_empty = queue_.empty();
      append_frame(queue_, batch, request, flags, envelope);
      (data ? queued_data_ : queued_control_) += bytes;
      closed_ = last;
    }
  }
  if (overflow) {
    session::Fault why;
    why.code = session::FaultCode::slow_reader;
    why.closes = true;
    why.reason = "slow_reader";
    why.text = "the client does not read its answers: " + std::to_string(limits_.control_bytes_max) + " bytes wait";
    fault(why, 0);
  } else if (was_empty && ready_) {
    ready_();
  }
}

void Outgoing::control(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags,
                       const FrameEnvelope* envelope) {
  append(batch, request, flags, envelope, false, false);
}

void Outgoing::fault(const session::Fault& fault, std::uint64_t request) {
  BatchBuilder builder;
  session::append(builder, fault);
  append(builder.bytes(), request, 0, nullptr, false, fault.closes);
  if (fault.closes && ready_) ready_();
}

bool Outgoing::has_room() {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  if (queued_data_ + taken_data_ < limits_.data_bytes_max) return true;
  room_wanted_ = true;
  return false;
}

/// Under the lock.
bool Outgoing::fits(std::size_t bytes) const {
  const std::size_t waiting = queued_control_ + taken_control_;
  return closed_ || waiting == 0 || waiting + bytes <= limits_.control_bytes_max / 2;
}

bool Outgoing::has_answer_room(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (fits(bytes)) return true;
  answer_room_wanted_ = true;
  return false;
}

bool Outgoing::has_text_room(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (fits(bytes)) return true;
  text_room_wanted_ = true;
  return false;
}

void Outgoing::data(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags,
                    const FrameEnvelope* envelope) {
  append(batch, request, flags, envelope, true, false);
}

void Outgoing::close() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
  }
  if (ready_) ready_();
}

bool Outgoing::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

std::size_t Outgoing::control_bytes() const {
  const std::lock_guard lock(mutex_);
  return queued_control_ + taken_control_;
}

std::size_t Outgoing::waiting_bytes() const {
  const std::lock_guard lock(mutex_);
  return queued_control_ + taken_control_ + queued_data_ + taken_data_;
}

bool Outgoing::take(std::vector<std::byte>& bytes) {
  const std::lock_guard lock(mutex_);
  bytes.clear();
  if (queue_.empty()) {
    // An idle session keeps little memory.
    if (queue_.capacity() > 16384) std::vector<std::byte>().swap(queue_);
    return false;
  }
  if (bytes.capacity() > 16384 && queue_.size() < bytes.capacity() / 8) std::vector<std::byte>().swap(bytes);
  queue_.swap(bytes);
  taken_data_ = std::exchange(queued_data_, 0);
  taken_control_ = std::exchange(queued_control_, 0);
  return true;
}

void Outgoing::sent() {
  bool room = false, answer_room = false;
  {
    const std::lock_guard lock(mutex_);
    taken_data_ = taken_control_ = 0;
    if (room_wanted_ && !closed_ && queued_data_ < limits_.data_bytes_max / 2) {
      room_wanted_ = false;
      room = true;
    }
    // What was queued meanwhile is little: those who ask look again.
    if (std::exchange(text_room_wanted_, false)) room = true;
    answer_room = std::exchange(answer_room_wanted_, false);
  }
  if (room && room_) room_();
  if (answer_room && answer_room_) answer_room_();
}

}  // namespace muster

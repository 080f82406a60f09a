#include "server/session/outgoing.h"

#include <algorithm>
#include <string>
#include <utility>

#include "messages/batch_builder.h"

namespace muster {
namespace {

constexpr std::size_t kept_bytes = 16384;  // an idle session keeps little memory

template <class T>
void clear(std::vector<T>& all) {
  all.clear();
  if (all.capacity() * sizeof(T) > kept_bytes) std::vector<T>().swap(all);
}

}  // namespace

/// Under the lock. Whether there is something to take where there was nothing.
bool Outgoing::put(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags,
                   const FrameEnvelope* envelope, What what) {
  const bool could_take = can_take();
  const std::size_t counted = frame_overhead_max + batch.size();
  if (what == What::answer) {
    append_frame(answers_, batch, request, flags, envelope);
    answers_counted_ += counted;
  } else {
    const std::size_t before = watches_.bytes.size();
    append_frame(watches_.bytes, batch, request, flags, envelope);
    watches_.frames.push_back({.bytes = static_cast<std::uint32_t>(watches_.bytes.size() - before),
                               .counted = static_cast<std::uint32_t>(counted),
                               .is_data = what == What::data});
  }
  (what == What::data ? queued_.data : queued_.control) += counted;
  return !could_take && can_take();
}

void Outgoing::append(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags,
                      const FrameEnvelope* envelope, What what) {
  bool is_ready = false, overflow = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    const std::size_t waiting = queued_.control + taken_.control;
    overflow =
        what != What::data && waiting > 0 && waiting + frame_overhead_max + batch.size() > limits_.control_bytes_max;
    if (!overflow) is_ready = put(batch, request, flags, envelope, what);
  }
  if (overflow) {
    session::Fault why;
    why.code = session::FaultCode::slow_reader;
    why.closes = true;
    why.reason = "slow_reader";
    why.text = "the client does not read its answers: " + std::to_string(limits_.control_bytes_max) + " bytes wait";
    fault(why, 0);
  } else if (is_ready && ready_) {
    ready_();
  }
}

void Outgoing::control(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags,
                       const FrameEnvelope* envelope) {
  append(batch, request, flags, envelope, What::answer);
}

void Outgoing::watch_control(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags) {
  append(batch, request, flags, nullptr, What::of_watch);
}

void Outgoing::data(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags,
                    const FrameEnvelope* envelope) {
  append(batch, request, flags, envelope, What::data);
}

void Outgoing::fault(const session::Fault& fault, std::uint64_t request) {
  BatchBuilder builder;
  session::append(builder, fault);
  if (!fault.closes) return append(builder.bytes(), request, 0, nullptr, What::answer);
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    if (fault.code != session::FaultCode::stopping) drop_watches();
    put(builder.bytes(), request, 0, nullptr, What::of_watch);
    closed_ = true;
    closed_by_ = fault;
  }
  if (ready_) ready_();
}

/// Under the lock.
void Outgoing::drop_watches() {
  for (std::size_t i = watches_.frames_begin; i < watches_.frames.size(); ++i)
    (watches_.frames[i].is_data ? queued_.data : queued_.control) -= watches_.frames[i].counted;
  watches_ = {};
}

bool Outgoing::has_room() {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  if (queued_.data + taken_.data < limits_.data_bytes_max) return true;
  room_wanted_ = true;
  return false;
}

/// Under the lock.
bool Outgoing::fits(std::size_t bytes) const {
  const std::size_t waiting = queued_.control + taken_.control;
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

void Outgoing::credit(std::uint64_t through) {
  bool is_ready = false;
  {
    const std::lock_guard lock(mutex_);
    const bool could_take = can_take();
    credit_ = std::exchange(credit_given_, true) ? std::max(credit_, through) : through;
    is_ready = !could_take && can_take();
  }
  if (is_ready && ready_) ready_();
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

std::optional<session::Fault> Outgoing::closed_by() const {
  const std::lock_guard lock(mutex_);
  return closed_by_;
}

Outgoing::Waiting Outgoing::waiting() const {
  const std::lock_guard lock(mutex_);
  return {.control = queued_.control + taken_.control, .data = queued_.data + taken_.data};
}

std::uint64_t Outgoing::taken() const {
  const std::lock_guard lock(mutex_);
  return taken_all_;
}

/// Under the lock, `bytes` empty: answers go as they lie.
void Outgoing::take_answers(std::vector<std::byte>& bytes) {
  if (answers_.empty()) return;
  answers_.swap(bytes);
  taken_.control = std::exchange(answers_counted_, 0);
  queued_.control -= taken_.control;
}

/// Under the lock.
void Outgoing::take_piece(std::vector<std::byte>& bytes) {
  Lane& lane = watches_;
  std::size_t piece = 0, next = lane.frames_begin;
  for (; next < lane.frames.size(); ++next) {
    const Lane::Frame& frame = lane.frames[next];
    if (piece > 0 && piece + frame.bytes > piece_bytes) break;
    if (!closed_ && taken_all_ + bytes.size() + piece >= credit_) break;
    piece += frame.bytes;
    (frame.is_data ? taken_.data : taken_.control) += frame.counted;
    (frame.is_data ? queued_.data : queued_.control) -= frame.counted;
  }
  const auto begin = lane.bytes.begin() + static_cast<std::ptrdiff_t>(lane.bytes_begin);
  bytes.insert(bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(piece));
  lane.bytes_begin += piece;
  lane.frames_begin = next;
  if (lane.empty()) {
    lane.bytes_begin = lane.frames_begin = 0;
    clear(lane.bytes);
    clear(lane.frames);
  } else if (lane.bytes_begin > lane.bytes.size() / 2) {
    lane.bytes.erase(lane.bytes.begin(), lane.bytes.begin() + static_cast<std::ptrdiff_t>(lane.bytes_begin));
    lane.frames.erase(lane.frames.begin(), lane.frames.begin() + static_cast<std::ptrdiff_t>(lane.frames_begin));
    lane.bytes_begin = lane.frames_begin = 0;
  }
}

bool Outgoing::take(std::vector<std::byte>& bytes) {
  const std::lock_guard lock(mutex_);
  clear(bytes);
  taken_ = {};
  take_answers(bytes);
  take_piece(bytes);
  taken_all_ += bytes.size();
  return !bytes.empty();
}

void Outgoing::sent() {
  bool room = false, answer_room = false;
  {
    const std::lock_guard lock(mutex_);
    taken_ = {};
    if (room_wanted_ && !closed_ && queued_.data < limits_.data_bytes_max / 2) {
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

#include "server/session/outgoing.h"

#include <algorithm>
#include <string>
#include <utility>

#include "messages/batch_builder.h"
#include "registry/observe/clock.h"
#include "system/mutex.h"

namespace muster {
namespace {

constexpr std::size_t kept_bytes = 16384;  // amount of memory that an idle session keeps

/// Limit, in ns, on the time that a slow connection needs to transmit the queued data. Data that is
/// queued for longer is outdated when it arrives.
constexpr std::uint64_t queued_time_max = 100'000'000;

template <class T>
void clear(std::vector<T>& all) {
  all.clear();
  if (all.capacity() * sizeof(T) > kept_bytes) std::vector<T>().swap(all);
}

}  // namespace

void OutgoingPiece::clear() {
  muster::clear(own_);
  made_of_.clear();
  parts_.clear();
  bytes_ = 0;
}

void OutgoingPiece::put_own(std::span<const std::byte> bytes) {
  own_.insert(own_.end(), bytes.begin(), bytes.end());
  if (made_of_.empty() || made_of_.back().own == 0) made_of_.emplace_back();
  made_of_.back().own += bytes.size();
  bytes_ += bytes.size();
}

void OutgoingPiece::put_shared(std::span<const std::byte> bytes, std::shared_ptr<const void> keeps) {
  made_of_.push_back({.shared = bytes, .keeps = std::move(keeps)});
  bytes_ += bytes.size();
}

/// Must be called after all bytes have been added, because the parts point into the piece's own
/// bytes.
void OutgoingPiece::finish() {
  std::span<const std::byte> own = own_;
  for (const Part& part : made_of_) {
    parts_.push_back(part.own == 0 ? part.shared : own.first(part.own));
    own = own.subspan(part.own);
  }
}

bool Outgoing::put(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags,
                   const FrameEnvelope* envelope, What what, std::shared_ptr<const void> keeps) {
  const bool could_take = can_take();
  const std::size_t counted = frame_overhead_max + batch.size();
  if (what == What::answer) {
    append_frame(answers_, batch, request, flags, envelope);
    answers_counted_ += counted;
  } else {
    const std::size_t before = watches_.bytes.size();
    if (keeps)
      append_frame_head(watches_.bytes, batch.size(), request, flags, envelope);
    else
      append_frame(watches_.bytes, batch, request, flags, envelope);
    watches_.frames.push_back({.own = static_cast<std::uint32_t>(watches_.bytes.size() - before),
                               .counted = static_cast<std::uint32_t>(counted),
                               .queued_ns = what == What::data ? steady_ns() : 0,
                               .shared = keeps ? batch : std::span<const std::byte>(),
                               .keeps = std::move(keeps)});
    watches_.waiting += watches_.frames.back().size();
  }
  (what == What::data ? queued_.data : queued_.control) += counted;
  note_waiting();
  return !could_take && can_take();
}

void Outgoing::append(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags,
                      const FrameEnvelope* envelope, What what, std::shared_ptr<const void> keeps) {
  bool is_ready = false, overflow = false;
  {
    const MutexLock lock(mutex_);
    if (closed_) return;
    const std::size_t waiting = queued_.control + taken_.control;
    overflow =
        what != What::data && waiting > 0 && waiting + frame_overhead_max + batch.size() > limits_.control_bytes_max;
    if (!overflow) is_ready = put(batch, request, flags, envelope, what, std::move(keeps));
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
                    const FrameEnvelope* envelope, std::shared_ptr<const void> keeps) {
  append(batch, request, flags, envelope, What::data, std::move(keeps));
}

void Outgoing::fault(const session::Fault& fault, std::uint64_t request, bool is_seen) {
  BatchBuilder builder;
  session::append(builder, fault);
  if (!fault.closes) {
    if (is_seen && fault_seen_) fault_seen_(fault, request);
    return append(builder.bytes(), request, 0, nullptr, What::answer);
  }
  {
    const MutexLock lock(mutex_);
    if (closed_) return;
    if (fault.code != session::FaultCode::stopping) drop_watches();
    put(builder.bytes(), request, 0, nullptr, What::of_watch);
    closed_ = true;
    closed_by_ = fault;
  }
  if (is_seen && fault_seen_) fault_seen_(fault, request);
  if (ready_) ready_();
}

void Outgoing::drop_watches() {
  for (std::size_t i = watches_.frames_begin; i < watches_.frames.size(); ++i)
    (watches_.frames[i].is_data() ? queued_.data : queued_.control) -= watches_.frames[i].counted;
  watches_ = {};
}

std::size_t Outgoing::data_room() const {
  if (pace_ns_ == 0) return limits_.data_bytes_max;
  return std::clamp<std::size_t>(pace_bytes_ * queued_time_max / pace_ns_, 1, limits_.data_bytes_max);
}

bool Outgoing::may_queue_data() const {
  return queued_.data + taken_.data < data_room() && (!credit_given_ || taken_all_ + watches_.waiting < credit_);
}

bool Outgoing::has_room() {
  const MutexLock lock(mutex_);
  if (closed_) return false;
  if (may_queue_data()) return true;
  room_wanted_ = true;
  return false;
}

bool Outgoing::fits(std::size_t bytes) const {
  const std::size_t waiting = queued_.control + taken_.control;
  return closed_ || waiting == 0 || waiting + bytes <= limits_.control_bytes_max / 2;
}

bool Outgoing::has_answer_room(std::size_t bytes) {
  const MutexLock lock(mutex_);
  if (fits(bytes)) return true;
  answer_room_wanted_ = true;
  return false;
}

bool Outgoing::has_text_room(std::size_t bytes) {
  const MutexLock lock(mutex_);
  if (fits(bytes)) return true;
  text_room_wanted_ = true;
  return false;
}

void Outgoing::credit(std::uint64_t through) {
  bool is_ready = false, room = false;
  {
    const MutexLock lock(mutex_);
    const bool could_take = can_take();
    credit_ = std::exchange(credit_given_, true) ? std::max(credit_, through) : through;
    is_ready = !could_take && can_take();
    room = room_wanted_ && !closed_ && may_queue_data();
    if (room) room_wanted_ = false;
  }
  if (is_ready && ready_) ready_();
  if (room && room_) room_();
}

std::size_t Outgoing::held_for_credit() const {
  const MutexLock lock(mutex_);
  if (can_take() || watches_.empty()) return 0;
  std::size_t held = 0;
  for (std::size_t i = watches_.frames_begin; i < watches_.frames.size(); ++i)
    if (!watches_.frames[i].is_data()) held += watches_.frames[i].counted;
  return held;
}

void Outgoing::close() {
  {
    const MutexLock lock(mutex_);
    if (closed_) return;
    closed_ = true;
  }
  if (ready_) ready_();
}

std::optional<session::Fault> Outgoing::closed_by() const {
  const MutexLock lock(mutex_);
  return closed_by_;
}

Outgoing::Waiting Outgoing::waiting() const {
  const MutexLock lock(mutex_);
  return {.control = queued_.control + taken_.control, .data = queued_.data + taken_.data};
}

std::size_t Outgoing::answers_waiting() const {
  const MutexLock lock(mutex_);
  const bool held = !watches_.empty() && !has_credit();
  return held ? answers_counted_ + taken_.control : queued_.control + taken_.control;
}

std::uint64_t Outgoing::taken() const {
  const MutexLock lock(mutex_);
  return taken_all_;
}

void Outgoing::take_answers(OutgoingPiece& piece) {
  if (answers_.empty()) return;
  answers_.swap(piece.own_);
  piece.bytes_ = piece.own_.size();
  piece.made_of_.push_back({.own = piece.bytes_});
  taken_.control = std::exchange(answers_counted_, 0);
  queued_.control -= taken_.control;
}

void Outgoing::take_piece(OutgoingPiece& piece) {
  Lane& lane = watches_;
  std::size_t taken = 0, next = lane.frames_begin;
  for (; next < lane.frames.size(); ++next) {
    Lane::Frame& frame = lane.frames[next];
    if (taken > 0 && taken + frame.size() > piece_bytes) break;
    if (frame.is_data() && !closed_ && taken_all_ + piece.bytes_ >= credit_) break;
    taken += frame.size();
    piece.put_own(std::span(lane.bytes).subspan(lane.bytes_begin, frame.own));
    lane.bytes_begin += frame.own;
    if (frame.keeps) piece.put_shared(frame.shared, std::move(frame.keeps));
    if (taken_oldest_ns_ == 0) taken_oldest_ns_ = frame.queued_ns;
    (frame.is_data() ? taken_.data : taken_.control) += frame.counted;
    (frame.is_data() ? queued_.data : queued_.control) -= frame.counted;
  }
  lane.waiting -= taken;
  lane.frames_begin = next;
  if (lane.empty()) {
    lane.bytes_begin = lane.frames_begin = 0;
    clear(lane.bytes);
    clear(lane.frames);
  } else if (lane.frames_begin > lane.frames.size() / 2) {
    lane.bytes.erase(lane.bytes.begin(), lane.bytes.begin() + static_cast<std::ptrdiff_t>(lane.bytes_begin));
    lane.frames.erase(lane.frames.begin(), lane.frames.begin() + static_cast<std::ptrdiff_t>(lane.frames_begin));
    lane.bytes_begin = lane.frames_begin = 0;
  }
}

bool Outgoing::take(OutgoingPiece& piece) {
  piece.clear();
  const MutexLock lock(mutex_);
  taken_ = {};
  taken_oldest_ns_ = 0;
  take_answers(piece);
  take_piece(piece);
  piece.finish();
  note_waiting();
  taken_all_ += piece.bytes();
  taken_bytes_ = piece.bytes();
  taken_ns_ = went_on_ns_ = piece.bytes() == 0 ? 0 : steady_ns();
  return piece.bytes() > 0;
}

void Outgoing::went_on() {
  const MutexLock lock(mutex_);
  went_on_ns_ = steady_ns();
}

Outgoing::Backlog Outgoing::backlog(std::uint64_t now_ns) const {
  const auto since = [now_ns](std::uint64_t then_ns) {
    return then_ns == 0 || then_ns > now_ns ? 0 : now_ns - then_ns;
  };
  const MutexLock lock(mutex_);
  Backlog told;
  std::uint64_t oldest_ns = taken_oldest_ns_;
  for (std::size_t i = watches_.frames_begin; i < watches_.frames.size() && oldest_ns == 0; ++i)
    oldest_ns = watches_.frames[i].queued_ns;
  told.oldest_ns = since(oldest_ns);
  if (taken_ns_ != 0) {
    told.waits_for = session::WaitsFor::line;
    told.stuck_ns = since(went_on_ns_);
  } else if (!watches_.empty() && !has_credit()) {
    told.waits_for = session::WaitsFor::credit;
    told.stuck_ns = told.oldest_ns;
  }
  return told;
}

void Outgoing::sent() {
  bool room = false, answer_room = false;
  {
    const MutexLock lock(mutex_);
    taken_ = {};
    note_waiting();
    // If only a few bytes are sent, the time depends more on the listener's thread than on the
    // connection.
    if (taken_bytes_ >= piece_bytes / 2 && taken_ns_ != 0) {
      pace_bytes_ = pace_bytes_ * 7 / 8 + taken_bytes_;
      pace_ns_ = pace_ns_ * 7 / 8 + std::max<std::uint64_t>(steady_ns() - taken_ns_, 1);
    }
    taken_ns_ = taken_oldest_ns_ = 0;
    taken_bytes_ = 0;
    if (room_wanted_ && !closed_ && may_queue_data() && (queued_.data == 0 || queued_.data < data_room() / 2)) {
      room_wanted_ = false;
      room = true;
    }
    // Notify callers even if they queued little in the meantime, because they check again.
    if (std::exchange(text_room_wanted_, false)) room = true;
    answer_room = std::exchange(answer_room_wanted_, false);
  }
  if (room && room_) room_();
  if (answer_room && answer_room_) answer_room_();
}

}  // namespace muster

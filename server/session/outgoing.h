// Queues the frames to be sent on a connection, up to a limit on their size. Any thread may add
// frames, and the connection's writer takes them. Does not perform I/O.
//
// There are two lanes, each of which is kept in order. The first takes precedence over the second:
//   answers   acknowledgements, faults, answers to questions, texts
//   watches   frames of watches, and frames about watches (Watching, Following, Followed,
//   Unwatched)
// The limit on bytes depends on their kind:
//   control   answers, and frames about watches. Never dropped; too many of them end the session.
//   data      frames of watches. Watches check for room first, and delay or drop data without it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "messages/frame.h"
#include "messages/session.h"
#include "system/mutex.h"

namespace muster {

/// The frames that a writer is sending. Must be used by only one thread at a time.
class OutgoingPiece {
 public:
  /// Returns the parts to send, in order. The parts are valid until clear() or take() is called.
  std::span<const std::span<const std::byte>> parts() const noexcept { return parts_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// Removes all parts. If an unusually large amount of memory is allocated, frees it.
  void clear();

 private:
  friend class Outgoing;
  /// A part of a piece, which consists of either `own` bytes of the piece itself or shared bytes.
  struct Part {
    std::size_t own = 0;
    std::span<const std::byte> shared = {};
    std::shared_ptr<const void> keeps = {};
  };
  void put_own(std::span<const std::byte> bytes);
  void put_shared(std::span<const std::byte> bytes, std::shared_ptr<const void> keeps);
  void finish();

  std::vector<std::byte> own_;
  std::vector<Part> made_of_;
  std::vector<std::span<const std::byte>> parts_;
  std::size_t bytes_ = 0;
};

struct OutgoingLimits {
  std::size_t control_bytes_max = 8u << 20;
  /// Limit on the size of queued data. A batch is always queued as a whole, so the queue may exceed
  /// the limit by one batch.
  std::size_t data_bytes_max = 256u << 10;
};

/// Thread-safe.
class Outgoing {
 public:
  explicit Outgoing(OutgoingLimits limits = {}) : limits_(limits) {}

  /// Callbacks, which must be set before use and never changed. `ready` is called when an empty
  /// queue gets a frame or when the queue is closed. `room` is called when data or interned texts
  /// that did not fit may fit now. `answer_room` is called when an answer may fit. The callbacks
  /// run on the thread that triggers them, without holding a lock.
  void on_ready(std::function<void()> ready) { ready_ = std::move(ready); }
  void on_room(std::function<void()> room) { room_ = std::move(room); }
  void on_answer_room(std::function<void()> room) { answer_room_ = std::move(room); }
  /// `seen` is called with a Fault that is queued, on the thread that queues it. Must be set before
  /// the session begins.
  using FaultSeen = std::function<void(const session::Fault& fault, std::uint64_t request)>;
  void on_fault(FaultSeen seen) { fault_seen_ = std::move(seen); }

  /// Queues an answer. If this makes the queue exceed its limit, closes the session as a slow
  /// reader. Has no effect after close().
  void control(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags = 0,
               const FrameEnvelope* envelope = nullptr);
  /// Like control(), but queues a frame about a watch, after the frames of watches that are already
  /// queued.
  void watch_control(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags = 0);
  /// Queues a Fault. If the Fault closes the session, it becomes the last frame, and frames of
  /// watches are dropped unless the server is stopping. If `is_seen` is false, the function set by
  /// on_fault() is not called.
  void fault(const session::Fault& fault, std::uint64_t request, bool is_seen = true);

  /// Returns true if data may be queued now. Otherwise, `room` will be called once data may be
  /// queued.
  bool has_room();
  /// Returns true if an answer of `bytes` bytes may be queued now, either because it fits into half
  /// of the limit or because nothing else is queued. The other half is reserved for answers that
  /// are queued without a check. If this function returns false, `answer_room` will be called once
  /// the answer may fit.
  bool has_answer_room(std::size_t bytes);
  /// Returns true if an interned text that accompanies data may be queued now. Otherwise, `room`
  /// will be called once such a text may be queued.
  bool has_text_room(std::size_t bytes);
  /// Queues data. If `keeps` is not null, it owns the batch's bytes, which must not change because
  /// they are sent without being copied. Otherwise, the bytes are copied.
  void data(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags, const FrameEnvelope* envelope,
            std::shared_ptr<const void> keeps = nullptr);

  /// Permits the writer to take data until it has taken `through` bytes of the stream, counting all
  /// frames. Before the first call, all data may be taken.
  void credit(std::uint64_t through);

  /// Closes the queue. Frames that have already been queued may still be sent.
  void close();
  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  /// Returns the Fault that closed the queue, if any.
  std::optional<session::Fault> closed_by() const;

  struct Waiting {
    std::size_t control = 0, data = 0;  ///< total size of the frames of each kind, in bytes
    std::size_t bytes() const noexcept { return control + data; }
  };
  /// Returns the number of queued bytes, including those that the writer has taken. While a client
  /// reads its answers too slowly, the server does not accept new requests from it.
  Waiting waiting() const;
  /// Returns the number of queued control bytes without taking a lock. The value may be slightly
  /// outdated.
  std::size_t control_waiting() const noexcept { return control_waiting_.load(std::memory_order_relaxed); }
  /// Returns the number of queued bytes of answers, plus those frames of watches that have credit.
  std::size_t answers_waiting() const;
  /// Returns the total size, in bytes, of all frames that the writer has taken.
  std::uint64_t taken() const;
  /// Returns the total size, in bytes, of the frames about watches that are waiting for credit.
  std::size_t held_for_credit() const;
  /// Returns the state of the watches lane.
  struct Backlog {
    session::WaitsFor waits_for = session::WaitsFor::nothing;
    /// Time since the writer last sent bytes, or 0 if there are no bytes to send.
    std::uint64_t stuck_ns = 0;
    std::uint64_t oldest_ns = 0;  ///< age of the oldest pending data, or 0 if there is none
  };
  Backlog backlog(std::uint64_t now_ns) const;

  /// Limit on the number of bytes of the watches lane that the writer takes at once. A single frame
  /// may exceed the limit. An answer therefore waits for at most one piece.
  static constexpr std::size_t piece_bytes = 32u << 10;
  /// Called by the writer. Replaces `piece` with all answers and a piece of the watches lane.
  /// Returns false if there is nothing to take.
  [[nodiscard]] bool take(OutgoingPiece& piece);
  /// Called by the writer when the frames that it has taken have been sent.
  void sent();
  /// Called by the writer when some bytes have been sent.
  void went_on();

 private:
  /// A lane of frames, in order. If a frame's batch is shared, only the frame's header is in
  /// `bytes`.
  struct Lane {
    struct Frame {
      std::uint32_t own, counted;  // bytes in `bytes`, and bytes counted toward the limit
      std::uint64_t queued_ns;     // 0 for frames that are not data
      std::span<const std::byte> shared;
      std::shared_ptr<const void> keeps;
      bool is_data() const noexcept { return queued_ns != 0; }
      std::size_t size() const noexcept { return own + shared.size(); }
    };
    std::vector<std::byte> bytes;
    std::vector<Frame> frames;
    std::size_t bytes_begin = 0, frames_begin = 0;  // positions up to which the lane has been taken
    std::size_t waiting = 0;                        // total size of the remaining frames in bytes
    bool empty() const noexcept { return frames_begin == frames.size(); }
  };
  enum class What : std::uint8_t { answer, of_watch, data };

  void append(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags,
              const FrameEnvelope* envelope, What what, std::shared_ptr<const void> keeps = nullptr);
  /// Queues a frame. Returns true if the queue was empty before and no longer is.
  bool put(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags, const FrameEnvelope* envelope,
           What what, std::shared_ptr<const void> keeps = nullptr) MUSTER_REQUIRES(mutex_);
  void drop_watches() MUSTER_REQUIRES(mutex_);
  /// Moves the answers into an empty piece without copying them.
  void take_answers(OutgoingPiece& piece) MUSTER_REQUIRES(mutex_);
  void take_piece(OutgoingPiece& piece) MUSTER_REQUIRES(mutex_);
  bool fits(std::size_t bytes) const MUSTER_REQUIRES(mutex_);
  void note_waiting() MUSTER_REQUIRES(mutex_) {
    control_waiting_.store(queued_.control + taken_.control, std::memory_order_relaxed);
  }
  bool can_take() const MUSTER_REQUIRES(mutex_) { return !answers_.empty() || (!watches_.empty() && has_credit()); }
  bool has_credit() const MUSTER_REQUIRES(mutex_) {
    return closed_ || taken_all_ < credit_ || (!watches_.empty() && !watches_.frames[watches_.frames_begin].is_data());
  }
  /// Data without credit is not queued, because it would be outdated by the time credit arrives.
  bool may_queue_data() const MUSTER_REQUIRES(mutex_);
  std::size_t data_room() const MUSTER_REQUIRES(mutex_);

  const OutgoingLimits limits_;
  std::function<void()> ready_, room_, answer_room_;
  FaultSeen fault_seen_;
  mutable Mutex mutex_;
  std::vector<std::byte> answers_ MUSTER_GUARDED_BY(mutex_);
  std::size_t answers_counted_ MUSTER_GUARDED_BY(mutex_) = 0;
  Lane watches_ MUSTER_GUARDED_BY(mutex_);
  Waiting queued_ MUSTER_GUARDED_BY(mutex_);
  Waiting taken_ MUSTER_GUARDED_BY(mutex_);                      // frames that the writer has taken
  std::uint64_t taken_ns_ MUSTER_GUARDED_BY(mutex_) = 0;         // time of take(), or 0
  std::uint64_t went_on_ns_ MUSTER_GUARDED_BY(mutex_) = 0;       // time when bytes were last sent
  std::uint64_t taken_oldest_ns_ MUSTER_GUARDED_BY(mutex_) = 0;  // time of its oldest data, or 0
  std::size_t taken_bytes_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::uint64_t pace_bytes_ MUSTER_GUARDED_BY(mutex_) = 0;  // bytes in recent pieces
  std::uint64_t pace_ns_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::uint64_t taken_all_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::uint64_t credit_ MUSTER_GUARDED_BY(mutex_) = ~std::uint64_t{0};
  bool credit_given_ MUSTER_GUARDED_BY(mutex_) = false;
  std::atomic<bool> closed_ = false;              // written under the lock
  std::atomic<std::size_t> control_waiting_ = 0;  // in queued_ and taken_; written under the lock
  std::optional<session::Fault> closed_by_ MUSTER_GUARDED_BY(mutex_);
  // Set if a caller is waiting for room, either for data, for texts that accompany data, or for an
  // answer.
  bool room_wanted_ MUSTER_GUARDED_BY(mutex_) = false;
  bool text_room_wanted_ MUSTER_GUARDED_BY(mutex_) = false;
  bool answer_room_wanted_ MUSTER_GUARDED_BY(mutex_) = false;
};

}  // namespace muster

// What waits to be sent to one session: bounded, filled by any thread, emptied by the session's writer. No I/O here.
//
// There are two lanes, and each keeps its order; what waits in the first goes before what waits in the second:
//   answers   acknowledgements, faults, answers to questions, texts
//   watches   what watches bring, and what is said of a watch itself (Watching, Following, Followed, Unwatched)
// Bytes are bounded by what they are:
//   control   answers, and what is said of watches. Never dropped; a client that lets them pile up loses its session.
//   data      what watches bring. A watch asks for room first; where there is none it keeps its data, or forgets it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "messages/frame.h"
#include "messages/session.h"

namespace muster {

/// What a writer has on its way. One thread at a time.
class OutgoingPiece {
 public:
  /// To be sent one behind the other. Valid until clear(), or another take().
  std::span<const std::span<const std::byte>> parts() const noexcept { return parts_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// Forgets all, and memory that only much needs.
  void clear();

 private:
  friend class Outgoing;
  /// One part of a piece: of own bytes so many, or what others send as well.
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
  /// A batch is sent whole: the queue may exceed this by one.
  std::size_t data_bytes_max = 256u << 10;
};

/// Any thread.
class Outgoing {
 public:
  explicit Outgoing(OutgoingLimits limits = {}) : limits_(limits) {}

  /// `ready`: called when there is something to take where there was nothing, or the queue was closed; `room`: called when data, or a
  /// text that goes with it, for which there was no room may fit again; `answer_room`: the same of answers. On the caller's thread, no
  /// lock held. Set before use; never changed.
  void on_ready(std::function<void()> ready) { ready_ = std::move(ready); }
  void on_room(std::function<void()> room) { room_ = std::move(room); }
  void on_answer_room(std::function<void()> room) { answer_room_ = std::move(room); }

  /// Queues an answer. Where the limit is exceeded the session is closed as a slow reader. Nothing is queued
  /// after close.
  void control(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags = 0,
               const FrameEnvelope* envelope = nullptr);
  /// Queues what is said of a watch, behind what the watches have told; for the rest as control().
  void watch_control(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags = 0);
  /// Queues a Fault. One that closes is the last frame: what watches brought is dropped for it, unless the server stops.
  void fault(const session::Fault& fault, std::uint64_t request);

  /// Whether data may be queued now. False: on_room will be called when it may.
  bool has_room();
  /// Whether an answer of so many bytes may be queued now: it fits into half of what may wait (the other half is for what
  /// nobody asks room for), or nothing else waits. False: on_answer_room will be called when it may.
  bool has_answer_room(std::size_t bytes);
  /// The same of texts that go with data. False: on_room will be called when it may.
  bool has_text_room(std::size_t bytes);
  /// `keeps`: has the batch's bytes, which nobody changes any more; they are sent from where they lie. Null: they are copied.
  void data(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags, const FrameEnvelope* envelope,
            std::shared_ptr<const void> keeps = nullptr);

  /// The client has room for data until so many bytes of the stream were taken, all frames counted. Before the first call for any.
  void credit(std::uint64_t through);

  /// No frame is taken any more; what is queued may still be sent.
  void close();
  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  /// The Fault that closed it, where one did.
  std::optional<session::Fault> closed_by() const;

  struct Waiting {
    std::size_t control = 0, data = 0;  ///< bytes, of frames
    std::size_t bytes() const noexcept { return control + data; }
  };
  /// What waits, with the writer too. A client that reads its answers slowly gets no new request accepted.
  Waiting waiting() const;
  /// Of these control, without a lock: as it was a moment ago.
  std::size_t control_waiting() const noexcept { return control_waiting_.load(std::memory_order_relaxed); }
  /// Of these answers, and what of watches the client's credit does not hold back.
  std::size_t answers_waiting() const;
  /// Bytes of frames that the writer took, from the first on.
  std::uint64_t taken() const;
  /// Bytes of what is said of watches and waits for the client's credit.
  std::size_t held_for_credit() const;
  /// How it stands with what watches bring.
  struct Line {
    session::WaitsFor waits_for = session::WaitsFor::nothing;
    std::uint64_t stuck_ns = 0;   ///< for how long the writer has sent nothing of what it has; 0 where it has nothing
    std::uint64_t oldest_ns = 0;  ///< the age of the oldest data that waits, with the writer too; 0: none does
  };
  Line line(std::uint64_t now_ns) const;

  /// Of what the watches lane has the writer gets so much at once, or one frame: an answer waits for that at most.
  static constexpr std::size_t piece_bytes = 32u << 10;
  /// For the writer: all answers, and a piece of the watches lane, in place of what `piece` had. False: there is nothing to take.
  [[nodiscard]] bool take(OutgoingPiece& piece);
  /// For the writer: what was taken has been sent.
  void sent();
  /// For the writer: some of it was.
  void went_on();

 private:
  /// The lane of watches: frames, one behind the other. Of a frame whose batch is shared, only the head lies in `bytes`.
  struct Lane {
    struct Frame {
      std::uint32_t own, counted;  // bytes of it that lie here; as what it counts
      std::uint64_t queued_ns;     // when; 0: it is no data
      std::span<const std::byte> shared;
      std::shared_ptr<const void> keeps;
      bool is_data() const noexcept { return queued_ns != 0; }
      std::size_t size() const noexcept { return own + shared.size(); }
    };
    std::vector<std::byte> bytes;
    std::vector<Frame> frames;
    std::size_t bytes_begin = 0, frames_begin = 0;  // what lies before was taken
    std::size_t waiting = 0;                        // bytes of the frames that were not
    bool empty() const noexcept { return frames_begin == frames.size(); }
  };
  enum class What : std::uint8_t { answer, of_watch, data };

  void append(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags,
              const FrameEnvelope* envelope, What what, std::shared_ptr<const void> keeps = nullptr);
  bool put(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags, const FrameEnvelope* envelope,
           What what, std::shared_ptr<const void> keeps = nullptr);
  void drop_watches();
  void take_answers(OutgoingPiece& piece);
  void take_piece(OutgoingPiece& piece);
  bool fits(std::size_t bytes) const;
  void note_waiting() { control_waiting_.store(queued_.control + taken_.control, std::memory_order_relaxed); }
  bool can_take() const { return !answers_.empty() || (!watches_.empty() && has_credit()); }
  bool has_credit() const {
    return closed_ || taken_all_ < credit_ || (!watches_.empty() && !watches_.frames[watches_.frames_begin].is_data());
  }
  bool may_queue_data() const;
  std::size_t data_room() const;

  const OutgoingLimits limits_;
  std::function<void()> ready_, room_, answer_room_;
  mutable std::mutex mutex_;
  std::vector<std::byte> answers_;
  std::size_t answers_counted_ = 0;
  Lane watches_;
  Waiting queued_, taken_;  // taken: with the writer
  std::uint64_t taken_ns_ = 0,
                went_on_ns_ = 0;       // when that was; 0: the writer has nothing. When it last sent any of it
  std::uint64_t taken_oldest_ns_ = 0;  // when the oldest data of that was queued; 0: it is none
  std::size_t taken_bytes_ = 0;
  std::uint64_t pace_bytes_ = 0, pace_ns_ = 0;  // of the last pieces: how fast they went
  std::uint64_t taken_all_ = 0, credit_ = ~std::uint64_t{0};
  bool credit_given_ = false;
  std::atomic<bool> closed_ = false;              // written under the lock
  std::atomic<std::size_t> control_waiting_ = 0;  // the same; of queued_ and taken_
  std::optional<session::Fault> closed_by_;
  bool room_wanted_ = false, text_room_wanted_ = false;  // for data, and texts with it
  bool answer_room_wanted_ = false;
};

}  // namespace muster

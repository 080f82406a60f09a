// What waits to be sent to one session: bounded, filled by any thread, emptied by the session's writer. No I/O here.
//
// Two kinds of frames share one queue and keep their order:
//   control  answers, acknowledgements, faults. Never dropped; a client that lets them pile up loses its session.
//   data     what watches bring. A watch asks for room first; where there is none it keeps its data, or forgets it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "messages/frame.h"
#include "messages/session.h"

namespace muster {

struct OutgoingLimits {
  std::size_t control_bytes_max = 8u << 20;
  /// A batch is sent whole: the queue may exceed this by one. What waits here, and in the kernel, is what an answer waits for on a slow line.
  std::size_t data_bytes_max = 256u << 10;
};

/// Any thread.
class Outgoing {
 public:
  explicit Outgoing(OutgoingLimits limits = {}) : limits_(limits) {}

  /// `ready`: called when something came into an empty queue, or the queue was closed; `room`: called when data, or a text that goes with
  /// it, for which there was no room may fit again; `answer_room`: the same of answers. On the caller's thread, no lock held. Set before
  /// use; never changed.
  void on_ready(std::function<void()> ready) { ready_ = std::move(ready); }
  void on_room(std::function<void()> room) { room_ = std::move(room); }
  void on_answer_room(std::function<void()> room) { answer_room_ = std::move(room); }

  /// Queues a control frame. Where the limit is exceeded the session is closed as a slow reader. Nothing is queued
  /// after close.
  void control(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags = 0,
               const FrameEnvelope* envelope = nullptr);
  /// Queues a Fault; where it closes, it is the last frame.
  void fault(const session::Fault& fault, std::uint64_t request);

  /// Whether data may be queued now. False: on_room will be called when it may.
  bool has_room();
  /// Whether an answer of so many bytes may be queued now: it fits into half of what may wait (the other half is for what
  /// nobody asks room for), or nothing else waits. False: on_answer_room will be called when it may.
  bool has_answer_room(std::size_t bytes);
  /// The same of texts that go with data. False: on_room will be called when it may.
  bool has_text_room(std::size_t bytes);
  void data(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags,
            const FrameEnvelope* envelope);

  /// No frame is taken any more; what is queued may still be sent.
  void close();
  bool closed() const;
  /// Control bytes waiting: a client that reads its answers this slowly gets no new request accepted.
  std::size_t control_bytes() const;
  /// All bytes waiting.
  std::size_t waiting_bytes() const;

  /// For the writer: everything queued, in exchange for an empty vector. False: nothing is queued.
  [[nodiscard]] bool take(std::vector<std::byte>& bytes);
  /// For the writer: what was taken has been sent.
  void sent();

 private:
  void append(std::span<const std::byte> batch, std::uint64_t request, std::uint32_t flags,
              const FrameEnvelope* envelope, bool data, bool last);

  OutgoingLimits limits_;
  bool fits(std::size_t bytes) const;

  std::function<void()> ready_, room_, answer_room_;
  mutable std::mutex mutex_;
  std::vector<std::byte> queue_;
  std::size_t queued_data_ = 0, queued_control_ = 0;
  std::size_t taken_data_ = 0, taken_control_ = 0;  // with the writer
  bool closed_ = false;
  bool room_wanted_ = false, text_room_wanted_ = false;  // for data, and texts with it
  bool answer_room_wanted_ = false;
};

}  // namespace muster

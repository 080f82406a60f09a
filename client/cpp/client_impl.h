// The inside of a Client: one connection, and what came over it that nobody has fetched yet.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "client/cpp/byte_stream.h"
#include "client/cpp/client.h"
#include "messages/judge/verifier.h"

namespace muster {

struct Client::Impl {
  struct Answer {
    std::vector<Received> frames;
    bool done = false;
  };
  struct Watch {
    std::deque<Received> frames;
    std::size_t bytes = 0;              // of the batches of these
    std::uint64_t stream_bytes = 0;     // of their frames
    std::optional<ClientError> failed;  // nothing more is kept; told when `frames` are fetched
  };

  Impl(ByteStream connected, ClientOptions chosen, CompiledSchemas compiled);

  Deadline deadline() const;
  /// Sends and receives until `done`, the deadline, or the end of the connection.
  Result<void> pump(Deadline until, const std::function<bool()>& done);
  /// A Heartbeat where the server would soon take this session for dead.
  Result<void> beat();
  Deadline next_beat() const;
  Result<void> put(std::span<const std::byte> batch, std::uint64_t request);
  /// The same, of bytes that were made by name.
  Result<void> put_named(std::span<const std::byte> batch, std::uint64_t request);
  Result<void> send_now();
  void receive_rest();
  Result<void> take_frames();
  Result<void> take_frame(const WireFrame& frame);
  Result<void> fail(ClientError why);
  /// What watches bring, and what is said of them, has no credit.
  bool is_out_of_credit() const noexcept { return credit_through != 0 && received_bytes >= credit_through; }
  /// The same, of a call that such an answer is late for: says so where that is why.
  ClientError late_watch(ClientError why) const;

  ClientOptions options;
  ByteStream stream;
  FrameDecoder decoder;
  std::uint32_t frame_bytes_max = 4096;  // that the server takes
  std::uint32_t batch_bytes_max = 1u << 20;
  std::vector<std::byte> out;
  std::size_t out_sent = 0;
  Deadline last_sent;
  std::optional<ClientError> ended;

  TypeTable types;
  Layouts layouts;
  session::Welcome welcome;
  std::uint64_t received_bytes = 0;  // of the stream
  std::uint64_t credit_through = 0;  // of them, that watches may bring; 0: nobody gave any
  std::uint64_t last_sequence = 0;   // the newest that was told
  std::uint64_t last_request = 0;
  std::unordered_map<std::uint64_t, Answer> answers;
  std::map<std::uint64_t, Watch> watches;
  std::unordered_set<std::uint64_t> given_up;  // watches that nobody waits for any more: ended as soon as they open
  std::unordered_map<std::uint64_t, std::string> texts;
  std::unordered_set<std::uint64_t> told;   // texts the world has from us
  session::Granted grant;                   // what is left of it
  std::optional<session::Durable> durable;  // the newest that came; from FollowDurable on
};

/// What the server said, as the error of a call.
inline ClientError error_of(const session::Fault& fault) {
  return {fault.closes ? ClientError::Kind::lost : ClientError::Kind::refused, fault.text, fault};
}

}  // namespace muster

// The state of a Client: one connection, and frames that have been received but not yet fetched.
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
#include "system/token_proof.h"

namespace muster {

/// Splits "HOST:7717/town" into the address and the world. A Unix socket has no world.
inline std::pair<std::string, std::string> split_world(const std::string& address) {
  const std::size_t slash = address.starts_with("unix:") ? std::string::npos : address.find('/');
  if (slash == std::string::npos) return {address, {}};
  return {address.substr(0, slash), address.substr(slash + 1)};
}

struct Client::Impl {
  struct Answer {
    std::vector<Received> frames;
    bool done = false;
    std::optional<ClientError> failed;  // the error, if no answer will come; `done` is then true
  };
  struct Watch {
    std::deque<Received> frames;
    std::size_t bytes = 0;              // total size of the batches in `frames`
    std::uint64_t stream_bytes = 0;     // total size of the frames in the stream
    std::optional<ClientError> failed;  // the error, if the watch has failed; returned after all
                                        // `frames`, while later frames are dropped
    session::Follow follows;            // what the watch covers, after all changes
    std::uint64_t sequence = 0;         // of the last complete state that was received
  };
  /// The state of the connection. `greeting` means that it is connected, but the session has not
  /// been resumed yet.
  enum class Line : std::uint8_t { up, down, greeting };

  Impl(ByteStream connected, ClientOptions chosen, CompiledSchemas compiled);

  /// Sends the Hello, and returns the frame that answers it: a Welcome, or a Fault. The token is
  /// sent only to a server that is trusted. Otherwise, both sides prove that they know it, and a
  /// server that does not prove it is an error. `ask` sends a message, and returns the first frame
  /// of the answer.
  template <class Ask>
  Result<Received> greet(session::Hello hello, const Ask& ask) const {
    // The address to which the session has moved was named by a server that may be a relay without
    // TLS, so its certificate alone does not show that it is the server that was meant.
    if (stream.is_trusted() && moved_to.empty()) {
      hello.token = options.token;
      return ask(hello);
    }
    const TokenHash hash = hash_of_token(options.token);
    const TokenId id = id_of_token(hash);
    const ProofNonce nonce = draw_nonce();
    hello.token_id.assign(id.begin(), id.end());
    hello.nonce.assign(nonce.begin(), nonce.end());
    const Result<Received> asked = ask(hello);
    if (!asked) return asked;
    const auto challenge = answer_in<session::Challenge>(*asked);
    if (!challenge) return std::unexpected(challenge.error());
    if (!equal_in_constant_time(challenge->proof, proof_of(Prover::server, hash, nonce, challenge->nonce)))
      return std::unexpected(
          ClientError{ClientError::Kind::lost,
                      "the program at " + address() + " is not the server that was meant: it does not know the token",
                      {}});
    session::Proof proof;
    const TokenProof made = proof_of(Prover::client, hash, nonce, challenge->nonce);
    proof.proof.assign(made.begin(), made.end());
    return ask(proof);
  }

  /// Returns the address of the server.
  const std::string& address() const noexcept { return moved_to.empty() ? options.address : moved_to; }
  Deadline deadline() const;
  /// Sends and receives until `done` returns true, the deadline passes, or the connection ends.
  Result<void> pump(Deadline until, const std::function<bool()>& done);
  /// Sends a Heartbeat if the client has been silent so long that the server might soon end the
  /// session.
  Result<void> beat();
  Deadline next_beat() const;
  /// Asks the server for a sign of life after a while without any, and takes the connection for
  /// lost if there is none. Must be called while nothing can be received.
  Result<void> listen();
  Deadline next_listen() const;
  /// Receives once, and takes the frames.
  Result<void> receive();
  /// Notices if the connection has ended since the last call, and then connects again.
  Result<void> find_line();
  Result<void> put(std::span<const std::byte> batch, std::uint64_t request);
  /// Like put(), for batches that were built from names.
  Result<void> put_named(std::span<const std::byte> batch, std::uint64_t request);
  Result<void> send_now();
  void receive_rest();
  Result<void> take_frames();
  Result<void> take_frame(const WireFrame& frame);
  Result<void> fail(ClientError why);
  /// Must be called when the connection has been lost. Returns the error. Ends the session, unless
  /// it can be resumed.
  Result<void> lose(ClientError why);
  /// Sends a request that has an answer, and keeps it for the case that the connection is lost.
  Result<void> put_request(std::span<const std::byte> batch, std::uint64_t request, bool named = false);
  /// Connects again and resumes the session. Fails with `late` if the deadline passes first.
  Result<void> reconnect(Deadline until);
  /// Connects once, and resumes the session.
  Result<void> resume(Deadline until);
  /// Sends what must be sent after the session was resumed.
  Result<void> go_on(const session::Welcome& before);
  session::ResumeWatches resume_watches();
  void take(const session::WatchesResumed& resumed);
  Result<void> ask_schemas(Deadline until);
  void say_goodbye();
  bool is_resuming() const noexcept { return line == Line::down && !reconnecting; }
  /// Returns true if the credit has been used up. In that case, the server holds back watch frames,
  /// and also its replies to requests about watches.
  bool is_out_of_credit() const noexcept { return credit_through != 0 && received_bytes >= credit_through; }
  /// Returns the error for a call that timed out waiting for a reply: either `why`, or an error
  /// that names the missing credit if that is the cause.
  ClientError late_watch(ClientError why) const;

  ClientOptions options;
  ByteStream stream;
  FrameDecoder decoder;
  std::uint32_t frame_bytes_max = 4096;  // the server's limit on the size of a frame
  std::uint32_t batch_bytes_max = 1u << 20;
  std::vector<std::byte> out;
  std::size_t out_sent = 0;
  Deadline last_sent, last_received;
  std::optional<Deadline> asked_at;  // for a sign of life, since when nothing has been received
  std::optional<ClientError> ended;

  std::string moved_to;  // the address at which the session is resumed, if it is another one
  Line line = Line::up;
  bool reconnecting = false;
  ClientError lost_because;  // while `line` is not `up`
  Deadline lost_at, next_try;
  std::chrono::nanoseconds try_again_in{};
  std::uint64_t times_resumed = 0;
  std::uint64_t resume_request = 0;                            // that of the newest ResumeWatches
  std::map<std::uint64_t, std::vector<std::byte>> unanswered;  // of a session that can be resumed

  TypeTable types;
  Layouts layouts;
  session::Welcome welcome;
  std::uint64_t received_bytes = 0;  // total bytes received from the stream
  std::uint64_t credit_through = 0;  // position up to which watches may send; 0 if no credit has
                                     // been given
  std::uint64_t credit_bytes = 0;    // size of the newest credit
  std::uint64_t last_sequence = 0;   // the newest sequence received
  std::uint64_t last_request = 0;
  std::unordered_map<std::uint64_t, Answer> answers;
  std::map<std::uint64_t, Watch> watches;
  std::unordered_set<std::uint64_t> given_up;  // watches to end as soon as the server has opened
                                               // them
  std::unordered_map<std::uint64_t, std::string> texts;
  std::unordered_set<std::uint64_t> told;     // texts that this client has sent
  std::vector<std::uint64_t> earlier_epochs;  // of this connection, whose sequences go on
  std::uint64_t first_epoch = 0;              // of this connection
  session::Granted grant;                     // the remaining ids of the current grant
  std::optional<session::Durable> durable;    // the newest Durable received, after FollowDurable
};

/// Converts a Fault from the server into the error of a call.
inline ClientError error_of(const session::Fault& fault) {
  return {fault.closes ? ClientError::Kind::lost : ClientError::Kind::refused, fault.text, fault};
}

}  // namespace muster

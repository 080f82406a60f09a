// Tests the beginnings of connections that may be encrypted or proved: bytes instead of a TLS
// handshake, records after one, and forged proofs. No input may crash the door, make it wait
// forever, or let in a client that has not shown the token.
//
//   input   | kind: 1 byte, modulo 3 | ... |
//   0       | bytes that a client sends to a port with TLS ... |
//   1       | after a good handshake: size: 1 byte (bit 7: not encrypted) | bytes | ... |
//   2       | frames of a client without TLS, see Prover | ... |
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "server/door/session_stream.h"
#include "server/door/tls_stream.h"
#include "system/token_proof.h"
#include "tests/server/door/test_loop.h"
#include "tests/server/hand_world.h"
#include "tests/support/folder.h"

namespace {

using namespace muster;
using namespace muster::testing;

constexpr std::string_view token = "the token of this door";

void need(bool good) {
  if (!good) std::abort();
}

struct World {
  EntityRegistry registry;
  testing::HandWorld world;
  Desk desk{registry, world, {}};
  Door door{
      desk, Users({{std::string(token), session::Role::view}}, ""), {}, Refusals({}, std::chrono::nanoseconds(0))};
  std::shared_ptr<const TlsIdentity> identity;

  World() {
    const test::Folder folder;
    need(make_self_signed(folder / "tls.pem", {"localhost"}).has_value());
    identity = TlsIdentity::read(folder / "tls.pem", folder / "tls.pem").value();
  }
  void pump() {
    desk.before_flush();
    registry.flush();
    desk.after_flush(registry);
  }
};

/// A connection on which the server's side runs whenever run() is called.
class Connected {
 public:
  Connected(World& world, bool encrypted) : world_(world) {
    int sockets[2];
    need(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets) == 0);
    socket = sockets[0];
    auto stream = encrypted ? open_tls_stream(io_, sockets[1], SocketKind::tcp_v4, world.identity, nullptr)
                            : open_socket_stream(io_, sockets[1], SocketKind::local);
    server_ =
        open_session_stream(std::move(stream), world.door, loop_, "fuzz", {[] {}, [this] { ended_ = true; }}, nullptr);
  }
  ~Connected() {
    ::shutdown(socket, SHUT_WR);
    for (int steps = 0; !ended_; ++steps) {
      run();
      drain();
      if (!ended_) server_->check_times(ServedStream::Clock::now() + std::chrono::hours(1));
      need(steps < 10'000);
    }
    server_.reset();
    run();
    ::close(socket);
    for (int i = 0; i < 100 && world_.desk.sessions() > 0; ++i) world_.pump();
    need(world_.desk.sessions() == 0);
  }
  Connected(const Connected&) = delete;
  Connected& operator=(const Connected&) = delete;

  /// Lets the server and the world do all that they can do now.
  void run() {
    for (int idle = 0, steps = 0; idle < 3; ++steps) {
      io_.restart();
      const bool worked = io_.poll() > 0;
      const bool stepped = loop_.step();
      if (!worked && !stepped) world_.pump();
      idle = worked || stepped ? 0 : idle + 1;
      need(steps < 1'000'000);
    }
  }
  void send(std::span<const std::uint8_t> bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN) return;
      if (sent < 0) drain();
      if (sent > 0) bytes = bytes.subspan(static_cast<std::size_t>(sent));
      run();
      if (ended_) return;
    }
  }
  std::string drain() {
    std::string came;
    char room[4096];
    for (ssize_t got = 0; (got = ::recv(socket, room, sizeof room, 0)) > 0;)
      came.append(room, static_cast<std::size_t>(got));
    return came;
  }
  int socket = -1;

 private:
  World& world_;
  boost::asio::io_context io_{1};
  TestLoop loop_;
  std::shared_ptr<ServedStream> server_;
  bool ended_ = false;
};

/// Takes parts of the input; missing bytes are zero.
class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool is_empty() const { return bytes_.empty(); }
  std::span<const std::uint8_t> take(std::size_t size) {
    const auto part = bytes_.first(std::min(size, bytes_.size()));
    bytes_ = bytes_.subspan(part.size());
    return part;
  }
  std::uint8_t byte() {
    const auto part = take(1);
    return part.empty() ? std::uint8_t{0} : part[0];
  }
  std::vector<std::uint8_t> bytes(std::size_t size) {
    const auto part = take(size);
    std::vector<std::uint8_t> whole(part.begin(), part.end());
    whole.resize(size);
    return whole;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// Sends records to a server whose handshake is complete.
void send_records(World& world, Input input) {
  Connected connected(world, true);
  auto channel = TlsChannel::connect({.fingerprint = world.identity->fingerprint()}, connected.socket);
  need(channel.has_value());
  for (int turn = 0; !(*channel)->has_shaken_hands(); ++turn) {
    (*channel)->shake_hands();
    connected.run();
    need(turn < 100);
  }
  while (!input.is_empty()) {
    const std::uint8_t size = input.byte();
    const auto part = input.take(size & 0x7fu);
    if ((size & 0x80) != 0)
      connected.send(part);
    else if (!part.empty())
      (*channel)->write(std::as_bytes(part));
    connected.run();
    std::byte room[4096];
    while ((*channel)->read(room).state == TlsChannel::State::done) {
    }
  }
}

/// Sends frames of a client that tries to prove something. Each begins with a byte, modulo 5:
///
///   0   a Hello: 16 bytes to change the token's id by, 32 of the nonce
///   1   a Proof: 32 bytes to change the right one by
///   2   the proof that the server gave
///   3   a Proof: size: 1 byte, and as many bytes
///   4   size: 1 byte, and as many bytes
class ProofSender {
 public:
  ProofSender(World& world, bool may_enter) : connected_(world, false), world_(world), may_enter_(may_enter) {}

  void run(Input input) {
    while (!input.is_empty()) {
      switch (input.byte() % 5) {
        case 0: {
          session::Hello hello;
          hello.protocol = hello.protocol_oldest = session::protocol_newest;
          hello.token_id = changed(id_of_token(hash_), input.bytes(16));
          hello.nonce = nonce_ = input.bytes(32);
          send(hello);
          break;
        }
        case 1: {
          const std::vector<std::uint8_t> mask = input.bytes(32);
          session::Proof proof;
          proof.proof = changed(proof_of(Prover::client, hash_, nonce_, challenge_.nonce), mask);
          if (challenge_.nonce.size() == 32 && std::ranges::count(mask, 0) == 32) may_enter_ = true;
          send(proof);
          break;
        }
        case 2: send(session::Proof{.proof = challenge_.proof}); break;
        case 3: send(session::Proof{.proof = input.bytes(input.byte())}); break;
        default: connected_.send(input.take(input.byte()));
      }
      connected_.run();
      read();
      need(world_.desk.sessions() == 0 || may_enter_);
    }
  }

 private:
  template <class Bytes>
  static std::vector<std::uint8_t> changed(const Bytes& bytes, const std::vector<std::uint8_t>& mask) {
    std::vector<std::uint8_t> made(bytes.begin(), bytes.end());
    for (std::size_t i = 0; i < made.size(); ++i) made[i] ^= mask[i];
    return made;
  }
  template <class M>
  void send(const M& message) {
    BatchBuilder builder;
    session::append(builder, message);
    std::vector<std::byte> frame;
    append_frame(frame, builder.bytes(), ++request_);
    connected_.send({reinterpret_cast<const std::uint8_t*>(frame.data()), frame.size()});
  }
  void read() {
    std::string came = connected_.drain();
    while (!came.empty()) {
      const std::span<std::byte> room = decoder_.room();
      const std::size_t size = std::min(room.size(), came.size());
      std::memcpy(room.data(), came.data(), size);
      came.erase(0, size);
      decoder_.received(size);
      while (true) {
        const auto frame = decoder_.next();
        need(frame.has_value());
        if (!*frame) break;
        const BatchView batch((*frame)->batch);
        if (batch.type() == TypeTraits<session::Challenge>::id) challenge_ = session::read<session::Challenge>(batch);
      }
    }
  }

  const TokenHash hash_ = hash_of_token(token);
  Connected connected_;
  World& world_;
  std::vector<std::uint8_t> nonce_ = std::vector<std::uint8_t>(32);
  session::Challenge challenge_;
  FrameDecoder decoder_{256u << 20, true};
  std::uint64_t request_ = 0;
  bool may_enter_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static World world;
  const std::span<const std::uint8_t> rest(data + 1, size - 1);
  switch (data[0] % 3) {
    case 0: {
      Connected connected(world, true);
      connected.send(rest);
      connected.run();
      need(world.desk.sessions() == 0);
      break;
    }
    case 1: send_records(world, Input(rest)); break;
    default: {
      const std::string_view text(reinterpret_cast<const char*>(data), size);
      ProofSender(world, text.find(token) != text.npos).run(Input(rest));
    }
  }
  return 0;
}

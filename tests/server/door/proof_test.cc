// Proofs of the token on connections without TLS: what an impostor on the server's port learns, and
// which proofs the server accepts.
#include <arpa/inet.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <thread>

#include "messages/frame.h"
#include "system/token_proof.h"
#include "tests/server/line_proxy.h"
#include "tests/server/live_world.h"
#include "tests/support/folder.h"

namespace proof_test {

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

std::vector<std::uint8_t> bytes_of(std::span<const std::uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

session::Hello hello_without_token(std::string_view of_token, const ProofNonce& nonce) {
  session::Hello hello = hello_with("");
  hello.token_id = bytes_of(id_of_token(hash_of_token(of_token)));
  hello.nonce = bytes_of(nonce);
  return hello;
}

session::Challenge receive_challenge(RawClient& client) {
  const auto frame = client.receive();
  REQUIRE(frame);
  REQUIRE(frame->is<session::Challenge>());
  return session::read<session::Challenge>(frame->batch());
}

session::Proof proof_with(std::span<const std::uint8_t> bytes) {
  session::Proof proof;
  proof.proof = bytes_of(bytes);
  return proof;
}

/// A program that has taken the server's port. Keeps what it receives, and answers each frame.
class Impostor {
 public:
  using Answer = std::function<std::vector<std::byte>(std::uint64_t request, BatchView batch)>;

  explicit Impostor(Answer answer) : answer_(std::move(answer)) {
    door_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof where;
    REQUIRE(::bind(door_, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0);
    REQUIRE(::listen(door_, 1) == 0);
    REQUIRE(::getsockname(door_, reinterpret_cast<sockaddr*>(&where), &size) == 0);
    address = "127.0.0.1:" + std::to_string(ntohs(where.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~Impostor() {
    if (thread_.joinable()) thread_.join();
    ::close(door_);
  }
  Impostor(const Impostor&) = delete;
  Impostor& operator=(const Impostor&) = delete;

  /// All bytes of the client. Waits until the client has closed the connection.
  std::string learned() {
    thread_.join();
    return came_;
  }
  std::string address;

 private:
  void serve() {
    const int socket = ::accept(door_, nullptr, nullptr);
    FrameDecoder decoder(1u << 20);
    while (true) {
      const std::span<std::byte> room = decoder.room();
      const ssize_t got = ::recv(socket, room.data(), room.size(), 0);
      if (got <= 0) break;
      came_.append(reinterpret_cast<const char*>(room.data()), static_cast<std::size_t>(got));
      decoder.received(static_cast<std::size_t>(got));
      for (auto frame = decoder.next(); frame && *frame; frame = decoder.next()) {
        const auto said = answer_((*frame)->header.request, BatchView((*frame)->batch));
        (void)!::send(socket, said.data(), said.size(), MSG_NOSIGNAL);
      }
    }
    ::close(socket);
  }

  const Answer answer_;
  int door_ = -1;
  std::string came_;
  std::thread thread_;
};

template <class M>
std::vector<std::byte> frame_with(std::uint64_t request, const M& message) {
  BatchBuilder builder;
  session::append(builder, message);
  std::vector<std::byte> frame;
  append_frame(frame, builder.bytes(), request);
  return frame;
}

ClientOptions options_for(const std::string& address) {
  ClientOptions made;
  made.address = address;
  made.token = token;
  made.time_max = 5s;
  return made;
}

}  // namespace

TEST_CASE("without TLS, both sides prove that they know the token, for each role", "[proof]") {
  LiveWorld world;
  for (const char* each : {token, viewer_token, editor_token}) CHECK(Client::connect(world.client_options(each)));
  const auto refused = Client::connect(world.client_options("wrong"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().fault.code == session::FaultCode::bad_token);
}

TEST_CASE("an impostor on the server's port does not learn the token or its hash, and is not believed", "[proof]") {
  const TokenHash hash = hash_of_token(token);
  const std::string hash_bytes(hash.begin(), hash.end());
  const std::vector<Impostor::Answer> answers = {
      [](std::uint64_t request, BatchView) { return frame_with(request, session::Welcome{.epoch = 1}); },
      [](std::uint64_t request, BatchView) {
        session::Challenge random;
        random.nonce.assign(32, 1);
        random.proof.assign(32, 2);
        return frame_with(request, random);
      },
      [](std::uint64_t request, BatchView) { return frame_with(request, session::Challenge{}); },
      [](std::uint64_t request, BatchView batch) {  // reflects what the client sent
        session::Challenge reflected;
        if (batch.type() == TypeTraits<session::Hello>::id)
          reflected.nonce = reflected.proof = session::read<session::Hello>(batch).nonce;
        return frame_with(request, reflected);
      }};
  for (const Impostor::Answer& answer : answers) {
    Impostor impostor(answer);
    const auto client = Client::connect(options_for(impostor.address));
    REQUIRE_FALSE(client);
    CHECK(client.error().kind == ClientError::Kind::lost);
    const std::string learned = impostor.learned();
    CHECK(learned.size() > 64);
    CHECK(learned.find(token) == std::string::npos);
    CHECK(learned.find(hash_bytes) == std::string::npos);
    CHECK(learned.size() < 512);  // a Hello, and no Proof
  }
  Impostor last(answers[1]);
  CHECK(Client::connect(options_for(last.address)).error().text ==
        "the program at " + last.address + " is not the server that was meant: it does not know the token");
}

TEST_CASE("an impostor that takes the port while a line is lost does not get the session that is resumed", "[proof]") {
  LiveWorld world;
  std::atomic<bool> was_cut = false;
  LineProxy proxy(world.address());
  ClientOptions options = options_for(proxy.address());
  options.resumes = true;
  options.time_max = 1s;
  auto client = Client::connect(options);
  REQUIRE(client);
  const std::uint64_t number = client->welcome().session;
  Impostor impostor([](std::uint64_t request, BatchView batch) {
    session::Welcome welcome;
    welcome.epoch = 1;
    welcome.resumed = true;
    if (batch.type() == TypeTraits<session::Hello>::id) return frame_with(request, welcome);
    return frame_with(request, session::Info{});
  });
  proxy.aim(impostor.address);
  proxy.plan([&] { return was_cut.exchange(true) ? LineProxy::Does::nothing : LineProxy::Does::close; });
  CHECK_FALSE(client->ask<session::GetInfo>());
  CHECK(client->welcome().session == number);
  const std::string learned = impostor.learned();
  CHECK(learned.find(token) == std::string::npos);
  CHECK(learned.size() < 512);  // a Hello, and nothing else
  proxy.aim(world.address());
  auto info = client->ask<session::GetInfo>();
  for (int pauses = 0; pauses < 5 && !info; ++pauses) info = client->ask<session::GetInfo>();
  CAPTURE(info ? std::string() : info.error().text);
  CHECK(info);
  CHECK(client->welcome().session == number);
}

TEST_CASE("a proof is of one token, one side and one pair of nonces; any other is refused like a wrong token",
          "[proof]") {
  LiveWorldOptions options;
  options.limits.wrong_token_delay_max = 0ns;
  LiveWorld world(options);
  const ProofNonce nonce = draw_nonce();
  const TokenHash hash = hash_of_token(token);
  TokenProof earlier{};
  {
    RawClient client(world.address());
    client.send_message(hello_without_token(token, nonce), 1);
    const session::Challenge challenge = receive_challenge(client);
    CHECK(equal_in_constant_time(challenge.proof, proof_of(Prover::server, hash, nonce, challenge.nonce)));
    earlier = proof_of(Prover::client, hash, nonce, challenge.nonce);
    client.send_message(proof_with(earlier), 2);
    const auto welcome = client.receive();
    REQUIRE(welcome);
    CHECK(welcome->is<session::Welcome>());
    client.send_message(proof_with(earlier), 3);
    CHECK(client.receive_fault().code == session::FaultCode::hello_repeated);
    CHECK(client.closed());
  }
  using Forged = std::function<std::vector<std::uint8_t>(const session::Challenge&)>;
  const std::vector<Forged> forgeries = {
      [&](const auto&) { return bytes_of(earlier); },
      [&](const auto& challenge) { return challenge.proof; },
      [&](const auto& challenge) { return challenge.nonce; },
      [&](const auto& challenge) {
        return bytes_of(proof_of(Prover::client, hash_of_token(viewer_token), nonce, challenge.nonce));
      },
      [&](const auto& challenge) { return bytes_of(proof_of(Prover::client, hash, challenge.nonce, nonce)); },
      [&](const auto& challenge) { return bytes_of(proof_of(Prover::server, hash, nonce, challenge.nonce)); },
      [&](const auto& challenge) {
        auto proof = bytes_of(proof_of(Prover::client, hash, nonce, challenge.nonce));
        proof.pop_back();
        return proof;
      },
      [&](const auto& challenge) {
        auto proof = bytes_of(proof_of(Prover::client, hash, nonce, challenge.nonce));
        proof.back() ^= 1;
        return proof;
      },
      [&](const auto&) { return std::vector<std::uint8_t>(); }};
  for (const Forged& forge : forgeries) {
    RawClient client(world.address());
    client.send_message(hello_without_token(token, nonce), 1);
    const session::Challenge challenge = receive_challenge(client);
    client.send_message(proof_with(forge(challenge)), 2);
    const session::Fault fault = client.receive_fault();
    CHECK(fault.code == session::FaultCode::bad_token);
    CHECK(fault.text == "the token is not valid here");
    CHECK(client.closed());
  }
}

TEST_CASE("a challenge never has the same nonce twice", "[proof]") {
  LiveWorld world;
  const ProofNonce nonce = draw_nonce();
  std::vector<std::vector<std::uint8_t>> seen;
  for (int i = 0; i < 8; ++i) {
    RawClient client(world.address());
    client.send_message(hello_without_token(token, nonce));
    const session::Challenge challenge = receive_challenge(client);
    CHECK(challenge.nonce.size() == 32);
    CHECK(std::ranges::find(seen, challenge.nonce) == seen.end());
    seen.push_back(challenge.nonce);
  }
}

TEST_CASE("a Hello with both a token and its id, or with half of a proof, is refused", "[proof]") {
  LiveWorld world;
  const session::Hello good = hello_without_token(token, draw_nonce());
  std::vector<session::Hello> bad(5, good);
  bad[0].token = token;
  bad[1].nonce.clear();
  bad[2].token_id.clear();
  bad[3].nonce.push_back(0);
  bad[4].token_id.pop_back();
  for (const session::Hello& hello : bad) {
    RawClient client(world.address());
    client.send_message(hello);
    const session::Fault fault = client.receive_fault();
    CHECK(fault.code == session::FaultCode::bad_batch);
    CHECK(fault.text == "a Hello has either a token, or a token_id of 16 bytes and a nonce of 32 bytes");
    CHECK(client.closed());
  }
  RawClient unknown(world.address());
  unknown.send_message(hello_without_token("of nobody", draw_nonce()));
  CHECK(unknown.receive_fault().code == session::FaultCode::bad_token);
}

TEST_CASE("nothing but a Proof may follow a Challenge, and nothing is shown before it", "[proof]") {
  LiveWorld world;
  const auto answer_to = [&](const auto& message) {
    RawClient client(world.address());
    client.send_message(hello_without_token(token, draw_nonce()), 1);
    (void)receive_challenge(client);
    client.send_message(message, 2);
    const session::Fault fault = client.receive_fault();
    CHECK(client.closed());
    return fault.code;
  };
  CHECK(answer_to(session::GetInfo{}) == session::FaultCode::hello_expected);
  CHECK(answer_to(session::GetSchema{}) == session::FaultCode::hello_expected);
  CHECK(answer_to(hello_with()) == session::FaultCode::hello_expected);
  CHECK(answer_to(hello_without_token(token, draw_nonce())) == session::FaultCode::hello_expected);
  RawClient first(world.address());
  first.send_message(session::Proof{});
  CHECK(first.receive_fault().code == session::FaultCode::hello_expected);
}

TEST_CASE("a client that never sends its Proof is closed when the time for a Hello is over", "[proof]") {
  LiveWorldOptions options;
  options.limits.hello_time_max = 100ms;
  LiveWorld world(options);
  RawClient client(world.address());
  client.send_message(hello_without_token(token, draw_nonce()));
  (void)receive_challenge(client);
  CHECK(client.receive_fault().code == session::FaultCode::hello_late);
  CHECK(client.closed());
}

TEST_CASE("a user whose token is revoked between Challenge and Proof is not let in", "[proof]") {
  const test::Folder folder;
  LiveWorldOptions options;
  options.users_file = folder / "users";
  LiveWorld world(options);
  Client admin = world.client();
  session::CreateToken create;
  create.name = "ann";
  create.role = static_cast<std::uint8_t>(session::Role::edit);
  const std::string of_ann = admin.ask(create).value().token;
  CHECK(Client::connect(world.client_options(of_ann)));
  const ProofNonce nonce = draw_nonce();
  RawClient client(world.address());
  client.send_message(hello_without_token(of_ann, nonce), 1);
  const session::Challenge challenge = receive_challenge(client);
  session::RevokeToken revoke;
  revoke.name = "ann";
  REQUIRE(admin.ask(revoke));
  client.send_message(proof_with(proof_of(Prover::client, hash_of_token(of_ann), nonce, challenge.nonce)), 2);
  CHECK(client.receive_fault().code == session::FaultCode::bad_token);
}

TEST_CASE("on a Unix socket, processes of other users are refused, by both sides", "[proof]") {
  if (::geteuid() != 0) {
    WARN("only root can act as another user");
    return;
  }
  const test::Folder folder;
  ::chmod(folder.path().c_str(), 0755);
  LiveWorldOptions options;
  options.tcp = false;
  options.unix_path = folder / "socket";
  LiveWorld world(options);
  ::chmod(options.unix_path.c_str(), 0666);  // as if its mode did not protect it
  // Returns what `act` returns in a process of another user.
  const auto as_another = [](const std::function<int()>& act) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(::setuid(65534) == 0 ? act() : 99);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
  };
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::memcpy(where.sun_path, options.unix_path.c_str(), options.unix_path.size() + 1);
  CHECK(as_another([&] {
          const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
          if (::connect(socket, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) return 1;
          char byte = 0;
          return ::recv(socket, &byte, 1, 0) <= 0 ? 0 : 2;  // the server closes
        }) == 0);
  CHECK(Client::connect(world.client_options()));

  // A socket of another user, to which root and a third user connect.
  const std::string theirs = folder / "theirs";
  ::chmod(folder.path().c_str(), 0777);
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t impostor = ::fork();
  if (impostor == 0) {
    ::alarm(30);
    const int door = ::socket(AF_UNIX, SOCK_STREAM, 0);
    std::memcpy(where.sun_path, theirs.c_str(), theirs.size() + 1);
    if (::setuid(65533) != 0 || ::bind(door, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) ::_exit(1);
    ::chmod(theirs.c_str(), 0777);
    ::listen(door, 4);
    (void)!::write(ready[1], "x", 1);
    const int one = ::accept(door, nullptr, nullptr), two = ::accept(door, nullptr, nullptr);
    std::string came;
    char room[1024];
    ssize_t got = 0;
    for (const int socket : {one, two})
      while ((got = ::recv(socket, room, sizeof room, 0)) > 0) came.append(room, static_cast<std::size_t>(got));
    ::_exit(came.find(token) == std::string::npos ? 0 : 2);
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  CHECK(as_another([&] {
          const auto refused = Client::connect(options_for("unix:" + theirs));
          return !refused && refused.error().text.find("belongs to another user") != std::string::npos ? 0 : 1;
        }) == 0);
  ClientOptions as_root = options_for("unix:" + theirs);
  as_root.time_max = 200ms;
  CHECK_FALSE(Client::connect(as_root));
  int status = 0;
  ::waitpid(impostor, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace proof_test

// TLS on a server's port: whom clients trust, what is refused and with which sentence, and new
// certificates while sessions are open.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <openssl/ssl.h>

#include <catch2/catch.hpp>
#include <deque>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

#include "client/cpp/address_file.h"
#include "client/cpp/client.h"
#include "server/server.h"
#include "server/world/world.h"
#include "tests/server/door/certificates.h"
#include "tests/server/world/saved_by_hand.h"
#include "tests/support/folder.h"

namespace tls_test {

using namespace muster;
using muster::testing::Certified;
using namespace std::chrono_literals;

namespace {

Deadline in_5_s() { return std::chrono::steady_clock::now() + 5s; }

void write_pair(const test::Folder& folder, const Certified& certified) {
  // A reader sees either the old or the new file.
  const std::pair<const char*, std::string> files[] = {{"cert.pem", certified.certificate()},
                                                       {"key.pem", certified.key()}};
  for (const auto& [name, text] : files) {
    folder.write("new", text);
    std::filesystem::rename(folder / "new", folder / name);
  }
}

/// A server of a world, with a thread that runs the world.
class Served {
 public:
  explicit Served(const std::optional<Certified>& certified, ServerOptions options = {}) {
    if (certified) {
      write_pair(folder, *certified);
      options.certificate = folder / "cert.pem";
      options.key = folder / "key.pem";
    }
    if (options.listen == ServerOptions().listen) options.listen = "127.0.0.1:0";
    if (options.page_folder.empty()) options.page_folder = "none";
    options.warn = options.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_ += line + "\n";
    };
    std::promise<void> ready;
    owner_ = std::thread([&, options] {
      try {
        World world(folder / "w.muster", {}, test::saved_by_hand());
        Server server(world, options);
        address = server.address();
        token = server.token();
        fingerprint = server.fingerprint();
        url = server.editor_url();
        world_ = &world;
        ready.set_value();
        while (world.next_frame()) {
        }
        server.stop();
      } catch (...) {
        ready.set_exception(std::current_exception());
      }
    });
    try {
      ready.get_future().get();
    } catch (...) {
      owner_.join();
      throw;
    }
  }
  ~Served() {
    world_->stop();
    owner_.join();
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  std::string port() const { return address.substr(address.rfind(':') + 1); }
  ClientOptions options() const {
    return {.address = "tls:" + address, .token = token, .name = "test", .fingerprint = fingerprint};
  }
  /// Returns the error of a client that trusts the issuers in `ca`, or nothing if it connects.
  std::string refusal(const std::string& host, const std::string& ca) const {
    ClientOptions as = options();
    as.fingerprint.clear();
    as.ca_file = ca;
    as.address = "tls:" + host + ":" + port();
    const auto client = Client::connect(as);
    return client ? std::string() : client.error().text;
  }
  std::string lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

  test::Folder folder;
  std::string address, token, fingerprint, url;

 private:
  World* world_ = nullptr;
  mutable std::mutex mutex_;
  std::string lines_;
  std::thread owner_;
};

std::string failure(const ServerOptions& given) {
  const test::Folder folder;
  ServerOptions options = given;
  options.listen = options.listen == ServerOptions().listen ? "127.0.0.1:0" : options.listen;
  options.page_folder = "none";
  World world(folder / "w.muster", {}, test::saved_by_hand());
  try {
    const Server server(world, options);
  } catch (const ServerError& error) {
    return error.what();
  }
  return "no failure";
}

void send_all(ByteStream& stream, std::string_view bytes) {
  auto left = std::as_bytes(std::span(bytes));
  while (!left.empty()) {
    const auto sent = stream.send_some(left);
    if (!sent) return;  // the server has closed: its answer is read next
    left = left.subspan(*sent);
    if (*sent == 0 && stream.wait(in_5_s(), true) == ByteStream::Ready::neither) return;
  }
}

/// Returns all that the server sends, until it contains `part` or the server closes the connection.
std::string receive(ByteStream& stream, std::string_view part = {}) {
  std::string came;
  while (stream.wait(in_5_s(), false) != ByteStream::Ready::neither) {
    std::byte room[4096];
    const auto got = stream.receive_some(room);
    if (!got) break;
    came.append(reinterpret_cast<const char*>(room), *got);
    if (!part.empty() && came.find(part) != came.npos) break;
  }
  return came;
}

/// Returns all that the server sends until it closes the connection.
std::string answer_to(ByteStream stream, std::string_view bytes) {
  send_all(stream, bytes);
  return receive(stream);
}

std::string https(const Served& served, const std::string& lines) {
  auto stream = ByteStream::connect("tls:" + served.address, in_5_s(), {.fingerprint = served.fingerprint});
  return answer_to(std::move(stream.value()), "GET /health HTTP/1.1\r\nConnection: close\r\n" + lines + "\r\n");
}

int plain_socket(const Served& served) {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(std::stoul(served.port())));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(made, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0);
  return made;
}

/// Returns true if the server closes within 5 s.
bool is_closed(int socket) {
  const timeval time{5, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  char room[4096];
  while (true) {
    const ssize_t got = ::recv(socket, room, sizeof room, 0);
    if (got > 0) continue;
    return got == 0 || errno == ECONNRESET;
  }
}

}  // namespace

TEST_CASE("over TLS a session is as without, also where frames are larger than records and buffers", "[tls]") {
  Served served(Certified({}));
  Client client = Client::connect(served.options()).value();
  Client other = Client::connect(served.options()).value();
  const std::vector<Entity> nothing(40'000, Entity{1u << 20, 7});
  const auto acknowledged = client.push(std::span<const Entity>(nothing), Destroy{});
  if (!acknowledged) FAIL(acknowledged.error().text);
  CHECK(acknowledged->dead == nothing.size());
  for (int i = 0; i < 20; ++i) {
    const std::string text = std::string(60'000, 'x') + std::to_string(i);
    const auto interned = client.intern(text);
    REQUIRE(interned);
    CHECK(other.fetch_text(*interned).value() == text);
  }
  const Entity made = client.create(Entity{}, "first").value();
  CHECK(other.entity("first").value() == made);
}

TEST_CASE("with a fingerprint, a client trusts exactly that certificate, however it is written", "[tls]") {
  const Certified expired({.names = {"elsewhere"}, .addresses = {}, .from_days = -9, .to_days = -3});
  Served served(expired);
  CHECK(served.fingerprint == expired.fingerprint());
  ClientOptions as = served.options();
  CHECK(Client::connect(as));
  std::string written;
  for (std::size_t i = 0; i < 64; i += 2) {
    written += i == 0 ? "" : ":";
    for (const char c : served.fingerprint.substr(i, 2)) written += static_cast<char>(std::toupper(c));
  }
  as.fingerprint = written;
  CHECK(Client::connect(as));
  as.address = served.address;  // a fingerprint asks for TLS
  CHECK(Client::connect(as));
  as.fingerprint = Certified({}).fingerprint();
  const auto other = Client::connect(as);
  REQUIRE_FALSE(other);
  CHECK(other.error().text.find("has the fingerprint " + served.fingerprint + ", not " + as.fingerprint) !=
        std::string::npos);
  for (const char* wrong : {"x", "00", "zz", "0000000000000000000000000000000000000000000000000000000000000000 00"}) {
    as.fingerprint = wrong;
    const auto bad = Client::connect(as);
    REQUIRE_FALSE(bad);
    CHECK(bad.error().kind == ClientError::Kind::mistaken);
    CHECK(bad.error().text == "'" + std::string(wrong) + "' is not a fingerprint: expected 64 hexadecimal digits");
  }
}

TEST_CASE("without a fingerprint, a client trusts a certificate for the host, of a trusted issuer, in its days",
          "[tls]") {
  const Certified issuer({.is_issuer = true}), other({.is_issuer = true});
  const test::Folder trusted;
  trusted.write("ca.pem", issuer.certificate());
  trusted.write("other.pem", other.certificate());
  const std::string ca = trusted / "ca.pem";
  const auto said = [&](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  {
    Served served(Certified({.issuer = &issuer}));
    CHECK(served.refusal("127.0.0.1", ca).empty());
    CHECK(served.refusal("localhost", ca).empty());
    CHECK(said(served.refusal("127.0.0.1", trusted / "other.pem"),
               ("the issuer of the server's certificate is not trusted; the certificate has the fingerprint " +
                served.fingerprint)
                   .c_str()));
    CHECK(said(served.refusal("127.0.0.1", ""), "the issuer of the server's certificate is not trusted"));
    CHECK(said(served.refusal("127.0.0.1", trusted / "nothing"), "No such file"));
    trusted.write("bad.pem", "no certificate");
    CHECK(said(served.refusal("127.0.0.1", trusted / "bad.pem"), "bad.pem"));
  }
  {
    Served served(Certified({.names = {"studio.example"}, .addresses = {"192.0.2.7"}, .issuer = &issuer}));
    CHECK(said(served.refusal("127.0.0.1", ca), "certificate is not for 127.0.0.1 but for studio.example"));
    CHECK(said(served.refusal("localhost", ca), "certificate is not for localhost but for studio.example"));
  }
  {
    Served served(Certified({.from_days = -9, .to_days = -3, .issuer = &issuer}));
    CHECK(said(served.refusal("127.0.0.1", ca), "the server's certificate expired on 20"));
  }
  {
    Served served(Certified({.from_days = 3, .issuer = &issuer}));
    CHECK(said(served.refusal("127.0.0.1", ca), "the server's certificate is not valid before 20"));
  }
  {
    Served served(Certified({.issuer = &issuer, .has_rsa_key = true}));
    CHECK(served.refusal("127.0.0.1", ca).empty());
  }
  {
    const Certified revoked({.issuer = &issuer}), kept({.issuer = &issuer});
    trusted.write("revoked.pem", issuer.certificate() + issuer.revocation_of(revoked));
    Served served(revoked);
    CHECK(served.refusal("127.0.0.1", ca).empty());
    CHECK(said(served.refusal("127.0.0.1", trusted / "revoked.pem"), "certificate was revoked by its issuer"));
    CHECK(Served(kept).refusal("127.0.0.1", trusted / "revoked.pem").empty());
  }
  {
    const Certified between({.issuer = &issuer, .is_issuer = true});
    Served served(Certified({.issuer = &between}));  // its file contains both certificates
    CHECK(served.refusal("127.0.0.1", ca).empty());
  }
}

TEST_CASE("a port and a client that disagree about TLS say so", "[tls]") {
  Served encrypted(Certified({}));
  ClientOptions plain = encrypted.options();
  plain.address = encrypted.address;
  plain.fingerprint.clear();
  const auto needs = Client::connect(plain);
  REQUIRE_FALSE(needs);
  CHECK(needs.error().text == "this port needs TLS: connect to tls:HOST:PORT");
  CHECK(needs.error().fault.reason == "needs_tls");
  const std::string http = answer_to(ByteStream::connect(encrypted.address, in_5_s()).value(),
                                     "GET / HTTP/1.1\r\nHost: " + encrypted.address + "\r\n\r\n");
  CHECK(http.starts_with("HTTP/1.1 400 "));
  CHECK(http.find("this port needs TLS: the address begins with https://") != std::string::npos);
  CHECK(encrypted.lines().find("this port needs TLS") != std::string::npos);

  Served bare(std::nullopt);
  ClientOptions as = bare.options();
  const auto refused = Client::connect(as);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text.find("the server does not use TLS") != std::string::npos);
  CHECK(bare.lines().find("this port does not use TLS, and the client does") != std::string::npos);
}

TEST_CASE("only TLS 1.3 is spoken", "[tls]") {
  Served served(Certified({}));
  const auto shakes = [&](int version) {
    SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context, 0);
    SSL_CTX_set_max_proto_version(context, version);
    SSL_CTX_set_security_level(context, 0);
    SSL* const made = SSL_new(context);
    const int socket = plain_socket(served);
    SSL_set_fd(made, socket);
    const bool well = SSL_connect(made) == 1;
    if (well) {
      CHECK(SSL_get_current_compression(made) == nullptr);
      CHECK(SSL_renegotiate(made) == 0);
      CHECK_FALSE(SSL_session_reused(made));
    }
    SSL_free(made);
    SSL_CTX_free(context);
    ::close(socket);
    return well;
  };
  CHECK_FALSE(shakes(TLS1_VERSION));
  CHECK_FALSE(shakes(TLS1_1_VERSION));
  CHECK_FALSE(shakes(TLS1_2_VERSION));
  CHECK(shakes(TLS1_3_VERSION));
  CHECK(served.lines().find("the client does not support TLS 1.3") != std::string::npos);
}

TEST_CASE("a server listens beyond its machine with TLS only, and clients connect there with TLS only", "[tls]") {
  for (const char* listen : {"0.0.0.0:0", "[::]:0", "192.0.2.1:7717"}) {
    ServerOptions options;
    options.listen = listen;
    CHECK(failure(options).find("only loopback addresses") != std::string::npos);
  }
  ServerOptions options;
  options.listen = "0.0.0.0:0";
  options.self_signed = true;
  Served served(std::nullopt, options);
  CHECK(served.address.starts_with("0.0.0.0:"));
  CHECK(served.url.starts_with("https://"));
  const auto beside = read_address_file(served.folder / "w.muster").value();
  CHECK(beside.best() == "tls:127.0.0.1:" + served.port());
  CHECK(Client::connect({.address = beside.best(), .token = beside.token, .fingerprint = beside.fingerprint}));
  ifaddrs* all = nullptr;
  REQUIRE(::getifaddrs(&all) == 0);
  int reached = 0;
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET) continue;
    char text[64];
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
    if (std::string_view(text).starts_with("127.")) continue;
    ClientOptions as = served.options();
    as.address = std::string(text) + ":" + served.port();
    const auto client = Client::connect(as);
    reached += client.has_value();
    as.fingerprint.clear();
    const auto stranger = Client::connect(as);
    REQUIRE_FALSE(stranger);
    CHECK(stranger.error().text.find("issuer of the server's certificate is not trusted") != std::string::npos);
  }
  ::freeifaddrs(all);
  if (reached == 0) WARN("this machine has no address but those of the loopback interface");
}

TEST_CASE("a self-signed certificate is made once, readable by its owner only, and used again", "[tls]") {
  ServerOptions options;
  options.self_signed = true;
  const test::Folder folder;
  std::string first;
  for (int turn = 0; turn < 2; ++turn) {
    World world(folder / "w.muster", {}, test::saved_by_hand());
    options.listen = "127.0.0.1:0";
    options.page_folder = "none";
    const Server server(world, options);
    if (turn == 0) first = server.fingerprint();
    CHECK(server.fingerprint() == first);
    CHECK(first.size() == 64);
  }
  const auto mode = std::filesystem::status(folder / "w.muster-tls.pem").permissions();
  CHECK((mode & std::filesystem::perms(077)) == std::filesystem::perms::none);
  CHECK_FALSE(std::filesystem::exists(folder / "w.muster-tls.pem-new"));
}

TEST_CASE("a hundred sessions stay over a new certificate, and new ones get the new one", "[tls]") {
  const Certified before({}), after({});
  Served served(before);
  std::deque<Client> sessions;
  for (int i = 0; i < 100; ++i) sessions.push_back(Client::connect(served.options()).value());
  ClientOptions fresh = served.options();
  fresh.fingerprint = after.fingerprint();
  CHECK_FALSE(Client::connect(fresh));
  write_pair(served.folder, after);
  bool came = false;
  for (int i = 0; i < 200 && !came; ++i) {
    std::this_thread::sleep_for(50ms);
    came = Client::connect(fresh).has_value();
  }
  REQUIRE(came);
  CHECK_FALSE(Client::connect(served.options()));
  CHECK(read_address_file(served.folder / "w.muster").value().fingerprint == after.fingerprint());
  CHECK(served.lines().find("new certificate, valid until 20") != std::string::npos);
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    CHECK(sessions[i].create(Entity{}, "by " + std::to_string(i)));
    CHECK(sessions[i].ask(session::GetInfo{}));
  }
}

TEST_CASE("a new certificate that cannot be used is told once, and the old one stays", "[tls]") {
  std::atomic<std::uint64_t> asked = 0;
  ServerOptions options;
  options.certificate_asked = [&] { return asked.load(); };
  Served served(Certified({}), options);
  const auto waits_for = [&](const std::string& text) {
    for (int i = 0; i < 200; ++i) {
      if (served.lines().find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(50ms);
    }
    return false;
  };
  test::write_file(served.folder / "cert.pem", "nonsense");
  CHECK(waits_for("the certificate is not renewed, and the old one stays: " + (served.folder / "cert.pem") +
                  ": there is no certificate in PEM format in it"));
  CHECK(Client::connect(served.options()));
  const Certified other({});
  test::write_file(served.folder / "cert.pem", other.certificate());  // of another key
  ++asked;
  CHECK(waits_for("the key does not belong to the certificate"));
  std::filesystem::remove(served.folder / "cert.pem");
  CHECK(waits_for("the certificate cannot be read: No such file"));
  CHECK(Client::connect(served.options()));
  write_pair(served.folder, other);
  ++asked;
  CHECK(waits_for("new certificate, valid until 20"));
}

TEST_CASE("certificates, keys and proxies that cannot be used are refused at the start, by name", "[tls]") {
  const test::Folder folder;
  const Certified one({}), other({});
  const std::string cert = folder.write("cert.pem", one.certificate()), key = folder.write("key.pem", one.key());
  const auto with = [&](const std::string& certificate, const std::string& private_key) {
    ServerOptions options;
    options.certificate = certificate;
    options.key = private_key;
    return failure(options);
  };
  CHECK(with(cert, key) == "no failure");
  CHECK(with(cert, "").find("(--cert) and its key (--key) are needed together") != std::string::npos);
  CHECK(with("", key).find("are needed together") != std::string::npos);
  CHECK(with(folder / "no.pem", key) ==
        (folder / "no.pem") + ": the certificate cannot be read: No such file or directory");
  CHECK(with(folder.path(), key).find("the certificate cannot be read: not a regular file") != std::string::npos);
  CHECK(with(cert, folder.write("other.pem", other.key()))
            .find("the key does not belong to the certificate in " + cert) != std::string::npos);
  CHECK(with(cert, folder.write("encrypted.pem", one.key("password"))).find("the key is encrypted") !=
        std::string::npos);
  CHECK(with(cert, folder.write("empty.pem", "")).find("empty.pem: there is no private key") != std::string::npos);
  CHECK(with(key, key).find("key.pem: there is no certificate") != std::string::npos);
  {
    World world(folder / "linked.muster", {}, test::saved_by_hand());
    std::filesystem::create_symlink(cert, folder / "linked.muster-tls.pem");
    try {
      const Server server(world, {.listen = "127.0.0.1:0", .self_signed = true, .page_folder = "none"});
      FAIL("a link was used");
    } catch (const ServerError& error) {
      CHECK(std::string(error.what()).find("not a regular file") != std::string::npos);
    }
  }
  ServerOptions options;
  options.self_signed = true;
  options.certificate = cert;
  options.key = key;
  CHECK(failure(options).find("exclude each other") != std::string::npos);
  ServerOptions proxied;
  proxied.proxies = {"proxy.example"};
  CHECK(failure(proxied) == "--behind-proxy: 'proxy.example' is not an IP address");
}

TEST_CASE("over TLS, pages of other origins and other hosts are refused, and the certificate's names are ours",
          "[tls]") {
  Served served(Certified({.names = {"studio.example", "*.lab.example"}}));
  const auto status = [&](const std::string& host, const std::string& origin = {}) {
    return https(served, "Host: " + host + ":" + served.port() + "\r\n" +
                             (origin.empty() ? "" : "Origin: " + origin + ":" + served.port() + "\r\n"))
        .substr(9, 3);
  };
  for (const char* ours :
       {"localhost", "127.0.0.1", "10.0.0.7", "[::1]", "studio.example", "Studio.example", "a.lab.example"})
    CHECK(status(ours) == "200");
  for (const char* other : {"evil.example", "studio.example.evil.example", "lab.example", "a.b.lab.example", ""})
    CHECK(status(other) == "421");
  CHECK(status("studio.example", "https://studio.example") == "200");
  CHECK(status("studio.example", "http://studio.example") == "403");
  CHECK(status("studio.example", "https://evil.example") == "403");
  CHECK(https(served, "Host: studio.example\r\n").substr(9, 3) == "421");  // another port
}

TEST_CASE("over TLS, a page is served whole, and its WebSocket opens a session", "[tls]") {
  const test::Folder page;
  page.write("index.html", "<!doctype html>");
  page.write("big.js", std::string(500'000, 'x'));
  ServerOptions options;
  options.page_folder = page.path();
  Served served(Certified({}), options);
  const auto open = [&] {
    return ByteStream::connect("tls:" + served.address, in_5_s(), {.fingerprint = served.fingerprint}).value();
  };
  const std::string host = "Host: " + served.address + "\r\n";
  const std::string big = answer_to(open(), "GET /big.js HTTP/1.1\r\nConnection: close\r\n" + host + "\r\n");
  CHECK(big.starts_with("HTTP/1.1 200 "));
  CHECK(big.ends_with("\r\n\r\n" + std::string(500'000, 'x')));
  CHECK(big.find(" wss://" + served.address + " ") != std::string::npos);  // in its Content-Security-Policy
  CHECK(served.url == "https://" + served.address + "/#token=" + served.token);

  session::Hello hello;
  hello.protocol = hello.protocol_oldest = session::protocol_newest;
  hello.token = served.token;
  BatchBuilder batch;
  session::append(batch, hello);
  std::vector<std::byte> frame;
  append_frame(frame, batch.bytes(), 1);
  ByteStream web = open();
  send_all(web, "GET /session HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nOrigin: https://" +
                    served.address +
                    "\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" + host + "\r\n");
  CHECK(receive(web, "\r\n\r\n").starts_with("HTTP/1.1 101 "));
  const auto message = [](int opcode, std::string_view content) {
    std::string head{static_cast<char>(0x80 | opcode)};
    if (content.size() < 126)
      head += static_cast<char>(0x80 | content.size());
    else
      head += {static_cast<char>(0xfe), static_cast<char>(content.size() >> 8), static_cast<char>(content.size())};
    return head + std::string(4, '\0') + std::string(content);  // the mask changes nothing
  };
  send_all(web, message(2, {reinterpret_cast<const char*>(frame.data()), frame.size()}));
  const std::string welcome = receive(web, "w.muster");  // a Welcome names the world
  CHECK(welcome.starts_with("\x82"));
  CHECK(welcome.find("w.muster") != std::string::npos);
  send_all(web, message(8, std::string_view("\x03\xe8", 2)));  // close
  CHECK(receive(web).starts_with("\x88"));
}

TEST_CASE("a certificate that expires is told", "[tls]") {
  const auto told = [](int to_days) {
    Served served(Certified({.from_days = -9, .to_days = to_days}));
    for (int i = 0; i < 40; ++i) {
      if (served.lines().find("the certificate expire") != std::string::npos) break;
      std::this_thread::sleep_for(25ms);
    }
    return served.lines();
  };
  CHECK(told(-2).find("the certificate expired on 20") != std::string::npos);
  CHECK(told(3).find("the certificate expires on 20") != std::string::npos);
  CHECK(told(30).find("the certificate expire") == std::string::npos);
}

TEST_CASE("a client that does not complete the handshake is closed when the time for a Hello is over", "[tls]") {
  ServerOptions options;
  options.limits.hello_time_max = 200ms;
  Served served(Certified({}), options);
  for (const std::string_view begun :
       {std::string_view("\x16", 1), std::string_view("\x16\x03\x01\x02\x00\x01", 6), std::string_view()}) {
    const int socket = plain_socket(served);
    REQUIRE(::send(socket, begun.data(), begun.size(), 0) == static_cast<ssize_t>(begun.size()));
    CHECK(is_closed(socket));
    ::close(socket);
  }
}

TEST_CASE("bytes that are no handshake end their connection, and nothing else", "[tls]") {
  Served served(Certified({}));
  Client before = Client::connect(served.options()).value();
  std::uint32_t random = 12345;
  const auto next = [&] { return random = random * 1664525u + 1013904223u; };
  for (int i = 0; i < 100; ++i) {
    std::string bytes(std::string_view("\x16\x03\x01", 3));
    bytes += '\0';
    bytes += static_cast<char>(next() >> 24);
    for (std::uint32_t left = next() >> 23; left > 0; --left) bytes += static_cast<char>(next() >> 24);
    const int socket = plain_socket(served);
    CHECK(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0);
    ::shutdown(socket, SHUT_WR);
    CHECK(is_closed(socket));
    ::close(socket);
  }
  CHECK(before.ask(session::GetInfo{}));
  CHECK(Client::connect(served.options()));
}

}  // namespace tls_test

// HTTP on the port where frames are spoken: what decides, what is bounded, who takes whose place.
#include <catch2/catch.hpp>
#include <deque>
#include <filesystem>

#include "tests/server/door/web_client.h"
#include "tests/server/live_world.h"
#include "tests/support/folder.h"

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

struct Served {
  test::Folder folder;
  LiveWorld world;
  explicit Served(LiveWorldOptions options = {}) : world(with_files(std::move(options))) {}

  LiveWorldOptions with_files(LiveWorldOptions options) const {
    std::filesystem::create_directories(folder / "page");
    test::write_file(folder / "page/index.html", "<!doctype html>");
    test::write_file(folder / "page/big.js", std::string(300'000, 'x'));
    std::string big;
    for (int i = 0; big.size() < 1'000'000; ++i) big += std::to_string(i);
    test::write_file(folder / "big.glb", big);
    options.page_folder = folder / "page";
    options.files_folder = folder.path();
    return options;
  }
  std::string address() const { return world.address(); }
};

const std::string bearer = std::string("Authorization: Bearer ") + token;

}  // namespace

TEST_CASE("a page, a model, health and figures are answered on one connection", "[web]") {
  Served served;
  HttpClient client(served.address());
  const HttpReply page = client.get("/");
  CHECK(page.status == 200);
  CHECK(page.body == "<!doctype html>");
  CHECK(page.fields.at("x-content-type-options") == "nosniff");
  CHECK(page.fields.at("content-security-policy").starts_with("default-src 'none'"));
  CHECK(client.get("/big.js").body == std::string(300'000, 'x'));
  CHECK(client.get("/big.js", {"Accept-Encoding: gzip"}).body.size() < 3000);
  CHECK(client.get("/world/big.glb", {bearer}).body == test::read_file(served.folder / "big.glb"));
  CHECK(client.get("/world/big.glb").status == 401);
  CHECK(client.get("/health").body == "ok\n");
  const HttpReply metrics = client.get("/metrics");
  CHECK(metrics.fields.at("content-type").starts_with("text/plain; version=0.0.4"));
  CHECK(metrics.body.find("\nmuster_connections 1\n") != std::string::npos);
  CHECK(metrics.body.find("\nmuster_sessions 0\n") != std::string::npos);
  client.send(client.request("/big.js", {}, "HEAD"));
  const auto head = client.receive(true);
  REQUIRE(head);
  CHECK(head->fields.at("content-length") == "300000");
  CHECK(client.get("/nothing").status == 404);
  client.send(client.request("/", {"Connection: close"}));
  CHECK(client.receive()->status == 200);
  CHECK(client.closed());
}

TEST_CASE("an upgrade opens a session wherever its bytes are cut, and however slowly they come", "[web]") {
  Served served;
  const std::string request = HttpClient(served.address()).request("/session", WebClient::upgrade_lines());
  for (std::size_t cut = 1; cut < request.size(); ++cut) {
    WebClient client(served.address());
    client.send(request.substr(0, cut));
    if (cut < 8 || cut % 16 == 0) std::this_thread::sleep_for(2ms);  // else they may arrive as one
    client.send(request.substr(cut));
    const auto reply = client.receive();
    REQUIRE(reply);
    REQUIRE(reply->status == 101);
    CHECK(reply->fields.at("sec-websocket-accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    CHECK_FALSE(reply->fields.contains("sec-websocket-extensions"));
  }
  WebClient client(served.address());
  for (const char letter : request) client.send(std::string(1, letter));
  CHECK(client.receive()->status == 101);
}

TEST_CASE("frames are told from HTTP also where their first bytes come one by one", "[web]") {
  Served served;
  RawClient client(served.address());
  BatchBuilder builder;
  session::append(builder, hello_with());
  std::vector<std::byte> frame;
  append_frame(frame, builder.bytes(), 1);
  for (std::size_t i = 0; i < frame.size(); ++i) {
    client.send(std::span(frame).subspan(i, 1));
    if (i < 6) std::this_thread::sleep_for(2ms);
  }
  CHECK(client.receive()->is<session::Welcome>());
}

TEST_CASE("pages of another origin and under another name are refused, WebSockets too", "[web]") {
  Served served;
  HttpClient client(served.address());
  CHECK(client.get("/", {"Origin: http://evil.example"}).status == 403);
  CHECK(client.get("/", {"Origin: http://" + served.address()}).status == 200);
  auto lines = WebClient::upgrade_lines();
  lines.push_back("Origin: http://evil.example");
  CHECK(client.get("/session", lines).status == 403);
  lines.back() = "Origin: null";
  CHECK(client.get("/session", lines).status == 403);
  client.send("GET / HTTP/1.1\r\nHost: rebound.example:80\r\n\r\n");
  CHECK(client.receive()->status == 421);
  lines.back() = "Origin: http://" + served.address();
  CHECK(client.get("/session", lines).status == 101);
}

TEST_CASE("a request line with the whole address is answered, and its host is judged in place of Host", "[web]") {
  Served served;
  HttpClient client(served.address());
  const auto status = [&](const std::string& target, const std::string& host, const std::string& more = {}) {
    client.send("GET http://" + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n");
    return client.receive()->status;
  };
  CHECK(status(served.address() + "/health", served.address()) == 200);
  CHECK(status(served.address() + "/health", "proxy.example") == 200);
  CHECK(status("rebound.example/health", served.address()) == 421);
  CHECK(status(served.address() + "/health", served.address(), "Origin: http://evil.example\r\n") == 403);
  std::string upgrade;
  for (const std::string& line : WebClient::upgrade_lines()) upgrade += line + "\r\n";
  CHECK(status(served.address() + "/session", served.address(), upgrade) == 101);
}

TEST_CASE("what is not answered is refused with a status and a sentence, and a body ends the connection", "[web]") {
  Served served;
  const auto refused = [&](const std::string& text) {
    HttpClient client(served.address());
    client.send(text);
    const auto reply = client.receive();
    REQUIRE(reply);
    CHECK_FALSE(reply->body.empty());
    CHECK(client.closed());
    return reply->status;
  };
  const std::string host = "Host: " + served.address() + "\r\n";
  CHECK(refused("POST / HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nhello") == 405);
  CHECK(refused("GET / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n5\r\nGET /\r\n0\r\n\r\n") == 400);
  CHECK(refused("GET / HTTP/1.1\r\n" + host + "Connection: close\r\nOrigin: x\r\n\r\n") == 403);
  CHECK(refused("GET / HTTP/2.0\r\n" + host + "\r\n") == 505);
  CHECK(refused("GET  HTTP/1.1\r\n" + host + "\r\n") == 400);
  CHECK(refused("GET /" + std::string(20'000, 'a')) == 431);
  CHECK(refused("GET /session HTTP/1.1\r\n" + host +
                "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\x82\x80zzzz") == 400);
  WebClient client(served.address());
  client.send(
      "GET /session HTTP/1.1\r\n" + host +
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n");
  CHECK(client.receive()->status == 400);
}

TEST_CASE("requests that come together are answered in their order", "[web]") {
  Served served;
  HttpClient client(served.address());
  client.send(client.request("/") + client.request("/health") + client.request("/big.js") + client.request("/nothing") +
              client.request("/"));
  CHECK(client.receive()->body == "<!doctype html>");
  CHECK(client.receive()->body == "ok\n");
  CHECK(client.receive()->body.size() == 300'000);
  CHECK(client.receive()->status == 404);
  CHECK(client.receive()->status == 200);
}

TEST_CASE("who does not finish a request is answered 408, and who asks nothing more is closed", "[web]") {
  LiveWorldOptions options;
  options.limits.hello_time_max = 100ms;
  Served served(std::move(options));
  HttpClient slow(served.address());
  slow.send("GET / HTTP/1.1\r\nHost:");
  const auto late = slow.receive();
  REQUIRE(late);
  CHECK(late->status == 408);
  CHECK(slow.closed());
  HttpClient idle(served.address());
  CHECK(idle.get("/").status == 200);
  CHECK(idle.closed());
  WebClient silent(served.address());
  silent.open();  // and says no Hello
  const auto fault = silent.receive_frame();
  REQUIRE(fault);
  CHECK(fault->opcode == WebClient::binary);
  const auto close = silent.receive_frame();
  REQUIRE(close);
  CHECK(close->opcode == WebClient::close);
  CHECK(close->code() == 1008);
}

TEST_CASE("HTTP and WebSockets without a Hello take no session's place, and each other's when they are many", "[web]") {
  LiveWorldOptions options;
  options.limits.sessions_max = 2;
  options.limits.reserved_sessions = 0;
  options.limits.strangers_max = 8;
  options.limits.hello_time_max = 60s;
  Served served(std::move(options));
  std::deque<WebClient> open;
  std::deque<Client> sessions;
  const auto crowd = [&] {
    for (int i = 0; i < 20; ++i) {
      open.emplace_back(served.address());
      if (i % 2 == 0)
        CHECK(open.back().get("/").status == 200);
      else
        open.back().open();
    }
  };
  crowd();
  for (int i = 0; i < 2; ++i) {
    sessions.push_back(served.world.client());
    crowd();
  }
  for (Client& session : sessions) CHECK(session.ask<muster::session::GetInfo>().value().sessions == 2);
  CHECK(served.world.listener().streams() <= 2 + 8 + 1);
  CHECK(open.front().closed());
}

TEST_CASE("a wrong token for a file waits as one in a Hello does", "[web]") {
  LiveWorldOptions options;
  options.limits.wrong_token_delay_max = 300ms;
  Served served(std::move(options));
  HttpClient client(served.address());
  const auto takes = [&](const std::string& line) {
    const auto start = std::chrono::steady_clock::now();
    CHECK(client.get("/world/big.glb", {line}).status == (line == bearer ? 200 : 401));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (int i = 0; i < 3; ++i) (void)takes("Authorization: Bearer wrong");
  CHECK(takes("Authorization: Bearer wrong") >= 0.095);
  CHECK(takes("Authorization: Bearer wrong") >= 0.195);
  CHECK(takes(bearer) < 0.19);
}

TEST_CASE("while the world does not answer, health says so within its time", "[web]") {
  Served served;
  HttpClient client(served.address());
  served.world.hold(true);
  CHECK(client.get("/health").status == 503);
  served.world.hold(false);
  CHECK(client.get("/health").status == 200);
}

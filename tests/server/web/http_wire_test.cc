#include <catch2/catch.hpp>
#include <cstring>

#include "server/web/http_wire.h"

namespace http_wire_test {

using namespace muster;

namespace {

/// Everything that a stream says, in one line for each request or fault. `step`: bytes of a piece.
std::string said(std::string_view stream, std::size_t first_piece, std::size_t step = 1u << 20) {
  HttpReader reader(8192);
  std::string out;
  std::size_t piece = first_piece;
  while (true) {
    while (true) {
      const auto request = reader.next();
      if (!request) return out + "fault " + std::to_string(request.error().status) + " " + request.error().text;
      if (!*request) break;
      const HttpRequest& asked = **request;
      out += asked.method + " " + asked.target + " " + std::to_string(asked.hosts.size()) + asked.authorization + "," +
             asked.accept_encoding + "," + asked.if_none_match + "," + asked.web_key + asked.web_version +
             (asked.upgrades ? "U" : "") + (asked.has_body ? "B" : "") + (asked.keeps_alive ? "K" : "") + "\n";
      if (asked.has_body) return out;
    }
    if (stream.empty()) return out + (reader.has_more() ? "more" : "");
    const auto room = reader.room();
    REQUIRE_FALSE(room.empty());
    const std::size_t bytes = std::min({piece, room.size(), stream.size()});
    std::memcpy(room.data(), stream.data(), bytes);
    reader.received(bytes);
    stream.remove_prefix(bytes);
    piece = step;
  }
}

const std::string upgrade =
    "GET /session HTTP/1.1\r\nHost: localhost:7717\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: http://localhost:7717\r\n\r\n";

}  // namespace

TEST_CASE("a request is the same wherever its bytes are cut", "[http]") {
  const std::string whole = said(upgrade, upgrade.size());
  CHECK(whole == "GET /session 1,,,dGhlIHNhbXBsZSBub25jZQ==13UK\n");
  for (std::size_t cut = 1; cut < upgrade.size(); ++cut) {
    CHECK(said(upgrade, cut) == whole);
    CHECK(said(upgrade.substr(0, cut), cut) == "more");
  }
  CHECK(said(upgrade, 1, 1) == whole);
}

TEST_CASE("requests that come together are taken one after the other", "[http]") {
  const std::string two =
      upgrade + "HEAD /a HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"t\"\r\nConnection: close\r\n\r\nGET";
  CHECK(said(two, two.size()) == "GET /session 1,,,dGhlIHNhbXBsZSBub25jZQ==13UK\nHEAD /a 1,,\"t\",\nmore");
  CHECK(said(two, 7, 7) == said(two, two.size()));
}

TEST_CASE("a request line may hold the whole address, which then names the host", "[http]") {
  const auto taken = [](const std::string& target, const std::string& hosts = "Host: other:1\r\n") {
    const std::string stream = "GET " + target + " HTTP/1.1\r\n" + hosts + "\r\n";
    HttpReader reader(8192);
    std::memcpy(reader.room().data(), stream.data(), stream.size());
    reader.received(stream.size());
    const HttpRequest request = reader.next().value().value();
    std::string text = request.target;
    for (const std::string& host : request.hosts) text += " " + host;
    return text;
  };
  CHECK(taken("http://localhost:7717/health?x=1") == "/health?x=1 localhost:7717");
  CHECK(taken("HTTP://[::1]:7717/a/b") == "/a/b [::1]:7717");
  CHECK(taken("http://localhost:7717") == "/ localhost:7717");
  CHECK(taken("http://localhost:7717?x=http://y/z") == "/?x=http://y/z localhost:7717");
  CHECK(taken("http:///health") == "/health ");
  CHECK(taken("http://evil.example/health") == "/health evil.example");
  CHECK(taken("http://me@localhost:7717/health") == "/health me@localhost:7717");
  // Other schemes, other forms, and a request without exactly one Host stay as they came.
  CHECK(taken("https://localhost:7717/health") == "https://localhost:7717/health other:1");
  CHECK(taken("/http://localhost:7717/") == "/http://localhost:7717/ other:1");
  CHECK(taken("*") == "* other:1");
  CHECK(taken("http://localhost:7717/health", "") == "http://localhost:7717/health");
  CHECK(taken("http://localhost:7717/health", "Host: a\r\nHost: b\r\n") == "http://localhost:7717/health a b");
}

TEST_CASE("what is no request has its reason, and a head that is too long its own", "[http]") {
  const auto begins = [](const std::string& text, const std::string& with) {
    return text.substr(0, with.size()) == with;
  };
  CHECK(begins(said("GET / HTTP/2.0\r\n\r\n", 99), "fault 505"));
  CHECK(begins(said("GET\r\n\r\n", 99), "fault 400 this is not an HTTP request"));
  CHECK(begins(said("GET / HTTP/1.1\r\nno colon\r\n\r\n", 99), "fault 400"));
  CHECK(begins(said("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 99), "fault 400"));
  CHECK(begins(said("GET / HTTP/1.1\r\nA: b\x01\r\n\r\n", 99), "fault 400"));
  const std::string endless = "GET /" + std::string(20'000, 'a');
  CHECK(begins(said(endless, 1u << 20), "fault 431"));
  CHECK(begins(said(endless, 100, 100), "fault 431"));
  CHECK(said("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 99) == "POST / 0,,,BK\n");
  CHECK(said("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 99) == "GET / 0,,,BK\n");
  CHECK(said("GET / HTTP/1.0\r\n\r\n", 99) == "GET / 0,,,\n");
}

TEST_CASE("no frame that may come first begins like HTTP, and every method does", "[http]") {
  const auto begins = [](std::string_view text) { return begins_http(std::as_bytes(std::span(text))); };
  for (const char* method : {"GET /", "HEAD /", "POST /", "PUT /", "DELETE /", "OPTIONS *", "PATCH /", "CONNECT x"})
    CHECK(begins(method));
  CHECK_FALSE(begins({"\x30\x00\x00\x00", 4}));
  CHECK_FALSE(begins({"GE\0\0", 4}));
  CHECK_FALSE(begins({"\0\0\x10\0", 4}));
  CHECK_FALSE(begins("\x16\x03\x01\x02"));
  CHECK_FALSE(begins("get /"));
}

TEST_CASE("the head of an answer tells length, date and whether more may follow", "[http]") {
  HttpAnswer answer = http_sentence(404, "there is no such file");
  CHECK(http_head(answer, true, 784111777) ==
        "HTTP/1.1 404 Not Found\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/plain; charset=utf-8\r\n"
        "Content-Length: 22\r\nConnection: keep-alive\r\n\r\n");
  answer.status = 304;
  CHECK(http_head(answer, false, 0).find("Content-Length") == std::string::npos);
  CHECK(http_head(answer, false, 0).find("Connection: close\r\n") != std::string::npos);
}

}  // namespace http_wire_test

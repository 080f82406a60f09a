// Figures of the world for /health and /metrics, asked of another thread than that which answers.
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "server/desk/asked_figures.h"
#include "server/door/http_connection.h"
#include "server/door/session_protocol.h"
#include "tests/server/door/test_loop.h"
#include "tests/server/hand_world.h"

using namespace muster;
using namespace muster::testing;

namespace {

/// A world that somebody asks for /health.
struct Visit {
  std::string hang;
  EntityRegistry registry;
  HandWorld world;
  Desk desk{registry, world, {}};
  Door door{desk, Users({}, ""), {}, Refusals({}, std::chrono::nanoseconds(0))};
  TestLoop loop;
  Site site{
      {},
      WorldFiles("", ""),
      7717,
      [](std::string_view) { return false; },
      asked_figures(desk, [this](auto time, auto then) { loop.call_in(time, std::move(then)); }, [] { return 1u; })};
  HttpHost http{
      desk.limits(), door.refusals, loop, site.rules(),
      [this](const HttpRequest& request, const RequestSource& source) { return site.reply(request, source); }};
  std::string written;
  std::shared_ptr<ServedStream> connection = open_http_connection(
      std::make_unique<SilentStream>(loop, "GET /health HTTP/1.1\r\nHost: 127.0.0.1:7717\r\n\r\n", written), http,
      "127.0.0.1", {}, {[] {}, [] {}}, {});

  explicit Visit(std::string hanging = {}) : hang(std::move(hanging)) {
    world.gives_hang = [this] { return hang; };
    loop.step();  // reads
    loop.step();  // takes the request, and asks the world
  }
  ~Visit() { end(); }
  /// A stream that waits for bytes holds its connection until it is closed.
  void end() {
    if (connection) connection->stop();
    loop.run();
    connection.reset();
    loop.run();
  }
  void flush() {
    desk.before_flush();
    registry.flush();
    desk.after_flush(registry);
  }
};

}  // namespace

TEST_CASE("figures for a connection that is over are told to nobody, and its loop is not touched", "[door]") {
  Visit visit;
  visit.loop.run();
  REQUIRE(visit.written.starts_with("HTTP/1.1 503 "));  // in this loop what is to wait has waited
  SECTION("it is there") {
    visit.flush();
    visit.loop.run();
    CHECK(visit.written.find("200 OK") == std::string::npos);  // it has its answer
  }
  SECTION("it is over") {
    visit.end();
    visit.flush();
    CHECK_FALSE(visit.loop.step());
  }
}

TEST_CASE("health is told at once which handler does not return", "[door]") {
  Visit visit("input 7 has been in work for 5 s: in handler \"a\" of b");
  visit.loop.step();  // takes the answer
  CHECK(visit.written.starts_with("HTTP/1.1 503 "));
  CHECK(visit.written.ends_with(
      "\r\n\r\nthe world does not answer: input 7 has been in work for 5 s: in handler \"a\" of b\n"));
}

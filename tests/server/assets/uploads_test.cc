// Assets over HTTP: who may list, upload and rename them, and what becomes of bodies that are cut,
// too long, or come in pieces.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/server/door/web_client.h"
#include "tests/server/live_world.h"
#include "tests/support/folder.h"

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

std::string bearer(const std::string& of) { return "Authorization: Bearer " + of; }

struct Served {
  test::Folder folder;
  LiveWorld world{{.files_folder = folder.path()}};
  std::string editor = bearer(editor_token), viewer = bearer(viewer_token);

  HttpReply ask(const std::string& method, const std::string& path, const std::string& who,
                const std::string& body = {}) {
    HttpClient client(world.address());
    std::vector<std::string> lines;
    if (!who.empty()) lines.push_back(who);
    if (method == "PUT") lines.push_back("Content-Length: " + std::to_string(body.size()));
    client.send(client.request(path, lines, method) + body);
    auto reply = client.receive();
    if (!reply) throw std::runtime_error("no answer to " + method + " " + path);
    return *reply;
  }
  /// Waits up to 5 s until there are so many files, hidden ones too.
  bool holds(std::ptrdiff_t files) const {
    for (int tries = 0; tries < 2500; ++tries) {
      if (std::distance(std::filesystem::directory_iterator(folder / "assets"), {}) == files) return true;
      std::this_thread::sleep_for(2ms);
    }
    return false;
  }
  std::string content(const std::string& path) const { return test::read_file(folder / ("assets/" + path)); }
};

}  // namespace

TEST_CASE("a file is uploaded, listed, read, replaced and renamed", "[assets]") {
  Served served;
  CHECK(served.ask("GET", "/files", served.viewer).body ==
        "{\"bytes_max\": 268435456, \"is_cut\": false, \"files\": []}\n");
  std::string big;
  for (int i = 0; big.size() < 1'000'000; ++i) big += std::to_string(i);
  CHECK(served.ask("PUT", "/files/trees/oak%20tree.glb", served.editor, big).status == 200);
  CHECK(served.content("trees/oak tree.glb") == big);
  CHECK(served.ask("GET", "/world/assets/trees/oak%20tree.glb", served.viewer).body == big);
  const HttpReply list = served.ask("GET", "/files", served.viewer);
  CHECK(list.body.find("{\"path\": \"assets/trees/oak tree.glb\", \"bytes\": " + std::to_string(big.size())) !=
        std::string::npos);
  HttpClient again(served.world.address());
  const auto known = again.get("/files", {served.viewer, "If-None-Match: " + list.fields.at("etag")});
  CHECK(known.status == 304);
  CHECK(served.ask("PUT", "/files/trees/oak%20tree.glb", served.editor, "x").status == 409);
  CHECK(served.ask("PUT", "/files/trees/oak%20tree.glb?replace", served.editor, "").status == 200);
  CHECK(served.content("trees/oak tree.glb").empty());
  CHECK(served.ask("POST", "/files/trees/oak%20tree.glb?to=elm/50%25.glb", served.editor).status == 200);
  CHECK(served.ask("GET", "/files", served.viewer).body.find("assets/elm/50%.glb") != std::string::npos);
}

TEST_CASE("who may only view changes no assets, and a stranger sees none", "[assets]") {
  Served served;
  REQUIRE(served.ask("PUT", "/files/a.glb", served.editor, "a").status == 200);
  CHECK(served.ask("PUT", "/files/b.glb", served.viewer, "b").status == 403);
  CHECK(served.ask("POST", "/files/a.glb?to=b.glb", served.viewer).status == 403);
  for (const std::string& who : {std::string(), bearer("not a token")}) {
    CHECK(served.ask("GET", "/files", who).status == 401);
    CHECK(served.ask("PUT", "/files/b.glb", who, "b").status == 401);
    CHECK(served.ask("POST", "/files/a.glb?to=b.glb", who).status == 401);
  }
  HttpClient client(served.world.address());
  client.send(
      client.request("/files/b.glb", {served.editor, "Origin: http://evil.example", "Content-Length: 1"}, "PUT") + "b");
  CHECK(client.receive()->status == 403);
  CHECK(served.ask("DELETE", "/files/a.glb", served.editor).status == 405);
  CHECK(served.ask("POST", "/files", served.editor).status == 405);
  CHECK(served.content("a.glb") == "a");
  CHECK_FALSE(std::filesystem::exists(served.folder / "assets/b.glb"));
}

TEST_CASE("paths that lead elsewhere and bodies of unknown or excessive length are refused", "[assets]") {
  Served served;
  for (const char* path : {"/files/..%2fa.glb", "/files/../a.glb", "/files/%2e%2e/a.glb", "/files/a%00.glb",
                           "/files/a%0a.glb", "/files/a.html", "/files/a%ff.glb", "/files//a.glb", "/files/a.glb/"}) {
    INFO(path);
    CHECK(served.ask("PUT", path, served.editor, "x").status == 400);
  }
  CHECK(served.ask("POST", "/files/a.glb", served.editor).status == 400);
  CHECK(served.ask("POST", "/files/a.glb?to=../b.glb", served.editor).status == 400);
  const auto status = [&](const std::string& line, const std::string& body) {
    HttpClient client(served.world.address());
    client.send(client.request("/files/a.glb", {served.editor, line}, "PUT") + body);
    return client.receive()->status;
  };
  CHECK(status("Transfer-Encoding: chunked", "1\r\nx\r\n0\r\n\r\n") == 411);
  CHECK(status("Content-Length: 268435457", "x") == 413);
  CHECK(status("Content-Length: 99999999999999999999999", "x") == 400);
  CHECK_FALSE(std::filesystem::exists(served.folder / "assets"));
}

TEST_CASE("a body may come in pieces, and one that is cut leaves nothing", "[assets]") {
  Served served;
  {
    HttpClient client(served.world.address());
    client.send(client.request("/files/a.glb", {served.editor, "Content-Length: 6"}, "PUT"));
    for (const char letter : std::string("pieces")) {
      client.send(std::string(1, letter));
      std::this_thread::sleep_for(2ms);
    }
    CHECK(client.receive()->status == 200);
    CHECK(client.closed());
  }
  CHECK(served.content("a.glb") == "pieces");
  {
    HttpClient client(served.world.address());
    client.send(client.request("/files/b.glb", {served.editor, "Content-Length: 1000"}, "PUT") + "half");
    CHECK(served.holds(2));  // the upload has begun
  }
  CHECK(served.holds(1));
  CHECK(served.ask("GET", "/files", served.viewer).body.find("b.glb") == std::string::npos);
}

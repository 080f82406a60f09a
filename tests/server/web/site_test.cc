// Who may have what over HTTP.
#include <catch2/catch.hpp>
#include <filesystem>

#include "server/web/site.h"
#include "server/web/web_address.h"
#include "system/percent_encoding.h"
#include "tests/support/folder.h"

namespace site_test {

using namespace muster;

namespace {

constexpr std::uint16_t port = 7717;

HttpRequest asking(const std::string& target) {
  HttpRequest request;
  request.method = "GET";
  request.target = target;
  request.hosts = {"127.0.0.1:7717"};
  request.keeps_alive = true;
  return request;
}

std::string field(const HttpAnswer& answer, const std::string& name) {
  for (const auto& [known, value] : answer.fields)
    if (known == name) return value;
  return {};
}

struct Served {
  test::Folder folder;
  Site site;
  Served() : site(make()) {}

  Site make() {
    namespace fs = std::filesystem;
    const std::string page = folder / "page", files = folder / "world";
    fs::create_directories(page + "/assets/.hidden");
    fs::create_directories(files + "/models/deep");
    test::write_file(page + "/index.html", "<!doctype html>" + std::string(2000, ' '));
    test::write_file(page + "/assets/x.js", "x");
    test::write_file(page + "/.secret", "secret");
    test::write_file(page + "/assets/.hidden/x.js", "secret");
    for (const char* name :
         {"/town.muster", "/town.muster-wal", "/town.muster-lock", "/town.muster-server.json", "/a.glb", "/notes.txt",
          "/.hidden.glb", "/models/deep/b.bin", "/models/50%?.png", "/town.muster-x.bin"})
      test::write_file(files + name, "content");
    test::write_file(folder / "outside.glb", "secret");
    fs::create_symlink(folder / "outside.glb", files + "/out.glb");
    fs::create_symlink(folder.path(), files + "/up");
    fs::create_symlink(files + "/a.glb", files + "/within.glb");
    fs::create_symlink(files + "/town.muster", files + "/world.glb");
    fs::create_hard_link(files + "/town.muster", files + "/hard.glb");
    fs::create_symlink("/dev/zero", files + "/zero.bin");
    fs::create_directories(files + "/models/.drafts");
    test::write_file(files + "/models/.drafts/x.glb", "secret");
    fs::create_symlink(files + "/models/.drafts", files + "/drafts");
    fs::create_symlink(files + "/.hidden.glb", files + "/shown.glb");
    return Site(
        PageFiles::read(page).value(), WorldFiles(files, "town.muster"), port,
        [](std::string_view token) { return token == "right" || token == "viewer"; },
        [](bool metrics, const std::function<void(HttpAnswer)>& then) {
          then(http_sentence(200, metrics ? "metrics" : "health"));
        },
        {[](std::string_view token) { return token == "right"; },
         [](const std::function<void(HttpAnswer)>& then) { then(http_sentence(200, "a slice")); }},
        {}, [](std::string_view token) { return token == "right"; });
  }
  Site::Reply ask(HttpRequest request, bool is_local = true) const {
    Site::Reply reply = site.reply(request, {.address = is_local ? "127.0.0.1" : "192.0.2.1"});
    if (reply.kind == Site::Reply::Kind::file) reply = {Site::Reply::Kind::answer, reply.open()};
    return reply;
  }
  int world(const std::string& path, const std::string& token = "right") const {
    HttpRequest request = asking("/world" + path);
    request.authorization = "Bearer " + token;
    return static_cast<int>(ask(request).answer.status);
  }
};

}  // namespace

TEST_CASE("only loopback names with our port are our Host", "[site]") {
  for (const char* ours : {"localhost:7717", "LocalHost:7717", "127.0.0.1:7717", "127.8.9.1:7717", "[::1]:7717"})
    CHECK(is_own_host(ours, port));
  for (const char* other : {"",
                            ":7717",
                            "localhost",
                            "localhost:",
                            "localhost:771",
                            "localhost:77170",
                            "localhost:0x1e25",
                            "localhost:+7717",
                            "localhost:7717 ",
                            "evil.example:7717",
                            "localhost.evil.example:7717",
                            "127.0.0.1.evil.example:7717",
                            "192.168.0.1:7717",
                            "[::2]:7717",
                            "::1:7717",
                            "[::1]",
                            "127.0.0.1:7717:7717",
                            "user@localhost:7717",
                            "2130706433:7717",
                            "127.1:7717"})
    CHECK_FALSE(is_own_host(other, port));
  CHECK(is_own_host("localhost", 80));
}

TEST_CASE("a path's parts name files below a folder and nothing else", "[site]") {
  using Parts = std::vector<std::string>;
  CHECK(path_of("/") == Parts{});
  CHECK(path_of("/?x=/../") == Parts{});
  CHECK(path_of("/a/b%20c.js?d") == Parts{"a", "b c.js"});
  for (const char* bad : {"",
                          "a",
                          "//",
                          "/a//b",
                          "/a/",
                          "/..",
                          "/a/../b",
                          "/%2e%2e/b",
                          "/a/.b",
                          "/%2E",
                          "/a%2fb",
                          "/a%5cb",
                          "/a\\b",
                          "/a%00b",
                          "/a%0ab",
                          "/%",
                          "/%2",
                          "/%zz",
                          "http://localhost/",
                          "*",
                          "/a/%2e%2e%2fb"})
    CHECK_FALSE(path_of(bad));
}

TEST_CASE("any text can be a part of a URL", "[site]") {
  CHECK(escaped("") == "");
  CHECK(escaped("az-AZ.09_~") == "az-AZ.09_~");
  CHECK(escaped("a+b &c=1%#/\xc3\xa4\x7f") == "a%2Bb%20%26c%3D1%25%23%2F%C3%A4%7F");
}

TEST_CASE("the page and its files are answered with their types, and with nothing foreign or inline allowed",
          "[site]") {
  const Served served;
  const auto index = served.ask(asking("/")).answer;
  CHECK(index.status == 200);
  CHECK(field(index, "Content-Type") == "text/html; charset=utf-8");
  const std::string policy = field(index, "Content-Security-Policy");
  CHECK(policy.starts_with("default-src 'none'"));
  CHECK(policy.find("frame-ancestors 'none'") != std::string::npos);
  CHECK(policy.find("ws://127.0.0.1:7717") != std::string::npos);
  for (const char* never : {"unsafe", "http:", "https:", "*"}) CHECK(policy.find(never) == std::string::npos);
  CHECK(*index.kept == *served.ask(asking("/index.html")).answer.kept);
  CHECK(*served.ask(asking("/assets/x.js?v=2")).answer.kept == "x");
  for (const char* none : {"/assets", "/assets/y.js", "/page", "/town.muster"})
    CHECK(served.ask(asking(none)).answer.status == 404);
  for (const char* bad : {"/.secret", "/assets/.hidden/x.js", "/../world/town.muster", "/assets//x.js"})
    CHECK(served.ask(asking(bad)).answer.status == 400);
  HttpAnswer common = served.ask(asking("/assets")).answer;
  add_common_fields(common);
  CHECK(field(common, "X-Content-Type-Options") == "nosniff");
  CHECK(field(common, "X-Frame-Options") == "DENY");
  CHECK(field(common, "Content-Security-Policy").starts_with("default-src 'none'"));
}

TEST_CASE("what a browser has already is not sent again, and gzip goes to those who take it", "[site]") {
  const Served served;
  HttpRequest request = asking("/");
  request.accept_encoding = "br, gzip;q=0.5";
  const auto zipped = served.ask(request).answer;
  CHECK(field(zipped, "Content-Encoding") == "gzip");
  CHECK(field(zipped, "Vary") == "Accept-Encoding");
  CHECK(zipped.kept->size() < 200);
  CHECK(zipped.kept->substr(0, 2) == "\x1f\x8b");
  for (const char* plain : {"", "br", "gzip;q=0", "gzip;q=0.0", "xgzip", "gzipx", "identity"}) {
    request.accept_encoding = plain;
    CHECK(field(served.ask(request).answer, "Content-Encoding").empty());
  }
  request = asking("/");
  request.if_none_match = "\"other\", " + field(served.ask(request).answer, "ETag");
  CHECK(served.ask(request).answer.status == 304);
  request.if_none_match = field(zipped, "ETag");
  CHECK(served.ask(request).answer.status == 200);
}

TEST_CASE("another Host, another Origin, other methods and bodies are refused before anything is looked for",
          "[site]") {
  const Served served;
  for (const char* path : {"/", "/nothing", "/health", "/metrics", "/session", "/world/a.glb"}) {
    const auto status = [&](auto change) {
      HttpRequest request = asking(path);
      request.authorization = "Bearer right";
      request.upgrades = true;
      change(request);
      const Site::Reply reply = served.ask(request);
      CHECK(reply.kind == Site::Reply::Kind::answer);
      return reply.answer.status;
    };
    CHECK(status([](HttpRequest& request) { request.hosts = {}; }) == 400);
    CHECK(status([](HttpRequest& request) { request.hosts = {"localhost:7717", "localhost:7717"}; }) == 400);
    CHECK(status([](HttpRequest& request) { request.hosts = {"evil.example:7717"}; }) == 421);
    CHECK(status([](HttpRequest& request) { request.hosts = {"127.0.0.1:7718"}; }) == 421);
    for (const char* origin : {"http://evil.example", "https://127.0.0.1:7717", "http://127.0.0.1:7718",
                               "http://localhost:7717", "null", "", "http://127.0.0.1:7717/"})
      CHECK(status([&](HttpRequest& request) { request.origins = {origin}; }) == 403);
    CHECK(status([](HttpRequest& request) { request.origins = {"http://127.0.0.1:7717", "http://127.0.0.1:7717"}; }) ==
          400);
    for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "PATCH", "get"})
      CHECK(status([&](HttpRequest& request) { request.method = method; }) == 405);
    CHECK(status([](HttpRequest& request) { request.has_body = true; }) == 400);
  }
  HttpRequest own = asking("/session");
  own.upgrades = true;
  own.web_version = "13";
  own.web_key = "dGhlIHNhbXBsZSBub25jZQ==";
  CHECK(served.ask(own).kind == Site::Reply::Kind::session);  // a program sends no Origin
  own.origins = {"http://127.0.0.1:7717"};
  CHECK(served.ask(own).kind == Site::Reply::Kind::session);
  own.web_key = "short";
  CHECK(served.ask(own).answer.status == 400);
  own.web_version = "8";
  CHECK(served.ask(own).answer.status == 426);
  own.upgrades = false;
  CHECK(served.ask(own).answer.status == 426);
}

TEST_CASE("of the world's folder models are given, to those with a token, and never the world or what lies outside",
          "[site]") {
  const Served served;
  CHECK(served.world("/a.glb") == 200);
  CHECK(served.world("/models/deep/b.bin") == 200);
  CHECK(served.world("/models/50%25%3F.png") == 200);
  CHECK(served.world("/within.glb") == 200);
  CHECK(served.world("/a.glb", "wrong") == 401);
  CHECK(served.ask(asking("/world/a.glb")).answer.status == 401);
  CHECK(served.ask(asking("/world/a.glb")).kind == Site::Reply::Kind::answer);
  HttpRequest wrong = asking("/world/nothing.glb");
  wrong.authorization = "Bearer wrong";
  CHECK(served.ask(wrong).kind == Site::Reply::Kind::wrong_token);
  for (const char* hidden : {"/town.muster", "/town.muster-wal", "/town.muster-lock", "/town.muster-server.json",
                             "/notes.txt", "/world.glb", "/hard.glb", "/town.muster-x.bin"})
    CHECK(served.world(hidden) == 403);
  for (const char* none : {"", "/nothing.glb", "/models", "/models/deep", "/out.glb", "/up/outside.glb",
                           "/up/world/a.glb/x", "/zero.bin", "/a.glb/b.glb", "/drafts/x.glb", "/shown.glb"})
    CHECK(served.world(none) == 404);
  for (const char* bad : {"/", "/../outside.glb", "/%2e%2e/outside.glb", "/models/..%2f..%2foutside.glb",
                          "/.hidden.glb", "//a.glb", "/a.glb/"})
    CHECK(served.world(bad) == 400);
  // A link that leads back into the folder is a way to it like any other.
  CHECK(served.world("/up/world/a.glb") == 200);
  CHECK(served.world("/up/world/town.muster") == 403);
}

TEST_CASE("figures are told to this machine, and elsewhere to those with a token", "[site]") {
  const Served served;
  constexpr auto kind = Site::Reply::Kind::later;
  for (const auto& [path, text] : {std::pair{"/health", "health\n"}, std::pair{"/metrics", "metrics\n"}}) {
    const Site::Reply reply = served.ask(asking(path));
    REQUIRE(reply.kind == kind);
    std::string told;
    reply.ask([&](const HttpAnswer& answer) { told = answer.text; });
    CHECK(told == text);
    CHECK(served.ask(asking(path), false).answer.status == 401);
    HttpRequest request = asking(path);
    request.authorization = "Bearer wrong";
    CHECK(served.ask(request, false).kind == Site::Reply::Kind::wrong_token);
    request.authorization = "Bearer right";
    CHECK(served.ask(request, false).kind == kind);
  }
}

TEST_CASE("figures are refused to a user from whom something is hidden, and to a wrong token anywhere", "[site]") {
  const Served served;
  for (const char* path : {"/health", "/metrics"})
    for (const bool is_local : {false, true}) {
      HttpRequest request = asking(path);
      request.authorization = "Bearer viewer";
      CHECK(served.ask(request, is_local).answer.status == 403);
      request.authorization = "Bearer wrong";
      CHECK(served.ask(request, is_local).kind == Site::Reply::Kind::wrong_token);
      request.authorization = "Bearer right";
      CHECK(served.ask(request, is_local).kind == Site::Reply::Kind::later);
    }
}

TEST_CASE("a server without a page says so, and a folder that is no page is refused by name", "[site]") {
  const Site bare({}, WorldFiles("", ""), port, [](std::string_view) { return true; }, {});
  const HttpAnswer none = bare.reply(asking("/"), {.address = "127.0.0.1"}).answer;
  CHECK(none.status == 404);
  CHECK(none.text.find("no page") != std::string::npos);
  HttpRequest world = asking("/world/a.glb");
  world.authorization = "Bearer x";
  CHECK(bare.reply(world, {.address = "127.0.0.1"}).open().status == 404);
  const test::Folder folder;
  CHECK(PageFiles::read(folder / "nothing").error() ==
        "the page's folder '" + (folder / "nothing") + "' is not a folder");
  CHECK(PageFiles::read(folder.path()).error().find("has no index.html") != std::string::npos);
}

TEST_CASE("each kind of file has its media type, by its suffix in any case", "[site]") {
  const std::pair<const char*, const char*> types[] = {{"html", "text/html; charset=utf-8"},
                                                       {"js", "text/javascript; charset=utf-8"},
                                                       {"css", "text/css; charset=utf-8"},
                                                       {"json", "application/json"},
                                                       {"map", "application/json"},
                                                       {"txt", "text/plain; charset=utf-8"},
                                                       {"svg", "image/svg+xml"},
                                                       {"png", "image/png"},
                                                       {"jpg", "image/jpeg"},
                                                       {"jpeg", "image/jpeg"},
                                                       {"webp", "image/webp"},
                                                       {"ico", "image/x-icon"},
                                                       {"ktx2", "image/ktx2"},
                                                       {"woff2", "font/woff2"},
                                                       {"wasm", "application/wasm"},
                                                       {"gltf", "model/gltf+json"},
                                                       {"glb", "model/gltf-binary"},
                                                       {"exe", "application/octet-stream"},
                                                       {"", "application/octet-stream"}};
  for (const auto& [suffix, type] : types) CHECK(media_type_of(suffix) == type);
  CHECK(suffix_of("a.b.GLB") == "glb");
  CHECK(suffix_of("aZ.Az") == "az");
  CHECK(suffix_of("none").empty());
  CHECK(suffix_of("dot.").empty());
}

TEST_CASE("the ends of what is a loopback name, an escape and a plain letter", "[site]") {
  for (const char* ours : {"127.0.0.0:7717", "127.255.255.255:7717", "LOCALHOST:7717", "localhost:07717"})
    CHECK(is_own_host(ours, port));
  for (const char* other :
       {"126.255.255.255:7717", "128.0.0.0:7717", "127.0.0.256:7717", "localhost:65536", "[::1]:77"})
    CHECK_FALSE(is_own_host(other, port));
  CHECK(is_own_host("[::1]", 80));
  CHECK_FALSE(is_own_host("localhost", 81));
  using Parts = std::vector<std::string>;
  CHECK(path_of("/%41%7e%7E%2a") == Parts{"A~~*"});
  CHECK(path_of("/a%20") == Parts{"a "});
  CHECK(path_of("/a#b?c") == Parts{"a"});
  for (const char* bad : {"/%7f", "/%1f", "/%4", "/%4g", "/%g4", "/%/a"}) CHECK_FALSE(path_of(bad));
  CHECK(escaped("/09:@AZ[`az{") == "%2F09%3A%40AZ%5B%60az%7B");
}

TEST_CASE("gzip goes to those who name it with a weight above none, wherever in the list", "[site]") {
  const Served served;
  const auto zipped = [&](const char* accepted) {
    HttpRequest request = asking("/");
    request.accept_encoding = accepted;
    return field(served.ask(request).answer, "Content-Encoding") == "gzip";
  };
  for (const char* taken : {"gzip", " gzip", "br,gzip", "gzip;q=1", "gzip;q=0.001", "gzip ;q=0.9", "x, gzip;q=1.0, y"})
    CHECK(zipped(taken));
  for (const char* not_taken : {"gzip;q=0, gzip", "gzip;q=0.000", "x;gzip", "br,"}) CHECK_FALSE(zipped(not_taken));
}

TEST_CASE("every refusal is a sentence under its status, with the fields that say what would do", "[site]") {
  const Served served;
  const auto said = [&](auto change, bool is_local = true) {
    HttpRequest request = asking("/session");
    change(request);
    return served.ask(request, is_local).answer;
  };
  CHECK(said([](HttpRequest& r) { r.hosts = {}; }).text == "a request must have exactly one Host\n");
  CHECK(said([](HttpRequest& r) { r.hosts = {"x"}; }).text ==
        "use localhost or the loopback address, with this server's port\n");
  CHECK(said([](HttpRequest& r) { r.origins = {"a", "b"}; }).text == "a request must have at most one Origin\n");
  CHECK(said([](HttpRequest& r) { r.origins = {"a"}; }).text == "pages of other origins are not allowed\n");
  const HttpAnswer method = said([](HttpRequest& r) { r.method = "PUT"; });
  CHECK(method.text == "only GET and HEAD are supported\n");
  CHECK(field(method, "Allow") == "GET, HEAD");
  const HttpAnswer body = said([](HttpRequest& r) { r.has_body = true; });
  CHECK(body.text == "requests with a body are not supported\n");
  CHECK(body.closes);
  CHECK(said([](HttpRequest& r) { r.target = "x"; }).text == "the request's target is not a path\n");
  const HttpAnswer upgrade = said([](HttpRequest&) {});
  CHECK(upgrade.status == 426);
  CHECK(upgrade.text == "a WebSocket of version 13 is needed here\n");
  CHECK(field(upgrade, "Upgrade") == "websocket");
  CHECK(field(upgrade, "Sec-WebSocket-Version") == "13");
  CHECK(said([](HttpRequest& r) {
          r.upgrades = true;
          r.web_version = "13";
          r.web_key = std::string(23, 'a');
        }).text == "Sec-WebSocket-Key must be 16 bytes in base64\n");
  const HttpAnswer stranger = said([](HttpRequest& r) { r.target = "/health"; }, false);
  CHECK(stranger.text == "the token is needed: Authorization: Bearer TOKEN\n");
  CHECK(field(stranger, "WWW-Authenticate") == "Bearer");
  const HttpAnswer wrong = said(
      [](HttpRequest& r) {
        r.target = "/metrics";
        r.authorization = "Bearer right ";
      },
      false);
  CHECK(wrong.text == "the token is not valid here\n");
  CHECK(said(
            [](HttpRequest& r) {
              r.target = "/health";
              r.authorization = "bearer right";
            },
            false)
            .text == "the token is needed: Authorization: Bearer TOKEN\n");
  CHECK(said([](HttpRequest& r) { r.target = "/nothing"; }).text == "there is no such file\n");
  CHECK(field(said([](HttpRequest& r) { r.target = "/nothing"; }), "Content-Type") == "text/plain; charset=utf-8");
  const auto world = [&](const std::string& path) {
    return said([&](HttpRequest& r) {
      r.target = "/world" + path;
      r.authorization = "Bearer right";
    });
  };
  CHECK(world("/notes.txt").text == "only models and their files are served from the world's folder, by suffix\n");
  CHECK(world("/nothing.glb").text == "there is no such file in the world's folder\n");
  CHECK(world("/a.glb").body_bytes() == 7);
  CHECK(field(world("/a.glb"), "Content-Type") == "model/gltf-binary");
}

TEST_CASE("a HEAD is answered as a GET without the body, and what does not keep alive is closed", "[site]") {
  const Served served;
  HttpRequest request = asking("/");
  CHECK_FALSE(served.ask(request).answer.head_only);
  CHECK_FALSE(served.ask(request).answer.closes);
  request.method = "HEAD";
  const HttpAnswer head = served.ask(request).answer;
  CHECK(head.head_only);
  CHECK(head.status == 200);
  CHECK(head.body_bytes() == 2015);
  request.keeps_alive = false;
  CHECK(served.ask(request).answer.closes);
  request.hosts = {"x"};
  CHECK(served.ask(request).answer.head_only);
}

TEST_CASE("common fields are these, and a policy of one's own stays", "[site]") {
  HttpAnswer answer = http_sentence(404, "none");
  add_common_fields(answer);
  CHECK(field(answer, "Referrer-Policy") == "no-referrer");
  CHECK(field(answer, "Cross-Origin-Resource-Policy") == "same-origin");
  CHECK(field(answer, "Cross-Origin-Opener-Policy") == "same-origin");
  CHECK(field(answer, "Content-Security-Policy") == "default-src 'none'; frame-ancestors 'none'");
  const Served served;
  HttpAnswer page = served.ask(asking("/")).answer;
  const std::string own = field(page, "Content-Security-Policy");
  add_common_fields(page);
  std::size_t policies = 0;
  for (const auto& [name, value] : page.fields) policies += name == "Content-Security-Policy";
  CHECK(policies == 1);
  CHECK(own ==
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' blob: data:; "
        "connect-src 'self' ws://127.0.0.1:7717 blob: data:; worker-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'");
  CHECK(field(page, "Cache-Control") == "no-cache");
}

TEST_CASE("a slice is for tokens that may control, and for no page of another origin", "[site]") {
  const Served served;
  const auto status = [&](const std::string& authorization, const std::string& method = "GET",
                          const std::vector<std::string>& origins = {}) {
    HttpRequest request = asking("/slice");
    request.authorization = authorization;
    request.method = method;
    request.origins = origins;
    Site::Reply reply = served.ask(std::move(request));
    if (reply.kind == Site::Reply::Kind::later) reply.ask([&](HttpAnswer answer) { reply.answer = std::move(answer); });
    return reply.answer.status;
  };
  CHECK(status("Bearer right") == 200);
  CHECK(status("Bearer viewer") == 403);
  CHECK(status("Bearer wrong") == 401);
  CHECK(status("") == 401);
  CHECK(status("Bearer right", "HEAD") == 405);
  CHECK(status("Bearer right", "POST") == 405);
  CHECK(status("Bearer right", "GET", {"http://evil.example"}) == 403);
  HttpRequest in_address = asking("/slice?token=right");
  CHECK(served.ask(std::move(in_address)).answer.status == 401);
}

}  // namespace site_test

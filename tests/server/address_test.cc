// Tests the files that a server in a user's own program writes: its address and its users.
#include <catch2/catch.hpp>
#include <filesystem>

#include "client/cpp/client.h"
#include "messages/session.h"
#include "server/server.h"
#include "server/world/world.h"
#include "tests/server/world/saved_by_hand.h"
#include "tests/support/folder.h"

namespace address_test {

using namespace muster;

namespace {

/// Creates a user, as `muster token create` does.
Result<session::TokenCreated> create_user(const Server& server) {
  auto client = Client::connect({.address = server.address(), .token = server.token()});
  if (!client) return std::unexpected(client.error());
  session::CreateToken what;
  what.name = "ann";
  return client->ask(what);
}

}  // namespace

TEST_CASE("a server writes its address beside the world's file while it serves, also if a link names the file") {
  const test::Folder folder;
  std::filesystem::create_directory(folder / "links");
  {
    World made(folder / "w.muster", {}, test::saved_by_hand());
    made.save();
  }
  std::filesystem::create_symlink("../w.muster", folder / "links/w.muster");
  const std::string beside = folder / "w.muster-server.json";
  World world(GENERATE(false, true) ? folder / "w.muster" : folder / "links/w.muster", {}, test::saved_by_hand());
  {
    const Server server(world, {.listen = "127.0.0.1:0"});
    CHECK(test::read_file(beside).find(server.address()) != std::string::npos);
    CHECK(test::read_file(beside).find("\"server\": \"test_durable\"") != std::string::npos);
  }
  CHECK_FALSE(std::filesystem::exists(beside));
}

TEST_CASE("a server writes its address where its program wants it, or nowhere") {
  const test::Folder folder;
  World world(folder / "w.muster", {}, test::saved_by_hand());
  const Server elsewhere(world, {.listen = "127.0.0.1:0", .address_file = folder / "here.json", .program = "orcs 1"});
  CHECK(test::read_file(folder / "here.json").find("\"server\": \"orcs 1\"") != std::string::npos);
  const Server nowhere(world, {.listen = "127.0.0.1:0", .address_file = "none"});
  CHECK_FALSE(std::filesystem::exists(folder / "w.muster-server.json"));
  CHECK_FALSE(std::filesystem::exists("none"));
}

TEST_CASE("a server keeps its users beside the world's file, where its program wants them, or not at all") {
  const test::Folder folder;
  World world(folder / "w.muster", {}, test::saved_by_hand());
  world.save();
  {
    const Server beside(world, {.listen = "127.0.0.1:0"});
    REQUIRE(create_user(beside));
    CHECK(test::read_file(folder / "w.muster-users").find(" ann\n") != std::string::npos);
  }
  {
    const Server elsewhere(world, {.listen = "127.0.0.1:0", .users_file = folder / "here"});
    REQUIRE(create_user(elsewhere));
    CHECK(test::read_file(folder / "here").find(" ann\n") != std::string::npos);
  }
  const Server nowhere(world, {.listen = "127.0.0.1:0", .users_file = "none"});
  const auto made = create_user(nowhere);
  REQUIRE_FALSE(made);
  CHECK(made.error().fault.reason == "no_users");
  CHECK_FALSE(std::filesystem::exists("none"));
}

TEST_CASE("a port in use is an error that a program can tell from others, and names the library's option") {
  const test::Folder folder;
  World world(folder / "w.muster", {}, test::saved_by_hand());
  const Server server(world, {.listen = "127.0.0.1:0"});
  const auto error_of = [&](const std::string& listen) -> ServerError {
    try {
      const Server second(world, {.listen = listen});
    } catch (const ServerError& error) {
      return error;
    }
    return ServerError("none");
  };
  const ServerError in_use = error_of(server.address());
  CHECK(in_use.port_in_use());
  const std::string what = in_use.what();
  CHECK(what.find("cannot listen on " + server.address() + ": Address already in use") == 0);
  CHECK(what.find("ServerOptions::listen") != std::string::npos);
  CHECK(what.find("--listen") == std::string::npos);
  CHECK_FALSE(error_of("127.0.0.1:none").port_in_use());
}

}  // namespace address_test

// Tests the address file that a server in a user's own program writes.
#include <catch2/catch.hpp>
#include <filesystem>

#include "server/server.h"
#include "server/world/world.h"
#include "tests/server/world/saved_by_hand.h"
#include "tests/support/folder.h"

namespace address_test {

using namespace muster;

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

#include "client/cli/where.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "client/cli/failure.h"
#include "client/cpp/address_file.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Client open(const Where& where, std::string address, std::string token, const std::string& fingerprint = {}) {
  ClientOptions options;
  options.fingerprint = where.fingerprint.empty() ? fingerprint : where.fingerprint;
  options.ca_file = where.ca_file;
  options.address = std::move(address);
  options.token = std::move(token);
  options.name = variable("USER");
  options.kind = "muster";
  options.resumes = where.resumes;
  options.time_max = std::chrono::nanoseconds(static_cast<std::int64_t>(where.seconds_max * 1e9));
  const std::string at = options.address;
  // Commands decode everything by name, so no compiled types are passed. The import command itself
  // compares the layouts of the types that it writes.
  auto client = Client::connect(std::move(options), {});
  // The exit code is the same for every reason why the world cannot be reached.
  if (!client) fail(Exit::unreachable, "cannot open the world at " + at + ": " + client.error().text);
  return std::move(*client);
}

/// Returns the worlds in the current folder that have a running server. Searches for address files,
/// because a world file may have been moved, and for world files, because a world file may be a
/// link to another folder.
std::vector<ServerAddress> served_here() {
  constexpr std::string_view world_ending = ".muster", address_ending = "-server.json";
  std::set<std::string> worlds;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(".", error)) {
    std::string name = entry.path().lexically_normal().string();
    if (name.ends_with(address_ending))
      worlds.insert(name.substr(0, name.size() - address_ending.size()));
    else if (name.ends_with(world_ending))
      worlds.insert(std::move(name));
  }
  std::vector<ServerAddress> found;
  for (const std::string& world : worlds)
    if (auto address = read_address_file(world)) found.push_back(std::move(*address));
  // A symbolic link and the file to which it refers count as one world.
  const auto place = [](const ServerAddress& each) { return std::tie(each.world, each.address, each.unix_path); };
  std::ranges::sort(found, {}, place);
  const auto again = std::ranges::unique(found, {}, place);
  found.erase(again.begin(), again.end());
  return found;
}

/// Returns the only world found by served_here(). Fails if it finds no world or more than one.
ServerAddress served_alone_here() {
  auto here = served_here();
  if (here.size() == 1) return std::move(here[0]);
  if (here.empty())
    fail(Exit::unreachable,
         "no world is served in this folder; name one with --world or MUSTER_WORLD, or a server with --connect");
  std::string text = "several worlds are served in this folder; name one with --world:";
  for (const ServerAddress& each : here) text += "\n  " + each.world;
  fail(Exit::unreachable, text);
}

}  // namespace

std::string world_meant(const Where& where) {
  if (!where.connect.empty()) return {};
  return where.world.empty() ? variable("MUSTER_WORLD") : where.world;
}

std::string why_late(const Where& where) {
  try {
    Where soon = where;
    soon.seconds_max = 2;
    // If the world cannot answer the question, the server answers with a refusal that gives the
    // reason.
    const auto info = connect(soon).ask<session::GetInfo>();
    return info || info.error().kind != ClientError::Kind::refused ? std::string() : info.error().text;
  } catch (const Failure&) {
    return {};
  }
}

std::string world_served_here() { return served_alone_here().world; }

std::string path_served(const std::string& world) {
  const auto address = read_address_file(world);
  return address && !address->world.empty() ? address->world : fs::absolute(world).string();
}

bool is_served(const std::string& world) { return read_address_file(world).has_value(); }

Client connect_to_world(const Where& where, const std::string& world) {
  const auto address = read_address_file(world);
  if (!address) {
    std::error_code error;
    if (address.error().kind == ClientError::Kind::lost && !fs::exists(world, error))
      fail(Exit::unreachable, "there is no world " + world);
    fail(Exit::unreachable, address.error().text);
  }
  return open(where, address->best(), where.token.empty() ? address->token : where.token, address->fingerprint);
}

Client connect(const Where& given) {
  Where where = given;
  if (where.token.empty()) where.token = variable("MUSTER_TOKEN");
  if (!where.connect.empty()) {
    // Check the address here, because the client would report an invalid address only after it has
    // a token.
    const std::size_t colon = where.connect.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == where.connect.size())
      fail(Exit::usage, "'" + where.connect + "' is not an address: expected HOST:PORT, tls:HOST:PORT or unix:PATH");
    if (where.token.empty()) fail(Exit::usage, "--connect needs the server's token: --token, or MUSTER_TOKEN");
    return open(where, where.connect, where.token);
  }
  if (where.world.empty()) where.world = variable("MUSTER_WORLD");
  if (!where.world.empty()) return connect_to_world(where, where.world);
  const ServerAddress here = served_alone_here();
  return open(where, here.best(), where.token.empty() ? here.token : where.token, here.fingerprint);
}

}  // namespace muster::cli

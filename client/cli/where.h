// Which server a command talks to.
#pragma once

#include <string>

#include "client/cpp/client.h"

namespace muster::cli {

/// The world as given by command line and environment.
struct Where {
  std::string world;    ///< --world, else MUSTER_WORLD
  std::string connect;  ///< --connect: "host:port" or "unix:/path"
  std::string token;    ///< --token, else MUSTER_TOKEN
  double seconds_max = 10;
};

/// Connects to --connect; else to the server of the world; else to that of the one served world in
/// the current folder. Fails with Exit::unreachable if there is none, or several.
Client connect(const Where& where);
/// Asks the server of a command that got no answer why the world is silent: a sentence; empty if it
/// does not know.
std::string why_late(const Where& where);
/// To the server of this world file; `pid` receives the server's process.
Client connect_to_world(const Where& where, const std::string& world);
/// The world file that --world or MUSTER_WORLD names; empty where --connect counts, or neither is
/// given.
std::string world_meant(const Where& where);
/// The absolute path of the one world that is served in the current folder. Fails with
/// Exit::unreachable if there is none, or several.
std::string world_served_here();
/// The absolute path under which a server has this world file open, or would have it.
std::string path_served(const std::string& world);
/// True where a server of this world file runs.
bool is_served(const std::string& world);

}  // namespace muster::cli

// Selects the server that a command connects to.
#pragma once

#include <string>

#include "client/cpp/client.h"

namespace muster::cli {

/// The world as given on the command line and in the environment.
struct Where {
  std::string world;    ///< --world, otherwise MUSTER_WORLD
  std::string connect;  ///< --connect: "host:port" or "unix:/path"
  std::string token;    ///< --token, otherwise MUSTER_TOKEN
  double seconds_max = 10;
};

/// Connects to --connect. Without it, connects to the server of the given world, or otherwise to
/// that of the only served world in the current directory. Fails with Exit::unreachable if there is
/// none or more than one.
Client connect(const Where& where);
/// Asks the server of a command that got no answer why the world does not respond. Returns a
/// sentence, or an empty text if the server does not know.
std::string why_late(const Where& where);
/// Connects to the server of this world file.
Client connect_to_world(const Where& where, const std::string& world);
/// Returns the world file that --world or MUSTER_WORLD names. Empty if --connect takes precedence,
/// or if neither is given.
std::string world_meant(const Where& where);
/// The absolute path of the one world that is served in the current folder. Fails with
/// Exit::unreachable if there is none, or several.
std::string world_served_here();
/// The absolute path under which a server has this world file open, or would have it.
std::string path_served(const std::string& world);
/// True where a server of this world file runs.
bool is_served(const std::string& world);

}  // namespace muster::cli

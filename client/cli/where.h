// Determines the server to which a command connects.
#pragma once

#include <string>

#include "client/cpp/client.h"

namespace muster::cli {

/// The world that a command uses, as given on the command line and in the environment.
struct Where {
  std::string world;    ///< value of --world or, if it is not given, of MUSTER_WORLD
  std::string connect;  ///< value of --connect, an address as in ClientOptions
  std::string token;    ///< value of --token or, if it is not given, of MUSTER_TOKEN
  double seconds_max = 10;
  std::string fingerprint = {}, ca_file = {};  ///< values of --fingerprint and --ca
  /// If true, the command goes on after a lost connection (ClientOptions::resumes).
  bool resumes = false;
};
/// Returns `where` for a command that runs until it is interrupted.
inline Where resuming(Where where) {
  where.resumes = true;
  return where;
}

/// Connects to the server given by --connect. If --connect is not given, connects to the server of
/// the given world. If no world is given either, uses the only world served in the current
/// directory. Fails with Exit::unreachable if there is no such world or more than one.
Client connect(const Where& where);
/// Asks the server why the world has not answered a command. Returns the reason as a sentence, or
/// an empty string if the server does not give one.
std::string why_late(const Where& where);
/// Connects to the server of this world file.
Client connect_to_world(const Where& where, const std::string& world);
/// Returns the path of the world file given by --world or MUSTER_WORLD. Returns an empty string if
/// --connect is given, because --connect takes precedence, or if no world is given.
std::string world_meant(const Where& where);
/// Returns the absolute path of the only world served in the current folder. Fails with
/// Exit::unreachable if the folder has no served world or more than one.
std::string world_served_here();
/// Returns the absolute path under which a server opens this world file.
std::string path_served(const std::string& world);
/// Returns true if a server of this world file is running.
bool is_served(const std::string& world);

}  // namespace muster::cli

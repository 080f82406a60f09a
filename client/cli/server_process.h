// A muster-server that a command starts for itself, and stops when it is done.
#pragma once

#include <string>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/where.h"

namespace muster::cli {

/// Returns the server's arguments for the schemas and plugins of `choice`. Fails with
/// Exit::bad_file if one of these files is not there.
std::vector<std::string> server_arguments(const ServerChoice& choice);

/// The child process. Its destructor ends it, and the end of this program does, whatever the
/// reason. Signals from the terminal do not reach it: Ctrl-C ends the command, which then ends its
/// server.
class ServerProcess {
 public:
  /// Starts muster-server on the world, found beside this program or on the PATH, listening on a
  /// Unix socket in a private folder; returns when it can be reached. `arguments` go behind the
  /// world. Fails with Exit::bad_file and the server's words if it cannot open the world, and with
  /// Exit::unreachable if it cannot be started.
  ServerProcess(const Where& where, const std::string& world, const std::vector<std::string>& arguments);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  /// Asks it to stop and waits; it saves the world. Fails with its words on errors.
  void stop();

 private:
  std::string said();
  /// Exit status once it ended; -1 while it runs.
  int ended();

  int pid_ = -1;
  std::string folder_;  // for its socket and what it says
};

}  // namespace muster::cli

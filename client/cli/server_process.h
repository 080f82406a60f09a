// Runs a muster-server that a command starts for its own use and stops when the command is done.
#pragma once

#include <string>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/where.h"

namespace muster::cli {

/// Returns the server's arguments for the schemas and plugins of `choice`. Fails with
/// Exit::bad_file if any of these files does not exist.
std::vector<std::string> server_arguments(const ServerChoice& choice);

/// A muster-server that runs as a child process. The server exits when this object is destroyed or
/// when this program ends for any reason. Signals from the terminal do not reach the server. Ctrl-C
/// stops the command, which then stops its server.
class ServerProcess {
 public:
  /// Starts muster-server for the world, listening on a Unix socket in a private directory. Looks
  /// for the program in the folder of this one and then on the PATH. Returns once the server is
  /// reachable. `arguments` follow the world on the server's command line. Fails with
  /// Exit::bad_file and the server's message if the server cannot open the world, and with
  /// Exit::unreachable if the server cannot be started.
  ServerProcess(const Where& where, const std::string& world, const std::vector<std::string>& arguments);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  /// Stops the server and waits until it has saved the world and exited. If the server fails,
  /// throws a Failure with the server's message.
  void stop();

 private:
  std::string said();
  /// Returns the exit status of the server, or -1 while it is running.
  int ended();

  int pid_ = -1;
  std::string folder_;  // directory of the server's socket and log
};

}  // namespace muster::cli

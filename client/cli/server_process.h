// A muster-server that a command starts for its own use, and stops when it is done.
#pragma once

#include <string>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/where.h"

namespace muster::cli {

/// Returns the server's arguments for the schemas and plugins of `choice`. Fails with
/// Exit::bad_file if one of these files does not exist.
std::vector<std::string> server_arguments(const ServerChoice& choice);

/// The child process. It ends with this object, or with this program, for whatever reason that
/// ends. Signals from the terminal do not reach it: Ctrl-C ends the command, which then ends its
/// server.
class ServerProcess {
 public:
  /// Starts muster-server for the world, found next to this program or on the PATH, listening on a
  /// Unix socket in a private directory. Returns once it can be reached. `arguments` follow the
  /// world on its command line. Fails with Exit::bad_file and the server's message if it cannot
  /// open the world, and with Exit::unreachable if it cannot be started.
  ServerProcess(const Where& where, const std::string& world, const std::vector<std::string>& arguments);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  /// Asks the server to stop, and waits until it has saved the world and exited. If it fails, so
  /// does this function, with the server's message.
  void stop();

 private:
  std::string said();
  /// Returns the exit status after the server has ended, or -1 while it is running.
  int ended();

  int pid_ = -1;
  std::string folder_;  // for its socket and its log
};

}  // namespace muster::cli

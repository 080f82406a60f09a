// muster-server as a process of its own, looked at from outside.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace muster::abuse {

/// Ends the process with itself.
class ServerProcess {
 public:
  /// Starts `program` on the world, with an own Unix socket, and waits until it serves. What it logs goes to `log`.
  ServerProcess(const std::string& program, const std::string& world, const std::vector<std::string>& arguments,
                const std::string& log);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  /// For ClientOptions::address.
  const std::string& address() const noexcept { return address_; }
  const std::string& tcp_address() const noexcept { return tcp_address_; }
  const std::string& token() const noexcept { return token_; }
  bool running();
  /// In real memory, now. Bytes; 0 where it has ended.
  std::uint64_t memory_bytes() const;
  /// SIGTERM, and its exit code: 1000 and more where a signal ended it, -1 where it does not end in time.
  int stop();

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  std::string address_, tcp_address_, token_;
};

}  // namespace muster::abuse

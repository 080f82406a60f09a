// Accepts a host's connections on one TCP port, and serves them on one thread: pages over HTTP, and
// the frames of visitors.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/door/tls_certificates.h"
#include "server/host/worlds.h"
#include "server/web/page_files.h"

namespace muster::hosting {

struct HostOptions {
  std::string folder;                      ///< folder of the worlds
  std::string listen = "127.0.0.1:7717";   ///< as ServerOptions::listen
  std::string token;                       ///< opens all worlds, and may create and delete worlds
  PageFiles page = {};                     ///< the editor's page, or empty
  TlsFiles tls = {};                       ///< nothing for a port without TLS
  std::vector<std::string> proxies = {};   ///< as ServerOptions::proxies
  std::uint32_t connections_max = 10'000;  ///< limit on open connections
  WorldsOptions worlds = {};
};

/// Must be created, run and destroyed on one thread.
class HostDoor {
 public:
  /// Locks the folder and starts listening. Throws ServerError on failure.
  explicit HostDoor(HostOptions options);
  ~HostDoor();
  HostDoor(const HostDoor&) = delete;
  HostDoor& operator=(const HostDoor&) = delete;

  const std::string& address() const noexcept;      ///< with the actual port
  const std::string& fingerprint() const noexcept;  ///< of the certificate, or empty
  /// Serves until SIGTERM or SIGINT arrives, and then ends all worlds. A second signal ends the
  /// process at once.
  void run();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::hosting

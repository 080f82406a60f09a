#include "server/program/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace muster {
namespace {

std::uint64_t number_in_environment(const char* name) {
  const char* const text = std::getenv(name);
  std::uint64_t number = 0;
  if (text) std::from_chars(text, text + std::strlen(text), number);
  return number;
}

}  // namespace

bool notify_service_manager(const std::string& message) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  if (!path || (*path != '/' && *path != '@')) return false;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  const std::size_t size = std::strlen(path);
  if (size >= sizeof to.sun_path) return false;
  std::memcpy(to.sun_path, path, size);
  if (*path == '@') to.sun_path[0] = '\0';  // a name without a file
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return false;
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size);
  const ssize_t sent =
      ::sendto(socket, message.data(), message.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), bytes);
  ::close(socket);
  return sent == static_cast<ssize_t>(message.size());
}

std::string reloading_message() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return "RELOADING=1\nMONOTONIC_USEC=" +
         std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

std::chrono::microseconds watchdog_time() {
  const std::uint64_t process = number_in_environment("WATCHDOG_PID");
  if (process != 0 && process != static_cast<std::uint64_t>(::getpid())) return {};
  return std::chrono::microseconds(number_in_environment("WATCHDOG_USEC"));
}

}  // namespace muster

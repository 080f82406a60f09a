// What a connection that has said Hello and then nothing costs a server in memory.
//
//   idle_connections [tls] [COUNT]     10,000 if not given; over TCP, or over TLS. Prints KiB of real memory of the server's process for each.
#include <fcntl.h>
#include <openssl/ssl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "bench/bare_loop.h"
#include "bench/session_frames.h"
#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "messages/session.h"
#include "server/server.h"
#include "server/world/world.h"

namespace {

using namespace muster;
using ::bench::fail;

constexpr const char* token = "a token of this measurement";

double resident_kib() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  long pages = 0, resident = 0;
  if (!file || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) fail("statm");
  std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024;
}

/// In a process of its own: connects to the port that comes through the pipe, and tells when all are welcome.
int clients(int port_from, int tell_to, int end_from, int count, bool has_tls) {
  std::uint16_t port = 0;
  if (::read(port_from, &port, sizeof port) != sizeof port) return 1;
  const std::string hello = ::bench::hello_frame(token);
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());  // lives as long as this process
  for (int i = 0; i < count; ++i) {
    const int socket = ::bench::connect_to(port);
    char welcome[512];
    if (has_tls) {
      SSL* const made = SSL_new(context);
      SSL_set_fd(made, socket);
      if (SSL_connect(made) != 1 || SSL_write(made, hello.data(), static_cast<int>(hello.size())) <= 0 ||
          SSL_read(made, welcome, sizeof welcome) <= 0)
        return 1;
      continue;
    }
    ::bench::send_all(socket, hello);
    if (::recv(socket, welcome, sizeof welcome, 0) <= 0) return 1;
  }
  char done = 1;
  if (::write(tell_to, &done, 1) != 1) return 1;
  (void)!::read(end_from, &done, 1);
  return 0;
}

}  // namespace

int main(int arguments, char** texts) {
  const bool has_tls = arguments > 1 && std::string_view(texts[1]) == "tls";
  const int given = has_tls ? 2 : 1;
  const int count = arguments > given ? std::atoi(texts[given]) : 10'000;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  int port[2], told[2], end[2];
  if (::pipe(port) != 0 || ::pipe(told) != 0 || ::pipe(end) != 0) fail("pipe");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(clients(port[0], told[1], end[0], count, has_tls));
  ::close(told[1]);
  const auto remove_files = [] {
    for (const char* part : {"", "-wal", "-shm", "-lock", "-work", "-tls.pem"})
      std::filesystem::remove(std::string("idle_connections.muster") + part);
  };
  remove_files();
  int result = 0;
  {
    World world("idle_connections.muster", [](EntityRegistry&) { return Handlers(); },
                {.hz = 100, .durability = Durability::checkpoint, .autosave = {}});
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.page_folder = "none";
    options.token = token;
    options.self_signed = has_tls;
    options.limits.sessions_max = static_cast<std::uint32_t>(count) + 1;
    const Server server(world, options);
    for (int i = 0; i < 50; ++i) (void)world.next_frame();
    const double before = resident_kib();
    const auto number =
        static_cast<std::uint16_t>(std::atoi(server.address().substr(server.address().rfind(':') + 1).c_str()));
    if (::write(port[1], &number, sizeof number) != sizeof number) fail("write");
    const int flags = ::fcntl(told[0], F_GETFL);
    ::fcntl(told[0], F_SETFL, flags | O_NONBLOCK);
    char done = 0;
    ssize_t got = -1;
    while ((got = ::read(told[0], &done, 1)) < 0 && errno == EAGAIN) (void)world.next_frame();
    if (got != 1) {
      std::fprintf(stderr, "the clients could not all connect: is `ulimit -n` more than %d?\n", count);
      result = 1;
    } else {
      for (int i = 0; i < 200; ++i) (void)world.next_frame();
      std::printf("%d connections%s that say nothing: %.1f KiB of the server's memory each (%.0f MiB before)\n", count,
                  has_tls ? " with TLS" : "", (resident_kib() - before) / count, before / 1024);
    }
    (void)!::write(end[1], &done, 1);
    ::waitpid(child, nullptr, 0);
  }
  remove_files();
  return result;
}

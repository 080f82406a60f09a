// The program muster-host, which serves the worlds of a folder on one port; see `muster-host
// --help` and docs/fleet.md.
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "server/access/server_error.h"
#include "server/host/host_door.h"
#include "server/host/start_page.h"
#include "server/log_queue.h"
#include "server/page_folder.h"
#include "server/token_file.h"
#include "system/descriptor_limit.h"
#include "system/percent_encoding.h"
#include "system/program_path.h"
#include "system/standard_descriptors.h"

namespace {

using namespace muster;
using namespace muster::hosting;
namespace fs = std::filesystem;

enum ExitCode { exit_done = 0, exit_usage = 2, exit_folder = 5, exit_listen = 6 };

struct Arguments {
  HostOptions host;
  std::string certificate, key, token_file, page;
  bool self_signed = false, quiet = false;
  double keep_deleted_days = 7;
};

int complain(ExitCode code, const std::string& text) {
  spdlog::error("{}", text);
  return code;
}

int serve(Arguments& arguments) {
  HostOptions& host = arguments.host;
  ::signal(SIGPIPE, SIG_IGN);
  if (const auto descriptors = raise_descriptor_limit()) {
    // A visitor needs two, and a process four.
    const std::uint64_t fitting =
        (*descriptors - std::min<std::uint64_t>(*descriptors / 2, host.worlds.awake_max * 4 + 100)) / 2;
    host.connections_max = static_cast<std::uint32_t>(std::min<std::uint64_t>(host.connections_max, fitting));
  }
  std::error_code error;
  fs::create_directory(host.folder, error);
  if (error || !fs::is_directory(host.folder, error))
    return complain(exit_folder, "'" + host.folder + "' is not a folder, and cannot be made one");
  host.folder = fs::canonical(host.folder).string();
  if (arguments.token_file.empty()) arguments.token_file = host.folder + "/.token";
  arguments.token_file = fs::absolute(arguments.token_file).string();
  if (const auto made = make_token_file(arguments.token_file); !made) return complain(exit_usage, made.error());
  const auto token = read_token_file(arguments.token_file);
  if (!token) return complain(exit_usage, token.error());
  host.token = *token;

  WorldsOptions& worlds = host.worlds;
  worlds.server_program = program_path("muster-server", "../muster-server");
  worlds.file_program = program_path("muster-file", "../file_program/muster-file");
  worlds.token_file = arguments.token_file;
  worlds.keep_deleted = std::chrono::seconds(static_cast<std::int64_t>(arguments.keep_deleted_days * 86400));
  worlds.log = [](const std::string& line) { spdlog::info("{}", line); };
  worlds.warn = [](const std::string& line) { spdlog::warn("{}", line); };
  for (const std::string& argument : worlds.arguments)
    if (const std::string why = why_not_an_argument(argument); !why.empty())
      return complain(exit_usage, "--world-argument: " + why);
  try {
    const std::string folder = arguments.page.empty() ? default_page_folder() : arguments.page;
    if (!folder.empty() && folder != "none") {
      auto page = PageFiles::read(folder);
      if (!page) throw ServerError(page.error());
      host.page = std::move(*page);
    }
    if (arguments.self_signed) {
      if (!arguments.certificate.empty() || !arguments.key.empty())
        throw ServerError("a certificate (--cert, --key) and a self-signed one (--self-signed) exclude each other");
      arguments.certificate = arguments.key = host.folder + "/.tls.pem";
      if (const auto made = make_self_signed(arguments.key, hosts_of_self(host.listen)); !made)
        throw ServerError(made.error());
    }
    host.tls.certificate = arguments.certificate;
    host.tls.key = arguments.key;
    HostDoor door(std::move(host));
    const char* const scheme = door.fingerprint().empty() ? "http://" : "https://";
    spdlog::info("worlds {}{}/#token={}", scheme, door.address(), escaped(*token));
    spdlog::info("listening on {}", door.address());
    if (!door.fingerprint().empty()) spdlog::info("fingerprint {}", door.fingerprint());
    spdlog::info("token in {}", arguments.token_file);
    door.run();
  } catch (const ServerError& failed) {
    return complain(exit_listen, failed.what());
  }
  return exit_done;
}

}  // namespace

int main(int argc, char** argv) {
  if (const int error = occupy_standard_descriptors(); error != 0) {
    std::fprintf(stderr, "muster-host: /dev/null cannot be opened: %s\n", std::strerror(error));
    return exit_usage;
  }
  CLI::App app("Serves the worlds of a folder on one port. A world has a process while somebody is in it.");
  app.set_version_flag("--version", "muster-host " MUSTER_VERSION);
  Arguments arguments;
  HostOptions& host = arguments.host;
  app.add_option("FOLDER", host.folder, "the folder with a folder for each world; created if it does not exist")
      ->required();
  app.add_option("--listen", host.listen, "address and port, which without TLS is a loopback address; port 0: any")
      ->capture_default_str();
  app.add_option(
      "--token-file", arguments.token_file,
      "file with the host's token, which opens all worlds; made if it does not exist. Default: FOLDER/.token");
  app.add_option("--cert", arguments.certificate,
                 "file in PEM format with the certificate for TLS; read again when it changes");
  app.add_option("--key", arguments.key, "file in PEM format with the private key of the certificate");
  app.add_flag("--self-signed", arguments.self_signed, "TLS with a certificate of its own, kept in FOLDER/.tls.pem");
  app.add_option("--behind-proxy", host.proxies,
                 "ADDR[,ADDR]: addresses of reverse proxies whose X-Forwarded-... fields are believed")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--page", arguments.page,
                 "a folder with the editor's page instead of the installed one; \"none\": none");
  app.add_option("--sleep-after", host.worlds.sleep_after_s,
                 "seconds without visitors and work after which a world sleeps")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  app.add_option("--awake-max", host.worlds.awake_max, "limit on the worlds that have a process")
      ->check(CLI::Range(1u, 10'000u))
      ->capture_default_str();
  app.add_option("--connections-max", host.connections_max, "limit on open connections")
      ->check(CLI::Range(8u, 1'000'000u))
      ->capture_default_str();
  app.add_option("--keep-deleted", arguments.keep_deleted_days, "days for which a deleted world can be restored")
      ->check(CLI::Range(0.0, 36500.0))
      ->capture_default_str();
  app.add_option("--world-argument", host.worlds.arguments,
                 "argument for the muster-server of each world, such as --world-argument=--plugin=game.so; repeatable. "
                 "A world's own arguments are in FOLDER/NAME/options, one per line")
      ->allow_extra_args(false);
  app.add_flag("--quiet", arguments.quiet, "log warnings and errors only");
  app.footer(
      "SIGTERM and SIGINT stop the host after all worlds are saved.\n"
      "Exit codes: 0 stopped, 2 usage, 5 the folder cannot be used, 6 cannot listen.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? exit_done : exit_usage;
  }
  const LogQueue log("muster-host");
  spdlog::set_pattern("%H:%M:%S.%e %^%l%$ %v");
  if (arguments.quiet) spdlog::set_level(spdlog::level::warn);
  const int code = serve(arguments);
  if (!log.drain(std::chrono::seconds(1))) ::_exit(code);
  return code;
}

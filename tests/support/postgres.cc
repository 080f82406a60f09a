#include "tests/support/postgres.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

namespace muster::test {
namespace {

/// PostgreSQL does not run as root.
const passwd* other_user() { return ::geteuid() == 0 ? ::getpwnam("postgres") : nullptr; }

/// Starts a program as that user, its output in `log`. It ends with this process.
pid_t start_program(const std::vector<std::string>& words, const std::string& log) {
  const passwd* const user = other_user();
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::dup2(out, 1);
  ::dup2(out, 2);
  if (user != nullptr && (::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0)) ::_exit(126);
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string Postgres::program(const std::string& name) const { return std::string(MUSTER_PG_BIN) + "/" + name; }

Postgres::Postgres() {
  if (const passwd* const user = other_user())
    if (::chown(folder_.path().c_str(), user->pw_uid, user->pw_gid) != 0) throw std::runtime_error("chown");
  const std::vector<std::string> words = {program("initdb"), "-D", folder_ / "data", "-A",       "trust", "-U",
                                          "muster",          "-E", "UTF8",           "--locale", "C",     "-N"};
  if (const int code = wait_for(start_program(words, folder_ / "initdb.log")); code != 0)
    throw std::runtime_error("initdb ends with " + std::to_string(code) + ": " + read_file(folder_ / "initdb.log"));
  start();
}

void Postgres::start() {
  server_ = start_program({program("postgres"), "-D", folder_ / "data", "-k", folder_.path().string(), "-c",
                           "listen_addresses=", "-p", "5432", "-c", "max_connections=40"},
                          folder_ / "server.log");
  for (int i = 0; i < 1200; ++i) {
    try {
      (void)sql("SELECT 1");
      return;
    } catch (const std::runtime_error&) {
      if (::waitpid(server_, nullptr, WNOHANG) != 0) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  throw std::runtime_error("the server does not start: " + read_file(folder_ / "server.log"));
}

Postgres::~Postgres() { kill(); }

void Postgres::kill() {
  if (server_ == 0) return;
  ::kill(server_, SIGQUIT);  // ends at once, without a checkpoint of its own
  (void)wait_for(server_);
  server_ = 0;
}

std::string Postgres::address(const std::string& world) const {
  return "postgres:///postgres/" + world + "?host=" + folder_.path().string() + "&port=5432&user=muster";
}

std::string Postgres::sql(const std::string& text) const {
  const std::string file = folder_ / "statement.sql";
  write_file(file, text);
  const std::string command = program("psql") + " -X -q -A -t -v ON_ERROR_STOP=1 -U muster -h " +
                              folder_.path().string() + " -p 5432 -f " + file + " postgres 2>&1";
  FILE* const out = ::popen(command.c_str(), "r");
  if (out == nullptr) throw std::runtime_error("psql");
  std::string said;
  std::array<char, 4096> part;
  while (const std::size_t read = std::fread(part.data(), 1, part.size(), out)) said.append(part.data(), read);
  if (::pclose(out) != 0) throw std::runtime_error(said);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return said;
}

}  // namespace muster::test

#include "tests/abuse/company.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "server/session/server_limits.h"

namespace muster::abuse {

using std::chrono::nanoseconds;

namespace {
const std::string owner_token = "the token of the owner in a test";
}  // namespace

std::vector<std::string> server_arguments(const AbuseOptions& options, const std::string& listen) {
  const std::string token_file = options.folder + "/token";
  std::ofstream(token_file) << owner_token << '\n';
  std::filesystem::permissions(token_file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  ::setenv("SKIRMISH_ENTITIES", std::to_string(options.entities).c_str(), 1);
  std::vector<std::string> arguments = {"--plugin", options.plugin, "--hz",    "60",       "--token-file",
                                        token_file, "--history",    "4000000", "--listen", listen};
  ServerLimits limits;
  for (const auto& [name, value] : options.limits) {
    if (!set_limit(limits, name, value)) throw std::runtime_error("no limit is called " + name);
    arguments.push_back("--limit");
    arguments.push_back(name + "=" + std::to_string(value));
  }
  return arguments;
}

ClientOptions as_owner(const std::string& address) {
  ClientOptions options;
  options.address = address;
  options.token = owner_token;
  options.time_max = std::chrono::seconds(60);
  return options;
}

nanoseconds Waits::longest() const { return each.empty() ? nanoseconds(0) : *std::ranges::max_element(each); }

nanoseconds Waits::within(double share) const {
  if (each.empty()) return nanoseconds(0);
  std::vector<nanoseconds> sorted = each;
  std::ranges::sort(sorted);
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

Owner::Owner(const ClientOptions& options) : client_(must(Client::connect(options))) {
  must(client_.ask(session::CreateToken{.name = "guest", .role = static_cast<std::uint8_t>(session::Role::view)}));
}

void Owner::ask_all() {
  entities_ = timed("info", session::GetInfo{}).entities;
  timed("save", session::Save{});
  timed("kick", session::Kick{.name = "guest"});
  const std::string name = "guest " + std::to_string(++guests_);
  timed("create", session::CreateToken{.name = name, .role = static_cast<std::uint8_t>(session::Role::view)});
  timed("revoke", session::RevokeToken{.name = name});
}

void Crowd::go_on() {
  for (int i = 0; i < 20 && connections_.size() < count_; ++i)
    connections_.push_back(std::make_unique<One>(address_, token_));
  for (auto& each : connections_) {
    each->connection.send(1u << 16);
    if (each->connection.welcomed() && !each->half) {
      each->half = true;
      std::vector<std::byte> part(200'000);
      const FrameHeader header{.bytes = 8u << 20, .flags = 0, .request = 9};
      std::memcpy(part.data(), &header, sizeof header);
      each->connection.queue_bytes(part);
    }
    each->connection.receive(1u << 16, [](const WireFrame&) {});
  }
  std::erase_if(connections_, [](const auto& each) { return each->connection.lost(); });
}

void Visitors::go_on() {
  while (connections_.size() < 4) connections_.push_back(std::make_unique<Connection>(address_, token_, "visitor"));
  for (auto& each : connections_) {
    each->send(1u << 16);
    each->receive(1u << 16, [](const WireFrame&) {});
  }
  std::erase_if(connections_, [](const auto& each) { return each->welcomed() || each->lost(); });
}

FifoLog::FifoLog(const std::string& path) {
  if (::mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("no FIFO " + path);
  descriptor_ = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

FifoLog::~FifoLog() { ::close(descriptor_); }

void FifoLog::fill() {
  const char line[64] = {};
  while (::write(descriptor_, line, sizeof line) > 0) {
  }
}

std::string FifoLog::read() {
  std::string text;
  char part[1 << 16];
  for (ssize_t got; (got = ::read(descriptor_, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  return text;
}

}  // namespace muster::abuse

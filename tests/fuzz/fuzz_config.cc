// Feeds the configuration file, the list of users, and the token file. The first byte chooses. What
// is accepted must be the same when it is read again, and an error must name the file.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "server/access/suggestion.h"
#include "server/access/users.h"
#include "server/program/config_file.h"
#include "server/program/rule_settings.h"
#include "server/token_file.h"

namespace {

using namespace muster;

void require(bool holds) {
  if (!holds) std::abort();
}

const std::string& fuzz_path() {
  static const std::string path = "/tmp/muster-fuzz-config-" + std::to_string(::getpid());
  return path;
}

void write_file(std::string_view text) {
  ::unlink(fuzz_path().c_str());
  std::ofstream(fuzz_path(), std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

void feed_config(std::string_view text) {
  const auto config = parse_config(text, "c.toml");
  if (!config) return require(config.error().starts_with("c.toml:"));
  for (const auto* entries : {&config->options, &config->limits})
    for (const ConfigEntry& entry : *entries) {
      require(entry.place.line > 0 && (entry.is_array || entry.values.size() == 1));
      (void)suggestion(entry.key, {"world", "listen", "token-file"});
    }
  const auto rules = rules_of(*config);
  if (!rules) return require(rules.error().starts_with("c.toml:"));
  AccessRules all;
  all.set(*rules);
  const WriteRules* const known = all.of(1, "ann", RemoteRight::edit);
  TypeDescriptor type;
  type.name = "game.Damage";
  type.remote = RemoteRight::edit;
  (void)known->decides(type);
}

void feed_users(std::string_view text) {
  write_file(text);
  std::size_t count = 0;
  try {
    const Users users({}, fuzz_path());
    count = users.all().size();
    (void)users.admit("token", Users::Clock::now());
  } catch (const ServerError& error) {
    return require(std::string_view(error.what()).find(fuzz_path()) != std::string_view::npos);
  }
  Users again({}, fuzz_path());
  const auto change = again.to_create("somebody new", session::Role::view, 0, Users::Clock::now());
  if (!change) return;
  write_file(change->text);
  require(Users({}, fuzz_path()).all().size() == change->users.size() && change->users.size() >= count);
}

void feed_token(std::string_view text) {
  write_file(text);
  const auto token = read_token_file(fuzz_path());
  require(token ? token->size() >= 16 : token.error().find(fuzz_path()) != std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 4 == 1)
    feed_users(text);
  else if (data[0] % 4 == 2)
    feed_token(text);
  else
    feed_config(text);
  ::unlink(fuzz_path().c_str());
  return 0;
}

// `muster kick` and `muster remove-of`, with which an admin ends what a user does and removes what
// a user left.
#include <algorithm>
#include <cstdint>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"
#include "messages/json_writer.h"

namespace muster::cli {
namespace {

/// Returns the number of a user, who may be revoked. If several users have the name, prefers the
/// one who is not revoked, and otherwise fails, because a number is needed.
std::uint64_t number_of(Client& client, const std::string& name) {
  const auto all = must(client.ask(session::ListTokens{}));
  const std::size_t count = std::min({all.users.size(), all.names.size(), all.roles.size()});
  std::uint64_t found = 0;
  std::string numbers;
  for (std::size_t i = 0; i < count; ++i) {
    if (all.names[i] != name && std::to_string(all.users[i]) != name) continue;
    if (all.names[i] != name || all.roles[i] != 0) return all.users[i];
    found = all.users[i];
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(found);
  }
  if (numbers.empty()) fail(Exit::refused, "there is no user \"" + name + "\"; see muster token list");
  if (numbers.contains(',')) fail(Exit::usage, "the users " + numbers + " had this name; give the number");
  return found;
}

std::string counted(std::uint64_t count, const char* one, const char* several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

}  // namespace

void kick(const Common& common, const std::string& user) {
  RemoteWorld remote(connect(common.where));
  session::Kick what;
  what.name = user;
  const auto kicked = must(remote.client().ask(what));
  if (!common.json) return print_line(counted(kicked.sessions, "session", "sessions") + " ended");
  JsonWriter out;
  print_line(out.open_object().member("name", user).member("sessions", kicked.sessions).close_object().text());
}

void remove_of(const Common& common, const std::string& user, bool dry) {
  RemoteWorld remote(connect(common.where));
  session::RemoveOf what;
  what.user = number_of(remote.client(), user);
  what.dry = dry ? 1 : 0;
  const auto removed = must(remote.client().ask(what));
  if (common.json) {
    JsonWriter out;
    out.open_object().member("user", what.user).member("dry", dry).member("sequence", removed.sequence);
    out.member("timers", removed.timers).member("templates", removed.templates);
    out.member("entities", removed.entities).member("others", removed.others).member("steps", removed.steps);
    return print_line(out.close_object().text());
  }
  const std::string others =
      removed.others == 0 ? "" : " with " + std::to_string(removed.others) + " of others below them";
  print_line((dry ? "would remove " : "removed ") + counted(removed.entities, "entity", "entities") + others + ", " +
             counted(removed.templates, "template", "templates") + ", " + counted(removed.timers, "timer", "timers") +
             ", " + counted(removed.steps, "step", "steps") + " of the history");
}

}  // namespace muster::cli

// `muster token` manages the users who may connect, `muster kick` ends the sessions of a user, and
// `muster remove-of` removes what a user left. The world's server stores the list of users. If
// no server is running, the command starts one.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"
#include "client/cli/server_process.h"
#include "messages/json_writer.h"
#include "schema/kinds.h"

namespace muster::cli {
namespace {

using Seconds = std::chrono::sys_seconds;

/// Parses an expiry time: "30d" from now, or a date or time in UTC such as "2027-01-31" or
/// "2027-01-31T12:00:00Z". For an empty string, returns 0, which means that the token never
/// expires.
std::uint64_t expiry(const std::string& text) {
  if (text.empty()) return 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  std::uint64_t count = 0;
  const auto [behind, error] = std::from_chars(begin, end, count);
  const std::string_view units = "smhdw";
  constexpr std::uint64_t lengths[] = {1, 60, 3600, 86'400, 604'800};
  if (error == std::errc() && behind + 1 == end && units.contains(*behind) && count <= 1'000'000'000) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    return static_cast<std::uint64_t>(now.time_since_epoch().count()) + count * lengths[units.find(*behind)];
  }
  int year = 0, hour = 0, minute = 0, second = 0, read = 0;
  unsigned month = 0, day = 0;
  const bool is_day = std::sscanf(begin, "%4d-%2u-%2u%n", &year, &month, &day, &read) == 3 && begin + read == end;
  const bool is_moment =
      !is_day &&
      std::sscanf(begin, "%4d-%2u-%2uT%2d:%2d:%2dZ%n", &year, &month, &day, &hour, &minute, &second, &read) == 6 &&
      begin + read == end;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!(is_day || is_moment) || !date.ok() || year < 1970 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
      second < 0 || second > 59)
    fail(Exit::usage, "'" + text + "' is not a time: expected 30d (s, m, h, d, w), 2027-01-31 or 2027-01-31T12:00:00Z");
  const Seconds at = std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
                     std::chrono::seconds(second);
  return static_cast<std::uint64_t>(at.time_since_epoch().count());
}

std::string moment_text(std::uint64_t seconds) {
  // A 64-bit number of seconds can represent years that the calendar functions do not support.
  if (seconds > 253'402'300'799) return std::to_string(seconds) + " s";
  const Seconds at{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02ld:%02ld:%02ldZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<long>(time.hours().count()), static_cast<long>(time.minutes().count()),
                static_cast<long>(time.seconds().count()));
  return text;
}

JsonWriter& member_moment(JsonWriter& out, const char* name, std::uint64_t seconds) {
  if (seconds == 0) return out.key(name).null();
  return out.member(name, moment_text(seconds));
}

void create(const Common& common, Client& client, const TokenOrder& order) {
  const auto role = right_named(order.role);
  if (!role || *role == RemoteRight::none)
    fail(Exit::usage, order.role.empty() ? "a token needs --role view, edit, control or admin"
                                         : "'" + order.role + "' is not a role: expected view, edit, control or admin");
  session::CreateToken what;
  what.name = order.name;
  what.role = static_cast<std::uint8_t>(*role);
  what.expires_s = expiry(order.expires);
  const auto made = must(client.ask(what));
  if (common.json) {
    JsonWriter out;
    out.open_object().member("user", made.user).member("name", order.name).member("role", order.role);
    return print_line(member_moment(out, "expires", what.expires_s).member("token", made.token).close_object().text());
  }
  print_line("user " + std::to_string(made.user) + ", " + printable(order.name) + ", may " + order.role +
             (what.expires_s == 0 ? "" : " until " + moment_text(what.expires_s)) +
             ". The token, which is shown only once:");
  print_line(made.token);
}

void list(const Common& common, Client& client) {
  const auto now = static_cast<std::uint64_t>(
      std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()).time_since_epoch().count());
  const auto all = must(client.ask(session::ListTokens{}));
  JsonWriter out;
  out.open_array();
  Columns columns({"USER", "NAME", "ROLE", "EXPIRES", "SEEN"});
  const std::size_t count = std::min({all.users.size(), all.names.size(), all.roles.size(), all.expires_s.size()});
  for (std::size_t i = 0; i < count; ++i) {
    const bool revoked = all.roles[i] == 0, over = all.expires_s[i] != 0 && all.expires_s[i] <= now;
    const std::string role(right_name(static_cast<session::Role>(all.roles[i])));
    const std::uint64_t seen_s = i < all.seen_s.size() ? all.seen_s[i] : 0;
    columns.add({std::to_string(all.users[i]), all.names[i], revoked ? "revoked" : role,
                 revoked || all.expires_s[i] == 0 ? "" : moment_text(all.expires_s[i]) + (over ? ", is over" : ""),
                 seen_s == 0 ? "" : moment_text(seen_s)});
    out.open_object().member("user", all.users[i]).member("name", all.names[i]);
    if (revoked)
      out.key("role").null();
    else
      out.member("role", role);
    member_moment(out, "expires", all.expires_s[i]);
    member_moment(out, "seen", seen_s).close_object();
  }
  common.json ? print_line(out.close_array().text()) : columns.print();
}

void revoke(const Common& common, Client& client, const TokenOrder& order) {
  session::RevokeToken what;
  what.name = order.name;
  const auto revoked = must(client.ask(what));
  if (!common.json)
    return print_line("user " + std::to_string(revoked.user) + ", " + printable(order.name) +
                      ", can no longer connect");
  JsonWriter out;
  print_line(out.open_object().member("user", revoked.user).member("name", order.name).close_object().text());
}

void rotate(const Common& common, Client& client, const TokenOrder& order) {
  session::RotateToken what;
  what.name = order.name;
  const auto rotated = must(client.ask(what));
  if (common.json) {
    JsonWriter out;
    out.open_object().member("user", rotated.user);
    if (rotated.user != 0) out.member("name", order.name);
    return print_line(out.member("token", rotated.token).close_object().text());
  }
  print_line((rotated.user == 0 ? std::string("the server's own token")
                                : "the token of user " + std::to_string(rotated.user) + ", " + printable(order.name)) +
             " was exchanged, and the sessions that used the old one have ended. The new token:");
  print_line(rotated.token);
}

void clean(const Common& common, Client& client, const TokenOrder& order) {
  session::CleanTokens what;
  what.dry = order.dry ? 1 : 0;
  const auto cleaned = must(client.ask(what));
  const std::size_t count = std::min(cleaned.users.size(), cleaned.names.size());
  if (common.json) {
    JsonWriter out;
    out.open_object().member("dry", order.dry).key("removed").open_array();
    for (std::size_t i = 0; i < count; ++i)
      out.open_object().member("user", cleaned.users[i]).member("name", cleaned.names[i]).close_object();
    out.close_array().key("kept").open_array();
    for (const std::string& name : cleaned.kept) out.value(name);
    return print_line(out.close_array().close_object().text());
  }
  for (std::size_t i = 0; i < count; ++i)
    print_line((order.dry ? "would remove user " : "removed user ") + std::to_string(cleaned.users[i]) + ", " +
               printable(cleaned.names[i]));
  for (const std::string& name : cleaned.kept) print_line("kept " + printable(name) + ", whom a rule names");
  if (count == 0 && cleaned.kept.empty()) print_line("no user was revoked or has expired");
}

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

}  // namespace

void token(const Common& common, const TokenOrder& order) {
  const bool takes_no_name = order.what == "list" || order.what == "clean";
  if (takes_no_name && !order.name.empty()) fail(Exit::usage, "token " + order.what + " takes no name");
  if (!takes_no_name && order.what != "rotate" && order.name.empty())
    fail(Exit::usage, "token " + order.what + " needs the user's name: muster token " + order.what + " ann");
  if (order.what != "create" && !(order.role.empty() && order.expires.empty()))
    fail(Exit::usage, "--role and --expires are for token create");
  if (order.what != "clean" && order.dry) fail(Exit::usage, "--dry is for token clean");
  (void)expiry(order.expires);  // report an invalid time before starting a server
  const std::string world = world_meant(common.where);
  std::unique_ptr<ServerProcess> server;
  const bool is_asleep = !world.empty() && std::filesystem::exists(world) && !is_served(world);
  if (is_asleep && order.what == "rotate" && order.name.empty())
    fail(Exit::refused, "no server serves " + world + ", so there is no token of a server to exchange");
  if (is_asleep) server = std::make_unique<ServerProcess>(common.where, world, std::vector<std::string>{"--existing"});
  {
    RemoteWorld remote(server ? connect_to_world(common.where, world) : connect(common.where));
    if (order.what == "create")
      create(common, remote.client(), order);
    else if (order.what == "list")
      list(common, remote.client());
    else if (order.what == "rotate")
      rotate(common, remote.client(), order);
    else if (order.what == "clean")
      clean(common, remote.client(), order);
    else
      revoke(common, remote.client(), order);
  }
  if (server) server->stop();
}

void kick(const Common& common, const std::string& user) {
  RemoteWorld remote(connect(common.where));
  session::Kick what;
  what.name = user;
  const auto kicked = must(remote.client().ask(what));
  if (!common.json) return print_line(plural(kicked.sessions, "session", "sessions") + " ended");
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
  print_line((dry ? "would remove " : "removed ") + plural(removed.entities, "entity", "entities") + others + ", " +
             plural(removed.templates, "template", "templates") + ", " + plural(removed.timers, "timer", "timers") +
             ", " + plural(removed.steps, "step", "steps") + " of the history");
}

}  // namespace muster::cli

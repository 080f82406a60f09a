#include "server/session/user_rates.h"

#include <algorithm>
#include <cstdio>

namespace muster {
namespace {

constexpr std::size_t index_of(RateOf what) noexcept { return static_cast<std::size_t>(what); }

std::uint64_t rate_max(const ServerLimits& limits, std::size_t which) noexcept {
  const std::uint64_t all[] = {limits.user_bytes_rate, limits.user_requests_rate, limits.user_edits_rate};
  return all[which];
}

/// Returns a name as the value of a label.
std::string label_text(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (c == '\\' || c == '"') text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

UserRates::User& UserRates::begin(std::uint64_t user, const std::string& name, bool is_limited) {
  User& made = users_[user];
  made.name = user == 0 ? std::string() : name;
  made.is_limited = is_limited;
  ++made.sessions;
  made.seen = std::chrono::system_clock::now();
  return made;
}

std::uint64_t UserRates::seen_s(std::uint64_t user) const {
  const auto known = users_.find(user);
  if (known == users_.end()) return 0;
  const auto since = known->second.seen.time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(since).count());
}

bool UserRates::may(User& user, RateOf what, const ServerLimits& limits, Clock::time_point now) {
  if (!user.is_limited) return true;
  const std::size_t which = index_of(what);
  if (rate_max(limits, which) == 0) return true;
  const double seconds = std::min(1.0, std::chrono::duration<double>(now - user.filled).count());
  for (std::size_t i = 0; i < rates; ++i) {
    const auto rate = static_cast<double>(rate_max(limits, i));
    user.left[i] = std::min(rate, user.left[i] + rate * seconds);
  }
  user.filled = now;
  const bool allowed = user.left[which] > 0;
  if (!allowed && !user.is_waiting[which]) ++user.waits[which];
  user.is_waiting[which] = !allowed;
  return allowed;
}

void UserRates::count(User& user, RateOf what, std::uint64_t amount, const ServerLimits& limits) noexcept {
  const std::size_t which = index_of(what);
  user.total[which] += amount;
  if (rate_max(limits, which) > 0) user.left[which] -= static_cast<double>(amount);
}

std::string UserRates::metrics() const {
  if (users_.empty()) return {};
  std::string text;
  const auto add = [&](const char* name, const char* type, const char* help, auto&& value) {
    text += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
    for (const auto& [number, user] : users_)
      text += std::string(name) + "{user=\"" + std::to_string(number) + "\",name=\"" + label_text(user.name) + "\"} " +
              std::to_string(value(user)) + "\n";
  };
  const auto total = [](RateOf what) { return [what](const User& user) { return user.total[index_of(what)]; }; };
  const auto waits = [](RateOf what) { return [what](const User& user) { return user.waits[index_of(what)]; }; };
  add("muster_user_sessions_total", "counter", "Sessions that a user has begun.",
      [](const User& user) { return user.sessions; });
  add("muster_user_bytes_total", "counter", "Size of the frames that a user has sent.", total(RateOf::bytes));
  add("muster_user_requests_total", "counter", "Frames that a user has sent.", total(RateOf::requests));
  add("muster_user_edits_total", "counter", "Edits that a user has sent.", total(RateOf::edits));
  add("muster_user_refused_total", "counter", "Messages of a user that were refused.",
      [](const User& user) { return user.refused; });
  add("muster_user_bytes_waits_total", "counter", "How often a user reached user_bytes_rate.", waits(RateOf::bytes));
  add("muster_user_requests_waits_total", "counter", "How often a user reached user_requests_rate.",
      waits(RateOf::requests));
  add("muster_user_edits_waits_total", "counter", "How often a user reached user_edits_rate.", waits(RateOf::edits));
  add("muster_user_seen_timestamp_seconds", "gauge", "Time at which a user's last session began or ended.",
      [](const User& user) {
        return std::chrono::duration_cast<std::chrono::seconds>(user.seen.time_since_epoch()).count();
      });
  return text;
}

}  // namespace muster

#include "server/session/audit_line.h"

#include <chrono>
#include <cstdio>
#include <ctime>

namespace muster {

AuditLine::AuditLine(std::string_view event) {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto since = now.time_since_epoch().count();
  const auto seconds = static_cast<std::time_t>(since / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char day[32], time[64];
  std::strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(time, sizeof time, "%s.%03dZ", day, static_cast<int>(since % 1000));
  out_.open_object().member("time", time).member("event", event);
}

AuditLine& AuditLine::by(const Session& session) {
  add("session", session.number & 0xffffffff).add("user", session.user).add("name", session.name);
  return add("from", session.connection()->address);
}

std::string AuditLine::text() {
  out_.close_object();
  return out_.text() + "\n";
}

}  // namespace muster

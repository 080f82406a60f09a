// Makes the lines of the audit log. docs/operation.md describes their members.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "messages/json_writer.h"
#include "server/session/session.h"

namespace muster {

/// One line of JSON. Must not be given tokens.
class AuditLine {
 public:
  /// Begins with the time and the event: "edit".
  explicit AuditLine(std::string_view event);

  /// Adds the session, its user and its address.
  AuditLine& by(const Session& session);
  template <class T>
  AuditLine& add(std::string_view key, const T& value) {
    out_.member(key, value);
    return *this;
  }
  /// Adds the reason and text of a refusal.
  AuditLine& refused(const session::Fault& fault) { return add("refused", fault.reason).add("why", fault.text); }
  /// Returns the whole line, with a newline. Must be called once, at the end.
  std::string text();

 private:
  JsonWriter out_;
};

}  // namespace muster

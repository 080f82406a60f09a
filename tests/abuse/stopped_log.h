// A log that is not read while the server has much to do.
#pragma once

#include <cstdint>
#include <string>

#include "tests/abuse/abuse.h"
#include "tests/abuse/company.h"

namespace muster::abuse {

struct StoppedLogReport {
  /// The owner's waits while the log was read, and while it was not.
  WaitsByQuestion read, stopped;
  std::uint64_t lines_read = 0;  ///< while the log was read
  /// Lines that the server counted as lost, and those that a line of the log reported once the log
  /// was read again.
  std::uint64_t lost_while_read = 0, lost = 0, said_lost = 0;
  int exit_code = -1;

  std::string text() const;
};

/// Serves a new world that one user abuses while the owner asks. The log is read for a quarter of
/// the options' time, then not read for all of it, and then read again. Throws std::runtime_error
/// if the owner is not answered, or if the log never reports lost lines.
StoppedLogReport stopped_log(const AbuseOptions& options);

}  // namespace muster::abuse

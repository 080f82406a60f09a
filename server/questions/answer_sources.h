// Bundles the objects from which answers to questions are built. The desk owns all of them.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/figures/activity_count.h"
#include "server/figures/followed_log.h"
#include "server/figures/session_trace.h"
#include "server/questions/clock_questions.h"
#include "server/questions/durable_questions.h"
#include "server/questions/history_questions.h"
#include "server/questions/seldom.h"
#include "server/session/session.h"
#include "server/session/shares.h"
#include "server/session/world_side.h"
#include "server/watches/watches.h"

namespace muster {

class MadeThings;  // server/edits/made_things.h

/// Describes a session that the server ended with a Fault.
struct EndedSession {
  std::uint64_t secret = 0, number = 0, user = 0, at_ns = 0;
  std::string name, kind;
  session::Fault why;
};

/// The operations that questions need and that only the desk can perform. Must be used on the world
/// thread.
class DeskSide {
 public:
  DeskSide() = default;
  virtual ~DeskSide() = default;
  DeskSide(const DeskSide&) = delete;
  DeskSide& operator=(const DeskSide&) = delete;

  /// Returns the connected sessions.
  virtual std::vector<std::shared_ptr<Session>> present() const = 0;
  /// Returns at most `limit` ended sessions, newest first.
  virtual std::vector<EndedSession> ended(std::size_t limit) const = 0;
  /// Grants ids to the session's seat.
  virtual std::expected<session::Granted, session::Fault> grant(Session& to, std::uint32_t count) = 0;
  /// Counts an edit that a session makes through a question toward the limits of the session's
  /// seat. Returns a fault if the edit exceeds a limit.
  virtual std::optional<session::Fault> admit(Session& from, BatchView edit) = 0;
  /// Returns the changes that an edit of the session would make, or the fault that it would get.
  /// Without a history, the world refuses a Step.
  virtual std::expected<session::WouldChange, session::Fault> try_edit(const Session& from, const session::DryRun& what,
                                                                       bool keeps_history) = 0;
  /// Sends all sessions the schemas that the world has learned.
  virtual void learn_types() = 0;
  virtual std::uint64_t uptime_ns() const = 0;
  virtual std::uint64_t epoch() const noexcept = 0;
  /// Returns the number of questions that have not been answered yet.
  virtual std::size_t questions_waiting() const noexcept = 0;
};

struct AnswerSources {
  WorldSide& world;
  DeskSide& desk;
  Watches& watches;
  SessionTrace& trace;
  ActivityCount& activity;
  ClockQuestions& clock;
  DurableQuestions& durable;
  HistoryQuestions& history;
  FollowedLog& log;
  const Shares& shares;
  MadeThings& made;
  Seldom& seldom;          ///< schedules all seldom work except the opening of watches
  Seldom& watches_seldom;  ///< schedules the opening of watches
};

}  // namespace muster

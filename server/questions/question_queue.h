// Queues the unanswered questions of all sessions. Each session's questions are answered in order,
// and sessions take turns. Questions are processed in slices, so that no question delays the world.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "server/questions/inquiry.h"
#include "system/thread_role.h"

namespace muster {

/// A question that has passed judge(). The question's bytes count toward the session's requests
/// until the question is answered.
struct Question {
  std::shared_ptr<Session> from;
  std::uint64_t request = 0;
  std::vector<std::byte> batch;
  std::uint64_t epoch = 0;  ///< the epoch that the session had entered
};

/// Counts the work done on questions, for tests and statistics.
struct QuestionCounters {
  std::uint64_t answered = 0;
  std::uint64_t slices = 0;
  std::uint64_t steps = 0;            ///< total number of steps in all slices
  std::uint64_t slice_steps_max = 0;  ///< number of steps in the most expensive slice
};

/// The queue's length is bounded, because
/// `ServerLimits::requests_max` limits each session. Decrements Session::open_questions for each
/// question that is done.
class QuestionQueue {
 public:
  /// Creates the inquiry for a question when the question's turn comes.
  using Begin = std::function<std::unique_ptr<Inquiry>(const Question&)>;
  /// `processor_ns` returns the processor time used by this thread. May be null.
  explicit QuestionQueue(Begin begin, std::function<std::uint64_t()> processor_ns = {})
      : begin_(std::move(begin)), processor_ns_(std::move(processor_ns)) {}

  void add(Question question) MUSTER_REQUIRES(world_thread);
  /// Removes a session along with its unanswered questions. If it is called while one of them is
  /// being answered, that question remains.
  void drop(Session& session) MUSTER_REQUIRES(world_thread);

  /// Works on questions for about `steps` steps, or for the time that this number of steps should
  /// take. The next turn goes to the user whose sessions have used the fewest steps since the user
  /// last became active, and among those sessions to the one that has used the fewest. `between` is
  /// called before each turn and may add questions.
  void work(std::uint64_t steps, const std::function<void()>& between = {}) MUSTER_REQUIRES(world_thread);
  /// Returns true if there is work that can continue immediately.
  bool can_go_on() const noexcept MUSTER_REQUIRES(world_thread) { return can_go_on_; }
  /// Returns true if a question is waiting until seldom work is due.
  bool waits_for_time() const noexcept MUSTER_REQUIRES(world_thread) { return waits_for_time_; }
  std::size_t size() const noexcept MUSTER_REQUIRES(world_thread);
  const QuestionCounters& counters() const noexcept MUSTER_REQUIRES(world_thread) { return counters_; }

 private:
  struct Line {
    std::shared_ptr<Session> session;
    std::deque<Question> questions;  // once begun, the first question becomes `current`
    std::unique_ptr<Inquiry> current;
    std::shared_ptr<std::uint64_t> user_taken;  // number of steps used by the user's lines; a user
                                                // who was idle starts at user_clock_
    std::uint64_t taken = 0;                    // number of steps used; a new line starts at clock_
    bool stands = false;                        // the line cannot continue in this round
  };
  std::shared_ptr<std::uint64_t> taken_by(std::uint64_t user);
  Line* next() MUSTER_REQUIRES(world_thread);
  void go_on(Line& line, Steps& steps) MUSTER_REQUIRES(world_thread);
  std::uint64_t now_ns() const { return processor_ns_ ? processor_ns_() : 0; }

  const Begin begin_;
  const std::function<std::uint64_t()> processor_ns_;
  std::vector<std::unique_ptr<Line>> lines_;
  const Line* working_ = nullptr;                                          // while go_on() runs
  std::unordered_map<std::uint64_t, std::weak_ptr<std::uint64_t>> users_;  // `user_taken` by user
  // Values of `taken` and `user_taken` of the line that had the most recent turn.
  std::uint64_t clock_ = 0, user_clock_ = 0;
  bool can_go_on_ = false, waits_for_time_ = false;
  QuestionCounters counters_;
};

}  // namespace muster

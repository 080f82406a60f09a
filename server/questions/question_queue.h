// The questions that sessions asked and that are not answered yet: each session's in their order,
// the sessions in turns. They are worked on in slices, so that none of them holds up the world.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "server/questions/inquiry.h"

namespace muster {

/// A question that was judged. Its bytes count in its session's requests until it is answered.
struct Question {
  std::shared_ptr<Session> from;
  std::uint64_t request = 0;
  std::vector<std::byte> batch;
};

/// The questions worked on, for tests and figures.
struct QuestionCounters {
  std::uint64_t answered = 0;
  std::uint64_t slices = 0;
  std::uint64_t steps = 0;            ///< of all slices
  std::uint64_t slice_steps_max = 0;  ///< of the dearest one
};

/// Owner's thread only. The bound of its length is that of each session:
/// `ServerLimits::requests_max`, see Session::open_questions, which is counted down here.
class QuestionQueue {
 public:
  /// `begin` makes the inquiry of a question when its turn comes.
  using Begin = std::function<std::unique_ptr<Inquiry>(const Question&)>;
  /// `processor_ns`: that this thread has used; may be null.
  explicit QuestionQueue(Begin begin, std::function<std::uint64_t()> processor_ns = {})
      : begin_(std::move(begin)), processor_ns_(std::move(processor_ns)) {}

  void add(Question question);
  /// The session ended: its questions go unanswered.
  void drop(const Session& session);

  /// Works on what there is, for about `steps` steps, or for the time that these should take.
  /// Sessions take turns: the one that took the fewest steps since it has questions comes first.
  /// `between` is called before each turn, and may add questions.
  void work(std::uint64_t steps, const std::function<void()>& between = {});
  /// Whether there is something to go on with at once.
  bool can_go_on() const noexcept { return can_go_on_; }
  /// Whether a question waits until something is due that is done seldom.
  bool waits_for_time() const noexcept { return waits_for_time_; }
  std::size_t size() const noexcept;
  const QuestionCounters& counters() const noexcept { return counters_; }

 private:
  struct Line {
    std::shared_ptr<Session> session;
    std::deque<Question> questions;  // the first is `current`, once that is begun
    std::unique_ptr<Inquiry> current;
    std::uint64_t taken = 0;  // steps, counted from where the others were when it came
    bool stands = false;      // nothing can be done for it in this round
  };
  Line* next();
  void go_on(Line& line, Steps& steps);
  std::uint64_t now_ns() const { return processor_ns_ ? processor_ns_() : 0; }

  const Begin begin_;
  const std::function<std::uint64_t()> processor_ns_;
  std::vector<std::unique_ptr<Line>> lines_;
  std::uint64_t clock_ = 0;  // `taken` of the line that was worked on last
  bool can_go_on_ = false, waits_for_time_ = false;
  QuestionCounters counters_;
};

}  // namespace muster

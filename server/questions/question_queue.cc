#include "server/questions/question_queue.h"

#include <algorithm>
#include <utility>

namespace muster {

namespace {

/// Number of steps in a turn of a session's line. The number is large enough that selecting the
/// next line is cheap in comparison.
constexpr std::uint64_t turn_steps = 2000;

}  // namespace

void QuestionQueue::add(Question question) {
  const auto at = std::ranges::find_if(lines_, [&](const auto& line) { return line->session == question.from; });
  if (at != lines_.end()) {
    (*at)->questions.push_back(std::move(question));
    return;
  }
  auto line = std::make_unique<Line>();
  line->session = question.from;
  line->user_taken = taken_by(question.from->user);
  line->taken = clock_;
  line->questions.push_back(std::move(question));
  lines_.push_back(std::move(line));
}

std::shared_ptr<std::uint64_t> QuestionQueue::taken_by(std::uint64_t user) {
  if (users_.size() > 2 * lines_.size() + 16)
    std::erase_if(users_, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<std::uint64_t>& known = users_[user];
  std::shared_ptr<std::uint64_t> taken = known.lock();
  if (!taken) known = taken = std::make_shared<std::uint64_t>(user_clock_);
  return taken;
}

void QuestionQueue::drop(Session& session) {
  std::erase_if(lines_, [&](const auto& line) {
    if (line->session.get() != &session) return false;
    // The question that is being answered has to end by itself.
    const std::size_t stay = line.get() == working_ ? 1 : 0;
    while (line->questions.size() > stay) {
      session.requests.release(line->questions.back().batch.size());
      line->questions.pop_back();
      line->session->open_questions.fetch_sub(1, std::memory_order_relaxed);
    }
    return stay == 0;
  });
}

std::size_t QuestionQueue::size() const noexcept {
  std::size_t questions = 0;
  for (const auto& line : lines_) questions += line->questions.size();
  return questions;
}

QuestionQueue::Line* QuestionQueue::next() {
  Line* first = nullptr;
  for (const auto& line : lines_)
    if (!line->stands &&
        (!first || std::pair(*line->user_taken, line->taken) < std::pair(*first->user_taken, first->taken)))
      first = line.get();
  return first;
}

void QuestionQueue::go_on(Line& line, Steps& steps) {
  const auto end = [&] {
    line.current.reset();
    line.session->requests.release(line.questions.front().batch.size());
    line.questions.pop_front();
    line.session->open_questions.fetch_sub(1, std::memory_order_relaxed);
  };
  if (line.session->outgoing()->closed()) return end();  // the answer would have no recipient
  if (!line.current) {
    steps.spend_bytes(line.questions.front().batch.size());
    line.current = begin_(line.questions.front());
  }
  switch (line.current->go_on(steps)) {
    case Inquiry::Progress::done:
      end();
      ++counters_.answered;
      break;
    case Inquiry::Progress::again: break;
    case Inquiry::Progress::room:
    case Inquiry::Progress::elsewhere: line.stands = true; break;
    case Inquiry::Progress::later:
      line.stands = true;
      waits_for_time_ = true;
      break;
  }
}

void QuestionQueue::work(std::uint64_t allowed, const std::function<void()>& between) {
  can_go_on_ = waits_for_time_ = false;
  if (lines_.empty()) return;
  for (const auto& line : lines_) line->stands = false;
  Steps slice(allowed), time(allowed);
  while (slice.left() && time.left()) {
    if (between) between();
    Line* const line = next();
    if (!line) break;
    clock_ = line->taken;
    user_clock_ = *line->user_taken;
    Steps turn(std::min(turn_steps, allowed - slice.spent()));
    const std::uint64_t begun_ns = now_ns();
    std::uint64_t took = 0;
    while (turn.left() && took < turn_steps && !line->stands && !line->questions.empty()) {
      turn.spend(1);
      working_ = line;
      go_on(*line, turn);
      working_ = nullptr;
      took = (now_ns() - begun_ns) / step_ns;
    }
    line->taken += std::max(turn.spent(), took);
    *line->user_taken += std::max(turn.spent(), took);
    time.spend(took);
    slice.spend(turn.spent());
    if (line->questions.empty()) std::erase_if(lines_, [&](const auto& each) { return each.get() == line; });
  }
  can_go_on_ = next() != nullptr;
  ++counters_.slices;
  counters_.steps += slice.spent();
  counters_.slice_steps_max = std::max(counters_.slice_steps_max, slice.spent());
}

}  // namespace muster

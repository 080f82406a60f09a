// - SetClock changes only the settings that it names, so a speed set by one user and a pause set by
//   another do not undo each other.
// - SetClock is answered immediately rather than after its last step, because otherwise later
//   questions from the same session would have to wait.
// - A step is a frame like any other. Edits and a slice of questions are handled before each step,
//   so a long run of steps does not delay any session. The number of pending steps is limited, in
//   case a user enters a wrong number.
// - A follower receives only the newest state, as soon as its queue has room.
#include "server/questions/clock_questions.h"

#include "registry/entity_registry.h"
#include "server/questions/answer_sources.h"
#include "server/questions/question_table.h"

namespace muster {
namespace {

constexpr std::size_t state_bytes = 256;
/// Values of SetClock fields that leave the speed or the pause unchanged.
constexpr double same_speed = 0;
constexpr std::uint32_t same_paused = 2;

}  // namespace

session::ClockState ClockQuestions::state() const {
  session::ClockState state;
  state.sequence = registry_.sequence();
  state.tick = world_.tick();
  state.clock_ns = registry_.now_ns();
  state.hz = world_.facts().hz;
  state.saved_sequence = world_.saved_sequence();
  state.session = session_;
  const Pace pace = this->pace();
  state.speed = pace.speed;
  state.paused = pace.paused ? 1 : 0;
  state.steps = pace.steps;
  return state;
}

void ClockQuestions::notice() {
  const Pace now = pace();
  const std::uint64_t saved = world_.saved_sequence();
  const bool set_by_host = now.speed != pace_.speed || now.paused != pace_.paused;
  if (set_by_host) session_ = 0;
  if (set_by_host || (now.steps > 0) != (pace_.steps > 0) || saved != saved_) followers_.note_change();
  pace_ = now;
  saved_ = saved;
}

void ClockQuestions::get(const Asked& asked, bool follow) {
  notice();
  asked.answer(state());
  if (follow) followers_.add(asked.from);
}

void ClockQuestions::set(const Asked& asked, const session::SetClock& what) {
  const auto refuse = [&](const PaceFault& fault) {
    session::Fault told = fault_of(session::FaultCode::bad_question, fault.reason.c_str(), fault.text);
    told.type = TypeTraits<session::SetClock>::id;
    told.field = fault.field;
    asked.fault(told);
  };
  if (asked.sources && asked.epoch != asked.of().desk.epoch()) return asked.fault(epoch_over_fault());
  if (!world_.pace()) return refuse({"", "no_clock", "this server's clock cannot be set"});
  Pace pace = this->pace();
  if (what.speed != same_speed) pace.speed = what.speed;
  if (what.paused != same_paused) pace.paused = what.paused == 1;
  if (what.paused == 0 || (what.paused == 1 && what.steps == 0)) pace.steps = 0;
  pace.steps += what.steps;  // both are bounded
  if (const auto done = world_.set_pace(pace); !done) return refuse(done.error());
  pace_ = pace;
  session_ = asked.to().number;
  followers_.note_change();
  asked.answer(state());
}

void ClockQuestions::tell() {
  if (followers_.empty()) return;
  notice();
  followers_.tell(state_bytes, [this] { return state(); });
}

void ClockQuestions::leave(const Session& session) { followers_.remove(session); }

void answer_once(const Asked& asked, const session::GetClock& what, Steps&) {
  asked.of().clock.get(asked, what.follow == 1);
}

void answer_once(const Asked& asked, const session::SetClock& what, Steps&) { asked.of().clock.set(asked, what); }

}  // namespace muster

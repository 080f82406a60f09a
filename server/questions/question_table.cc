#include "server/questions/question_table.h"

#include "server/questions/answers.h"
#include "server/questions/question_sight.h"
#include "server/questions/questions.h"

namespace muster {

std::unique_ptr<Inquiry> begin_question(const Asked& asked, BatchView question) {
  std::unique_ptr<Inquiry> begun;
  with_world_question(question.type(), [&]<class Q>() {
    if (SightOfQuestion<Q>::value == QuestionSight::whole && asked.sight) {
      begun = refuse(asked, whole_sight_fault());
      return;
    }
    const Q what = session::read<Q>(question);
    if constexpr (QuestionTraits<Q>::cost == QuestionCost::once)
      begun = once(asked, [asked, what](Steps& steps) { answer_once(asked, what, steps); });
    else if constexpr (QuestionTraits<Q>::cost == QuestionCost::seldom)
      begun = begin_seldom(asked, what);
    else
      begun = begin_slices(asked, what);
  });
  if (begun) return begun;
  // A world may contain a type of this name that the server does not know.
  return once(asked, [asked](Steps&) {
    asked.fault(fault_of(session::FaultCode::bad_question, "bad_question", "this server does not answer this message"));
  });
}

Inquiry::Progress SeldomWork::go_on(Steps& steps) {
  if (!pieces_over_) {
    if (const auto why = waits()) return *why;
    const bool for_admin = asked_.to().rights.role >= RemoteRight::admin;
    if (!seldom_.due(Seldom::Clock::now(), for_admin)) return Progress::later;
    Progress came = Progress::done;
    seldom_.run([&] { came = piece(); }, for_admin);
    steps.spend(piece_steps_ == 0 ? asked_.limits.slice_steps : piece_steps_);
    if (came != Progress::again) return came;
    pieces_over_ = true;
  }
  return finish(steps);
}

}  // namespace muster

// The edits that a client sends again after it has resumed its session, because it has not received
// the answers. Each edit is applied once.
#include <algorithm>

#include "server/edits/intake.h"

namespace muster {

bool Intake::answer_repeated(Session& from, const Request& edit) {
  if (edit.request == 0 || edit.request > from.last_request) return false;
  for (const std::uint64_t overtaken : edit.overtaken) answer_handled(from, overtaken);
  answer_handled(from, edit.request);
  return true;
}

void Intake::answer_handled(Session& from, std::uint64_t request) {
  if (const session::Fault* const kept = from.kept_answers.find(request)) return from.outgoing()->fault(*kept, request);
  const AppliedRequest* const applied = applied_.find(from.number, request);
  if (!applied || applied->refused)
    return from.outgoing()->fault(fault_of(session::FaultCode::refused, applied ? "refused_before" : "answered_before",
                                           applied ? "this request was refused before; the reason is no longer known"
                                                   : "this request was handled before; its answer is no longer known"),
                                  request);
  session::Ack ack;
  ack.sequence = applied->sequence;
  ack.durable_through = world_.durable_sequence();
  ack.handled = applied->handled;
  ack.unhandled = applied->unhandled;
  ack.dead = applied->dead;
  ack.cut_short = applied->cut_short ? 1 : 0;
  answer(from, request, ack);
}

void Intake::keep_refusal(Session& from, const Request& edit, const session::Fault& fault) const {
  const auto keep = [&](std::uint64_t request) {
    if (request == 0) return;
    from.kept_answers.keep(request, fault, limits_.kept_answers_bytes_max);
    from.last_request = std::max(from.last_request, request);
  };
  for (const std::uint64_t overtaken : edit.overtaken) keep(overtaken);
  keep(edit.request);
}

void Intake::keep_applied(Session& from, const Request& edit, const Receipt& receipt) {
  AppliedRequest overtaken_by{.sequence = receipt.sequence, .refused = receipt.refused > 0};
  for (const std::uint64_t overtaken : edit.overtaken) {
    overtaken_by.request = overtaken;
    applied_.note(from.number, overtaken_by);
    from.last_request = std::max(from.last_request, overtaken);
  }
  if (edit.request == 0) return;
  applied_.note(from.number, applied_request(edit.request, receipt));
  from.last_request = std::max(from.last_request, edit.request);
}

}  // namespace muster

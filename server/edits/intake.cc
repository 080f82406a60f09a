#include "server/edits/intake.h"

#include <algorithm>

#include "registry/apply/timers.h"
#include "registry/host.h"
#include "server/edits/hidden_targets.h"
#include "server/edits/place_rights.h"
#include "server/edits/refusal_text.h"
#include "server/session/audit_line.h"

namespace muster {

namespace {

/// Number of steps in a turn of a session's line. The number is large enough that selecting the
/// next line is cheap in comparison.
constexpr std::uint64_t turn_steps = 1000;
/// The fixed cost of an edit, no matter how small it is.
constexpr std::uint64_t edit_steps = 5;
/// Approximate limit on the size of the answer to an edit that was replaced by a later one.
constexpr std::size_t answer_bytes = 512;

}  // namespace

void Intake::add(std::shared_ptr<Session> session) {
  std::shared_ptr<Seat> seat = session->seat();
  if (session->resumable) session->last_request = std::max(session->last_request, applied_.last(session->number));
  lines_.push_back({.session = std::move(session), .seat = std::move(seat), .taken = clock_});
}

void Intake::remove(const Session& session) {
  std::erase_if(lines_, [&](const Line& line) { return line.session.get() == &session; });
}

Intake::Line* Intake::next() {
  Line* first = nullptr;
  for (Line& line : lines_) {
    if (line.stands) continue;
    if (!first || line.taken + line.next_steps < first->taken + first->next_steps) first = &line;
  }
  return first;
}

std::uint64_t Intake::look_at_time() {
  const std::uint64_t before = now_ns_;
  now_ns_ = world_.processor_ns();
  return now_ns_ - std::min(before, now_ns_);
}

void Intake::take(std::uint64_t allowed, bool cheap) {
  look_at_time();
  cheap_ = cheap;
  put_off_ = false;
  for (Line& line : lines_) {
    // The requests of a session that an admin has ended are about to be dropped.
    const bool evicted = line.session->evicted.load(std::memory_order_relaxed);
    const bool empty = evicted || line.session->requests.front() == nullptr;
    // A session does not earn credit while it is idle. A session that was idle resumes at the same
    // value as the other sessions.
    if (line.idle && !empty) line.taken = std::max(line.taken, clock_);
    line.idle = empty;
    // An edit that has been judged but postponed in favor of others counts as expensive.
    line.stands = empty || (cheap && line.next_steps > 0);
    put_off_ = put_off_ || (!empty && line.stands);
  }
  Steps all(allowed);
  while (all.left()) {
    Line* const line = next();
    if (!line) break;
    clock_ = line->taken;
    Steps turn(turn_steps);
    do take_known(*line, turn, all);
    while (turn.left() && !line->stands && take_one(*line, turn, all));
    line->taken += turn.spent();
    all.spend(turn.spent());
  }
  can_go_on_ = put_off_ || next() != nullptr;
  counters_.steps += all.spent();
  counters_.take_steps_max = std::max(counters_.take_steps_max, all.spent());
}

bool Intake::others_first(Line& line, std::uint64_t steps) {
  if (line.next_steps > 0) return false;  // postponed in favor of others
  line.next_steps = steps;
  return next() != &line;
}

void Intake::take_known(Line& line, Steps& turn, const Steps& all) {
  if (line.put_off || line.next_steps > 0 || closed() || world_.audits()) return;
  if (line.session->rights.has_rules() || line.session->rights.sight()) return;
  Session& from = *line.session;
  Seat& seat = *line.seat;
  if (from.epoch != epoch_) return;
  struct Taken {
    Requests& requests;
    std::size_t bytes = 0;
    ~Taken() {
      if (bytes > 0) requests.release(bytes);
    }
  } taken{from.requests};
  while (turn.left()) {
    const Request* const request = from.requests.front();
    if (!request || !request->for_world || request->request != 0 || !request->overtaken.empty()) return;
    const BatchView edit{std::span<const std::byte>(request->batch)};
    const std::uint64_t steps = judge_.steps_of_known(edit);
    if (steps == 0 || steps > turn_steps || all.spent() + turn.spent() + edit_steps + steps > all.allowed()) return;
    const Receipt receipt = registry_.host().push_batch(request->batch, {.session = from.number, .user = from.user});
    ++counters_.edits;
    if (receipt.refused == 0) ++seat.edits;
    const std::uint64_t took_ns = look_at_time();
    judge_.took(edit, 1, took_ns);
    count_wait(seat, *request);
    taken.bytes += from.requests.drop();
    turn.spend(edit_steps + std::max(steps, took_ns / step_ns));
  }
}

bool Intake::take_one(Line& line, Steps& turn, const Steps& all) {
  Session& from = *line.session;
  Seat& seat = *line.seat;
  Request* const request = from.requests.front();
  // If a session does not read the answers to its edits, it must wait before more of its edits are
  // taken.
  const bool waits_for_room = request && (request->request != 0 || !request->overtaken.empty()) &&
                              !from.outgoing()->has_answer_room(request->overtaken.size() * answer_bytes);
  if (!request || waits_for_room) {
    line.stands = true;
    return true;
  }
  turn.spend(edit_steps);
  if (!request->for_world) {
    const std::uint64_t asked = request->request;
    questions_.add({line.session, asked, from.requests.take(), from.epoch});
    return true;
  }
  if (const BatchView sent{std::span<const std::byte>(request->batch)};
      sent.type() == TypeTraits<session::EnterEpoch>::id) [[unlikely]] {
    from.epoch = session::read<session::EnterEpoch>(sent).epoch;
    from.requests.pop();
    return true;
  }
  if (from.resumable && answer_repeated(from, *request)) {
    from.requests.pop();
    return true;
  }
  if (from.epoch != epoch_) {
    refuse(line, epoch_over_fault());
    return true;
  }
  if (const auto fault = closed()) {
    refuse(line, *fault);
    return true;
  }
  const std::shared_ptr<SeenNow> sight = from.rights.sight() ? seen_.of(from.rights.rules->sight()) : nullptr;
  std::span<std::byte> bytes(request->batch);
  if (BatchView(request->batch).type() == TypeTraits<session::EditIf>::id) [[unlikely]]
    if (const auto fault = open_conditional(bytes, sight.get(), turn)) {
      refuse(line, *fault);
      return true;
    }
  const BatchView edit{std::span<const std::byte>(bytes)};
  if (edit.kind() == BatchKind::timed && seat.timers.size() >= limits_.timers_max) {
    turn.spend(seat.timers.size());
    std::erase_if(seat.timers, [&](TimerId timer) { return !registry_.host().timers().waits(timer); });
  }
  if (sight) [[unlikely]]
    if (const auto fault = hide_targets(registry_, *sight, bytes, line.hidden)) {
      refuse(line, *fault);
      return true;
    }
  const std::uint64_t before = all.spent() + turn.spent();
  auto cost = judge_.judge(seat, edit);
  if (cost && from.rights.has_rules()) [[unlikely]]
    if (auto fault = rule_fault(registry_, *from.rights.rules, edit)) cost = std::unexpected(std::move(*fault));
  if (cost)
    if (auto fault = made_.refuses(from, edit, *cost)) cost = std::unexpected(std::move(*fault));
  if (!cost) {
    // The edit was refused, so charge only the time for judging it rather than its full cost.
    const std::uint64_t judging_ns = look_at_time();
    turn.spend(judging_ns / step_ns);
    refuse(line, cost.error());
    return true;
  }
  if (cost->steps > turn_steps && (others_first(line, cost->steps) || cheap_)) {
    turn.spend(look_at_time() / step_ns);
    if (cheap_) line.stands = put_off_ = true;
    return false;
  }
  if (!line.put_off && before > edit_steps && before + cost->steps > all.allowed()) {
    // The next call will take this edit when its turn comes, regardless of earlier edits.
    turn.spend(look_at_time() / step_ns);
    line.put_off = line.stands = put_off_ = true;
    return false;
  }
  line.put_off = false;
  line.next_steps = 0;
  push(line, *request, edit, *cost);
  const std::uint64_t took_ns = look_at_time();  // includes the time for judging
  judge_.took(edit, cost->delivery, took_ns);
  count_wait(seat, *request);
  from.requests.pop();
  // The time that handlers will need cannot be predicted. Therefore, charge the time that they
  // actually took, so that a session with slow edits waits correspondingly longer for its next
  // turn.
  turn.spend(std::max(cost->steps, took_ns / step_ns));
  return true;
}

std::optional<session::Fault> Intake::closed() const {
  const std::string* const error = world_.recording_error();
  if (!error) return std::nullopt;
  return not_recorded_fault(*error);
}

void Intake::refuse(Line& line, session::Fault fault) {
  Session& from = *line.session;
  show_replaced(fault, line.hidden);
  line.hidden.clear();
  line.next_steps = 0;
  line.put_off = false;
  ++counters_.refused;
  const Request& request = *from.requests.front();
  count_wait(*line.seat, request);
  if (from.resumable) keep_refusal(from, request, fault);
  tell_refused(from, request, fault);
  from.requests.pop();
}

void Intake::tell_refused(Session& to, const Request& edit, const session::Fault& fault) {
  for (const std::uint64_t overtaken : edit.overtaken) to.outgoing()->fault(fault, overtaken, false);
  if (edit.request != 0) to.outgoing()->fault(fault, edit.request, false);
  if (world_.audits()) audit(to, edit, &fault, 0);
}

void Intake::audit(const Session& from, const Request& edit, const session::Fault* fault,
                   std::uint64_t sequence) const {
  BatchView batch{std::span<const std::byte>(edit.batch)};
  session::EditIf conditional;
  if (batch.type() == TypeTraits<session::EditIf>::id) {
    conditional = session::read<session::EditIf>(batch);
    batch = BatchView(std::as_bytes(std::span(conditional.batch)));
  }
  const bool is_timed = batch.kind() == BatchKind::timed;
  const BatchView message = is_timed ? batch.inner() : batch;
  const TypeDescriptor* const type = registry_.types().find(message.type());
  AuditLine line(fault ? "refused" : "edit");
  line.by(from).add("type", type ? std::string_view(type->name) : std::string_view("unknown"));
  line.add("messages", message.count()).add("timed", is_timed).add("request", edit.request);
  if (fault) line.refused(*fault);
  if (sequence != 0) line.add("sequence", sequence);
  world_.audit(line.text());
}

void Intake::count_wait(Seat& from, const Request& edit) {
  from.edit_waits.add(now_ns_ - std::min(edit.came_ns, now_ns_));
}

void Intake::enter(Seat& from, const EditCost& cost) {
  judge_.entered(cost);
  from.texts += cost.texts;
  from.text_bytes += cost.text_bytes;
  from.texts_told.insert(cost.told.begin(), cost.told.end());
}

std::optional<session::Fault> Intake::admit(const Session& from, BatchView edit) {
  if (auto fault = closed()) return fault;
  const std::shared_ptr<Seat> seat = from.seat();
  auto cost = judge_.judge_bounds(*seat, edit);
  if (!cost) return std::move(cost.error());
  if (from.rights.has_rules())
    if (auto fault = rule_fault(registry_, *from.rights.rules, edit)) return fault;
  if (auto fault = made_.refuses(from, edit, *cost)) return fault;
  made_.begin(*cost);
  enter(*seat, *cost);
  made_.end(from, edit, *cost, 0);
  return std::nullopt;
}

void Intake::push(Line& line, const Request& edit, BatchView batch, const EditCost& cost) {
  Session& from = *line.session;
  Seat& seat = *line.seat;
  const TimerId timers_before = registry_.host().next_timer();
  made_.begin(cost);
  Receipt receipt =
      registry_.host().push_batch(batch.bytes(), {.session = from.number, .user = from.user, .request = edit.request});
  ++counters_.edits;
  if (receipt.refused == 0) ++seat.edits;
  enter(seat, cost);
  if (from.rights.sight()) [[unlikely]]
    receipt = visible_receipt(registry_, *seen_.of(from.rights.rules->sight()), receipt, batch);
  // Messages that waited were delivered first, and their handlers may have set timers.
  const TimerId timer = registry_.host().next_timer() - 1;
  const bool waits = batch.kind() == BatchKind::timed && receipt.refused == 0 && timer >= timers_before &&
                     registry_.host().timers().waits(timer);
  if (waits) {
    seat.timers.push_back(timer);
    judge_.waits(batch, cost);
  }
  made_.end(from, batch, cost, waits ? timer : 0);
  if (receipt.refused == 0 && world_.audits()) audit(from, edit, nullptr, receipt.sequence);
  const bool is_silent = edit.request == 0 && edit.overtaken.empty();
  if (is_silent && (receipt.refused == 0 || !world_.audits())) return line.hidden.clear();
  const bool is_kept = from.resumable && !is_silent;
  if (is_kept) keep_applied(from, edit, receipt);
  if (receipt.refused > 0) {
    session::Fault fault = refusal_fault(registry_, limits_, receipt, batch.bytes());
    show_replaced(fault, line.hidden);
    line.hidden.clear();
    if (is_kept) keep_refusal(from, edit, fault);
    return tell_refused(from, edit, fault);
  }
  line.hidden.clear();
  session::Ack ack;
  ack.sequence = receipt.sequence;
  ack.durable_through = world_.durable_sequence();
  for (const std::uint64_t overtaken : edit.overtaken) answer(from, overtaken, ack);  // without targets
  if (edit.request == 0) return;
  ack.handled = receipt.handled;
  ack.unhandled = receipt.unhandled;
  ack.dead = receipt.dead;
  ack.cut_short = receipt.cut_short ? 1 : 0;
  answer(from, edit.request, ack);
}

}  // namespace muster

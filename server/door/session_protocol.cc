#include "server/door/session_protocol.h"

#include <algorithm>
#include <utility>

#include "messages/utf8.h"
#include "server/access/resume_address.h"
#include "server/access/sight.h"
#include "server/door/door_audit.h"
#include "server/questions/answers.h"
#include "server/questions/question_sight.h"
#include "server/questions/question_table.h"

namespace muster {
namespace {

/// Converts a name to the form that is shown to other sessions, which is a single line of limited
/// length.
std::string presentable(std::string text) {
  if (text.size() > 64) text.resize(utf8_prefix(std::string_view(text).substr(0, 64)));
  return without_invisible(text);
}

}  // namespace

const ResumeKey& Door::resume_key() {
  if (known_resume_key) return *known_resume_key;
  known_resume_key.emplace(resume_file, world_id);
  if (log && !known_resume_key->error().empty()) log(known_resume_key->error());
  return *known_resume_key;
}

SessionProtocol::SessionProtocol(Door& door, std::shared_ptr<Connection> connection, std::string address)
    : door_(door),
      desk_(door.desk),
      connection_(std::move(connection)),
      outgoing_(connection_->outgoing),
      address_(std::move(address)) {
  connection_->address = address_;
}

SessionProtocol::~SessionProtocol() {
  listener_thread.is_here();
  (void)may_receive(0);
  outgoing_.close();
  if (!session_) return;
  // If the queue was closed because the client is not reading, the closure has not been logged yet.
  const auto why = outgoing_.closed_by();
  const bool is_away = !why && session_->resumable && !session_->said_goodbye && session_->connection() == connection_;
  if (door_.log && !why) door_.log((is_away ? "lost, and may be resumed: " : "left: ") + shown_session());
  if (door_.log && why && why->code == session::FaultCode::slow_reader)
    door_.log("closed: " + shown_session() + ": " + why->text);
  audit_logout(desk_, *session_, why);
  sender_->seen = std::chrono::system_clock::now();
  // A session that has another connection is still there.
  if (session_->connection() == connection_) door_.presence.leave(*session_);
  session_.reset();
  desk_.leave(*connection_);
}

std::string SessionProtocol::shown_session() const {
  return "session " + std::to_string(session_->number & 0xffffffff) + " \"" + session_->name + "\"" +
         (session_->kind.empty() ? "" : " (" + session_->kind + ")");
}

std::uint32_t SessionProtocol::frame_bytes_max() const noexcept {
  return welcomed() ? desk_.limits().frame_bytes_max : desk_.limits().hello_bytes_max;
}

SessionProtocol::Outcome SessionProtocol::refuse(const session::Fault& fault, std::uint64_t request, bool told) {
  const bool closes = fault.closes;
  const bool stopping = fault.code == session::FaultCode::stopping;
  if (closes) farewell_ = stopping ? Farewell::stopping : Farewell::refused;
  if (closes && told && !welcomed() && !stopping) door_.refusals.note(address_, fault.text, Refusals::Clock::now());
  if (closes && welcomed() && door_.log) door_.log("closed: " + shown_session() + ": " + fault.text);
  outgoing_.fault(fault, request);
  return closes ? Outcome::closed : Outcome::done;
}

void SessionProtocol::on_fault(const FrameFault& fault) { refuse(fault_for(fault), 0); }

void SessionProtocol::on_silence(bool told) {
  if (welcomed())
    refuse(
        closing_fault(session::FaultCode::silent, "silent", "the client was silent for longer than the session allows"),
        0);
  else
    refuse(closing_fault(session::FaultCode::hello_late, "hello_late", "no Hello arrived in time"), 0, told);
}

void SessionProtocol::on_stall() {
  refuse(closing_fault(
             session::FaultCode::stalled, "stalled",
             "the client has accepted no data for " +
                 std::to_string(std::chrono::duration_cast<std::chrono::seconds>(desk_.limits().stall_max).count()) +
                 " s; " + std::to_string(outgoing_.waiting().bytes()) + " bytes wait"),
         0);
}

void SessionProtocol::on_half_frame() {
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(desk_.limits().stall_max).count();
  refuse(closing_fault(session::FaultCode::silent, "half_frame",
                       "a frame of " + std::to_string(arriving_bytes_) +
                           " bytes has begun, but nothing more of it came for " + std::to_string(waited) + " s"),
         0);
}

void SessionProtocol::let_go() {
  if (!outgoing_.closed()) refuse(held_, held_request_);
}

void SessionProtocol::on_wrong_port(bool needs_tls) {
  refuse(closing_fault(session::FaultCode::bad_protocol, needs_tls ? "needs_tls" : "no_tls",
                       needs_tls ? "this port needs TLS: connect to tls:HOST:PORT"
                                 : "this port does not use TLS, and the client does"),
         0);
}

void SessionProtocol::on_crowd() {
  refuse(closing_fault(session::FaultCode::limit_exceeded, "strangers_max", "too many connections without a Hello"), 0);
}

void SessionProtocol::check_user(Users::Clock::time_point now) {
  door_.presence.tell();
  if (welcomed() && !outgoing_.closed() && !door_.users.may_stay(admitted_, now)) refuse(token_ended_fault(), 0);
}

bool SessionProtocol::evict(std::uint64_t user, const session::Fault& why) {
  if (!welcomed() || admitted_.user != user) return false;
  session_->evicted = true;
  if (outgoing_.closed()) return false;
  refuse(why, 0);
  return true;
}

bool SessionProtocol::may_receive(std::uint32_t frame_bytes) {
  if (frame_bytes <= large_frame_bytes) frame_bytes = 0;
  if (frame_bytes == arriving_bytes_) return true;
  Shares& shares = desk_.shares();
  if (frame_bytes > arriving_bytes_) {
    const std::uint64_t more = frame_bytes - arriving_bytes_;
    const bool is_admin = admitted_.rights.role >= RemoteRight::admin;
    if (!is_admin && door_.arriving_bytes + more > desk_.limits().frames_bytes_max && door_.arriving_bytes > 0)
      return false;
    if (shares.refuses(admitted_.user, admitted_.rights, ShareOf::frames_bytes, more) &&
        shares.held(admitted_.user, ShareOf::frames_bytes) > 0)
      return false;
  }
  const auto change = static_cast<std::int64_t>(frame_bytes) - static_cast<std::int64_t>(arriving_bytes_);
  shares.add(admitted_.user, ShareOf::frames_bytes, change);
  door_.arriving_bytes = static_cast<std::uint64_t>(static_cast<std::int64_t>(door_.arriving_bytes) + change);
  arriving_bytes_ = frame_bytes;
  return true;
}

void SessionProtocol::notify(const session::Fault& fault) {
  if (welcomed()) refuse(fault, 0);
}

void SessionProtocol::on_stop() {
  session::Fault fault = closing_fault(
      session::FaultCode::stopping, "stopping",
      "the server stops" + (door_.resume_at.empty() ? std::string() : "; the world moves to " + door_.resume_at));
  fault.resume_at = door_.resume_at;
  refuse(fault, 0);
}

void SessionProtocol::on_bytes() {
  if (welcomed()) came_ns_ = desk_.world().processor_ns();
}

void SessionProtocol::on_no_more() {
  if (!welcomed()) return;
  connection_->received_bytes.fetch_add(std::exchange(received_bytes_, 0), std::memory_order_relaxed);
  desk_.pass_on(*session_);
  door_.presence.tell();
}

SessionProtocol::Outcome SessionProtocol::on_frame(const WireFrame& frame) {
  if (outgoing_.closed()) return Outcome::closed;
  if (!welcomed()) return on_hello(frame);
  const UserRates::Clock::time_point now = sends_at_rate() ? UserRates::Clock::now() : UserRates::Clock::time_point();
  const ServerLimits& limits = desk_.limits();
  if (sends_at_rate() && (!UserRates::may(*sender_, RateOf::bytes, limits, now) ||
                          !UserRates::may(*sender_, RateOf::requests, limits, now)))
    return Outcome::wait;
  const Outcome outcome = on_session_frame(frame);
  if (outcome == Outcome::wait) return outcome;
  received_bytes_ += frame.header.bytes;
  UserRates::count(*sender_, RateOf::bytes, frame.header.bytes, limits);
  UserRates::count(*sender_, RateOf::requests, 1, limits);
  return outcome;
}

bool SessionProtocol::sends_at_rate() const noexcept {
  const ServerLimits& limits = desk_.limits();
  return sender_->is_limited && (limits.user_bytes_rate | limits.user_requests_rate | limits.user_edits_rate) != 0;
}

SessionProtocol::Outcome SessionProtocol::on_session_frame(const WireFrame& frame) {
  // Make the client wait if it has not read its answers.
  if (const std::size_t max = desk_.limits().outgoing.control_bytes_max / 2;
      outgoing_.control_waiting() > max && outgoing_.answers_waiting() > max)
    return Outcome::wait;
  // While a large request is held back, do not judge it again on each retry.
  if (frame.batch.size() > 4096 && !session_->requests.has_room(frame.batch.size())) return Outcome::wait;

  if (const std::uint64_t made = desk_.types_made(); made != types_made_) {
    judge_.forget();
    types_ = visible_types();
    types_made_ = made;
  }
  if (rules_version_ != door_.rules.version()) {
    judge_.forget();
    types_ = visible_types();
    rules_version_ = door_.rules.version();
  }
  if (const TypeDescriptor* const type = judge_.again(frame.batch)) [[likely]]
    return take_in(frame.header.request, BatchView(frame.batch), *type);
  const TypeTable& types = *types_;
  VerifierLimits limits;
  limits.batch_bytes_max = desk_.limits().frame_bytes_max;
  limits.values = true;
  auto judged = judge_.judge(frame.batch, types, session_->rights, limits);
  if (!judged) {
    // If a request does not ask for an answer, none is sent. The world follows the same rule.
    ++sender_->refused;
    if (!judged.error().closes && frame.header.request == 0) {
      audit_silent_refusal(desk_, *session_, judged.error());
      return Outcome::done;
    }
    return refuse(judged.error(), frame.header.request);
  }
  if (!judged->for_world) return on_session_message(*judged, frame.header.request);
  return take_in(frame.header.request, judged->batch, *judged->type);
}

SessionProtocol::Outcome SessionProtocol::take_in(std::uint64_t request, BatchView batch, const TypeDescriptor& type) {
  if (sends_at_rate() && !UserRates::may(*sender_, RateOf::edits, desk_.limits(), UserRates::Clock::now()))
    return Outcome::wait;
  const bool latest = type.journal == JournalPolicy::latest;
  if (!desk_.take_next(*session_, request, batch, true, latest, came_ns_)) return Outcome::wait;
  UserRates::count(*sender_, RateOf::edits, 1, desk_.limits());
  return Outcome::done;
}

SessionProtocol::Outcome SessionProtocol::on_hello(const WireFrame& frame) {
  const std::uint64_t request = frame.header.request;
  const std::shared_ptr<const TypeTable> types = desk_.types();
  if (challenged_) return on_proof(frame);
  // Until its token has been checked, a stranger must not learn anything about the world's types,
  // so only a Hello is examined.
  BatchHeader header;
  std::memcpy(&header, frame.batch.data(), sizeof header);
  if (header.type != TypeTraits<session::Hello>::id)
    return refuse(closing_fault(session::FaultCode::hello_expected, "hello_expected",
                                "the first frame must hold a muster.session.Hello"),
                  request);
  auto judged = judge(frame.batch, *types, Rights{session::Role::view}, {.values = true});
  if (!judged) {
    judged.error().closes = true;
    return refuse(judged.error(), request);
  }
  const auto hello = session::read<session::Hello>(judged->batch);
  if (hello.protocol < session::protocol_oldest || hello.protocol_oldest > session::protocol_newest)
    return refuse(
        closing_fault(session::FaultCode::bad_protocol, "bad_protocol",
                      "the client speaks protocol " + std::to_string(hello.protocol_oldest) + " to " +
                          std::to_string(hello.protocol) + ", this server " + std::to_string(session::protocol_oldest) +
                          " to " + std::to_string(session::protocol_newest)),
        request);
  if (!hello.token_id.empty() || !hello.nonce.empty()) return challenge(hello, request);
  admitted_ = door_.users.admit(hello.token, Users::Clock::now());
  return greet(hello, request);
}

SessionProtocol::Outcome SessionProtocol::challenge(const session::Hello& hello, std::uint64_t request) {
  if (hello.token_id.size() != TokenId().size() || hello.nonce.size() != ProofNonce().size() || !hello.token.empty())
    return refuse(closing_fault(session::FaultCode::bad_batch, "token_id",
                                "a Hello has either a token, or a token_id of 16 bytes and a nonce of 32 bytes"),
                  request);
  const auto known = door_.users.known(hello.token_id, Users::Clock::now());
  if (!known) return greet(hello, request);
  challenged_.emplace(hello, known->hash, draw_nonce());
  const TokenProof proof = proof_of(Prover::server, known->hash, hello.nonce, challenged_->nonce);
  session::Challenge asked;
  asked.nonce.assign(challenged_->nonce.begin(), challenged_->nonce.end());
  asked.proof.assign(proof.begin(), proof.end());
  BatchBuilder builder;
  session::append(builder, asked);
  outgoing_.control(builder.bytes(), request);
  return Outcome::done;
}

SessionProtocol::Outcome SessionProtocol::on_proof(const WireFrame& frame) {
  const std::uint64_t request = frame.header.request;
  BatchHeader header;
  std::memcpy(&header, frame.batch.data(), sizeof header);
  if (header.type != TypeTraits<session::Proof>::id)
    return refuse(closing_fault(session::FaultCode::hello_expected, "proof_expected",
                                "a muster.session.Proof must follow the Challenge"),
                  request);
  auto judged = judge(frame.batch, *desk_.types(), Rights{session::Role::view}, {.values = true});
  if (!judged) {
    judged.error().closes = true;
    return refuse(judged.error(), request);
  }
  const Challenged challenged = std::move(*challenged_);
  challenged_.reset();
  const TokenProof expected = proof_of(Prover::client, challenged.hash, challenged.hello.nonce, challenged.nonce);
  // The token may have been revoked in the meantime.
  const auto known = door_.users.known(challenged.hello.token_id, Users::Clock::now());
  if (known && equal_in_constant_time(session::read<session::Proof>(judged->batch).proof, expected))
    admitted_ = known->admitted;
  return greet(challenged.hello, request);
}

SessionProtocol::Outcome SessionProtocol::greet(const session::Hello& hello, std::uint64_t request) {
  if (!admitted_.rights.any()) {
    held_ = closing_fault(session::FaultCode::bad_token, "bad_token", "the token is not valid here");
    audit_refused_login(desk_, hello, address_, held_);
    held_request_ = request;
    held_for_ = door_.refusals.wrong_token(address_, Refusals::Clock::now());
    if (held_for_.count() > 0) return Outcome::held;
    return refuse(held_, request);
  }
  session::Welcome welcome;
  welcome.protocol = std::min(hello.protocol, session::protocol_newest);
  welcome.sequence = desk_.sequence();
  welcome.clock_ns = desk_.clock_ns();
  welcome.role = admitted_.rights.role;
  welcome.world = desk_.world().facts().world;
  welcome.hz = desk_.world().facts().hz;
  welcome.frame_bytes_max = desk_.limits().frame_bytes_max;
  welcome.watches_max = desk_.limits().watches_max;
  welcome.requests_max = desk_.limits().requests_max;
  welcome.silence_ns_max = static_cast<std::uint64_t>(desk_.limits().silence_max.count());
  if (const auto why = desk_.why_ended(hello.secret)) {
    welcome.ended_code = why->code;
    welcome.ended = why->text;
  }
  admitted_.rights.rules = door_.rules.of(admitted_.user, admitted_.name, admitted_.rights.role);
  rules_version_ = door_.rules.version();
  types_made_ = desk_.types_made();
  types_ = visible_types();
  welcome.schema_fingerprint = types_->fingerprint();
  if (door_.drains) {
    session::Fault why = closing_fault(session::FaultCode::stopping, "draining",
                                       "the server will stop soon; connect again later" +
                                           (door_.resume_at.empty() ? std::string() : ", to " + door_.resume_at));
    why.resume_at = door_.resume_at;
    audit_refused_login(desk_, hello, address_, why);
    return refuse(why, request);
  }
  const auto begin = [&] {
    sender_ = &door_.rates.begin(admitted_.user, admitted_.name, admitted_.rights.role < RemoteRight::admin);
    audit_login(desk_, *session_);
    door_.presence.join(session_);
  };
  if (!hello.resume.empty() && resumes(hello, welcome, request)) {
    begin();
    return Outcome::done;
  }
  // A user's session gets the name under which the user was created, regardless of the name that
  // the client sent.
  if (auto full = desk_.full_for(admitted_.rights, admitted_.user)) {
    full->closes = true;
    audit_refused_login(desk_, hello, address_, *full);
    return refuse(*full, request);
  }
  session_ = desk_.join(
      admitted_.rights, admitted_.user == 0 ? presentable(hello.name) : admitted_.name, presentable(hello.kind),
      connection_, admitted_.user, [&](Session& session) { greet(session, welcome, request); }, hello.resumable);
  begin();
  if (door_.log)
    door_.log("welcomed: " + shown_session() + ", number " + std::to_string(session_->number) +
              (admitted_.user == 0 ? "" : ", user " + std::to_string(admitted_.user)));
  return Outcome::done;
}

void SessionProtocol::greet(Session& session, session::Welcome& welcome, std::uint64_t request) {
  welcome.epoch = desk_.epoch();
  welcome.playing = desk_.is_playing();
  welcome.lineage = desk_.lineage();
  welcome.secret = session.secret;
  welcome.session = session.number;
  if (session.resumable) {
    const ResumeKey::Proof proof = door_.resume_key().proof(session.number, session.user);
    welcome.resume.assign(proof.begin(), proof.end());
    welcome.resume_ns_max = static_cast<std::uint64_t>(desk_.limits().resume_time_max.count());
  }
  BatchBuilder builder;
  session::append(builder, welcome);
  outgoing_.control(builder.bytes(), request);
  audit_faults_of(desk_, session);
}

bool SessionProtocol::resumes(const session::Hello& hello, session::Welcome& welcome, std::uint64_t request) {
  const auto refuses = [&](const char* reason, std::string text) {
    welcome.resumed = false;
    welcome.not_resumed = reason;
    welcome.not_resumed_text = "the session was not resumed: " + std::move(text);
    if (door_.log) door_.log(address_ + ": " + welcome.not_resumed_text);
    return false;
  };
  if (!door_.resume_key().accepts(hello.resume, hello.session, admitted_.user))
    return refuses("bad_resume", "the proof is not that of this session, user and world");
  welcome.resumed = true;
  auto resumed =
      desk_.resume({.session = hello.session, .user = admitted_.user, .epoch = hello.epoch, .lineage = hello.lineage},
                   admitted_.rights, admitted_.user == 0 ? presentable(hello.name) : admitted_.name,
                   presentable(hello.kind), connection_, [&](Session& session) { greet(session, welcome, request); });
  if (!resumed) return refuses(resumed.error().reason, std::move(resumed.error().text));
  session_ = std::move(*resumed);
  if (door_.log) door_.log("resumed: " + shown_session());
  return true;
}

void SessionProtocol::answer_at_door(session::Heartbeat beat, std::uint64_t request) {
  if (beat.answer != 0) return;
  beat.answer = 1;
  answer(*session_, request, beat);
}

std::shared_ptr<const TypeTable> SessionProtocol::visible_types() const {
  auto types = desk_.types();
  const Sight* const sight = admitted_.rights.sight();
  return sight ? muster::visible_types(*types, *sight) : types;
}

void SessionProtocol::answer_at_door(const session::GetSchema&, std::uint64_t request) {
  // The world may have learned types since the last frame was judged.
  const std::shared_ptr<const TypeTable> types = visible_types();
  const auto schemas = types->schemas();
  for (std::size_t i = 0; i < schemas.size(); ++i)
    answer(*session_, request, schema_message(schemas, i), i + 1 < schemas.size() ? std::uint32_t{frame_more} : 0);
}

void SessionProtocol::answer_at_door(const session::Drain& what, std::uint64_t request) {
  if (const std::string wrong = wrong_resume_address(what.resume_at); !wrong.empty()) {
    session::Fault fault = fault_of(session::FaultCode::bad_question, "bad_address", wrong);
    fault.field = "resume_at";
    return void(refuse(fault, request));
  }
  if (!door_.drain)
    return void(refuse(fault_of(session::FaultCode::refused, "no_drain", "this server cannot drain"), request));
  const auto left = door_.drain(std::chrono::nanoseconds(what.time_ns), what.resume_at);
  if (door_.log)
    door_.log("draining, as asked by " + shown_session() +
              (what.resume_at.empty() ? "" : "; the world moves to " + what.resume_at));
  audit_drain(desk_, *session_, std::chrono::duration<double>(left).count(), what.resume_at);
  answer(*session_, request, session::Draining{.time_ns = static_cast<std::uint64_t>(left.count())});
}

void SessionProtocol::answer_at_door(const session::SetPresence& what, std::uint64_t request) {
  const auto set = door_.presence.set(*session_, what);
  if (!set) return outgoing_.fault(set.error(), request);
  if (request != 0) answer(*session_, request, *set);
}

void SessionProtocol::answer_at_door(const session::GetPresence& what, std::uint64_t request) {
  answer(*session_, request, door_.presence.get(*session_, what, desk_.limits().page_bytes_max));
}

SessionProtocol::Outcome SessionProtocol::on_session_message(const Judged& judged, std::uint64_t request) {
  const TypeId type = judged.type->id;
  if (type == TypeTraits<session::Hello>::id || type == TypeTraits<session::Proof>::id)
    return refuse(closing_fault(session::FaultCode::hello_repeated, "hello_repeated", "a session has one Hello"),
                  request);
  if (type == TypeTraits<session::Credit>::id) {
    outgoing_.credit(session::read<session::Credit>(judged.batch).through);
    return Outcome::done;
  }
  if (type == TypeTraits<session::Goodbye>::id) {
    session_->said_goodbye = true;
    return Outcome::done;
  }
  if (type == TypeTraits<session::EnterEpoch>::id)
    return desk_.take_next(*session_, 0, judged.batch, true, false, came_ns_) ? Outcome::done : Outcome::wait;
  audit_act(desk_, *session_, *judged.type, request);
  const auto answer_question = [&]<class Q>() {
    if (SightOfQuestion<Q>::value == QuestionSight::whole && session_->rights.sight())
      outgoing_.fault(whole_sight_fault(), request);
    else
      answer_at_door(session::read<Q>(judged.batch), request);
  };
  if (with_door_question(type, answer_question)) return Outcome::done;
  // If the world does not respond, immediately return an error to a client that asks for its state.
  if (type == TypeTraits<session::GetInfo>::id)
    if (const std::string hang = desk_.world().hang(); !hang.empty())
      return refuse(fault_of(session::FaultCode::failed, "hangs",
                             "the world does not answer" + (session_->rights.sight() ? std::string() : ": " + hang)),
                    request);
  if (judged.batch.bytes().size() > desk_.limits().question_bytes_max)
    return refuse(fault_of(session::FaultCode::bad_question, "question_bytes_max",
                           "a question of " + std::to_string(judged.batch.bytes().size()) + " bytes; " +
                               std::to_string(desk_.limits().question_bytes_max) + " are allowed"),
                  request);
  if (session_->open_questions.load(std::memory_order_relaxed) >= desk_.limits().requests_max) return Outcome::wait;
  return desk_.take_next(*session_, request, judged.batch, false, false, came_ns_) ? Outcome::done : Outcome::wait;
}

}  // namespace muster

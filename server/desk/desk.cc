#include "server/desk/desk.h"

#include <algorithm>

#include "registry/apply/timers.h"
#include "registry/host.h"
#include "registry/observe/clock.h"
#include "server/questions/answers.h"
#include "server/questions/questions.h"
#include "system/mutex.h"
#include "system/random_id.h"

namespace muster {
namespace {

// Limit on the number of epochs in which a client may resume a session.
constexpr std::size_t epochs_max = 256;

}  // namespace

Desk::Desk(EntityRegistry& registry, WorldSide& world, ServerLimits limits)
    : registry_(registry),
      world_(world),
      limits_(limits),
      instance_(random_id()),
      requests_(std::make_shared<RequestBytes>(limits_.all_request_bytes_max)),
      shares_(limits_),
      made_(registry, shares_, world.history()),
      seen_(registry),
      applied_(world.applied_requests() ? *world.applied_requests() : own_applied_),
      questions_(
          [this](const Question& question) {
            world_thread.is_here();
            return begin(question);
          },
          [&world] { return world.processor_ns(); }),
      intake_(registry, limits_, world, questions_, made_, applied_, seen_),
      texts_(registry, limits_),
      timer_ids_(std::in_place, registry),
      watches_(world.facts().watch_thread ? Watches(registry, Watches::Threaded{[this] { wake(); }})
                                          : Watches(registry, [&world] { return world.processor_ns(); })),
      observation_(registry),
      trace_(registry, observation_),
      activity_(registry, observation_),
      clock_(registry, world),
      durable_(world),
      history_(registry, world, seen_),
      log_(registry),
      sources_{.world = world,
               .desk = *this,
               .watches = watches_,
               .trace = trace_,
               .activity = activity_,
               .clock = clock_,
               .durable = durable_,
               .history = history_,
               .log = log_,
               .shares = shares_,
               .made = made_,
               .seldom = seldom_,
               .watches_seldom = watches_seldom_} {
  world_thread.is_here();
  const std::uint64_t epoch = world.epoch();
  epoch_ = epoch != 0 ? epoch : random_id();
  playing_ = world.run().has_value();
  lineage_ = world.lineage();
  epochs_.push_back(epoch_);
  intake_.set_epoch(epoch_);
  registry_.add_type<Set>();
  learn_types();
  sequence_ = registry_.sequence();
  clock_ns_ = registry_.now_ns();
  registry_.host().add_sink(*this);
}

Desk::~Desk() { registry_.host().remove_sink(*this); }

std::optional<session::Fault> Desk::full_for(const Rights& rights, std::uint64_t user) const {
  const bool is_admin = rights.role >= RemoteRight::admin;
  const std::size_t max = std::size_t{limits_.sessions_max} + (is_admin ? limits_.reserved_sessions : 0);
  {
    const MutexLock lock(mutex_);
    if (sessions_.size() - ending_ - away_.size() >= max)
      return fault_of(session::FaultCode::limit_exceeded, "sessions_max",
                      "the server has reached its limit of sessions (--limit sessions_max=" +
                          std::to_string(limits_.sessions_max) + ")");
  }
  auto fault = shares_.refuses(user, rights, ShareOf::sessions, 1);
  if (fault) fault->code = session::FaultCode::limit_exceeded;
  return fault;
}

std::shared_ptr<Session> Desk::join(const Rights& rights, std::string name, std::string kind,
                                    std::shared_ptr<Connection> connection, std::uint64_t user,
                                    const std::function<void(Session&)>& greet, bool resumable) {
  SessionIdentity identity{.secret = random_id(),
                           .user = user,
                           .name = std::move(name),
                           .kind = std::move(kind),
                           .joined_ns = steady_ns(),
                           .resumable = resumable && limits_.resume_time_max.count() > 0};
  if (full_for(rights, user)) return nullptr;
  std::shared_ptr<Session> session;
  {
    const MutexLock lock(mutex_);
    // The upper half of the numbers differs from desk to desk, so that sessions of two desks never
    // have the same number in a journal.
    identity.number = (instance_ & ~std::uint64_t{0xffffffff}) | ++numbers_;
    session = std::make_shared<Session>(std::move(identity), rights, limits_.request_bytes_max, requests_);
    session->epoch = epoch();
    session->connect(std::move(connection));
    greet(*session);
    sessions_.emplace(session->number, session);
    came_.push_back(session);
  }
  shares_.add(user, ShareOf::sessions, 1);
  wake();  // if the disk is failing, the session must be notified
  return session;
}

std::uint32_t Desk::sessions() const {
  const MutexLock lock(mutex_);
  return static_cast<std::uint32_t>(sessions_.size());
}

std::optional<session::Fault> Desk::why_ended(std::uint64_t secret) const {
  if (secret == 0) return std::nullopt;
  const MutexLock lock(mutex_);
  for (const auto& [number, session] : sessions_)
    if (session->secret == secret) return session->outgoing()->closed_by();
  for (const EndedSession& each : ended_)
    if (each.secret == secret) return each.why;
  return std::nullopt;
}

void Desk::wake() {
  if (!woken_.exchange(true)) world_.wake();
}

bool Desk::take_next(Session& session, std::uint64_t request, BatchView batch, bool for_world, bool latest,
                     std::uint64_t came_ns) {
  if (came_ns == 0) came_ns = processor_ns();
  const bool took = session.requests.add(batch.bytes(), request, for_world, came_ns, latest);
  if (took && !for_world) session.open_questions.fetch_add(1, std::memory_order_relaxed);
  if (session.requests.was_full()) wake();
  return took;
}

std::shared_ptr<const TypeTable> Desk::types() const {
  const MutexLock lock(mutex_);
  return types_;
}

void Desk::learn_types() {
  world_thread.is_here();
  const auto schemas = registry_.types().schemas();
  const std::shared_ptr<const TypeTable> before = types();
  const bool first = before == nullptr;
  if (!first && schemas.size() == schemas_known_) return;
  // Sessions read their own table, because the registry's table may grow while they judge batches.
  auto made = std::make_shared<TypeTable>();
  const auto add = [](const std::expected<void, SchemaError>& added) {
    require(added.has_value(), "Desk: a schema the registry accepted does not fit the session's");
  };
  add(made->add<session::Ack>());
  for (const auto& schema : schemas) add(made->add_schema(schema));
  if (!first) world_.tell_types(*made);
  std::vector<std::shared_ptr<Session>> present;
  const std::size_t known = schemas_known_;
  {
    const MutexLock lock(mutex_);
    types_ = made;
    types_made_.fetch_add(1, std::memory_order_release);
    for (const auto& [number, session] : sessions_) present.push_back(session);
  }
  schemas_known_ = schemas.size();
  if (first) return;
  for (const auto& session : present) {
    if (session->rights.sight())
      tell_visible_schemas(*session, *before, *made);
    else
      tell_schemas(*session, schemas, known);
  }
}

void Desk::tell_visible_schemas(Session& to, const TypeTable& before, const TypeTable& now) {
  const Sight& sight = *to.rights.sight();
  const std::size_t known = visible_types(before, sight)->schemas().size();
  const auto visible = visible_types(now, sight);
  tell_schemas(to, visible->schemas(), known);
}

void Desk::tell_schemas(Session& to, std::span<const std::vector<std::byte>> schemas, std::size_t known) {
  for (std::size_t i = known; i < schemas.size(); ++i) answer(to, 0, schema_message(schemas, i));
}

void Desk::end_sights(const std::vector<std::uint64_t>& users) {
  session::Fault why =
      fault_of(session::FaultCode::stopping, "rights_changed", "what this user may see has changed; connect again");
  why.closes = true;
  for (const auto& session : present()) {
    if (std::ranges::find(users, session->user) == users.end()) continue;
    session->outgoing()->fault(why, 0);
    questions_.drop(*session);
    trace_.leave(*session);
    log_.leave(*session);
  }
}

void Desk::on_input(const Envelope& envelope, std::span<const std::byte> batch) {
  sequence_.store(envelope.sequence, std::memory_order_relaxed);
  watches_.on_input(envelope, batch, clock_ns());
  if (!batch.empty()) timer_ids_->on_input(BatchView(batch));
}

void Desk::tell_of_disk(std::span<const std::shared_ptr<Session>> came) {
  const bool failed_before = !disk_error_.empty();
  const std::string save_error = text_of(world_.save_error());
  disk_error_ = text_of(world_.recording_error());
  const bool fails = !disk_error_.empty();
  if (fails)
    for (const auto& session : failed_before ? std::vector(came.begin(), came.end()) : present())
      session->outgoing()->fault(not_recorded_fault(disk_error_), 0);
  if (fails != failed_before)
    world_.warn(fails ? "nothing is recorded, and edits are refused: " + disk_error_
                      : "the world was saved; inputs are recorded again, and edits are accepted");
  if (!fails && !save_error.empty() && save_error_.empty())
    world_.warn("the world was not saved, but inputs are recorded: " + save_error);
  save_error_ = save_error;
}

void Desk::set_limits(const ServerLimits& limits) {
  at_rest([this, limits] { limits_ = limits; });
}

void Desk::at_rest(std::function<void()> act) {
  {
    const MutexLock lock(mutex_);
    at_rest_.push_back(std::move(act));
  }
  rest_wanted_ = true;
  wake();
}

void Desk::call_at_rest() {
  std::vector<std::function<void()>> acts;
  {
    const MutexLock lock(mutex_);
    acts.swap(at_rest_);
  }
  if (acts.empty()) return;
  world_.while_listener_rests([&] {
    for (const auto& act : acts) act();
  });
}

void Desk::before_flush() {
  world_thread.is_here();
  woken_.exchange(false);  // from here on, requests handed over before a wake are visible
  if (rest_wanted_.load(std::memory_order_relaxed) && rest_wanted_.exchange(false)) call_at_rest();
  std::vector<std::shared_ptr<Session>> came, returned;
  (void)end_away();
  {
    const MutexLock lock(mutex_);
    came.swap(came_);
    returned.swap(returned_);
    leaving_.insert(leaving_.end(), std::make_move_iterator(left_.begin()), std::make_move_iterator(left_.end()));
    left_.clear();
  }
  for (const auto& session : came) take_seat(session);
  came.insert(came.end(), returned.begin(), returned.end());
  tell_of_disk(came);
  flush_begun_ns_ = edits_taken_ns_ = processor_ns();
  intake_.take(limits_.intake_steps);
  let_edits_in();
  end_sessions();
}

/// Ends sessions that have left, once their requests have been processed. The requests of evicted
/// sessions are dropped. If more than
/// left_sessions_max sessions have left, those that left first are ended and their requests are
/// dropped. If many sessions leave at once, each flush ends only part of them, depending on the
/// time available.
void Desk::end_sessions() {
  ends_put_off_ = false;
  if (leaving_.empty()) return;
  std::size_t too_many = leaving_.size() - std::min<std::size_t>(leaving_.size(), limits_.left_sessions_max);
  const std::uint64_t begun_ns = processor_ns();
  bool any = false;
  std::erase_if(leaving_, [&](const std::shared_ptr<Session>& session) {
    world_thread.is_here();
    const bool dropped = too_many > 0 || session->evicted.load(std::memory_order_relaxed);
    if (session->requests.front() && !dropped) return false;
    too_many -= too_many > 0 ? 1 : 0;
    if (any && !dropped && processor_ns() - begun_ns > limits_.flush_ns / 4) {
      ends_put_off_ = true;
      return false;
    }
    any = true;
    end_session(session);
    let_edits_in();
    return true;
  });
}

void Desk::after_flush(EntityRegistry& registry) {
  world_thread.is_here();
  const std::uint64_t steps_before = intake_.counters().steps;
  timer_ids_->give_back();
  learn_types();
  sequence_.store(registry.sequence(), std::memory_order_relaxed);
  clock_ns_.store(registry.now_ns(), std::memory_order_relaxed);
  const auto since_epoch = std::chrono::steady_clock::now().time_since_epoch();
  const auto now =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count());
  let_edits_in();  // must come before the watches, which send the resulting state
  std::uint64_t due_in = watches_.after_flush(now, limits_.watch_ns);
  trace_watches();
  activity_.rest(now);
  const bool sweep = texts_.wanted();
  if (sweep && seldom_.due(Seldom::Clock::now())) seldom_.run([&] { texts_.go_on(present()); });
  work_on_questions();
  clock_.tell();
  durable_.tell();
  history_.tell();
  log_.tell();
  sequence_.store(registry.sequence(), std::memory_order_relaxed);
  if (figures_wanted_.load(std::memory_order_relaxed)) tell_figures();
  const bool watches_behind = watches_.can_go_on() || intake_.counters().steps > steps_before;
  if (ends_put_off_ || questions_put_off_ || questions_.can_go_on() || intake_.can_go_on() || watches_behind) wake();
  if (const std::uint64_t in = end_away(); in > 0) due_in = due_in == 0 ? in : std::min(due_in, in);
  if (questions_.waits_for_time() || sweep) {
    // If either of the two has no pending work, the only cost is an unnecessary check.
    const auto at = Seldom::Clock::now();
    const auto wait = seldom_.due(at)           ? watches_seldom_.due_in(at)
                      : watches_seldom_.due(at) ? seldom_.due_in(at)
                                                : std::min(seldom_.due_in(at), watches_seldom_.due_in(at));
    const auto in = static_cast<std::uint64_t>(wait.count()) + 1;
    due_in = due_in == 0 ? in : std::min(due_in, in);
  }
  // One timer is enough for all pending work. Work that is due later is checked again when the
  // timer fires.
  if (due_in > 0 && (wake_due_ns_ <= now || now + due_in < wake_due_ns_)) {
    wake_due_ns_ = now + due_in;
    world_.wake_in(std::chrono::nanoseconds(due_in));
  }
}

void Desk::epoch_ends() {
  world_thread.is_here();
  for (const auto& session : present()) return_unused(*session->seat());
}

void Desk::epoch_began(bool replaced) {
  world_thread.is_here();
  session::NewEpoch told;
  told.sequence = registry_.sequence();
  told.clock_ns = registry_.now_ns();
  told.tick = world_.tick();
  told.playing = world_.run().has_value();
  if (replaced) timer_ids_.emplace(registry_);
  std::vector<std::shared_ptr<Session>> present;
  {
    // A session that joins before this is told of the epoch; one that joins later has it from its
    // Welcome.
    const MutexLock lock(mutex_);
    const std::uint64_t epoch = world_.epoch();
    told.epoch = epoch != 0 ? epoch : random_id();
    epoch_ = told.epoch;
    playing_ = told.playing;
    lineage_ = told.lineage = world_.lineage();
    epochs_.push_back(told.epoch);
    if (epochs_.size() > epochs_max) epochs_.erase(epochs_.begin());
    for (const auto& [number, session] : sessions_) present.push_back(session);
  }
  intake_.set_epoch(told.epoch);
  sequence_.store(told.sequence, std::memory_order_relaxed);
  clock_ns_.store(told.clock_ns, std::memory_order_relaxed);
  for (const auto& session : present) {
    // Grants and timers of the earlier epoch are not the seat's anymore, and texts that were sent
    // may be unknown to the world now.
    Seat& seat = *session->seat();
    seat.grants.clear();
    seat.timers.clear();
    if (replaced) {
      seat.texts_sent.forget();
      seat.texts_told.clear();
      seat.texts = seat.text_bytes = 0;
    }
    answer(*session, 0, told);
  }
}

void Desk::trace_watches() {
  Trace* const trace = trace_.running();
  watches_.record(trace != nullptr);
  if (!trace) return;
  for (const Watches::Slice& slice : watches_.take_slices())
    trace->add_watching(slice.begin_ns, slice.ns, slice.count, slice.beside);
}

/// Prevents delays from adding up: if edits and watches have taken a long time, questions are
/// postponed until the next flush.
void Desk::work_on_questions() {
  questions_put_off_ =
      !questions_put_off_ && questions_.size() > 0 && processor_ns() - flush_begun_ns_ > limits_.flush_ns;
  if (!questions_put_off_)
    questions_.work(limits_.slice_steps, [this] {
      world_thread.is_here();
      let_edits_in();
    });
  let_edits_in();
}

/// Called between two pieces of work. A cheap edit that arrives during a piece therefore waits only
/// until the end of that piece rather than until the next tick.
void Desk::let_edits_in() {
  if (processor_ns() - edits_taken_ns_ < limits_.flush_ns / 4) return;
  intake_.take_cheap(limits_.intake_steps / 4);
  edits_taken_ns_ = processor_ns();
}

void Desk::take_seat(const std::shared_ptr<Session>& session) {
  session->sit(std::make_shared<Seat>());
  intake_.add(session);
}

void Desk::leave_seat(const Session& session) {
  intake_.remove(session);
  return_unused(*session.seat());
}

void Desk::end_session(const std::shared_ptr<Session>& session) {
  questions_.drop(*session);
  watches_.close_all(*session);
  trace_.leave(*session);
  clock_.leave(*session);
  durable_.leave(*session);
  history_.leave(*session);
  log_.leave(*session);
  leave_seat(*session);
  applied_.forget(session->number);
  const MutexLock lock(mutex_);
  if (is_of_earlier_desk(session->number)) ended_earlier_.insert(session->number);
  if (auto why = session->outgoing()->closed_by()) {
    ended_.push_back({.secret = session->secret,
                      .number = session->number,
                      .user = session->user,
                      .at_ns = steady_ns(),
                      .name = session->name,
                      .kind = session->kind,
                      .why = std::move(*why)});
    if (ended_.size() > ended_max) ended_.pop_front();
  }
  sessions_.erase(session->number);
  --ending_;
}

std::expected<session::Granted, session::Fault> Desk::grant(Session& to, std::uint32_t count) {
  const auto refused = [](const char* reason, std::string text) {
    session::Fault fault = fault_of(session::FaultCode::bad_question, reason, std::move(text));
    fault.field = "count";
    return std::unexpected(std::move(fault));
  };
  if (count == 0 || count > limits_.grant_count_max)
    return refused("bad_question", "between 1 and " + std::to_string(limits_.grant_count_max) +
                                       " ids can be granted at a time, not " + std::to_string(count));
  std::uint64_t unused = 0;
  const std::shared_ptr<Seat> seat = to.seat();
  std::vector<session::Granted>& grants = seat->grants;
  for (const session::Granted& grant : grants) unused += grant.count;
  if (unused + count > limits_.unused_ids_max) unused = keep_unused(grants);
  if (unused + count > limits_.unused_ids_max)
    return refused("unused_ids_max", "this session has " + std::to_string(unused) + " unused ids; " +
                                         std::to_string(limits_.unused_ids_max) + " are allowed");
  if (auto fault = refuses_ids(to, count)) return std::unexpected(std::move(*fault));
  // Use returned ids first, no matter how few there are. Otherwise, the number of unused ids would
  // keep growing.
  if (const std::uint32_t returned = registry_.host().returned_ids()) count = std::min(count, returned);
  const Entity first = registry_.host().grant(count, to.number);
  if (!first) return std::unexpected(fault_of(session::FaultCode::failed, "no_ids", "the world has no ids left"));
  session::Granted granted;
  granted.first = first.index;
  granted.count = count;
  grants.insert(std::ranges::upper_bound(grants, granted.first, {}, &session::Granted::first), granted);
  return granted;
}

std::optional<session::Fault> Desk::refuses_ids(const Session& to, std::uint32_t more) const {
  const auto would_be = [&](bool exactly) {
    std::uint64_t unused = more;
    for (const auto& session : present()) {
      if (session->user != to.user) continue;
      const std::shared_ptr<Seat> seat = session->seat();
      if (exactly) keep_unused(seat->grants);
      for (const session::Granted& grant : seat->grants) unused += grant.count;
    }
    return unused;
  };
  if (!shares_.refuses_count(to.user, to.rights, ShareOf::unused_ids, would_be(false))) return std::nullopt;
  auto fault = shares_.refuses_count(to.user, to.rights, ShareOf::unused_ids, would_be(true));
  if (!fault) return std::nullopt;
  fault->code = session::FaultCode::bad_question;
  fault->field = "count";
  return fault;
}

/// Removes used ids from both ends of each grant. Returns the number of remaining ids.
std::uint64_t Desk::keep_unused(std::vector<session::Granted>& grants) const {
  const auto used = [&](std::uint32_t index) {
    return !registry_.host().storage().in_state(Entity{index, 1}, IdState::granted);
  };
  std::uint64_t left = 0;
  for (session::Granted& grant : grants) {
    while (grant.count > 0 && used(grant.first)) {
      ++grant.first;
      --grant.count;
    }
    while (grant.count > 0 && used(grant.first + grant.count - 1)) --grant.count;
    left += grant.count;
  }
  std::erase_if(grants, [](const session::Granted& grant) { return grant.count == 0; });
  return left;
}

void Desk::return_unused(Seat& from) {
  // Timers outlive the seat that set them, so the ids that they will use remain granted.
  const std::vector<Entity> named = timer_ids_->named_by(from.timers);
  timer_ids_->keep(from.timers);
  keep_unused(from.grants);
  auto kept = named.begin();
  for (const session::Granted& grant : from.grants) {
    std::uint32_t first = grant.first;
    const std::uint32_t end = grant.first + grant.count;
    const auto give_back = [&](std::uint32_t until) {
      if (until > first) registry_.host().return_grant(Entity{first, 1}, until - first);
    };
    while (kept != named.end() && kept->index < first) ++kept;
    for (; kept != named.end() && kept->index < end; ++kept) {
      give_back(kept->index);
      first = kept->index + 1;
    }
    give_back(end);
  }
  from.grants.clear();
  from.timers.clear();
}

std::vector<std::shared_ptr<Session>> Desk::present() const {
  std::vector<std::shared_ptr<Session>> present;
  const MutexLock lock(mutex_);
  for (const auto& [number, session] : sessions_) present.push_back(session);
  return present;
}

std::vector<EndedSession> Desk::ended(std::size_t limit) const {
  const MutexLock lock(mutex_);
  return {ended_.rbegin(), ended_.rbegin() + static_cast<std::ptrdiff_t>(std::min(limit, ended_.size()))};
}

std::unique_ptr<Inquiry> Desk::begin(const Question& question) {
  return begin_question(
      {registry_, limits_, question.from, question.request, &sources_, question.epoch, seen_by(*question.from)},
      BatchView(std::span<const std::byte>(question.batch)));
}

}  // namespace muster

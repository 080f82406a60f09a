// Resumes the session of a client on another connection, after the first one was lost.
#include <algorithm>
#include <thread>
#include <utility>

#include "client/cpp/client_impl.h"

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::nanoseconds first_pause = std::chrono::milliseconds(10), pause_max = std::chrono::seconds(1);
constexpr std::uint32_t frame_bytes_before_welcome = 1u << 20;

bool is_control(const TypeDescriptor& type) {
  return type.name.starts_with("muster.session.") && type.id != TypeTraits<session::EditIf>::id;
}

/// Returns true if the request may be sent again. An edit is applied once by the server, and a
/// question that only reads may be answered twice.
bool may_be_sent_again(const TypeDescriptor& type) {
  return !is_control(type) || type.remote == RemoteRight::view || type.id == TypeTraits<session::RequestGrant>::id ||
         type.id == TypeTraits<session::DryRun>::id;
}

/// Returns the watch that a request changes or closes, or 0.
std::uint64_t watch_of(BatchView batch) {
  switch (batch.type()) {
    case TypeTraits<session::Follow>::id: return session::read<session::Follow>(batch).watch;
    case TypeTraits<session::FollowMore>::id: return session::read<session::FollowMore>(batch).watch;
    case TypeTraits<session::Unwatch>::id: return session::read<session::Unwatch>(batch).watch;
    default: return 0;
  }
}

}  // namespace

Result<void> Client::Impl::lose(ClientError why) {
  if (ended) return std::unexpected(*ended);
  if (!options.resumes || welcome.resume.empty()) return fail(std::move(why));
  if (line == Line::up) {
    lost_at = next_try = Clock::now();
    try_again_in = first_pause;
    lost_because = std::move(why);
  }
  line = Line::down;
  out.clear();
  out_sent = 0;
  return std::unexpected(lost_because);
}

Result<void> Client::Impl::put_request(std::span<const std::byte> batch, std::uint64_t request, bool named) {
  const bool kept = options.resumes && !welcome.resume.empty();
  if (kept) {
    // A request that is sent on a connection that has already ended may or may not have arrived.
    if (auto up = find_line(); !up) return up;
    unanswered[request].assign(batch.begin(), batch.end());
  }
  auto sent = named ? put_named(batch, request) : put(batch, request);
  if (!sent && kept && sent.error().kind != ClientError::Kind::late) unanswered.erase(request);
  return sent;
}

Result<void> Client::Impl::find_line() {
  while (line == Line::up && stream.wait(Clock::now(), false) == ByteStream::Ready::readable)
    if (auto received = receive(); !received && !is_resuming()) return received;
  if (!is_resuming()) return {};
  return pump(deadline(), [&] { return line == Line::up; });
}

Result<void> Client::Impl::reconnect(Deadline until) {
  const Deadline end = lost_at + std::chrono::nanoseconds(std::min(welcome.resume_ns_max, std::uint64_t{1} << 60));
  while (true) {
    if (Clock::now() >= end) return fail(lost_because);
    if (next_try >= until) {
      std::this_thread::sleep_until(until);
      return std::unexpected(ClientError{ClientError::Kind::late, "the connection was lost: " + lost_because.text, {}});
    }
    std::this_thread::sleep_until(next_try);
    reconnecting = true;
    const auto resumed = resume(std::min({until, end, deadline()}));
    reconnecting = false;
    if (ended) return std::unexpected(*ended);
    if (resumed) return {};
    line = Line::down;
    next_try = Clock::now() + try_again_in;
    try_again_in = std::min(2 * try_again_in, pause_max);
  }
}

Result<void> Client::Impl::resume(Deadline until) {
  const auto [host, world] = split_world(address());
  auto connected = ByteStream::connect(host, until, {.fingerprint = options.fingerprint, .ca_file = options.ca_file});
  if (!connected) return std::unexpected(connected.error());
  stream = std::move(*connected);
  decoder = FrameDecoder(std::max(frame_bytes_before_welcome, batch_bytes_max + frame_overhead_max), true);
  out.clear();
  out_sent = 0;
  received_bytes = 0;
  last_sent = last_received = Clock::now();
  asked_at.reset();
  line = Line::greeting;
  const session::Welcome before = welcome;
  session::Hello hello;
  hello.protocol = session::protocol_newest;
  hello.protocol_oldest = session::protocol_oldest;
  hello.world = world;
  hello.name = options.name;
  hello.kind = options.kind;
  hello.secret = before.secret;
  hello.last_sequence = last_sequence;
  hello.resumable = true;
  hello.resume = before.resume;
  hello.session = before.session;
  hello.epoch = before.epoch;
  hello.lineage = before.lineage;
  const auto ask_once = [&](const auto& message) -> Result<Received> {
    BatchBuilder builder;
    session::append(builder, message);
    const std::uint64_t request = ++last_request;
    answers[request];
    append_frame(out, builder.bytes(), request);
    auto answered = send_now();
    if (answered) answered = pump(until, [&] { return answers[request].done; });
    Answer answer = std::exchange(answers[request], {});
    answers.erase(request);
    if (!answered) return std::unexpected(answered.error());
    return std::move(answer.frames.front());
  };
  const auto greeted = greet(std::move(hello), ask_once);
  const auto start_over = [&](ClientError why) -> Result<void> {
    welcome = before;
    return std::unexpected(std::move(why));
  };
  if (!greeted) return start_over(greeted.error());
  if (!greeted->is<session::Welcome>()) return start_over(lost_because);
  const auto came = session::read<session::Welcome>(greeted->batch());
  if (!came.resumed) {
    say_goodbye();
    return fail({ClientError::Kind::lost, lost_because.text + "; " + came.not_resumed_text, {}});
  }
  frame_bytes_max = came.frame_bytes_max;
  if (came.schema_fingerprint != types.fingerprint())
    if (auto learned = ask_schemas(until); !learned) return start_over(learned.error());
  if (auto gone_on = go_on(before); !gone_on) return start_over(gone_on.error());
  ++times_resumed;
  return {};
}

Result<void> Client::Impl::ask_schemas(Deadline until) {
  BatchBuilder builder;
  session::append(builder, session::GetSchema{});
  const std::uint64_t request = ++last_request;
  answers[request];
  if (line == Line::up) unanswered[request].assign(builder.bytes().begin(), builder.bytes().end());
  append_frame(out, builder.bytes(), request);
  auto answered = send_now();
  if (answered || is_resuming()) answered = pump(until, [&] { return answers[request].done; });
  const Answer answer = std::exchange(answers[request], {});
  answers.erase(request);
  if (!answered) return answered;
  for (const Received& frame : answer.frames) {
    if (frame.is<session::Fault>()) return std::unexpected(error_of(session::read<session::Fault>(frame.batch())));
    const auto schema = session::read<session::Schema>(frame.batch());
    if (auto added = types.add_schema(std::as_bytes(std::span(schema.bytes))); !added)
      return fail(
          {ClientError::Kind::lost, "the world's schema does not match this program: " + added.error().text(), {}});
  }
  layouts.compare(types);
  return {};
}

Result<void> Client::Impl::go_on(const session::Welcome& before) {
  const auto send_frame = [&](const auto& message, std::uint64_t request) {
    BatchBuilder builder;
    session::append(builder, message);
    append_frame(out, builder.bytes(), request);
  };
  for (auto& [id, watch] : watches) watch.stream_bytes = 0;
  if (credit_through != 0) {
    credit_through = std::max(credit_bytes, std::uint64_t{1});
    send_frame(session::Credit{.through = credit_through}, 0);
  }
  if (welcome.epoch != before.epoch) {
    // The server may have been started again. The edits that follow refer to texts that the session
    // registered.
    for (const std::uint64_t hash : told)
      if (const auto text = texts.find(hash); text != texts.end()) send_frame(InternText{.text = text->second}, 0);
    if (welcome.lineage != before.lineage) told.clear();
    grant = {};
    earlier_epochs.clear();
  }
  if (durable) send_frame(session::FollowDurable{}, ++last_request);
  if (!watches.empty() || times_resumed > 0 || resume_request > 0 || !given_up.empty()) {
    resume_request = ++last_request;
    send_frame(resume_watches(), resume_request);
  }
  given_up.clear();
  for (auto at = unanswered.begin(); at != unanswered.end();) {
    const auto& [request, bytes] = *at;
    const BatchView batch{std::span<const std::byte>(bytes)};
    const TypeDescriptor* const type = types.find(batch.type());
    const auto answer = answers.find(request);
    if (answer != answers.end()) answer->second.frames.clear();
    if (watch_of(batch) != 0) {  // see take()
      ++at;
    } else if (type && may_be_sent_again(*type)) {
      append_frame(out, bytes, request);
      ++at;
    } else {
      if (answer != answers.end())
        answer->second = {.frames = {},
                          .done = true,
                          .failed = ClientError{ClientError::Kind::late,
                                                "the connection was lost before the answer came, and the request may "
                                                "have been carried out",
                                                {}}};
      at = unanswered.erase(at);
    }
  }
  if (welcome.epoch != before.epoch) send_frame(session::EnterEpoch{.epoch = welcome.epoch}, 0);
  line = Line::up;
  return send_now();
}

session::ResumeWatches Client::Impl::resume_watches() {
  session::ResumeWatches all;
  std::unordered_set<std::uint64_t> changing, closing;
  for (const auto& [request, bytes] : unanswered) {
    const BatchView batch{std::span<const std::byte>(bytes)};
    if (const std::uint64_t watch = watch_of(batch))
      (batch.type() == TypeTraits<session::Unwatch>::id ? closing : changing).insert(watch);
  }
  for (auto& [id, watch] : watches) {
    if (watch.failed || closing.contains(id)) continue;
    all.watches.push_back(id);
    all.sequences.push_back(changing.contains(id) ? 0 : watch.sequence);
    all.follows.push_back(watch.follows);
    all.follows.back().watch = 0;
  }
  return all;
}

/// Takes the answer to ResumeWatches, which is also the answer to changes of watches that had not
/// been answered.
void Client::Impl::take(const session::WatchesResumed& resumed) {
  for (std::size_t i = 0; i < resumed.refused.size(); ++i) {
    const auto watch = watches.find(resumed.refused[i]);
    if (watch == watches.end()) continue;
    session::Fault fault;
    fault.code = session::FaultCode::bad_question;
    if (i < resumed.reasons.size()) fault.reason = resumed.reasons[i];
    if (i < resumed.texts.size()) fault.text = resumed.texts[i];
    watch->second.failed = error_of(fault);
  }
  for (auto at = unanswered.begin(); at != unanswered.end();) {
    const BatchView batch{std::span<const std::byte>(at->second)};
    const std::uint64_t watch = watch_of(batch);
    if (watch == 0 || at->first > resume_request) {
      ++at;
      continue;
    }
    if (const auto answer = answers.find(at->first); answer != answers.end()) {
      const auto open = watches.find(watch);
      BatchBuilder builder;
      if (batch.type() == TypeTraits<session::Unwatch>::id)
        session::append(builder, session::Unwatched{.watch = watch});
      else
        session::append(builder,
                        session::Followed{.sequence = resumed.sequence, .clock_ns = resumed.clock_ns, .watch = watch});
      if (open != watches.end() && open->second.failed) {
        answer->second.failed = open->second.failed;
      } else {
        Received received;
        received.header.request = at->first;
        received.bytes.assign(builder.bytes().begin(), builder.bytes().end());
        received.epoch = welcome.epoch;
        answer->second.frames = {std::move(received)};
      }
      answer->second.done = true;
    }
    at = unanswered.erase(at);
  }
}

void Client::Impl::say_goodbye() {
  if (line == Line::down || ended || !options.resumes) return;
  BatchBuilder builder;
  builder.append_world(session::Goodbye{});
  append_frame(out, builder.bytes(), 0);
  const std::span<const std::byte> left = std::span(out).subspan(out_sent);
  (void)stream.send_some(left);  // the session ends later if there is no room
}

}  // namespace muster

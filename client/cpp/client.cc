#include "client/cpp/client.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "client/cpp/byte_stream.h"
#include "client/cpp/client_impl.h"
#include "system/token_proof.h"

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint32_t frame_bytes_max_before_welcome = 1u << 20;
constexpr std::size_t out_bytes_max = 1u << 20;  // limit on the number of buffered bytes; sending
                                                 // blocks once the limit is reached
constexpr std::uint32_t grant_count = 256;

std::unexpected<ClientError> error(ClientError::Kind kind, std::string text) {
  return std::unexpected(ClientError{kind, std::move(text), {}});
}

}  // namespace

Client::Impl::Impl(ByteStream connected, ClientOptions chosen, CompiledSchemas compiled)
    : options(std::move(chosen)),
      stream(std::move(connected)),
      decoder(frame_bytes_max_before_welcome, true),
      last_sent(Clock::now()),
      last_received(last_sent),
      layouts(compiled) {}

Deadline Client::Impl::deadline() const { return Clock::now() + options.time_max; }

Result<void> Client::Impl::fail(ClientError why) {
  if (!ended) ended = std::move(why);
  return std::unexpected(*ended);
}

Deadline Client::Impl::next_beat() const {
  if (welcome.silence_ns_max == 0) return Deadline::max();
  // A heartbeat is sent if nothing has been sent for a third of the limit, so the session survives
  // two late heartbeats.
  return last_sent + std::chrono::nanoseconds(std::min(welcome.silence_ns_max, std::uint64_t{1} << 60) / 3);
}

Result<void> Client::Impl::beat() {
  if (Clock::now() < next_beat()) return {};
  last_sent = Clock::now();
  BatchBuilder builder;
  builder.append_world(session::Heartbeat{});
  append_frame(out, builder.bytes(), 0);
  return send_now();
}

Deadline Client::Impl::next_listen() const {
  if (line != Line::up || welcome.session == 0) return Deadline::max();
  // The server is asked for a sign of life after a third of the time.
  return asked_at ? *asked_at + options.silence_max * 2 / 3 : last_received + options.silence_max / 3;
}

Result<void> Client::Impl::listen() {
  if (Clock::now() < next_listen()) return {};
  if (asked_at)
    return lose(
        {ClientError::Kind::lost,
         "nothing has come from the server for " +
             std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(options.silence_max).count()) + " ms",
         {}});
  asked_at = Clock::now();
  BatchBuilder builder;
  builder.append_world(session::Heartbeat{});
  append_frame(out, builder.bytes(), 0);
  return send_now();
}

Result<void> Client::Impl::put(std::span<const std::byte> batch, std::uint64_t request) {
  if (ended) return std::unexpected(*ended);
  if (std::string fault = layouts.fault_of_sent(batch, types); !fault.empty()) return mistaken(std::move(fault));
  return put_named(batch, request);
}

Result<void> Client::Impl::put_named(std::span<const std::byte> batch, std::uint64_t request) {
  if (is_resuming())
    if (auto up = pump(deadline(), [&] { return line == Line::up; }); !up) return up;
  if (ended) return std::unexpected(*ended);
  const TypeId sent_type = batch.size() >= sizeof(BatchHeader) ? BatchView(batch).type() : TypeId{};
  // Refuse a message that clients may not send, because the server would end the session.
  if (const TypeDescriptor* type = types.find(sent_type); type && type->remote == RemoteRight::none)
    return mistaken(type->name + " may not be sent from outside");
  if (batch.size() + sizeof(FrameHeader) > frame_bytes_max)
    return mistaken("a batch of " + std::to_string(batch.size()) + " bytes; the server accepts frames of at most " +
                    std::to_string(frame_bytes_max));
  if (sent_type == TypeTraits<session::Credit>::id) {
    const std::byte* const at = BatchView(batch).payload(0);
    session::Credit credit;
    if (at + sizeof credit <= batch.data() + batch.size()) std::memcpy(&credit, at, sizeof credit);
    credit_through = std::max({credit_through, credit.through, std::uint64_t{1}});
  }
  append_frame(out, batch, request);
  if (auto sent = send_now(); !sent) {
    if (is_resuming()) return {};
    return sent;
  }
  return pump(deadline(), [&] { return out.size() - out_sent < out_bytes_max; });
}

Result<void> Client::Impl::send_now() {
  while (out_sent < out.size()) {
    const auto sent = stream.send_some(std::span(out).subspan(out_sent));
    if (!sent) {
      // Before closing the connection, the server may have sent a frame that gives the reason.
      receive_rest();
      return lose(sent.error());
    }
    if (*sent == 0) return {};
    out_sent += *sent;
    last_sent = Clock::now();
  }
  out.clear();
  out_sent = 0;
  return {};
}

void Client::Impl::receive_rest() {
  while (true) {
    const auto got = stream.receive_some(decoder.room());
    if (!got || *got == 0) return;
    decoder.received(*got);
    received_bytes += *got;
    if (!take_frames()) return;
  }
}

Result<void> Client::Impl::pump(Deadline until, const std::function<bool()>& done) {
  while (!done()) {
    if (ended) return std::unexpected(*ended);
    if (is_resuming()) {
      if (auto up = reconnect(until); !up) return up;
      continue;
    }
    if (auto sent = beat(); !sent) {
      if (is_resuming()) continue;
      return sent;
    }
    const ByteStream::Ready ready = stream.wait(std::min({until, next_beat(), next_listen()}), out_sent < out.size());
    if (ready == ByteStream::Ready::neither) {
      if (auto heard = listen(); !heard && !is_resuming()) return heard;
      if (Clock::now() < until) continue;
      return error(ClientError::Kind::late,
                   "the server did not answer within " + std::to_string(options.time_max.count() / 1'000'000) + " ms");
    }
    if (ready == ByteStream::Ready::writable) {
      if (auto sent = send_now(); !sent && !is_resuming()) return sent;
      continue;
    }
    if (auto received = receive(); !received && !is_resuming()) return received;
  }
  return {};
}

Result<void> Client::Impl::receive() {
  const auto got = stream.receive_some(decoder.room());
  if (!got) return lose(got.error());
  if (*got > 0) {
    last_received = Clock::now();
    asked_at.reset();
  }
  decoder.received(*got);
  received_bytes += *got;
  return take_frames();
}

Result<void> Client::Impl::take_frames() {
  while (true) {
    const auto frame = decoder.next();
    if (!frame) return fail({ClientError::Kind::lost, "the server sent " + frame.error().text, {}});
    if (!*frame) return {};
    if (auto taken = take_frame(**frame); !taken) return taken;
  }
}

Result<void> Client::Impl::take_frame(const WireFrame& frame) {
  VerifierLimits limits;
  limits.batch_bytes_max = batch_bytes_max;
  const auto batch = verify_batch(frame.batch, types, limits);
  if (!batch) return fail({ClientError::Kind::lost, "the server sent a bad batch: " + batch.error().text, {}});
  const std::uint64_t request = frame.header.request;
  switch (batch->type()) {
    case TypeTraits<InternText>::id:
      if (request == 0) {
        const std::string text = session::read<InternText>(*batch).text;
        texts.insert_or_assign(hash64(text), text);
        return {};
      }
      break;
    case TypeTraits<session::Schema>::id:
      if (request == 0) {
        const auto schema = session::read<session::Schema>(*batch);
        if (auto added = types.add_schema(std::as_bytes(std::span(schema.bytes))); !added)
          return fail({ClientError::Kind::lost, "the server sent a bad schema: " + added.error().text(), {}});
        layouts.compare(types);
        return {};
      }
      break;
    case TypeTraits<session::Welcome>::id:
      // connect() resumes later, and a NewEpoch may arrive in the same bytes.
      welcome = session::read<session::Welcome>(*batch);
      if (line == Line::up) first_epoch = welcome.epoch;
      last_sequence = welcome.sequence;
      break;
    case TypeTraits<session::NewEpoch>::id: {
      const auto epoch = session::read<session::NewEpoch>(*batch);
      earlier_epochs.push_back(welcome.epoch);
      welcome.epoch = epoch.epoch;
      welcome.playing = epoch.playing;
      welcome.lineage = epoch.lineage;
      last_sequence = std::max(last_sequence, epoch.sequence);
      grant = {};
      told.clear();  // the level may lack texts that came in a run
      // Go_on() enters the epoch after the edits of the earlier one
      if (line != Line::up) return {};
      BatchBuilder builder;
      builder.append_world(session::EnterEpoch{.epoch = epoch.epoch});
      append_frame(out, builder.bytes(), 0);
      return send_now();
    }
    case TypeTraits<session::Durable>::id:
      durable = session::read<session::Durable>(*batch);
      if (request == 0) return {};
      break;
    case TypeTraits<session::Ack>::id:
      last_sequence = std::max(last_sequence, session::read<session::Ack>(*batch).sequence);
      break;
    case TypeTraits<session::Heartbeat>::id: {
      auto beat = session::read<session::Heartbeat>(*batch);
      if (beat.answer != 0) break;
      beat.answer = 1;
      BatchBuilder builder;
      builder.append_world(beat);
      append_frame(out, builder.bytes(), request);
      return send_now();
    }
    case TypeTraits<session::Fault>::id: {
      const auto fault = session::read<session::Fault>(*batch);
      if (!fault.resume_at.empty() && options.resumes) moved_to = fault.resume_at;
      if (!fault.closes) break;
      using Code = session::FaultCode;
      const bool may_resume = fault.code == Code::silent || fault.code == Code::slow_reader ||
                              fault.code == Code::stalled || fault.code == Code::stopping ||
                              (line == Line::greeting && fault.code == Code::limit_exceeded);
      return may_resume ? lose(error_of(fault)) : fail(error_of(fault));
    }
    case TypeTraits<session::WatchesResumed>::id:
      if (request == resume_request) {
        take(session::read<session::WatchesResumed>(*batch));
        return {};
      }
      break;
    default: break;
  }
  Received received;
  received.header = frame.header;
  received.envelope = frame.envelope;
  received.bytes.assign(frame.batch.begin(), frame.batch.end());
  received.epoch = welcome.epoch;
  last_sequence = std::max(last_sequence, frame.envelope.sequence);
  if (received.is_last()) unanswered.erase(request);
  if (const auto watch = watches.find(request); watch != watches.end()) {
    Watch& queue = watch->second;
    if (received.is_last()) {
      if (received.is<session::Watching>())
        queue.sequence = session::read<session::Watching>(*batch).sequence;
      else if (received.is<session::Resuming>())
        queue.sequence = session::read<session::Resuming>(*batch).sequence;
      else if ((received.header.flags & frame_envelope) != 0)
        queue.sequence = received.envelope.sequence;
    } else if (received.is<session::Resuming>() && session::read<session::Resuming>(*batch).anew != 0) {
      queue.sequence = 0;  // the earlier state is no longer known
    }
    if (queue.failed) return {};
    if (const std::string* const fault = layouts.fault(received.batch())) {
      queue.failed = {ClientError::Kind::mistaken, *fault, {}};
      return {};
    }
    queue.bytes += received.bytes.size();
    queue.stream_bytes += received.header.bytes;
    if (queue.bytes > options.watch_bytes_max) {
      queue.failed = {
          ClientError::Kind::refused,
          "a watch delivered more than " + std::to_string(options.watch_bytes_max) + " bytes that were not fetched",
          {}};
      queue.frames.clear();
      queue.stream_bytes = 0;
      return {};
    }
    received.header.request = request;
    queue.frames.push_back(std::move(received));
    return {};
  }
  if (request == 0) return {};  // no call waits for a frame with request id 0
  if (request == resume_request && received.is<session::Fault>()) {
    for (auto& [id, queue] : watches)
      if (!queue.failed) queue.failed = error_of(session::read<session::Fault>(*batch));
    return {};
  }
  if (given_up.erase(request) > 0 && batch->type() == TypeTraits<session::Watching>::id) {
    BatchBuilder builder;
    builder.append_world(session::Unwatch{.watch = request});
    append_frame(out, builder.bytes(), ++last_request);  // no call waits for the answer to this
                                                         // request
    return send_now();
  }
  const auto waiting = answers.find(request);
  if (waiting == answers.end()) return {};
  waiting->second.done = received.is_last();
  waiting->second.frames.push_back(std::move(received));
  return {};
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() {
  if (impl_) impl_->say_goodbye();
}

Result<Client> Client::connect(ClientOptions options, CompiledSchemas compiled) {
  const Deadline until = Clock::now() + options.time_max;
  const auto [address, world] = split_world(options.address);
  auto stream = ByteStream::connect(address, until, {.fingerprint = options.fingerprint, .ca_file = options.ca_file});
  if (!stream) return std::unexpected(stream.error());
  Client client(std::make_unique<Impl>(std::move(*stream), std::move(options), compiled));
  Impl& impl = *client.impl_;
  if (auto added = impl.types.add<session::Ack>(); !added) return mistaken(added.error().text());

  session::Hello hello;
  hello.protocol = session::protocol_newest;
  hello.protocol_oldest = session::protocol_oldest;
  hello.name = impl.options.name;
  hello.kind = impl.options.kind;
  hello.secret = impl.options.before.secret;
  hello.last_sequence = impl.options.before.sequence;
  hello.world = world;
  hello.resumable = impl.options.resumes;
  const auto greeted = impl.greet(std::move(hello), [&](const auto& message) -> Result<Received> {
    auto frames = client.ask_all(message);
    if (!frames) return std::unexpected(frames.error());
    return std::move(frames->front());
  });
  if (!greeted) return std::unexpected(greeted.error());
  if (auto welcome = answer_in<session::Welcome>(*greeted); !welcome) return std::unexpected(welcome.error());
  impl.frame_bytes_max = impl.welcome.frame_bytes_max;
  // A snapshot's batches may be of any size.
  impl.batch_bytes_max = std::max(impl.welcome.frame_bytes_max, 64u << 20);
  impl.decoder.set_frame_bytes_max(impl.batch_bytes_max + frame_overhead_max);

  if (auto learned = impl.ask_schemas(until); !learned) return std::unexpected(learned.error());
  return client;
}

const session::Welcome& Client::welcome() const noexcept { return impl_->welcome; }
std::uint64_t Client::times_resumed() const noexcept { return impl_->times_resumed; }
std::optional<ClientError> Client::interruption() const {
  if (impl_->line == Impl::Line::up) return std::nullopt;
  return impl_->lost_because;
}
const TypeTable& Client::types() const noexcept { return impl_->types; }
SoFar Client::so_far() const noexcept { return {impl_->welcome.epoch, impl_->welcome.secret, impl_->last_sequence}; }
bool Client::is_started_anew() const noexcept {
  const std::uint64_t before = impl_->options.before.epoch;
  return before != 0 && before != impl_->first_epoch;
}
std::string_view Client::text(Text text) const noexcept {
  const auto found = impl_->texts.find(text.hash);
  return found == impl_->texts.end() ? std::string_view() : std::string_view(found->second);
}

Result<void> Client::check_layout(TypeId type, std::uint64_t fingerprint, std::string_view name,
                                  std::span<const std::byte> schema) const {
  const TypeDescriptor* known = impl_->types.find(type);
  if (!known) return mistaken("the world has no type " + std::string(name));
  if (const std::string* const fault = impl_->layouts.fault(type)) return mistaken(*fault);
  if (known->fingerprint == fingerprint) return {};
  // Only a type that was not passed to connect() can have a different layout here.
  std::string text = std::string(name) + " has a different layout in the world than in this program";
  if (const auto own = load_schema(schema))
    for (const TypeDescriptor& mine : own->types)
      if (mine.id == type) text += ": " + layout_difference(*known, mine, "in this program").text();
  return mistaken(text);
}

Result<void> Client::check_types(std::span<const TypeId> types) const {
  for (const TypeId type : types)
    if (const std::string* const fault = impl_->layouts.fault(type)) return mistaken(*fault);
  return {};
}

Result<std::uint64_t> Client::send(std::span<const std::byte> batch) {
  const std::uint64_t request = ++impl_->last_request;
  impl_->answers[request];
  if (auto sent = impl_->put_request(batch, request); !sent) {
    impl_->answers.erase(request);
    return std::unexpected(sent.error());
  }
  return request;
}

Result<std::vector<Received>> Client::wait(std::uint64_t request) {
  auto frames = wait_any(request);
  if (!frames || !impl_->layouts.any_differ()) return frames;
  for (const Received& received : *frames)
    if (const std::string* const fault = impl_->layouts.fault(received.batch())) return mistaken(*fault);
  return frames;
}

Result<std::vector<Received>> Client::wait_any(std::uint64_t request) {
  const auto answer = impl_->answers.find(request);
  if (answer == impl_->answers.end()) return mistaken("no answer is expected for request " + std::to_string(request));
  auto pumped = impl_->pump(impl_->deadline(), [&] { return answer->second.done; });
  if (!pumped && !answer->second.done) {
    // The call has failed, so its answer is no longer needed, even if it arrives late.
    impl_->answers.erase(answer);
    return std::unexpected(pumped.error());
  }
  std::vector<Received> frames = std::move(answer->second.frames);
  const std::optional<ClientError> failed = std::move(answer->second.failed);
  impl_->answers.erase(answer);
  if (failed) return std::unexpected(*failed);
  if (frames.front().is<session::Fault>())
    return std::unexpected(error_of(session::read<session::Fault>(frames.front().batch())));
  return frames;
}

Result<Acknowledged> Client::push_batch(std::span<const std::byte> batch) {
  const auto request = send(batch);
  if (!request) return std::unexpected(request.error());
  return wait_ack(*request);
}

Result<Acknowledged> Client::push_named(std::span<const std::byte> batch) {
  const std::uint64_t request = ++impl_->last_request;
  impl_->answers[request];
  if (auto sent = impl_->put_request(batch, request, true); !sent) {
    impl_->answers.erase(request);
    return std::unexpected(sent.error());
  }
  return wait_ack(request);
}

Result<std::uint64_t> Client::post_batch(std::span<const std::byte> batch, bool acknowledged) {
  if (acknowledged) return send(batch);
  if (auto sent = impl_->put(batch, 0); !sent) return std::unexpected(sent.error());
  return std::uint64_t{0};
}

Result<Acknowledged> Client::wait_ack(std::uint64_t request) {
  auto frames = wait(request);
  if (!frames) return std::unexpected(frames.error());
  if (!frames->front().is<session::Ack>()) return error(ClientError::Kind::lost, "the server sent no Ack");
  return Acknowledged{session::read<session::Ack>(frames->front().batch()), frames->front().epoch};
}

Result<Text> Client::intern(std::string_view text) {
  if (text.empty()) return Text{};
  const Text interned{hash64(text)};
  if (impl_->told.contains(interned.hash)) return interned;
  BatchBuilder builder;
  session::append(builder, InternText{.text = std::string(text)});
  const auto ack = push_batch(builder.bytes());
  if (!ack) return std::unexpected(ack.error());
  if (ack->epoch == epoch()) impl_->told.insert(interned.hash);
  impl_->texts.insert_or_assign(interned.hash, std::string(text));
  return interned;
}

Result<Entity> Client::next_id() {
  while (impl_->grant.count == 0) {
    const auto frames = ask_all(session::RequestGrant{.count = grant_count});
    if (!frames) return std::unexpected(frames.error());
    const auto granted = answer_in<session::Granted>(frames->front());
    if (!granted) return std::unexpected(granted.error());
    // A grant of an earlier epoch is not valid.
    if (frames->front().epoch == epoch()) impl_->grant = *granted;
  }
  --impl_->grant.count;
  return Entity{impl_->grant.first++, 1};
}

Result<std::pair<Entity, Create>> Client::prepare_create(Entity parent, std::string_view name) {
  const auto text = intern(name);
  if (!text) return std::unexpected(text.error());
  const auto id = next_id();
  if (!id) return std::unexpected(id.error());
  Create create;
  create.parent = parent;
  create.name = *text;
  return std::pair(*id, create);
}

Result<Entity> Client::created(Entity e, std::span<const std::byte> batch) {
  auto ack = push_batch(batch);
  if (!ack) return std::unexpected(ack.error());
  return e;
}

Result<Entity> Client::create(Entity parent, std::string_view name) {
  auto prepared = prepare_create(parent, name);
  if (!prepared) return std::unexpected(prepared.error());
  BatchBuilder builder;
  builder.append(prepared->first, prepared->second);
  return created(prepared->first, builder.bytes());
}

Result<Acknowledged> Client::reparent(Entity e, Entity parent, Entity before) {
  Reparent message;
  message.parent = parent;
  message.before = before;
  return push(e, message);
}

Result<Acknowledged> Client::rename(Entity e, std::string_view name) {
  const auto text = intern(name);
  if (!text) return std::unexpected(text.error());
  Rename message;
  message.name = *text;
  return push(e, message);
}

}  // namespace muster

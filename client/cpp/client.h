// Defines a client of a running world. The client sends typed messages over a socket. The client
// knows the game's types from headers, or from the schema that the server sends. The client does
// not link with any world code.
//
//   auto client = Client::connect({.address = "127.0.0.1:7717", .token = token});
//   if (!client) return complain(client.error().text);
//   client->push(orc, game::Damage{.amount = 5});                       // acknowledged when it returns
//   client->push("game.Damage", orc, {{"amount", "5"}});                // the same, by name
//   auto watch = client->follow({.world = true, .values = true});
//   while (auto frame = client->next(*watch, 1s)) if (*frame) show(**frame);
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cpp/layouts.h"
#include "client/cpp/result.h"
#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "messages/session.h"
#include "messages/type_table.h"
#include "messages/value_text.h"
#include "schema/muster.h"

namespace muster {

/// A client's position in the history of a world. A later client uses this position to detect
/// whether the server has been restarted.
struct SoFar {
  std::uint64_t epoch = 0;     ///< identifies one start of the server
  std::uint64_t secret = 0;    ///< the secret of the session, from Welcome
  std::uint64_t sequence = 0;  ///< the newest sequence received
};

struct ClientOptions {
  /// "127.0.0.1:7717", "localhost:7717", "tls:HOST:7717" or "unix:/path/of/socket". Connections to
  /// other machines always use TLS. "HOST:7717/town" is the world "town" of a muster-host.
  std::string address = "127.0.0.1:7717";
  std::string token = {};
  std::string name = {};        ///< the client's name, shown to other users
  std::string kind = "client";  ///< the kind of program
  SoFar before = {};            ///< The result of so_far() of the previous client, if any.
  /// Limit on the time to wait for an answer or to send a batch.
  std::chrono::nanoseconds time_max = std::chrono::seconds(10);
  /// A connection on which nothing arrives for so long during calls, not even the answer to a
  /// heartbeat, is lost.
  std::chrono::nanoseconds silence_max = std::chrono::seconds(30);
  /// Limit on the total size of the frames that have been received but not yet returned by next().
  /// A watch that exceeds this limit fails.
  std::size_t watch_bytes_max = 256u << 20;
  /// SHA-256 fingerprint of the server's certificate: 64 hexadecimal digits. If empty, the
  /// certificate must be valid for the host of `address`, and its issuer must be trusted.
  std::string fingerprint = {};
  /// File with the certificates of trusted issuers, in PEM format, instead of the system's.
  std::string ca_file = {};
  /// If true, and if the connection is lost, the next call connects again and resumes the session.
  /// See Client.
  bool resumes = false;
};

/// A received frame that owns its memory. Its batch has been verified.
struct Received {
  FrameHeader header;
  FrameEnvelope envelope;
  std::vector<std::byte> bytes;  ///< bytes of the batch, aligned to 16
  std::uint64_t epoch = 0;       ///< the epoch to which the frame's sequences belong

  BatchView batch() const noexcept { return BatchView(std::span<const std::byte>(bytes)); }
  /// Returns true if the frame is the last one of an answer. For a frame of a watch, returns true
  /// if the state is now complete and matches the world at envelope.sequence.
  bool is_last() const noexcept { return (header.flags & (frame_more | frame_event)) == 0; }
  /// Returns true if the frame is an event of a watch: an input, a message from a handler, or a
  /// Gap. Returns false if the frame is part of the state.
  bool is_event() const noexcept { return (header.flags & frame_event) != 0; }
  bool is_pushed() const noexcept { return (header.flags & frame_pushed) != 0; }
  template <GeneratedType M>
  bool is() const noexcept {
    return batch().type() == TypeTraits<M>::id;
  }
};

/// An Ack with the epoch to which its sequences belong. Sequences of different epochs cannot be
/// compared.
struct Acknowledged : session::Ack {
  std::uint64_t epoch = 0;
};

/// An entity with the values of its components.
struct ShownEntity {
  session::Shown about;
  struct Component {
    const TypeDescriptor* type = nullptr;  ///< the component's type in the world
    std::vector<std::byte> value;          ///< the value's bytes, in the world's layout
    std::string fault = {};                ///< the reason why this program cannot use the value, or
                                           ///< empty
  };
  std::vector<Component> components;
  template <ComponentType C>
  bool has() const noexcept {
    return find(TypeTraits<C>::id) != nullptr;
  }
  /// Returns the value of component C. Fails with `mistaken` if the entity does not have C, or if C
  /// has a different layout in the world than in this program.
  template <ComponentType C>
  Result<C> get() const {
    const Component* const held = find(TypeTraits<C>::id);
    if (!held) return mistaken("the entity has no " + std::string(TypeTraits<C>::name));
    if (!held->fault.empty()) return mistaken(held->fault);
    if (held->type->fingerprint != TypeTraits<C>::fingerprint)
      return mistaken(held->type->name + " has a different layout in the world than in this program");
    C value;
    std::memcpy(&value, held->value.data(), sizeof value);
    return value;
  }

 private:
  const Component* find(TypeId type) const noexcept {
    for (const Component& component : components)
      if (component.type->id == type) return &component;
    return nullptr;
  }
};

/// A connection to the server of a world. Not thread-safe.
///
/// If a type has a different layout or different enum values in the world than in this program's
/// headers, calls with that type fail with `mistaken` and a sentence that names the type and the
/// first differing field. Calls that identify types by name use the world's layout. If the server
/// refuses a call, the call fails with the error message that the server sent. After the connection
/// has ended, all calls fail with `lost`. Frames of watches that arrive during other calls are
/// stored for next(). Every call sends the heartbeats that keep the session alive. A program that
/// makes no other call for longer than welcome().silence_ns_max must call next(0, 0s) from time to
/// time.
///
/// With ClientOptions::resumes, a lost connection does not end the session, for as long as
/// welcome().resume_ns_max allows. The next call connects again, within its own time limit:
///   - Edits without an answer are sent again. The world applies each of them once. Messages that
///     were sent without a request id are not sent again.
///   - Questions that only read are sent again, and so is everything that was asked while there was
///     no connection. Other questions fail with `late`, because they may have been carried out.
///   - Each watch goes on with session::Resuming. If its `anew` is 0, the changes since the last
///     complete state follow. If its `anew` is 1, the whole state follows, and a program that keeps
///     a copy of the state must discard it.
///   - If the server was started again, or if a run began or ended, epoch() changes. Ids from
///     next_id() are then not valid anymore, and edits that create entities with such ids are
///     refused.
/// If the session cannot be resumed, all calls fail with `lost`, and the text gives the reason.
class Client {
 public:
  /// Connects, begins a session, and receives the world's types. Compares them with `compiled`, the
  /// types of all headers in the program. A program that decodes all bytes with types() can pass
  /// {}.
  [[nodiscard]] static Result<Client> connect(ClientOptions options,
                                              CompiledSchemas compiled = detail::compiled_schemas());
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  /// Returns the newest Welcome: that of the current connection.
  const session::Welcome& welcome() const noexcept;
  /// Returns how often the session was resumed.
  std::uint64_t times_resumed() const noexcept;
  /// If the connection was lost, and the session has not been resumed yet, returns the reason.
  /// Otherwise, returns nothing. The result changes only in calls that send or receive.
  std::optional<ClientError> interruption() const;
  /// Returns the epoch. It changes when a run begins or ends (session::NewEpoch, which this client
  /// answers by itself); ids from next_id() that have not been used by then are not valid anymore.
  /// A new connection to a server that was started again has another epoch, and then sequences
  /// start anew.
  std::uint64_t epoch() const noexcept { return welcome().epoch; }
  /// Returns the position to pass as ClientOptions::before to the next client.
  SoFar so_far() const noexcept;
  /// Returns true if the server has been restarted since ClientOptions::before. In this case,
  /// earlier sequences and ids are meaningless, changes that were not durable are lost, and a copy
  /// of the world must be rebuilt. Returns false if `before` is not set.
  bool is_started_anew() const noexcept;
  /// Returns the types of the world and of sessions. The table grows whenever types are added to
  /// the world.
  const TypeTable& types() const noexcept;
  /// Returns the content of a text that was received with a value, or an empty string if the text
  /// is unknown.
  std::string_view text(Text text) const noexcept;

  /// Returns the content of a text. Asks the server for the content if the client does not know it.
  Result<std::string> fetch_text(Text text);
  /// Finds the entity that has the given id ("12:1", "#12:1"), path ("/town/tower"), or name
  /// ("tower"). If several entities match, the error lists them.
  Result<Entity> entity(std::string_view text);

  // --- World messages. An Ack counts the targets that were handled, unhandled, and dead.

  template <MessageType M>
  Result<Acknowledged> push(Entity target, const M& message) {
    if (auto fits = check<M>(); !fits) return std::unexpected(fits.error());
    BatchBuilder builder;
    builder.append(target, message);
    return push_batch(builder.bytes());
  }
  template <MessageType M>
  Result<Acknowledged> push(std::span<const Entity> targets, const M& message) {
    if (auto fits = check<M>(); !fits) return std::unexpected(fits.error());
    BatchBuilder builder;
    builder.append_shared(targets, message);
    return push_batch(builder.bytes());
  }
  /// Sends a pass, which is a message to all matching entities.
  template <MessageType M>
  Result<Acknowledged> push(const M& message) {
    if (auto fits = check<M>(); !fits) return std::unexpected(fits.error());
    BatchBuilder builder;
    builder.append_world(message);
    return push_batch(builder.bytes());
  }
  /// Sends a message by name, with values given as strings, as in push("Damage", orc, {{"amount",
  /// "5"}}). A nil target means the world.
  Result<Acknowledged> push(std::string_view message, Entity target, const FieldTexts& fields);
  /// Sends one complete batch of any kind. Like every push, fails with `mistaken` and sends nothing
  /// if clients may not send the message (remote: "none" in the schema).
  Result<Acknowledged> push_batch(std::span<const std::byte> batch);
  /// Sends a batch without waiting for the result, and returns the batch's request id. The results
  /// can be fetched with wait_ack() in any order. If `acknowledged` is false, the server sends no
  /// result, and the id is 0.
  Result<std::uint64_t> post_batch(std::span<const std::byte> batch, bool acknowledged = true);
  Result<Acknowledged> wait_ack(std::uint64_t request);

  // --- expectations (client/cpp/expect.h) and dry runs

  /// Sends an edit that the server refuses as a whole unless the world is as expected. The Fault
  /// then contains the actual value.
  template <MessageType M>
  Result<Acknowledged> push_if(const std::vector<session::Expectation>& expected, Entity target, const M& message) {
    if (auto fits = check<M>(); !fits) return std::unexpected(fits.error());
    BatchBuilder builder;
    builder.append(target, message);
    return push_batch_if(expected, builder.bytes());
  }
  /// Like push_if(), for one complete batch of any kind but a timed one.
  Result<Acknowledged> push_batch_if(const std::vector<session::Expectation>& expected,
                                     std::span<const std::byte> batch);
  /// Asks what an edit would do, which changes nothing and calls no handler. Fails with `refused`,
  /// and with the Fault that the edit would get, if the world would refuse it. The batch must not
  /// contain messages of the game.
  Result<session::WouldChange> dry_run(std::span<const std::byte> batch,
                                       const std::vector<session::Expectation>& expected = {});

  // --- edits

  /// Adds a text to the world for use in `text` fields. Each text is sent only once per session.
  Result<Text> intern(std::string_view text);
  /// Creates an entity as the last child of `parent`, or as a root if `parent` is nil. If `name` is
  /// empty, the entity has no name. The id is one of those granted to this session.
  template <ComponentType... Cs>
  Result<Entity> create(Entity parent, std::string_view name, const Cs&... components) {
    if (auto fits = check<Cs...>(); !fits) return std::unexpected(fits.error());
    auto prepared = prepare_create(parent, name);
    if (!prepared) return std::unexpected(prepared.error());
    BatchBuilder builder;
    builder.append_rows(prepared->first, prepared->second, components...);
    return created(prepared->first, builder.bytes());
  }
  Result<Entity> create(Entity parent, std::string_view name);
  /// Returns the next id granted to this session. If no ids are left, requests more.
  Result<Entity> next_id();
  Result<Acknowledged> destroy(Entity e) { return push(e, Destroy{}); }
  template <ComponentType... Cs>
  Result<Acknowledged> set(Entity e, const Cs&... components) {
    if (auto fits = check<Cs...>(); !fits) return std::unexpected(fits.error());
    BatchBuilder builder;
    builder.append_rows(e, Set{}, components...);
    return push_batch(builder.bytes());
  }
  /// Adds or overwrites one component by name. Omitted fields get their defaults in a new
  /// component, and keep their values in an existing one.
  Result<Acknowledged> set(Entity e, std::string_view component, const FieldTexts& fields);
  /// Writes one field by name, as in set_field(orc, "Health.value", "50"). The component's name may
  /// be the full name or only the last part.
  Result<Acknowledged> set_field(Entity e, std::string_view path, std::string_view value);
  Result<Acknowledged> remove(Entity e, std::string_view component);
  Result<Acknowledged> reparent(Entity e, Entity parent, Entity before = {});
  Result<Acknowledged> rename(Entity e, std::string_view name);

  // --- questions

  /// Sends a question and returns its answer. The type of the question determines the type of the
  /// answer: ask(session::ListChildren{.entity = e}) returns session::Children, and
  /// ask<session::GetLoad>() returns session::Load. If an answer may have several frames, returns a
  /// vector of them. docs/protocol.md lists all questions and their answers.
  template <QuestionType Q>
  Result<AnswerTo<Q>> ask(const Q& question = {}) {
    using Answer = QuestionTraits<Q>::Answer;
    const auto frames = ask_all(question);
    if (!frames) return std::unexpected(frames.error());
    if constexpr (!QuestionTraits<Q>::several) {
      return answer_in<Answer>(frames->front());
    } else {
      std::vector<Answer> answers;
      for (const Received& frame : *frames) {
        auto answer = answer_in<Answer>(frame);
        if (!answer) return std::unexpected(answer.error());
        answers.push_back(std::move(*answer));
      }
      return answers;
    }
  }
  /// Sends a question and returns the frames of the answer without decoding them. show() needs this
  /// function because the values are in the answer's second frame.
  template <class Q>
  Result<std::vector<Received>> ask_all(const Q& question) {
    BatchBuilder builder;
    session::append(builder, question);
    auto request = send(builder.bytes());
    if (!request) return std::unexpected(request.error());
    return wait(*request);
  }
  /// Returns an entity with the values of its components.
  Result<ShownEntity> show(Entity e);
  /// Returns all templates in the world.
  Result<session::Templates> templates();
  /// Defines the templates in `text`, the content of `file`. If the text has an error, no template
  /// is defined.
  Result<session::Templates> read_templates(std::string_view text, std::string_view file);
  /// Waits until every input up to `sequence`, which comes from an Ack, would survive a crash and a
  /// power failure. Returns the durable state at that time. Fails with `refused` if the server
  /// cannot write to the disk, or if the server writes to the disk only when it receives
  /// session::Save.
  Result<session::Durable> wait_durable(std::uint64_t sequence);
  /// Waits until the input that an Ack acknowledges is durable. Fails with `mistaken` if the Ack
  /// comes from a different start of the server.
  Result<session::Durable> wait_durable(const Acknowledged& ack);
  /// Ends the recording that session::BeginTrace started, and returns the trace in Chrome's
  /// trace-event format.
  Result<session::TraceText> end_trace();

  // --- watches

  /// Opens a watch and returns its id. next() returns the watch's frames, beginning with Watching.
  /// If this call fails, no watch exists. If this call fails with `late` but the server still opens
  /// the watch afterward, a later call ends the watch.
  Result<std::uint64_t> follow(session::Follow what);
  /// Changes a watch. Returns after all resulting differences have arrived. Subsequent calls to
  /// next() return the differences.
  Result<session::Followed> follow(std::uint64_t watch, session::Follow what);
  /// Adds entities and open nodes to a watch, or removes them from it.
  Result<session::Followed> follow_more(const session::FollowMore& what);
  Result<void> unwatch(std::uint64_t watch);
  /// Limits the total size of the watch frames that are in transit or have not yet been returned by
  /// next() to about `bytes`. The frame that reaches the limit is sent completely. Answers count
  /// toward the limit, but the limit does not stop them. After the first call, call this function
  /// again each time about half of the bytes have been fetched; otherwise, the watches stop. A
  /// credit smaller than the previous one has no effect. If this function is never called, watches
  /// send as fast as the stream allows. The server does not answer this message. Fails in the same
  /// cases as post_batch(), and has no effect if it fails.
  Result<void> give_credit(std::uint64_t bytes);
  /// Returns the number of bytes received over the stream so far, including frame headers. The
  /// protocol's Credit counts bytes in the same way.
  std::uint64_t received_bytes() const noexcept;
  /// Returns the next frame of one watch, or of any watch if `watch` is 0. Returns nothing if no
  /// frame arrives within `time`. If a watch sends a type whose layout differs from this program's
  /// layout, all later calls for that watch fail.
  Result<std::optional<Received>> next(std::uint64_t watch, std::chrono::nanoseconds time);

  // --- For other layers: unprocessed frames

  /// Sends one batch and returns the request id to pass to wait().
  Result<std::uint64_t> send(std::span<const std::byte> batch);
  /// Returns all frames of the answer. Fails if the answer is a Fault, or if it contains a type
  /// whose layout differs from this program's layout.
  Result<std::vector<Received>> wait(std::uint64_t request);

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  template <class Answer>
  static Result<Answer> answer_in(const Received& frame) {
    if (frame.is<Answer>()) return session::read<Answer>(frame.batch());
    return std::unexpected(ClientError{
        ClientError::Kind::lost, "the server's answer is not a " + std::string(TypeTraits<Answer>::name), {}});
  }
  /// Fails if any of this program's types has a different layout in the world.
  Result<void> check_layout(TypeId type, std::uint64_t fingerprint, std::string_view name,
                            std::span<const std::byte> schema) const;
  template <GeneratedType... Ts>
  Result<void> check() const {
    Result<void> fits;
    (void)((fits = check_layout(TypeTraits<Ts>::id, TypeTraits<Ts>::fingerprint, TypeTraits<Ts>::name,
                                std::as_bytes(TypeTraits<Ts>::schema)),
            fits.has_value()) &&
           ...);
    return fits;
  }
  /// Sends a batch in the world's layout, which may differ from this program's layout.
  Result<Acknowledged> push_named(std::span<const std::byte> batch);
  /// Fails if a watch requests a type whose layout in the world differs from this program's layout.
  Result<void> check_types(std::span<const TypeId> types) const;
  Result<void> check_follow(const session::Follow& what) const;
  Result<std::vector<Received>> wait_any(std::uint64_t request);
  Result<std::pair<Entity, Create>> prepare_create(Entity parent, std::string_view name);
  Result<Entity> created(Entity e, std::span<const std::byte> batch);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster

// A client of a running world: the same typed messages, over a socket. It knows the game's types from its own headers, or
// from the schema that the server sends, and links no world code.
//
//   auto client = Client::connect({.address = "127.0.0.1:7717", .token = token});
//   if (!client) return complain(client.error().text);
//   client->push(orc, game::Damage{.amount = 5});                       // acknowledged when it returns
//   client->push("game.Damage", orc, {{"amount", "5"}});                // the same, by name
//   auto watch = client->watch({.values = true});
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

/// How far a client came: for the one after it, which learns by it whether the server was started anew.
struct SoFar {
  std::uint64_t epoch = 0;     ///< which start of the server it was
  std::uint64_t session = 0;   ///< as Welcome named it
  std::uint64_t sequence = 0;  ///< the newest that was told
};

struct ClientOptions {
  /// "127.0.0.1:7717", "localhost:7717" or "unix:/path/of/socket".
  std::string address = "127.0.0.1:7717";
  std::string token = {};
  std::string name = {};        ///< shown to other users
  std::string kind = "client";  ///< what this program is
  SoFar before = {};            ///< Client::so_far() of the client before this one, where there was one
  /// For an answer to come, and for a batch to be sent.
  std::chrono::nanoseconds time_max = std::chrono::seconds(10);
  /// Frames of watches that were not fetched by next; above it the watch fails.
  std::size_t watch_bytes_max = 256u << 20;
};

/// One frame that came, with memory of its own. The batch was verified.
struct Received {
  FrameHeader header;
  FrameEnvelope envelope;
  std::vector<std::byte> bytes;  ///< of the batch, 16-aligned
  std::uint64_t epoch = 0;       ///< that its sequences are of: which start of the server

  BatchView batch() const noexcept { return BatchView(std::span<const std::byte>(bytes)); }
  /// The answer is whole; a watch's state is the world's as it was at envelope.sequence.
  bool is_last() const noexcept { return (header.flags & (frame_more | frame_event)) == 0; }
  /// Of a watch: an input as it came, or what handlers pushed (or a Gap in them), not a part of the state.
  bool is_event() const noexcept { return (header.flags & frame_event) != 0; }
  bool is_pushed() const noexcept { return (header.flags & frame_pushed) != 0; }
  template <GeneratedType M>
  bool is() const noexcept {
    return batch().type() == TypeTraits<M>::id;
  }
};

/// An Ack, and the epoch that its sequences are of: those of two epochs are not comparable.
struct Acknowledged : session::Ack {
  std::uint64_t epoch = 0;
};

/// An entity and the values of its components.
struct ShownEntity {
  session::Shown about;
  struct Component {
    const TypeDescriptor* type = nullptr;  ///< as the world has it
    std::vector<std::byte> value;          ///< in the world's layout
    std::string fault = {};                ///< why this program's class cannot have the value; empty if it can
  };
  std::vector<Component> components;
  template <ComponentType C>
  bool has() const noexcept {
    return find(TypeTraits<C>::id) != nullptr;
  }
  /// Fails with `mistaken` if the entity has none, or if the world has C with another layout than this program.
  template <ComponentType C>
  Result<C> get() const {
    const Component* const held = find(TypeTraits<C>::id);
    if (!held) return mistaken("the entity has no " + std::string(TypeTraits<C>::name));
    if (!held->fault.empty()) return mistaken(held->fault);
    if (held->type->fingerprint != TypeTraits<C>::fingerprint)
      return mistaken(held->type->name + " has another layout in the world than in this program");
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

/// Not thread-safe; one thread at a time. A type that has another layout in the world than in the headers
/// of this program, or enums with other numbers, is neither sent nor handed out: such a call fails with
/// `mistaken` and a sentence that names the type and the first field that differs. What is done by name
/// is right in any case. Every call fails with kind `lost` once the connection is gone, and with the
/// server's words where it refused. Frames of watches that come meanwhile are kept until next() asks for them. While a
/// call waits, heartbeats keep the session alive; a program that makes none for longer than welcome().silence_ns_max calls
/// next(0, 0s) now and then.
class Client {
 public:
  /// Connects, says hello, and learns the world's types. These are compared with `compiled`, the types of
  /// all games whose headers are in the program. A program that reads all bytes by types() gives none.
  [[nodiscard]] static Result<Client> connect(ClientOptions options,
                                              CompiledSchemas compiled = detail::compiled_schemas());
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  const session::Welcome& welcome() const noexcept;
  /// Which start of the server this is: every sequence that this client is told is of it. Another server has another.
  std::uint64_t epoch() const noexcept { return welcome().server; }
  /// For ClientOptions::before of the next client.
  SoFar so_far() const noexcept;
  /// The server was started anew since ClientOptions::before. Sequences and ids that were told then mean nothing here; what was not durable
  /// is lost; a copy of the world begins anew. False where nothing was before.
  bool is_started_anew() const noexcept;
  /// All types of the world and of the session. Grows where the world learns types.
  const TypeTable& types() const noexcept;
  /// The bytes of a text that came with a value; empty where unknown.
  std::string_view text(Text text) const noexcept;

  /// The bytes of a text, asked of the server where it is unknown here.
  Result<std::string> fetch_text(Text text);
  /// The one entity that an id ("12:1", "#12:1"), a path ("/town/tower") or a name ("tower") means. Several are an error
  /// that lists them.
  Result<Entity> entity(std::string_view text);

  // --- world messages. An Ack counts targets handled, unhandled and dead.

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
  /// To the world: a pass.
  template <MessageType M>
  Result<Acknowledged> push(const M& message) {
    if (auto fits = check<M>(); !fits) return std::unexpected(fits.error());
    BatchBuilder builder;
    builder.append_world(message);
    return push_batch(builder.bytes());
  }
  /// By name, from texts as people write them: push("Damage", orc, {{"amount", "5"}}). A nil target is the world.
  Result<Acknowledged> push(std::string_view message, Entity target, const FieldTexts& fields);
  /// One whole batch of any kind. As the others here it fails with `mistaken`, and sends nothing, where nobody may send such messages from
  /// outside (a schema's remote: "none").
  Result<Acknowledged> push_batch(std::span<const std::byte> batch);
  /// Sends without waiting. What became of it is fetched by wait_ack, in any order; each must be. Not acknowledged: the
  /// server tells nothing of it, and the id returned is 0.
  Result<std::uint64_t> post_batch(std::span<const std::byte> batch, bool acknowledged = true);
  Result<Acknowledged> wait_ack(std::uint64_t request);

  // --- edits

  /// Tells the world a text, for `text` fields; once per session.
  Result<Text> intern(std::string_view text);
  /// A new entity as the last child of `parent` (nil: a root), with a name unless empty. Its id is known at once: from a grant.
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
  /// The next of the ids granted to this session; asks for more where they are used up.
  Result<Entity> next_id();
  Result<Acknowledged> destroy(Entity e) { return push(e, Destroy{}); }
  template <ComponentType... Cs>
  Result<Acknowledged> set(Entity e, const Cs&... components) {
    if (auto fits = check<Cs...>(); !fits) return std::unexpected(fits.error());
    BatchBuilder builder;
    builder.append_rows(e, Set{}, components...);
    return push_batch(builder.bytes());
  }
  /// Adds or overwrites one component by name; fields not named have their defaults, or the values they have now.
  Result<Acknowledged> set(Entity e, std::string_view component, const FieldTexts& fields);
  /// One field by name: set_field(orc, "Health.value", "50"). The component's name may be full or its last part.
  Result<Acknowledged> set_field(Entity e, std::string_view path, std::string_view value);
  Result<Acknowledged> remove(Entity e, std::string_view component);
  Result<Acknowledged> reparent(Entity e, Entity parent, Entity before = {});
  Result<Acknowledged> rename(Entity e, std::string_view name);

  // --- questions

  /// Asks the server. The class of the answer follows from the question: ask(session::ListChildren{.entity = e}) returns
  /// session::Children, and ask<session::GetLoad>() returns session::Load. A question whose answer may come in several
  /// frames returns a vector of them. docs/protocol.md lists all questions with their answers.
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
  /// Returns the frames of the answer as they came: for Show, whose values come in a second frame.
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
  /// Returns all templates of the world.
  Result<session::Templates> templates();
  /// Defines the templates of a file's text; if something is wrong with it, defines nothing.
  Result<session::Templates> read_templates(std::string_view text, std::string_view file);
  /// Returns when every input up to `sequence`, an Ack's, survives a crash and a loss of power; with how much does then. Refused where the
  /// disk fails, or where the server writes nothing by itself (then a session::Save does).
  Result<session::Durable> wait_durable(std::uint64_t sequence);
  /// The same; `mistaken` where the Ack is of another start of the server, which nobody can tell anything of any more.
  Result<session::Durable> wait_durable(const Acknowledged& ack);
  /// Ends the recording that session::BeginTrace began; returns all of its text, in Chrome's trace-event format.
  Result<session::TraceText> end_trace();

  // --- watches

  /// Opens a watch; returns its id. Its frames come by next: Watching first. Where it fails no watch is left: one that the server opens
  /// after this failed with `late` is ended when a later call hears of it.
  Result<std::uint64_t> watch(const session::Watch& what);
  /// Opens one that can be changed, and may tell the children of entities in their order; likewise.
  Result<std::uint64_t> follow(session::Follow what);
  /// The watch that follow opened becomes this; returns when all that is different has come, for next().
  Result<session::Followed> follow(std::uint64_t watch, session::Follow what);
  /// The same, a little more or less.
  Result<session::Followed> follow_more(const session::FollowMore& what);
  Result<void> unwatch(std::uint64_t watch);
  /// Bounds what watches may bring ahead of this client: at most about `bytes` that are on their way or wait for next() (the frame that
  /// reaches that is sent whole; answers count, and need no credit). It holds from now on, until the next call: who asked once goes on
  /// asking as it works, each time about half of it was fetched, or no watch brings more. Less than was given before changes nothing.
  /// Without any call watches bring as much as the stream takes. Sent, not answered; fails as post_batch does, and then nothing changed.
  Result<void> give_credit(std::uint64_t bytes);
  /// Bytes that came over the stream so far, frames and all: what the protocol's Credit counts.
  std::uint64_t received_bytes() const noexcept;
  /// The next frame of one watch, or of any (0); nothing if none came within `time`. A watch that brings a
  /// type with another layout than in this program fails from there on, each time.
  Result<std::optional<Received>> next(std::uint64_t watch, std::chrono::nanoseconds time);

  // --- for others: frames as they are

  /// Sends one batch and returns the id under which its answer will come.
  Result<std::uint64_t> send(std::span<const std::byte> batch);
  /// All frames of the answer. A Fault is returned as the error; so is a type with another layout.
  Result<std::vector<Received>> wait(std::uint64_t request);

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  template <class Answer>
  static Result<Answer> answer_in(const Received& frame) {
    if (frame.is<Answer>()) return session::read<Answer>(frame.batch());
    return std::unexpected(ClientError{ClientError::Kind::lost,
                                       "the server gave another answer than " + std::string(TypeTraits<Answer>::name),
                                       {}});
  }
  /// A type compiled into this program must have the world's layout.
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
  /// By name: the bytes are in the world's layout, whatever that is in this program.
  Result<Acknowledged> push_named(std::span<const std::byte> batch);
  /// Fails if one of the types that a watch asks for has another layout.
  Result<void> check_types(std::span<const TypeId> types) const;
  Result<void> check_follow(const session::Follow& what) const;
  Result<std::vector<Received>> wait_any(std::uint64_t request);
  Result<std::uint64_t> open_watch(std::span<const std::byte> question);
  Result<std::pair<Entity, Create>> prepare_create(Entity parent, std::string_view name);
  Result<Entity> created(Entity e, std::span<const std::byte> batch);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster

// A session: one remote connection of a user, from its Welcome on. The door makes it, the desk and its watches serve it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/type_table.h"
#include "server/session/outgoing.h"
#include "server/session/requests.h"
#include "server/world/time/work_time.h"

namespace muster {

class EntityRegistry;

/// Made by Desk::join. The identity never changes; each other member says from which thread it may be touched.
struct Session {
  Session(std::size_t request_bytes_max, std::shared_ptr<RequestBytes> all_requests)
      : requests(request_bytes_max, std::move(all_requests)) {}

  std::uint64_t session_id = 0;  ///< secret between server and client
  std::uint64_t author = 0;
  std::uint64_t user = 0;  ///< who has the token; 0: it is the server's own
  session::Role role = session::Role::none;
  std::string name, kind;
  std::shared_ptr<Outgoing> outgoing;  ///< any thread
  Requests requests;                   ///< session's thread and owner's
  std::atomic<bool> left = false;      ///< any thread: nothing more comes

  std::atomic<std::uint32_t> open_questions = 0;  ///< any thread
  std::unordered_set<std::uint64_t> texts_sent;   ///< owner's thread
  std::unordered_set<std::uint64_t> texts_told;   ///< owner's thread; that it told the world, which may have known them
  std::vector<session::Granted> grants;           ///< owner's thread; by index; some of these ids may not be used yet
  std::vector<std::uint64_t> timers;        ///< owner's thread; numbers of timers it set, some of which may be over
  TimeCounts edit_waits;                    ///< owner's thread; its processor time from an edit's arrival to the answer
  std::uint64_t texts = 0, text_bytes = 0;  ///< owner's thread; that it made known to the world
};

/// Whether the world knows the text and this session has not been sent it. Owner's thread.
bool must_be_sent(const Session& to, const EntityRegistry& registry, Text text);
/// Sends such a text. Owner's thread.
void send_text(Session& to, const EntityRegistry& registry, Text text);
/// Sends the texts that a value of `type` mentions and this session has not been sent. Owner's thread.
void send_texts(Session& to, const EntityRegistry& registry, const TypeDescriptor& type, const std::byte* value);
/// Sends the texts that the payloads of a batch mention, row sets included.
void send_texts(Session& to, const EntityRegistry& registry, const TypeTable& types, BatchView batch);

/// A fault that leaves the session open.
session::Fault fault_of(session::FaultCode code, const char* reason, std::string text);

/// What an edit is answered while the disk fails with that sentence.
session::Fault not_recorded_fault(const std::string& error);

/// Queues one message as a control frame.
template <GeneratedType M>
void answer(Session& to, std::uint64_t request, const M& message, std::uint32_t flags = 0) {
  BatchBuilder builder;
  session::append(builder, message);
  to.outgoing->control(builder.bytes(), request, flags);
}

}  // namespace muster

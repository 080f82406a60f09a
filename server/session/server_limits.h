// The limits of a server. Every queue is bounded by a limit.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "server/session/outgoing.h"

namespace muster {

struct ServerLimits {
  std::uint32_t sessions_max = 1024;  ///< more connections are refused with a Fault
  /// Number of ended sessions whose messages are still pending. Above the limit, the messages of
  /// the session that ended first are dropped.
  std::uint32_t left_sessions_max = 256;
  /// Number of connections without an accepted Hello. Above the limit, the oldest connection is
  /// closed.
  std::uint32_t strangers_max = 256;
  /// Limit on the number of bytes read from a refused connection. Reading continues for a while so
  /// that the client can receive the reason.
  std::uint32_t stranger_bytes_max = 1u << 16;
  std::uint32_t frame_bytes_max = 16u << 20;  ///< also limits reads from a closed session
  /// Limit on the size of the first frame, which is read before its token is accepted.
  std::uint32_t hello_bytes_max = 4096;
  std::uint32_t watches_max = 64;               ///< per session
  std::uint32_t requests_max = 256;             ///< questions per session; above it reading pauses
  std::uint32_t question_bytes_max = 1u << 20;  ///< of one question
  std::uint32_t rows_max = 10'000;              ///< of one answer
  /// Limit on the size of an answer. A page ends with the row that reaches the limit.
  std::uint32_t page_bytes_max = 1u << 20;
  std::uint32_t path_bytes_max = 4096;          ///< of a path; a longer one is shown as an id
  std::uint32_t name_bytes_max = 255;           ///< of a name given by a session
  std::uint32_t template_nodes_max = 10'000;    ///< of one file of templates, with bases
  std::uint32_t template_bytes_max = 4u << 20;  ///< of their values
  /// Number of steps for questions between two inputs (server/session/steps.h).
  std::uint32_t slice_steps = 20'000;
  /// Number of steps for edits between two flushes. A single edit may exceed the limit.
  std::uint32_t intake_steps = 20'000;
  /// Total number of entities in all watches. Above the limit, no further watch can be opened.
  std::uint64_t watched_entities_max = 10'000'000;
  /// Processor time for edits and watches after which questions are postponed until the next flush.
  std::uint64_t flush_ns = 4'000'000;
  std::uint64_t watch_ns = 2'000'000;       ///< processor time for watches, if they have no thread
  std::uint32_t edit_steps_max = 100'000;   ///< of one edit; a more expensive one is refused
  std::uint32_t depth_max = 1024;           ///< depth below the root that an edit may reach
  std::uint32_t text_bytes_max = 1u << 16;  ///< of one text from a session
  std::uint32_t texts_max = 100'000;        ///< texts from one session
  std::uint64_t texts_bytes_max = 16u << 20;
  std::uint32_t world_texts_max = 1'000'000;  ///< of the world; above it sessions may add none
  std::uint64_t world_texts_bytes_max = 256u << 20;
  std::uint32_t timers_max = 1000;           ///< waiting, per session
  std::uint32_t world_timers_max = 100'000;  ///< of the world; above it sessions may set none
  std::uint32_t timer_bytes_max = 1u << 16;  ///< of one timed batch from a session
  std::uint64_t world_timers_bytes_max = 64u << 20;
  std::uint32_t timer_steps_max = 100'000;  ///< of sessions' timers for 16 ms of the world's clock
  /// Number of entities in the world. Above the limit, sessions may not create any, but handlers
  /// may.
  std::uint32_t world_entities_max = 4'000'000;
  /// Limit on the size of ids and values. Above the limit, sessions may not add any.
  std::uint64_t world_rows_bytes_max = 1u << 30;
  /// Number of templates in the world. Above the limit, sessions may not define any.
  std::uint32_t templates_max = 10'000;
  std::uint64_t templates_bytes_max = 64u << 20;  ///< of all templates
  std::uint64_t schemas_bytes_max = 16u << 20;    ///< of binary schemas; above it sessions add none
  std::uint32_t grant_count_max = 1u << 16;       ///< ids in one grant
  std::uint32_t unused_ids_max = 1u << 20;        ///< granted to one session and unused
  /// Size of a session's pending requests above which the server stops reading from the session.
  std::size_t request_bytes_max = 32u << 20;
  /// Total size of the pending requests of all sessions. Above the limit, the server reads only
  /// from sessions that have no pending requests.
  std::size_t all_request_bytes_max = 256u << 20;
  std::chrono::nanoseconds hello_time_max = std::chrono::seconds(5);
  /// Limit on the delay before a wrong token is answered; see Refusals.
  std::chrono::nanoseconds wrong_token_delay_max = std::chrono::seconds(2);
  std::chrono::nanoseconds silence_max = std::chrono::minutes(5);
  /// Time within which a client must read at least some of the bytes sent to it.
  std::chrono::nanoseconds stall_max = std::chrono::seconds(30);
  OutgoingLimits outgoing;
};

/// Sets the limit `name`, for example "texts_max", "outgoing.data_bytes_max" for a limit in
/// `outgoing`, or "hello_ns_max" for a time in ns. Returns false and sets nothing if the name is
/// unknown, or if the value does not fit or is below least_of_limit.
[[nodiscard]] bool set_limit(ServerLimits& limits, std::string_view name, std::uint64_t value) noexcept;
/// Returns the smallest usable value of a limit. With a smaller value, pages of answers would be
/// empty. Code that sets members of ServerLimits directly must respect this value. Returns 0 if any
/// value is usable or if the name is unknown.
std::uint64_t least_of_limit(std::string_view name) noexcept;
/// Returns the names that set_limit accepts, in order.
std::vector<std::string_view> limit_names();

/// Returns the memory, in bytes, used by a server that has reached all of its limits. This is
/// `before`, the memory used without sessions, plus the bytes for each limit and its bookkeeping.
/// Does not include objects created by the game's handlers or allocator overhead.
std::uint64_t memory_sum(const ServerLimits& limits, std::uint64_t before) noexcept;

}  // namespace muster

// What a server allows. Every queue is bounded by one of these.
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
  /// That left while some of what they sent waited for the world, beside the sessions; with more, what the first of them sent is dropped.
  std::uint32_t left_sessions_max = 256;
  /// Connections without an accepted Hello, beside the sessions. Where there are more the oldest is closed.
  std::uint32_t strangers_max = 256;
  std::uint32_t stranger_bytes_max = 1u << 16;  ///< taken of a stranger that was refused, so that it can read why
  std::uint32_t frame_bytes_max = 16u << 20;    ///< also what is taken of a session that was closed
  std::uint32_t hello_bytes_max = 4096;         ///< of the first frame, before a token is accepted
  std::uint32_t watches_max = 64;               ///< per session
  std::uint32_t requests_max = 256;             ///< questions per session; above it the session is not read from
  std::uint32_t question_bytes_max = 1u << 20;  ///< of one question
  std::uint32_t rows_max = 10'000;              ///< of one answer
  std::uint32_t page_bytes_max = 1u << 20;      ///< of one answer: a page ends with the row that reaches it
  std::uint32_t path_bytes_max = 4096;        ///< of a path in a question or an answer; a longer one is shown as an id
  std::uint32_t name_bytes_max = 255;         ///< of a name that a session gives
  std::uint32_t template_nodes_max = 10'000;  ///< of one file of templates that a session has read, bases worked in
  std::uint32_t template_bytes_max = 4u << 20;  ///< of their values
  std::uint32_t slice_steps = 20'000;           ///< of work on questions between two inputs (server/questions/steps.h)
  std::uint32_t intake_steps = 20'000;          ///< of edits between two flushes; one that is dearer is taken alone
  /// Of all watches together; one more is opened where there are no more.
  std::uint64_t watched_entities_max = 10'000'000;
  std::uint64_t flush_ns =
      4'000'000;  ///< of processor time for edits and watches, above which questions come after the next flush
  std::uint64_t watch_ns = 2'000'000;       ///< of processor time for watches after a flush, where they have no thread
  std::uint32_t edit_steps_max = 100'000;   ///< of one edit; a dearer one is refused
  std::uint32_t depth_max = 1024;           ///< levels below its root that an edit may bring an entity to
  std::uint32_t text_bytes_max = 1u << 16;  ///< of one text that a session makes known
  std::uint32_t texts_max = 100'000;        ///< that one session may make known to the world
  std::uint64_t texts_bytes_max = 16u << 20;
  std::uint32_t world_texts_max = 1'000'000;  ///< of the world; sessions may make none known where there are more
  std::uint64_t world_texts_bytes_max = 256u << 20;
  std::uint32_t timers_max = 1000;           ///< that wait, of one session
  std::uint32_t world_timers_max = 100'000;  ///< of the world; sessions may set none where there are more
  std::uint32_t timer_bytes_max = 1u << 16;  ///< of one batch that a session leaves for later
  std::uint64_t world_timers_bytes_max = 64u << 20;
  std::uint32_t timer_steps_max = 100'000;  ///< that sessions may leave for 16 ms of the world's clock
  /// Of the world; sessions may make none where there are more. Handlers may.
  std::uint32_t world_entities_max = 4'000'000;
  std::uint64_t world_rows_bytes_max = 1u << 30;  ///< of ids and values; sessions may add none where there are more
  std::uint32_t templates_max = 10'000;           ///< of the world; sessions may define no more
  std::uint64_t templates_bytes_max = 64u << 20;  ///< of all of them
  std::uint64_t schemas_bytes_max = 16u << 20;    ///< of all binary schemas; sessions may add none where there are more
  std::uint32_t grant_count_max = 1u << 16;       ///< ids in one grant
  std::uint32_t unused_ids_max = 1u << 20;        ///< granted to one session and not yet used
  std::size_t request_bytes_max =
      32u << 20;  ///< per session, not yet taken or answered; above this the server stops reading from the session
  /// Of all sessions together; a session of which nothing waits is read from in any case.
  std::size_t all_request_bytes_max = 256u << 20;
  std::chrono::nanoseconds hello_time_max = std::chrono::seconds(5);
  std::chrono::nanoseconds wrong_token_delay_max = std::chrono::seconds(2);  ///< before its answer: see Refusals
  std::chrono::nanoseconds silence_max = std::chrono::minutes(5);
  std::chrono::nanoseconds stall_max = std::chrono::seconds(30);  ///< for a client to take what is sent
  OutgoingLimits outgoing;
};

/// Sets the limit of that name, for instance "texts_max"; those of `outgoing` as "outgoing.data_bytes_max", times in ns as
/// "hello_ns_max". False, and nothing set, where none is called so, the value does not fit, or is below least_of_limit.
[[nodiscard]] bool set_limit(ServerLimits& limits, std::string_view name, std::uint64_t value) noexcept;
/// The smallest value a server can work with under the limit of that name: with less, pages of answers would stay empty for ever.
/// Whoever sets members of ServerLimits by hand keeps to it. 0: any, or no limit is called so.
std::uint64_t least_of_limit(std::string_view name) noexcept;
/// Names that set_limit takes, in order.
std::vector<std::string_view> limit_names();

/// How many bytes of memory sessions can bring a server to, all limits reached at once: what it used before the first came,
/// and what each limit allows with what its bookkeeping takes. What the game's own handlers make is not in it, nor what the
/// allocator keeps besides.
std::uint64_t memory_sum(const ServerLimits& limits, std::uint64_t before) noexcept;

}  // namespace muster

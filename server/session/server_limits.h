// Defines the limits of a server. Every queue is bounded by one of these limits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "server/session/outgoing.h"

namespace muster {

/// Size above which a frame counts toward frames_bytes_max while it arrives. Smaller frames never
/// wait.
constexpr std::uint32_t large_frame_bytes = 128u << 10;

struct ServerLimits {
  /// Limit on the number of sessions. Further connections are refused with a Fault.
  std::uint32_t sessions_max = 1024;
  /// Number of sessions with the right `admin` that are accepted in addition to sessions_max, so
  /// that other users cannot lock an admin out.
  std::uint32_t reserved_sessions = 16;
  /// Limit on the number of ended sessions whose messages are still pending. Above the limit, the
  /// messages of the session that ended first are dropped.
  std::uint32_t left_sessions_max = 256;
  /// Limit on the number of connections without an accepted Hello. Above the limit, the oldest of
  /// them is closed.
  std::uint32_t strangers_max = 256;
  /// Limit on the number of bytes read from a refused connection. Reading continues for a while so
  /// that the client can receive the reason.
  std::uint32_t stranger_bytes_max = 1u << 16;
  /// Limit on the size of a frame. Also the limit on the number of bytes that are read from a
  /// session after it has been closed.
  std::uint32_t frame_bytes_max = 16u << 20;
  /// Limit on the size of the first frame, which is read before its token is accepted.
  std::uint32_t hello_bytes_max = 4096;
  /// Limit on the total size of the frames larger than 128 KiB that have begun to arrive. Above the
  /// limit, sessions without the right `admin` must wait before they may send the rest.
  std::uint64_t frames_bytes_max = 256u << 20;
  /// Limit on the number of watches per session.
  std::uint32_t watches_max = 64;
  /// Limit on the number of unanswered questions per session. At the limit, the server stops
  /// reading from the session.
  std::uint32_t requests_max = 256;
  std::uint32_t question_bytes_max = 1u << 20;  ///< limit on the size of a question
  std::uint32_t rows_max = 10'000;              ///< limit on the number of rows in an answer

  /// Limit on the size of an answer. A page ends with the row that reaches the limit.
  std::uint32_t page_bytes_max = 1u << 20;
  /// Limit on the length of a path. If a path is longer, the entity's id is shown instead.
  std::uint32_t path_bytes_max = 4096;
  std::uint32_t name_bytes_max = 255;  ///< limit on the length of a name chosen by a session

  /// Limit on the number of nodes in a template file, including those of base templates.
  std::uint32_t template_nodes_max = 10'000;
  /// Limit on the total size of the values in a template file.
  std::uint32_t template_bytes_max = 4u << 20;

  /// Number of steps for questions between two inputs (server/session/steps.h).
  std::uint32_t slice_steps = 20'000;
  /// Number of steps for edits between two flushes. A single edit may exceed the limit.
  std::uint32_t intake_steps = 20'000;
  /// Limit on the total number of entities in all watches. Above the limit, no further watch can be
  /// opened.
  std::uint64_t watched_entities_max = 10'000'000;
  /// Number of entities that sessions with the right `admin` may watch in addition.
  std::uint64_t reserved_watched_entities = 2'500'000;
  /// Processor time for edits and watches after which questions are postponed until the next flush.
  std::uint64_t flush_ns = 4'000'000;
  /// Processor time for watches in a flush, if they have no thread.
  std::uint64_t watch_ns = 2'000'000;

  /// Limit on the cost of an edit in steps. A more expensive edit is refused.
  std::uint32_t edit_steps_max = 100'000;
  /// Limit on the depth below the root to which edits may nest entities.
  std::uint32_t depth_max = 1024;
  std::uint32_t text_bytes_max = 1u << 16;  ///< limit on the size of a text from a session
  std::uint32_t texts_max = 100'000;        ///< limit on the number of texts from one session
  std::uint64_t texts_bytes_max = 16u << 20;
  /// Limit on the number of interned texts in the world. Above the limit, sessions may not add any
  /// texts.
  std::uint32_t world_texts_max = 1'000'000;
  std::uint64_t world_texts_bytes_max = 256u << 20;
  std::uint32_t timers_max = 1000;  ///< limit on the number of a session's pending timers

  /// Limit on the number of pending timers in the world. Above the limit, sessions may not set any
  /// timers.
  std::uint32_t world_timers_max = 100'000;
  std::uint32_t timer_bytes_max = 1u << 16;  ///< limit on the size of a timed batch from a session
  std::uint64_t world_timers_bytes_max = 64u << 20;
  /// Limit on the total cost of sessions' timers that are due within the same 16 ms of the world's
  /// clock.
  std::uint32_t timer_steps_max = 100'000;
  /// Limit on the number of entities in the world. Above the limit, sessions may not create any
  /// entities, but handlers still may.
  std::uint32_t world_entities_max = 4'000'000;
  /// Limit on the total size of ids and values in the world. Above the limit, sessions may not add
  /// any.
  std::uint64_t world_rows_bytes_max = 1u << 30;
  /// Limit on the number of templates in the world. Above the limit, sessions may not define any
  /// templates.
  std::uint32_t templates_max = 10'000;
  std::uint64_t templates_bytes_max = 64u << 20;  ///< limit on the total size of templates

  /// Limit on the total size of binary schemas. Above the limit, sessions may not add any schemas.
  std::uint64_t schemas_bytes_max = 16u << 20;
  std::uint32_t grant_count_max = 1u << 16;  ///< limit on the number of ids in one grant
  std::uint32_t unused_ids_max = 1u << 20;   ///< limit on the number of a session's unused ids

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
  /// Time for which a resumable session is kept after its connection was lost. 0 means that no
  /// session can be resumed.
  std::chrono::nanoseconds resume_time_max = std::chrono::seconds(60);
  /// Limit on the number of sessions that are away, which means that they have no connection but
  /// can be resumed. Above the limit, the session that has been away for longest ends.
  std::uint32_t away_sessions_max = 256;
  /// Limit on the total size of the answers to edits that are kept for a resumable session. Above
  /// the limit, the oldest answers are dropped.
  std::uint32_t kept_answers_bytes_max = 64u << 10;
  OutgoingLimits outgoing;

  /// Limits on what all sessions of one user hold together (server/session/shares.h). Users with
  /// the right `admin` are exempt.
  std::uint32_t user_sessions_max = 256;
  /// See away_sessions_max. Above the limit, the user's session that has been away for longest
  /// ends.
  std::uint32_t user_away_sessions_max = 32;
  std::uint32_t user_watches_max = 1024;
  std::uint64_t user_watched_entities_max = 2'500'000;
  std::uint64_t user_frames_bytes_max = 64u << 20;  ///< see frames_bytes_max
  std::uint32_t user_unused_ids_max = 2u << 20;
  std::uint32_t user_timers_max = 25'000;
  std::uint64_t user_timers_bytes_max = 16u << 20;
  std::uint32_t user_templates_max = 2500;
  std::uint64_t user_templates_bytes_max = 16u << 20;
  std::uint32_t user_texts_max = 250'000;
  std::uint64_t user_texts_bytes_max = 64u << 20;
  std::uint32_t user_entities_max = 1'000'000;
  /// Limits on what all sessions of one user send in a second; 0 means no limit. If a user sends
  /// more, the server reads later from the user's sessions. Users with the right `admin` are
  /// exempt.
  std::uint64_t user_bytes_rate = 0;
  std::uint64_t user_requests_rate = 0;  ///< limit on frames, including edits
  std::uint64_t user_edits_rate = 0;
};

/// Sets the limit called `name`, for example "texts_max", "outgoing.data_bytes_max" (a limit in
/// `outgoing`), or "hello_ns_max" (a time in ns). Returns false and sets nothing if the name is
/// unknown, or if the value does not fit or is below least_of_limit.
[[nodiscard]] bool set_limit(ServerLimits& limits, std::string_view name, std::uint64_t value) noexcept;
/// Returns the smallest usable value of a limit. With a smaller value, pages of answers would be
/// empty. Code that sets members of ServerLimits directly must respect this value. Returns 0 if any
/// value is usable or if the name is unknown.
std::uint64_t least_of_limit(std::string_view name) noexcept;
/// Returns the names that set_limit accepts, in order.
std::vector<std::string_view> limit_names();

/// Lowers sessions_max and strangers_max, if necessary, so that `descriptors` file descriptors are
/// enough for all connections, for the files that strangers download, and for
/// reserved_descriptors. Otherwise, the list of users could not be changed while all connections
/// are in use.
ServerLimits fitted_to(ServerLimits limits, std::uint64_t descriptors) noexcept;
/// Number of descriptors for the world's file, the list of users, plugins, and the threads.
constexpr std::uint64_t reserved_descriptors = 64;

/// Returns the memory, in bytes, that a server uses when it has reached all of its limits. The
/// result is the sum of `before`, which is the memory used without sessions, and the bytes for each
/// limit and its bookkeeping. Does not include objects created by the game's handlers or allocator
/// overhead.
std::uint64_t memory_sum(const ServerLimits& limits, std::uint64_t before) noexcept;

}  // namespace muster

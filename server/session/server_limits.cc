#include "server/session/server_limits.h"

#include <algorithm>
#include <array>
#include <limits>

namespace muster {

namespace {

struct Named {
  std::string_view name;
  bool (*set)(ServerLimits&, std::uint64_t) noexcept;
  std::uint64_t least = 0;
};

template <class T>
bool put(T& to, std::uint64_t value) noexcept {
  if constexpr (requires { to.count(); }) {
    if (value > static_cast<std::uint64_t>(T::max().count())) return false;
    to = T(static_cast<typename T::rep>(value));
  } else {
    if (value > std::numeric_limits<T>::max()) return false;
    to = static_cast<T>(value);
  }
  return true;
}

template <auto member>
bool set(ServerLimits& limits, std::uint64_t value) noexcept {
  return put(limits.*member, value);
}
template <auto member>
bool set_outgoing(ServerLimits& limits, std::uint64_t value) noexcept {
  return put(limits.outgoing.*member, value);
}

// With smaller values, a page might not have room for a row, or a slice might not have enough steps
// for a piece of work. A client would then request pages forever.
constexpr std::uint64_t page_bytes_least = 1024, slice_steps_least = 64;

constexpr std::array all_limits = {
    Named{"all_request_bytes_max", set<&ServerLimits::all_request_bytes_max>},
    Named{"away_sessions_max", set<&ServerLimits::away_sessions_max>},
    Named{"depth_max", set<&ServerLimits::depth_max>},
    Named{"edit_steps_max", set<&ServerLimits::edit_steps_max>},
    Named{"flush_ns", set<&ServerLimits::flush_ns>},
    Named{"frame_bytes_max", set<&ServerLimits::frame_bytes_max>},
    Named{"frames_bytes_max", set<&ServerLimits::frames_bytes_max>},
    Named{"grant_count_max", set<&ServerLimits::grant_count_max>},
    Named{"hello_bytes_max", set<&ServerLimits::hello_bytes_max>},
    Named{"hello_ns_max", set<&ServerLimits::hello_time_max>},
    Named{"intake_steps", set<&ServerLimits::intake_steps>},
    Named{"kept_answers_bytes_max", set<&ServerLimits::kept_answers_bytes_max>},
    Named{"left_sessions_max", set<&ServerLimits::left_sessions_max>},
    Named{"name_bytes_max", set<&ServerLimits::name_bytes_max>},
    Named{"outgoing.control_bytes_max", set_outgoing<&OutgoingLimits::control_bytes_max>},
    Named{"outgoing.data_bytes_max", set_outgoing<&OutgoingLimits::data_bytes_max>},
    Named{"page_bytes_max", set<&ServerLimits::page_bytes_max>, page_bytes_least},
    Named{"path_bytes_max", set<&ServerLimits::path_bytes_max>},
    Named{"question_bytes_max", set<&ServerLimits::question_bytes_max>},
    Named{"request_bytes_max", set<&ServerLimits::request_bytes_max>},
    Named{"requests_max", set<&ServerLimits::requests_max>},
    Named{"reserved_sessions", set<&ServerLimits::reserved_sessions>},
    Named{"reserved_watched_entities", set<&ServerLimits::reserved_watched_entities>},
    Named{"resume_ns_max", set<&ServerLimits::resume_time_max>},
    Named{"rows_max", set<&ServerLimits::rows_max>, 1},
    Named{"schemas_bytes_max", set<&ServerLimits::schemas_bytes_max>},
    Named{"sessions_max", set<&ServerLimits::sessions_max>},
    Named{"silence_ns_max", set<&ServerLimits::silence_max>},
    Named{"slice_steps", set<&ServerLimits::slice_steps>, slice_steps_least},
    Named{"stall_ns_max", set<&ServerLimits::stall_max>},
    Named{"stranger_bytes_max", set<&ServerLimits::stranger_bytes_max>},
    Named{"strangers_max", set<&ServerLimits::strangers_max>},
    Named{"template_bytes_max", set<&ServerLimits::template_bytes_max>},
    Named{"template_nodes_max", set<&ServerLimits::template_nodes_max>},
    Named{"templates_bytes_max", set<&ServerLimits::templates_bytes_max>},
    Named{"templates_max", set<&ServerLimits::templates_max>},
    Named{"text_bytes_max", set<&ServerLimits::text_bytes_max>},
    Named{"texts_bytes_max", set<&ServerLimits::texts_bytes_max>},
    Named{"texts_max", set<&ServerLimits::texts_max>},
    Named{"timer_bytes_max", set<&ServerLimits::timer_bytes_max>},
    Named{"timer_steps_max", set<&ServerLimits::timer_steps_max>},
    Named{"timers_max", set<&ServerLimits::timers_max>},
    Named{"unused_ids_max", set<&ServerLimits::unused_ids_max>},
    Named{"user_away_sessions_max", set<&ServerLimits::user_away_sessions_max>},
    Named{"user_bytes_rate", set<&ServerLimits::user_bytes_rate>},
    Named{"user_edits_rate", set<&ServerLimits::user_edits_rate>},
    Named{"user_entities_max", set<&ServerLimits::user_entities_max>},
    Named{"user_frames_bytes_max", set<&ServerLimits::user_frames_bytes_max>},
    Named{"user_requests_rate", set<&ServerLimits::user_requests_rate>},
    Named{"user_sessions_max", set<&ServerLimits::user_sessions_max>},
    Named{"user_templates_bytes_max", set<&ServerLimits::user_templates_bytes_max>},
    Named{"user_templates_max", set<&ServerLimits::user_templates_max>},
    Named{"user_texts_bytes_max", set<&ServerLimits::user_texts_bytes_max>},
    Named{"user_texts_max", set<&ServerLimits::user_texts_max>},
    Named{"user_timers_bytes_max", set<&ServerLimits::user_timers_bytes_max>},
    Named{"user_timers_max", set<&ServerLimits::user_timers_max>},
    Named{"user_unused_ids_max", set<&ServerLimits::user_unused_ids_max>},
    Named{"user_watched_entities_max", set<&ServerLimits::user_watched_entities_max>},
    Named{"user_watches_max", set<&ServerLimits::user_watches_max>},
    Named{"watch_ns", set<&ServerLimits::watch_ns>},
    Named{"watched_entities_max", set<&ServerLimits::watched_entities_max>},
    Named{"watches_max", set<&ServerLimits::watches_max>},
    Named{"world_entities_max", set<&ServerLimits::world_entities_max>},
    Named{"world_rows_bytes_max", set<&ServerLimits::world_rows_bytes_max>},
    Named{"world_texts_bytes_max", set<&ServerLimits::world_texts_bytes_max>},
    Named{"world_texts_max", set<&ServerLimits::world_texts_max>},
    Named{"world_timers_bytes_max", set<&ServerLimits::world_timers_bytes_max>},
    Named{"world_timers_max", set<&ServerLimits::world_timers_max>},
    Named{"wrong_token_delay_ns_max", set<&ServerLimits::wrong_token_delay_max>},
};

}  // namespace

bool set_limit(ServerLimits& limits, std::string_view name, std::uint64_t value) noexcept {
  for (const Named& each : all_limits)
    if (each.name == name) return value >= each.least && each.set(limits, value);
  return false;
}

std::uint64_t least_of_limit(std::string_view name) noexcept {
  for (const Named& each : all_limits)
    if (each.name == name) return each.least;
  return 0;
}

std::vector<std::string_view> limit_names() {
  std::vector<std::string_view> names;
  for (const Named& each : all_limits) names.push_back(each.name);
  return names;
}

ServerLimits fitted_to(ServerLimits limits, std::uint64_t descriptors) noexcept {
  const std::uint64_t free = descriptors - std::min(descriptors, reserved_descriptors + limits.reserved_sessions);
  const auto at_most = [](std::uint32_t& limit, std::uint64_t max) {
    limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, max));
  };
  if (limits.sessions_max + 2ull * limits.strangers_max <= free) return limits;
  at_most(limits.strangers_max, std::max<std::uint64_t>(free / 8, 1));
  at_most(limits.sessions_max, free - std::min<std::uint64_t>(free, 2ull * limits.strangers_max));
  return limits;
}

std::uint64_t memory_sum(const ServerLimits& limits, std::uint64_t before) noexcept {
  // Bytes of bookkeeping. For an entity, these are its id, its place among its siblings, and its
  // name. For a text, a timer, or a watched entity, they are the pointers to it. A growing vector
  // may have twice the capacity that it uses.
  constexpr std::uint64_t of_entity = 128, of_text = 128, of_timer = 256, of_watched = 200, of_known_text = 48;
  // Factors by which actual memory use exceeds the size of the data. For small requests, the factor
  // covers bookkeeping and partly filled memory. For rows, it covers partly filled chunks, the
  // copies that watches use for comparison, and a copy for a save.
  constexpr std::uint64_t rows_times = 5, templates_times = 4, schemas_times = 40, requests_times = 4, grown = 2;
  const std::uint64_t session = grown * (limits.outgoing.control_bytes_max + limits.outgoing.data_bytes_max) +
                                (grown + 1) * std::min(limits.frame_bytes_max, large_frame_bytes) +
                                limits.page_bytes_max +
                                of_known_text * (std::uint64_t{limits.texts_max} + limits.world_texts_max) +
                                grown * limits.kept_answers_bytes_max;
  const std::uint64_t stranger = 2ull * limits.hello_bytes_max + limits.stranger_bytes_max;
  const std::uint64_t frames =
      limits.frames_bytes_max + std::uint64_t{limits.reserved_sessions} * limits.frame_bytes_max;
  return before +
         (std::uint64_t{limits.sessions_max} + limits.reserved_sessions + limits.left_sessions_max +
          limits.away_sessions_max) *
             session +
         (grown + 1) * frames + std::uint64_t{limits.strangers_max} * stranger +
         requests_times * limits.all_request_bytes_max +
         of_watched * (limits.watched_entities_max + limits.reserved_watched_entities) +
         rows_times * limits.world_rows_bytes_max + of_entity * limits.world_entities_max +
         grown * limits.world_texts_bytes_max + of_text * limits.world_texts_max +
         grown * limits.world_timers_bytes_max + of_timer * limits.world_timers_max +
         templates_times * limits.templates_bytes_max + schemas_times * limits.schemas_bytes_max;
}

}  // namespace muster

// `muster who` shows the connected sessions and the data that each receives. `muster top` shows the
// busiest messages, handlers, and sessions. `muster drain` makes the sessions go elsewhere.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/interrupt.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"

namespace muster::cli {
namespace {

/// Formats a size, as in "812 B", "3.4 KB" or "56 MB".
std::string bytes_text(double bytes) {
  static constexpr const char* units[] = {" B", " KB", " MB", " GB", " TB"};
  std::size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, bytes >= 9.95 || unit == 0 ? "%.0f%s" : "%.1f%s", bytes, units[unit]);
  return text;
}
std::string bytes_text(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

/// Formats a count, as in "0", "0.4", "12" or "3456789".
std::string count_text(double count) {
  char text[32];
  std::snprintf(text, sizeof text, count == 0 || count >= 9.95 ? "%.0f" : "%.1f", count);
  return text;
}

std::string age_text(std::uint64_t ns) {
  if (ns == 0) return "";
  const double ms = static_cast<double>(ns) / 1e6;
  return ms < 10'000 ? count_text(ms) + " ms" : seconds_text(ns);
}

/// Formats the average time per item, as in "12 us".
std::string each_text(double ns, double count) { return count == 0 ? "" : count_text(ns / count / 1e3) + " us"; }

/// Gets all sessions, page by page.
session::Sessions all_sessions(Client& client) {
  session::Sessions all = must(client.ask<session::ListSessions>());
  for (session::Sessions page = all; page.more && !page.sessions.empty();) {
    page = must(client.ask(session::ListSessions{.after = page.sessions.back()}));
    const auto take = [&]<class T>(std::vector<T>& to, const std::vector<T>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    take(all.sessions, page.sessions);
    take(all.users, page.users);
    take(all.names, page.names);
    take(all.kinds, page.kinds);
    take(all.roles, page.roles);
    take(all.own, page.own);
    take(all.edits, page.edits);
    take(all.received_bytes, page.received_bytes);
    take(all.sent_bytes, page.sent_bytes);
    take(all.answer_bytes, page.answer_bytes);
    take(all.watch_bytes, page.watch_bytes);
    take(all.watches, page.watches);
    take(all.watched, page.watched);
    take(all.rows, page.rows);
    take(all.oldest_ns, page.oldest_ns);
    take(all.connected_ns, page.connected_ns);
    take(all.waits_for, page.waits_for);
    take(all.stuck_ns, page.stuck_ns);
  }
  return all;
}

/// Returns the session number to display, which is the lower half of `number`. The upper half
/// identifies the server's start, so it is the same for all sessions of one server.
std::uint64_t session_number(std::uint64_t number) { return number & 0xffffffff; }
std::string session_text(std::uint64_t number) { return std::to_string(session_number(number)); }

/// Describes what is keeping bytes from being sent, and for how long, as in "the line, 21 s".
std::string wait_text(const session::Sessions& of, std::size_t i) {
  // Waits below 100 ms are normal for data in transit.
  if (of.waits_for[i] == session::WaitsFor::nothing || of.stuck_ns[i] < 100'000'000) return "";
  return (of.waits_for[i] == session::WaitsFor::line ? "the line, " : "credit, ") + age_text(of.stuck_ns[i]);
}

/// Gets the presence of all sessions, by session number.
std::unordered_map<std::uint64_t, session::Present> all_presence(Client& client) {
  std::unordered_map<std::uint64_t, session::Present> all;
  for (std::uint64_t after = 0;;) {
    session::Presence page = must(client.ask(session::GetPresence{.after = after}));
    if (page.people.empty()) return all;
    after = page.people.back().session;
    for (session::Present& each : page.people) all.insert_or_assign(each.session, std::move(each));
    if (!page.more) return all;
  }
}

/// Names the first entity, as in "/town/orc and 2 more".
std::string entities_text(Client& client, const std::vector<Entity>& entities) {
  if (entities.empty()) return "";
  const auto shown = client.show(entities[0]);
  std::string text = shown ? shown->about.path : id_text(entities[0]);
  if (entities.size() > 1) text += " and " + std::to_string(entities.size() - 1) + " more";
  return text;
}

void add_entities(JsonWriter& out, const char* name, const std::vector<Entity>& entities) {
  out.key(name).open_array();
  for (const Entity each : entities) out.value(id_text(each));
  out.close_array();
}

std::string role_text(std::uint8_t role) { return std::string(session::name_of(static_cast<session::Role>(role))); }

std::string name_text(const session::Sessions& of, std::size_t i) {
  if (!of.own[i]) return of.names[i];
  return of.names[i].empty() ? "(this one)" : of.names[i] + " (this one)";
}

/// Computes the average rate per second between two samples.
struct Rate {
  double seconds = 1;
  double operator()(std::uint64_t now, std::uint64_t before) const {
    return now < before ? 0 : static_cast<double>(now - before) / seconds;
  }
  /// Returns a processor time as a percentage of one processor.
  std::string share(std::uint64_t now_ns, std::uint64_t before_ns) const {
    return count_text((*this)(now_ns, before_ns) / 1e7) + " %";
  }
};

/// Finds values of the previous sample by the keys of their rows.
class Rows {
 public:
  template <class Key>
  explicit Rows(const std::vector<Key>& keys) {
    for (std::size_t i = 0; i < keys.size(); ++i) at_.emplace(keys[i], i);
  }
  /// Returns the value that `column` had for this key in the previous sample, or 0 if the previous
  /// sample has no row with this key.
  std::uint64_t before(std::uint64_t key, const std::vector<std::uint64_t>& column) const {
    const auto at = at_.find(key);
    return at == at_.end() ? 0 : column[at->second];
  }

 private:
  std::unordered_map<std::uint64_t, std::size_t> at_;
};

/// Computes by how much per second the values of each row have grown since the previous sample.
/// Rows of the two samples are matched by key.
template <class Key>
class Gains {
 public:
  Gains(const Rate& rate, const std::vector<Key>& keys, const std::vector<Key>& before)
      : rate_(rate), keys_(keys), rows_before_(before) {}
  double operator()(const std::vector<std::uint64_t>& now, const std::vector<std::uint64_t>& before,
                    std::size_t i) const {
    return rate_(now[i], rows_before_.before(keys_[i], before));
  }

 private:
  const Rate rate_;
  const std::vector<Key>& keys_;
  const Rows rows_before_;
};

/// Takes samples, and prints the activity between each sample and the previous one.
class Looks {
 public:
  Looks(const Common& common, const Top& asked)
      : common_(common), asked_(asked), world_(connect(resuming(common.where))) {}

  void run() {
    end_on_interrupt();
    if (!take()) return;
    for (std::uint64_t i = 0; (asked_.times == 0 || i < asked_.times) && !interrupted(); ++i) {
      const auto until =
          Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(asked_.seconds));
      for (auto left = until - Clock::now(); left.count() > 0 && !interrupted(); left = until - Clock::now())
        rest(std::min<Clock::duration>(left, pause));
      before_ = std::move(now_);
      sessions_before_ = std::move(sessions_);
      taken_before_ = taken_;
      if (!take()) return;
      common_.json ? print_json() : print();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds pause{100};

  /// Takes a sample, once there is a connection. Returns false if the command is interrupted before
  /// that.
  bool take() {
    Client& client = world_.client();
    while (!interrupted()) {
      if (client.interruption()) {
        rest(pause);
        continue;
      }
      const std::uint64_t times_resumed = client.times_resumed();
      auto activity = client.ask(session::GetActivity{.limit = 1000});
      if (!activity && (client.interruption() || client.times_resumed() != times_resumed)) continue;
      now_ = must(std::move(activity));
      sessions_ = all_sessions(client);
      taken_ = Clock::now();
      return true;
    }
    return false;
  }
  /// Waits, and says at once if the connection is lost or is there again.
  void rest(Clock::duration time) {
    must(world_.client().next(0, time));
    const Interruptions::Change change = interruptions_.next(world_.client());
    if (change == Interruptions::Change::none) return;
    const bool is_lost = change == Interruptions::Change::lost;
    std::fprintf(stderr, "%s\n", is_lost ? interruptions_.text().c_str() : "the connection is there again");
  }
  Rate rate() const { return {std::chrono::duration<double>(taken_ - taken_before_).count()}; }
  std::string type_name(TypeId id) const {
    const TypeDescriptor* const type = world_.types().find(id);
    return type ? type->name : "#" + std::to_string(id);
  }
  /// Returns the indices of the rows with the highest cost since the previous sample, highest
  /// first. Omits rows without cost.
  std::vector<std::size_t> busiest(std::size_t count, const std::function<double(std::size_t)>& took) const {
    std::vector<std::pair<double, std::size_t>> rows;
    for (std::size_t i = 0; i < count; ++i)
      if (const double cost = took(i); cost > 0) rows.emplace_back(cost, i);
    std::ranges::sort(rows, [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::size_t> order;
    for (const auto& [cost, row] : rows)
      if (order.size() < asked_.rows) order.push_back(row);
    return order;
  }

  void print() {
    if (::isatty(STDOUT_FILENO)) std::fputs("\033[H\033[2J", stdout);
    const Rate rate = this->rate();
    print_line(now_.sequence == before_.sequence
                   ? "nothing happened for " + number_text(std::round(rate.seconds * 100) / 100) + " s"
                   : "inputs " + count_text(rate(now_.sequence, before_.sequence)) + "/s, the world thread " +
                         rate.share(now_.processor_ns, before_.processor_ns) + ", telling watches " +
                         rate.share(now_.watch_ns, before_.watch_ns));
    print_line("");
    messages(rate);
    handlers(rate);
    sessions(rate);
    std::fflush(stdout);
  }

  void messages(const Rate& rate) {
    const Gains gained(rate, now_.messages, before_.messages);
    Columns columns({"MESSAGE", "PUSHED/s", "CAUSED/s", "HANDLED/s", "UNHANDLED/s", "DEAD/s", "TIME"});
    for (const std::size_t i :
         busiest(now_.messages.size(), [&](std::size_t i) { return gained(now_.message_ns, before_.message_ns, i); }))
      columns.add(
          {type_name(now_.messages[i]), count_text(gained(now_.pushed, before_.pushed, i)),
           count_text(gained(now_.caused, before_.caused, i)), count_text(gained(now_.handled, before_.handled, i)),
           count_text(gained(now_.unhandled, before_.unhandled, i)), count_text(gained(now_.dead, before_.dead, i)),
           count_text(gained(now_.message_ns, before_.message_ns, i) / 1e7) + " %"});
    columns.print();
    print_line("");
  }

  void handlers(const Rate& rate) {
    const Gains gained(rate, now_.handlers, before_.handlers);
    Columns columns({"HANDLER", "OF", "CALLS/s", "ROWS/s", "TIME", "A CALL"});
    for (const std::size_t i :
         busiest(now_.handlers.size(), [&](std::size_t i) { return gained(now_.handler_ns, before_.handler_ns, i); }))
      columns.add({now_.names[i].empty() ? "#" + std::to_string(now_.handlers[i]) : now_.names[i],
                   type_name(now_.handled_types[i]), count_text(gained(now_.calls, before_.calls, i)),
                   count_text(gained(now_.rows, before_.rows, i)),
                   count_text(gained(now_.handler_ns, before_.handler_ns, i) / 1e7) + " %",
                   each_text(gained(now_.handler_ns, before_.handler_ns, i), gained(now_.calls, before_.calls, i))});
    columns.print();
    print_line("");
  }

  void sessions(const Rate& rate) {
    const Gains gained(rate, sessions_.sessions, sessions_before_.sessions);
    Columns columns({"SESSION", "NAME", "EDITS/s", "ROWS TOLD/s", "RECEIVED/s", "SENT/s", "WAITING", "OLDEST"});
    const auto cost = [&](std::size_t i) {
      return gained(sessions_.sent_bytes, sessions_before_.sent_bytes, i) +
             gained(sessions_.received_bytes, sessions_before_.received_bytes, i);
    };
    for (const std::size_t i : busiest(sessions_.sessions.size(), cost))
      columns.add({session_text(sessions_.sessions[i]), name_text(sessions_, i),
                   count_text(gained(sessions_.edits, sessions_before_.edits, i)),
                   count_text(gained(sessions_.rows, sessions_before_.rows, i)),
                   bytes_text(gained(sessions_.received_bytes, sessions_before_.received_bytes, i)),
                   bytes_text(gained(sessions_.sent_bytes, sessions_before_.sent_bytes, i)),
                   bytes_text(sessions_.answer_bytes[i] + sessions_.watch_bytes[i]), age_text(sessions_.oldest_ns[i])});
    columns.print();
  }

  /// Prints one object per sample. The object contains totals since the world started counting, so
  /// that programs can compute rates from two samples.
  void print_json() {
    const auto share = [&](JsonWriter& out, const char* name, std::uint64_t now, std::uint64_t before) {
      out.member(name, now < before ? 0 : now - before);
    };
    JsonWriter out;
    out.open_object().member("sequence", now_.sequence).member("clock_ns", now_.clock_ns);
    out.member("ns", static_cast<std::uint64_t>(rate().seconds * 1e9));
    share(out, "processor_ns", now_.processor_ns, before_.processor_ns);
    share(out, "watch_ns", now_.watch_ns, before_.watch_ns);
    const Rows messages(before_.messages), handlers(before_.handlers), sessions(sessions_before_.sessions);
    out.key("messages").open_array();
    for (std::size_t i = 0; i < now_.messages.size(); ++i) {
      const std::uint64_t key = now_.messages[i];
      out.open_object().member("message", type_name(now_.messages[i]));
      share(out, "pushed", now_.pushed[i], messages.before(key, before_.pushed));
      share(out, "caused", now_.caused[i], messages.before(key, before_.caused));
      share(out, "handled", now_.handled[i], messages.before(key, before_.handled));
      share(out, "unhandled", now_.unhandled[i], messages.before(key, before_.unhandled));
      share(out, "dead", now_.dead[i], messages.before(key, before_.dead));
      share(out, "ns", now_.message_ns[i], messages.before(key, before_.message_ns));
      out.close_object();
    }
    out.close_array().key("handlers").open_array();
    for (std::size_t i = 0; i < now_.handlers.size(); ++i) {
      const std::uint64_t key = now_.handlers[i];
      out.open_object().member("handler", key).member("name", now_.names[i]);
      out.member("message", type_name(now_.handled_types[i]));
      share(out, "calls", now_.calls[i], handlers.before(key, before_.calls));
      share(out, "rows", now_.rows[i], handlers.before(key, before_.rows));
      share(out, "ns", now_.handler_ns[i], handlers.before(key, before_.handler_ns));
      out.close_object();
    }
    out.close_array().key("sessions").open_array();
    for (std::size_t i = 0; i < sessions_.sessions.size(); ++i) {
      const std::uint64_t key = sessions_.sessions[i];
      out.open_object().member("session", session_number(key)).member("session_number", std::to_string(key));
      out.member("name", sessions_.names[i]);
      share(out, "edits", sessions_.edits[i], sessions.before(key, sessions_before_.edits));
      share(out, "rows", sessions_.rows[i], sessions.before(key, sessions_before_.rows));
      share(out, "received_bytes", sessions_.received_bytes[i], sessions.before(key, sessions_before_.received_bytes));
      share(out, "sent_bytes", sessions_.sent_bytes[i], sessions.before(key, sessions_before_.sent_bytes));
      out.member("waiting_bytes", sessions_.answer_bytes[i] + sessions_.watch_bytes[i]);
      out.member("oldest_ns", sessions_.oldest_ns[i]).close_object();
    }
    print_line(out.close_array().close_object().text());
    std::fflush(stdout);
  }

  const Common& common_;
  const Top& asked_;
  RemoteWorld world_;
  session::Activity before_, now_;
  session::Sessions sessions_before_, sessions_;
  Clock::time_point taken_before_, taken_;
  Interruptions interruptions_;
};

}  // namespace

void who(const Common& common) {
  RemoteWorld world(connect(common.where));
  const session::Sessions all = all_sessions(world.client());
  auto presence = all_presence(world.client());
  JsonWriter out;
  out.open_array();
  Columns columns({"SESSION", "NAME", "KIND", "ROLE", "FOR", "EDITS", "WATCHES", "WATCHED", "ROWS TOLD", "SENT",
                   "WAITING", "OLDEST OWED", "WAITS FOR", "SELECTED", "LOCKED"});
  for (std::size_t i = 0; i < all.sessions.size(); ++i) {
    const session::Present& present = presence[all.sessions[i]];
    const std::uint64_t waiting = all.answer_bytes[i] + all.watch_bytes[i];
    columns.add({session_text(all.sessions[i]), name_text(all, i), all.kinds[i], role_text(all.roles[i]),
                 age_text(all.connected_ns[i]), std::to_string(all.edits[i]), std::to_string(all.watches[i]),
                 all.watches[i] ? std::to_string(all.watched[i]) : "", std::to_string(all.rows[i]),
                 bytes_text(all.sent_bytes[i]), waiting ? bytes_text(waiting) : "", age_text(all.oldest_ns[i]),
                 wait_text(all, i), entities_text(world.client(), present.selection),
                 entities_text(world.client(), present.locks)});
    out.open_object().member("session", session_number(all.sessions[i]));
    out.member("session_number", std::to_string(all.sessions[i]))
        .member("user", all.users[i])
        .member("name", all.names[i]);
    out.member("kind", all.kinds[i]).member("role", role_text(all.roles[i])).member("own", all.own[i] != 0);
    out.member("connected_ns", all.connected_ns[i]);
    out.member("edits", all.edits[i]).member("received_bytes", all.received_bytes[i]);
    out.member("sent_bytes", all.sent_bytes[i]).member("answer_bytes", all.answer_bytes[i]);
    out.member("watch_bytes", all.watch_bytes[i]).member("watches", all.watches[i]);
    out.member("watched", all.watched[i]).member("rows", all.rows[i]).member("oldest_ns", all.oldest_ns[i]);
    out.member("waits_for", session::name_of(all.waits_for[i])).member("stuck_ns", all.stuck_ns[i]);
    add_entities(out, "selection", present.selection);
    add_entities(out, "dragged", present.dragged);
    add_entities(out, "locks", present.locks);
    out.close_object();
  }
  common.json ? print_line(out.close_array().text()) : columns.print();
}

void who_ended(const Common& common) {
  RemoteWorld world(connect(common.where));
  const session::Ended all = must(world.client().ask<session::ListEnded>());
  JsonWriter out;
  out.open_array();
  Columns columns({"SESSION", "NAME", "KIND", "AGO", "WHY"});
  for (std::size_t i = 0; i < all.sessions.size(); ++i) {
    columns.add({session_text(all.sessions[i]), all.names[i], all.kinds[i], age_text(all.ago_ns[i]), all.texts[i]});
    out.open_object().member("session", session_number(all.sessions[i]));
    out.member("session_number", std::to_string(all.sessions[i]))
        .member("user", all.users[i])
        .member("name", all.names[i]);
    out.member("kind", all.kinds[i]).member("ago_ns", all.ago_ns[i]);
    out.member("code", session::name_of(static_cast<session::FaultCode>(all.codes[i]))).member("why", all.texts[i]);
    out.close_object();
  }
  if (common.json) return print_line(out.close_array().text());
  columns.print_or("the server has ended no session");
}

void drain(const Common& common, const std::string& to, double seconds) {
  RemoteWorld world(connect(common.where));
  session::Drain what;
  what.resume_at = to;
  what.time_ns = static_cast<std::uint64_t>(seconds * 1e9);
  const session::Draining draining = must(world.client().ask(what));
  if (common.json) {
    JsonWriter out;
    return print_line(out.open_object().member("time_ns", draining.time_ns).member("to", to).close_object().text());
  }
  print_line("the server stops in " + seconds_text(draining.time_ns) + ", or when no sessions are left" +
             (to.empty() ? "" : "; clients resume their sessions at " + printable(to)));
}

void top(const Common& common, const Top& asked) { Looks(common, asked).run(); }

}  // namespace muster::cli

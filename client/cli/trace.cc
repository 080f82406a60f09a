// What the world's code does: `muster trace` makes the server record it, and writes the result to a
// local file; `muster log` prints the lines that handlers write.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/interrupt.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"

namespace muster::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// The output file for the trace. The file is removed unless all of it has been written.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wb")) {
    if (!file_) fail(Exit::bad_file, path_ + ": " + std::strerror(errno));
  }
  ~OutputFile() {
    if (file_) std::fclose(file_);
    std::error_code ignored;
    if (!written_ && std::filesystem::is_regular_file(path_, ignored)) std::filesystem::remove(path_, ignored);
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::uint8_t> bytes) {
    int error = std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size() ? 0 : errno;
    if (std::fclose(std::exchange(file_, nullptr)) != 0 && error == 0) error = errno;
    if (error) fail(Exit::bad_file, path_ + ": " + std::strerror(error));
    written_ = true;
  }

 private:
  const std::string path_;
  std::FILE* file_;
  bool written_ = false;
};

/// Prints the lines of the game's log.
class LogPrinter {
 public:
  LogPrinter(const Common& common, const LogOrder& order)
      : common_(common), order_(order), world_(connect(order.follow ? resuming(common.where) : common.where)) {}

  void run() {
    if (order_.follow) end_on_interrupt();
    out_.open_array();
    do {
      while (take()) {
      }
      if (order_.follow) rest();
    } while (order_.follow && !interrupted());
    if (common_.json && !order_.follow) print_line(out_.close_array().text());
  }

 private:
  /// Prints a page. Returns true if there are more lines.
  bool take() {
    Client& client = world_.client();
    if (order_.follow && client.interruption()) return false;
    const std::uint64_t times_resumed = client.times_resumed();
    auto answer = client.ask(session::ReadLog{.after = last_});
    if (!answer && order_.follow && (client.interruption() || client.times_resumed() != times_resumed)) return false;
    const session::LogLines page = must(std::move(answer));
    const std::size_t rows = page.numbers.size();
    if (page.sequences.size() != rows || page.clocks_ns.size() != rows || page.levels.size() != rows ||
        page.entities.size() != rows || page.handlers.size() != rows || page.texts.size() != rows ||
        page.lost_before.size() != rows)
      fail(Exit::unreachable, "the server's answer is invalid");
    if (last_ != 0 && page.log != log_) {
      // The server was started again, so the page may begin too late.
      last_ = 0;
      return true;
    }
    log_ = page.log;
    for (std::size_t i = 0; i < rows; ++i) {
      if (last_ != 0 && page.numbers[i] > last_ + 1) note_lost(page.numbers[i] - last_ - 1, "");
      last_ = page.numbers[i];
      if (page.levels[i] >= order_.level) print(page, i);
    }
    std::fflush(stdout);
    return page.more && rows > 0;
  }
  void rest() {
    must(world_.client().next(0, std::chrono::milliseconds(100)));
    const Interruptions::Change change = interruptions_.next(world_.client());
    if (change == Interruptions::Change::none) return;
    const bool is_lost = change == Interruptions::Change::lost;
    std::fprintf(stderr, "%s\n", is_lost ? interruptions_.text().c_str() : "the connection is there again");
  }
  void note_lost(std::uint64_t lines, const std::string& handler) {
    if (common_.json) return;
    print_line("(" + plural(lines, "line", "lines") + (handler.empty() ? "" : " of " + printable(handler)) +
               (lines == 1 ? " was lost)" : " were lost)"));
  }
  void print(const session::LogLines& page, std::size_t i) {
    const double hz = world_.client().welcome().hz;
    const std::uint64_t tick =
        hz > 0 ? static_cast<std::uint64_t>(std::llround(static_cast<double>(page.clocks_ns[i]) / 1e9 * hz)) : 0;
    const std::string level(session::name_of(static_cast<session::LogLevel>(page.levels[i])));
    const Entity about = page.entities[i];
    if (common_.json) {
      JsonWriter line;
      JsonWriter& to = order_.follow ? line : out_;
      to.open_object().member("number", page.numbers[i]).member("sequence", page.sequences[i]);
      to.member("clock_ns", page.clocks_ns[i]);
      if (hz > 0) to.member("tick", tick);
      to.member("level", level).member("handler", page.handlers[i]);
      if (about) to.member("id", id_text(about)).member("path", place(about).path);
      to.member("text", page.texts[i]).member("lost_before", page.lost_before[i]).close_object();
      if (order_.follow) print_line(line.text());
      return;
    }
    if (page.lost_before[i] > 0) note_lost(page.lost_before[i], page.handlers[i]);
    const std::string time = hz > 0 ? std::to_string(tick) : seconds_text(page.clocks_ns[i]);
    const std::string handler = page.handlers[i].empty() ? "(no name)" : printable(page.handlers[i]);
    print_line(time + "  " + level + "  " + handler + (about ? "  " + place(about).text() : "") + "  " +
               printable(page.texts[i]));
  }
  /// Asks the server where the entity is, once. A dead one has no path.
  const NamedEntity& place(Entity of) {
    if (places_.size() >= places_max) places_.clear();
    const auto [at, is_new] = places_.try_emplace({of.index, of.generation});
    if (is_new) {
      const auto shown = world_.client().show(of);
      at->second = {of, shown ? shown->about.path : std::string()};
    }
    return at->second;
  }
  static constexpr std::size_t places_max = 10'000;

  const Common& common_;
  const LogOrder& order_;
  RemoteWorld world_;
  Interruptions interruptions_;
  JsonWriter out_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, NamedEntity> places_;
  std::uint64_t last_ = 0, log_ = 0;
};

}  // namespace

void log(const Common& common, const LogOrder& order) { LogPrinter(common, order).run(); }

void trace(const Common& common, const std::string& path, double seconds, bool causes) {
  RemoteWorld world(connect(common.where));
  Client& client = world.client();
  must(client.ask(session::BeginTrace{.causes = causes}));
  OutputFile file(path);
  end_on_interrupt();
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  // This call keeps the session alive, and fails if the session has ended. It returns no frames
  // because no watch is open.
  for (auto left = until - Clock::now(); left.count() > 0 && !interrupted(); left = until - Clock::now())
    must(client.next(0, std::min<Clock::duration>(left, std::chrono::milliseconds(100))));
  const session::TraceText text = must(client.end_trace());
  file.write(text.bytes);
  if (common.json) {
    JsonWriter out;
    out.open_object().member("file", path).member("slices", text.slices).member("left_out", text.left_out);
    return print_line(out.close_object().text());
  }
  print_line(path + ": " + std::to_string(text.slices) + " slices, " + std::to_string(text.left_out) + " left out");
}

}  // namespace muster::cli

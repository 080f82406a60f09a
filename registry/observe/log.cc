#include "registry/observe/log.h"

#include <algorithm>

#include "messages/utf8.h"
#include "registry/handlers/handler.h"
#include "registry/handlers/turn.h"
#include "registry/observe/clock.h"

namespace muster {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

/// Returns at most `bytes_max` bytes of the text as valid UTF-8 in one line. A text that was cut
/// ends with "…".
std::string line_of(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return valid_utf8(text);
  std::size_t end = bytes_max;
  // A character has at most three bytes after its first.
  while (end > bytes_max - 3 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return valid_utf8(text.substr(0, end)) + "…";
}

}  // namespace

std::uint64_t GameLog::lost() const {
  const MutexLock lock(mutex_);
  std::uint64_t lost = others_.lost.load(std::memory_order_relaxed);
  for (const auto& [name, writer] : writers_) lost += writer.lost.load(std::memory_order_relaxed);
  return lost;
}

std::vector<LogLine> GameLog::after(std::uint64_t number, std::size_t limit) const {
  std::vector<LogLine> found;
  const MutexLock lock(mutex_);
  const std::uint64_t last = last_.load(std::memory_order_relaxed);
  const std::uint64_t first = std::max(number, last - std::min<std::uint64_t>(last, lines_max));
  for (std::uint64_t i = first; i < last && found.size() < limit; ++i) found.push_back(lines_[i % lines_max]);
  return found;
}

void GameLog::set_clock(std::function<std::uint64_t()> clock) {
  const MutexLock lock(mutex_);
  clock_ = std::move(clock);
}

GameLog::Writer& GameLog::writer_of(std::string_view name) {
  std::string key(name);
  if (const auto at = writers_.find(key); at != writers_.end()) return at->second;
  if (writers_.size() >= writers_max) return others_;
  return writers_[std::move(key)];
}

GameLog::Writer* GameLog::keep(const Handler* handler, LogLevel level, std::string_view text, Entity about) {
  const std::string_view name =
      handler ? std::string_view(handler->name).substr(0, name_bytes_max) : std::string_view();
  const MutexLock lock(mutex_);
  Writer& writer = writer_of(name);
  const std::uint64_t now = clock_ ? clock_() : steady_ns();
  if (writer.lines == 0 || now - writer.since_ns >= second_ns) writer.since_ns = now, writer.lines = 0;
  if (writer.lines == lines_per_second) {
    writer.lost.fetch_add(1, std::memory_order_relaxed);
    return &writer;
  }
  ++writer.lines;
  const std::uint64_t lost = writer.lost.load(std::memory_order_relaxed);
  const std::uint64_t number = last_.load(std::memory_order_relaxed) + 1;
  if (lines_.size() < lines_max) lines_.emplace_back();
  lines_[(number - 1) % lines_max] = {.number = number,
                                      .sequence = sequence_.look(),
                                      .clock_ns = now_ns_,
                                      .lost_before = lost - writer.lost_told,
                                      .level = level,
                                      .about = about,
                                      .handler = valid_utf8(name),
                                      .text = line_of(text, text_bytes_max)};
  writer.lost_told = lost;
  last_.store(number, std::memory_order_release);
  return nullptr;
}

const Handler* Log::running() const noexcept {
  if (!context_) return running_here();
  if (const Handler* const one = context_->running) return one;
  const Handler* const straight = handler_in(*inside_);
  return straight ? straight : running_here();
}

void Log::write(LogLevel level, std::string_view text, Entity about) {
  if (lines_.muted_ != 0) return;
  const Handler* const handler = running();
  const std::uint64_t sequence = lines_.sequence_.look();
  if (full_writer_ && handler == full_ && sequence == full_at_) {
    full_writer_->lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  full_writer_ = lines_.keep(handler, level, text, about);
  full_ = handler;
  full_at_ = sequence;
}

}  // namespace muster

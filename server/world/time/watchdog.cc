#include "server/world/time/watchdog.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>
#include <utility>

#include "system/mutex.h"

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

std::string seconds(std::chrono::nanoseconds time) {
  // Unlike printf, to_chars ignores the locale, which a plugin may have set.
  char text[32];
  const double seconds = std::chrono::duration<double>(time).count();
  const auto end = std::to_chars(std::begin(text), std::end(text), seconds, std::chars_format::general, 3).ptr;
  return std::string(std::begin(text), end) + " s";
}

}  // namespace

std::string hang_text(const AtWork& work, std::chrono::nanoseconds time) {
  std::string text = "input " + std::to_string(work.sequence) + " has been in work for " + seconds(time) + ": in ";
  if (work.message.empty()) return text + "no handler";
  text += (work.handler.empty() ? std::string("a handler without a name") : "handler \"" + work.handler + "\"") +
          " of " + work.message;
  if (!work.entity) return text;
  text += ", for #" + std::to_string(work.entity.index) + ":" + std::to_string(work.entity.generation);
  if (work.entities > 1) text += " or one of the " + std::to_string(work.entities - 1) + " behind it";
  return text;
}

Watchdog::Watchdog(std::chrono::nanoseconds limit, Host host)
    : limit_(limit),
      pause_(std::clamp<std::chrono::nanoseconds>(limit / 8, std::chrono::milliseconds(1),
                                                  std::chrono::milliseconds(250))),
      host_(std::move(host)) {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    return;
  }
}

Watchdog::~Watchdog() {
  {
    const MutexLock lock(mutex_);
    ends_ = true;
  }
  ends_now_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::string Watchdog::text() const {
  const MutexLock lock(mutex_);
  return text_;
}

void Watchdog::run() {
  for (Clock::time_point last = Clock::now();;) {
    {
      MutexLock lock(mutex_);
      const auto due = Clock::now() + pause_;
      while (!ends_ && ends_now_.wait_until(lock, due)) {
      }
      if (ends_) return;
    }
    const Clock::time_point now = Clock::now();
    look(std::min<std::chrono::nanoseconds>(now - std::exchange(last, now), 2 * pause_));
  }
}

void Watchdog::say(std::string text) {
  const MutexLock lock(mutex_);
  text_ = std::move(text);
}

void Watchdog::look(std::chrono::nanoseconds passed) {
  const std::optional<AtWork> work = host_.at_work();
  if (work && busy_ && work->sequence == sequence_) {
    in_work_ += passed;
    if (in_work_ < limit_) return;
    std::string text = hang_text(*work, in_work_);
    if (!std::exchange(hangs_, true)) {
      host_.hangs(true);
      if (host_.told) host_.told(text);
    }
    return say(std::move(text));
  }
  if (std::exchange(hangs_, false)) {
    host_.hangs(false);
    say({});
    if (host_.told)
      host_.told("input " + std::to_string(sequence_) + " was in work for " + seconds(in_work_) + ", and goes on");
  }
  busy_ = work.has_value();
  if (work) sequence_ = work->sequence;
  in_work_ = {};
}

}  // namespace muster

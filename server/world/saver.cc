#include "server/world/saver.h"

#include <utility>
#include <vector>

namespace muster {

/// A commit that another thread writes.
struct Saver::Saving {
  Saving(StateCopy rows, CheckpointStamp of, std::function<void(Report)> told)
      : copied(std::move(rows)), types(of.types.begin(), of.types.end()), stamp(std::move(of)), then(std::move(told)) {
    stamp.types = types;
  }
  StateCopy copied;
  std::vector<const TypeDescriptor*> types;  // of the stamp: the registry may learn more meanwhile, and keeps those
  CheckpointStamp stamp;
  std::function<void(Report)> then;
  std::expected<std::optional<CheckpointReport>, WorldError> written;
  std::atomic<bool> done = false;
};

Saver::Saver(WorldFile& file, EntityRegistry& registry, Host host)
    : file_(file), registry_(registry), host_(std::move(host)) {}

Saver::~Saver() {
  put_all();
  queue_.drain();
  if (recorder_) registry_.remove_sink(*recorder_);
}

void Saver::opened() {
  raise_durable(file_.is_new() ? 0 : registry_.sequence());
  if (!recorder_ && !file_.is_new() && !file_.is_older()) begin_recording();
}

void Saver::begin_recording() {
  if (host_.durability == Durability::checkpoint) return;
  const CheckpointStamp stamp = host_.stamp();
  recorder_.emplace(registry_, JournalRecorder::Start{.code = stamp.code, .epoch = host_.epoch, .tick = stamp.tick});
  registry_.add_sink(*recorder_);
}

void Saver::put_all() {
  if (!recorder_) return;
  for (JournalGroup& group : recorder_->take()) {
    const std::size_t bytes = group.records.size();
    queue_.add(bytes, [this, held = std::move(group)]() mutable { write(held); });
  }
}

void Saver::write(JournalGroup& group) {
  if (failed_.load(std::memory_order_acquire)) return;  // what is behind a gap is worth nothing
  if (const auto done = file_.append(group)) {
    raise_durable(group.last);
  } else {
    {
      const std::lock_guard lock(mutex_);
      failure_ = done.error().what();
    }
    failed_.store(true, std::memory_order_release);
  }
  host_.wake();
}

void Saver::notice_failure() {
  if (saving_ || !failed_.load(std::memory_order_acquire) || !recorder_ || recorder_->paused()) return;
  recorder_->pause();
  failed_seen_ = true;
  const std::lock_guard lock(mutex_);
  error_ = failure_;
}

void Saver::mended() {
  failed_ = false;
  failed_seen_ = false;
}

void Saver::hand_over(Clock::time_point now) {
  if (!recorder_) return;
  notice_failure();
  constexpr std::size_t much = 1u << 20;
  const std::size_t bytes = recorder_->waiting_bytes();
  if (bytes == 0) return;
  const bool may = host_.durability == Durability::commit || now >= next_;
  if (bytes < much && !(may && queue_.is_idle())) return;
  next_ = now + host_.batch_for;
  put_all();
}

std::optional<Saver::Clock::time_point> Saver::due() const {
  // While something is written, the end of that is what is waited for.
  if (!recorder_ || recorder_->waiting_bytes() == 0 || !queue_.is_idle()) return std::nullopt;
  return next_;
}

Saver::Report Saver::commit() {
  if (saving_) end_saving();
  put_all();
  queue_.drain();
  // What changes after this save must differ in version from what this save writes.
  registry_.begin_version();
  auto report = file_.checkpoint(host_.stamp(), [&](StateSink& sink) { registry_.save(sink); });
  if (!report) {
    notice_failure();
    return report;
  }
  raise_durable(report->sequence);
  if (!recorder_) begin_recording();
  if (recorder_ && (failed_ || recorder_->paused())) {
    recorder_->pause();
    recorder_->resume(host_.stamp().tick);
  }
  mended();
  return report;
}

bool Saver::begin(std::function<void(Report)> then) {
  if (saving_) return false;
  if (file_.is_new()) {
    then(commit());
    return true;
  }
  notice_failure();
  put_all();
  registry_.begin_version();
  saving_ = std::make_unique<Saving>(file_.copy([&](StateSink& sink) { registry_.save(sink); }), host_.stamp(),
                                     std::move(then));
  // Recorded from here on, in the hope that this checkpoint succeeds.
  if (!recorder_)
    begin_recording();
  else if (recorder_->paused())
    recorder_->resume(saving_->stamp.tick);
  queue_.add(0, [this, &own = *saving_] {
    own.written = file_.checkpoint(own.stamp, own.copied);
    if (own.written && *own.written) {
      raise_durable((*own.written)->sequence);
      failed_ = false;
    }
    own.done = true;
    host_.wake();
  });
  return true;
}

void Saver::look() {
  if (saving_ && saving_->done) end_saving();
}

void Saver::end_saving() {
  queue_.drain();
  const std::unique_ptr<Saving> over = std::move(saving_);
  if (!over->written) {
    notice_failure();
    return over->then(std::unexpected(std::move(over->written.error())));
  }
  if (!failed_) mended();
  notice_failure();
  // Another program wrote to the file: all of it is written, of the state as it is by now.
  over->then(*over->written ? Report(**over->written) : commit());
}

}  // namespace muster

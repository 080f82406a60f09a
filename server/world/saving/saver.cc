// - If the disk fails, recording stops, and nothing further is reported durable. A successful save
//   restarts recording. Until then, a server refuses edits, but ticks continue.
// - The interval between automatic saves is at least fifty times as long as the copying for the
//   previous save took, so saves cost the world at most 2 % of its time.
// - A world that is stopped before an input does not accept edits, because the edits would be lost
//   along with that input.
#include "server/world/saving/saver.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "registry/history/edit_history.h"
#include "registry/host.h"
#include "system/mutex.h"

namespace muster {

/// A save that another thread is writing.
struct Saver::Saving {
  Saving(EntityRegistry& its, StateCopy rows, CheckpointStamp of, std::vector<EditHistory::Saved> changed,
         std::size_t its_own, std::uint64_t until, std::function<void(Report)> told)
      : registry(its),
        copied(std::move(rows)),
        types(of.types.begin(), of.types.end()),
        steps(std::move(changed)),
        own(its_own),
        stamp(std::move(of)),
        version(until),
        then(std::move(told)) {
    stamp.types = types;
    stamp.steps = steps;
    registry.host().add_preserver(*copied.preserver());
  }
  ~Saving() {
    if (copied.preserver()) registry.host().remove_preserver(*copied.preserver());
  }
  Saving(const Saving&) = delete;
  Saving& operator=(const Saving&) = delete;
  /// Returns the copy so that its memory can be reused. Called on the world thread once the save is
  /// done.
  StateCopy give_back() {
    registry.host().remove_preserver(*copied.preserver());
    copied.clear();
    return std::move(copied);
  }
  EntityRegistry& registry;
  StateCopy copied;
  std::vector<const TypeDescriptor*> types;  // types of the stamp; the registry owns them
  std::vector<EditHistory::Saved> steps;     // steps of the stamp
  std::size_t own;                           // number of them that came from take_steps()
  CheckpointStamp stamp;
  std::uint64_t version;  // all rows of the copy have this or an earlier version
  std::function<void(Report)> then;
  std::expected<std::optional<CheckpointReport>, WorldError> written;
  bool whole = false;  // see Saver::begin
  bool begun = false;  // used by the writing thread
  // All that remains is to remove replaced rows (writing thread).
  bool is_current = false;
  std::atomic<bool> between = false;  // true between two steps, while groups may be written
  std::atomic<bool> done = false;
};

namespace {

/// Minimum interval before the next automatic save, as a multiple of the time for which the
/// previous save stopped the world.
constexpr int rest_after_copy = 50;
/// Delay before a retry of a failed save that was due because of the journal's size.
constexpr auto retry_after = std::chrono::seconds(1);
std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::string kibibytes(std::uint64_t bytes) { return std::to_string(bytes >> 10) + " KiB"; }

std::string text_of(const JournalSize& size) {
  return "the journal has " + mebibytes(size.bytes()) + " behind the last save";
}

}  // namespace

Saver::Saver(Store& file, EntityRegistry& registry, Host host)
    : file_(file),
      registry_(registry),
      host_(std::move(host)),
      save_every_(host_.autosave),
      size_(host_.journal_bytes_max),
      // The work itself must not wake the world, because the world would find the queue still busy
      // and would not check it again.
      queue_(host_.waiting_bytes_max, host_.wake) {}

Saver::~Saver() {
  put_all();
  queue_.drain();
  end_merge();
  if (saving_ && saving_->written && !*saving_->written && std::uncaught_exceptions() == 0) {
    // The save was abandoned, and no later frame will restart it.
    saving_->steps.resize(saving_->own);
    put_back(std::move(saving_->steps));
    saving_.reset();
    (void)save();
  }
  if (next_look()) {
    (void)file_.still_there();
    rescue(Clock::time_point::max());
  }
  if (recorder_) registry_.host().remove_sink(*recorder_);
}

void Saver::opened() {
  if (!file_.is_new()) {
    raise_durable(registry_.sequence());
    saved_ = file_.meta().sequence;
    saved_schemas_ = registry_.types().schemas().size();
  }
  if (!recorder_ && !file_.is_new() && !file_.is_older()) begin_recording();
}

void Saver::opened_stopped(std::string why) {
  stopped_ = std::move(why);
  raise_durable(registry_.sequence());
  saved_ = file_.meta().sequence;
}

void Saver::begin_recording() {
  if (host_.durability == Durability::checkpoint) return;
  const CheckpointStamp stamp = host_.stamp();
  recorder_.emplace(
      registry_,
      JournalRecorder::Start{
          .code = stamp.code, .epoch = host_.epoch, .tick = stamp.tick, .mark = host_.mark, .spare = &spare_});
  registry_.host().add_sink(*recorder_);
}

void Saver::put_all() {
  if (!recorder_) return;
  for (JournalGroup& group : recorder_->take()) {
    const std::size_t bytes = group.records.size();
    size_.add(bytes);
    queue_.add(bytes, [this, held = std::move(group)]() mutable {
      write(held);
      spare_.give(std::move(held.records));
    });
  }
}

void Saver::put_in_time() {
  if (host_.disk_lags == DiskLags::wait) return put_all();
  if (!recorder_ || recorder_->paused() || queue_.has_room(recorder_->waiting_bytes())) return put_all();
  stop_recording(mebibytes(host_.waiting_bytes_max) + " wait for the disk, which is slower than what is to be written");
}

void Saver::stop_recording(std::string why) {
  lagged_ = true;
  failed_seen_ = true;
  error_ = file_.path() + ": " + std::move(why);
  recorder_->pause();
  // Later groups would come after a gap in the journal, so the next write must be a complete save.
  queue_.add(0, [this, text = error_] { fail(text); });
}

void Saver::fail(std::string why) {
  {
    const MutexLock lock(mutex_);
    failure_ = std::move(why);
  }
  failed_.store(true, std::memory_order_release);
}

void Saver::write(JournalGroup& group) {
  if (failed_.load(std::memory_order_acquire)) return;  // records written after a gap are useless
  const auto begun = Clock::now();
  if (const auto done = file_.append(group, Merges::by_caller)) {
    raise_durable(group.last);
    step_size_.wrote_group(group.records.size(), begun, Clock::now());
    merge();
  } else {
    fail(done.error().what());
  }
}

void Saver::notice_failure() {
  if (!failed_.load(std::memory_order_acquire) || !recorder_ || recorder_->paused()) return;
  // A checkpoint that begins after the failure either repairs the damage or fails as well.
  if (saving_ && !saving_->between.load(std::memory_order_acquire)) return;
  recorder_->pause();
  failed_seen_ = true;
  const MutexLock lock(mutex_);
  error_ = failure_;
}

void Saver::mended() {
  lagged_ = false;
  failed_ = false;
  failed_seen_ = false;
}

bool Saver::has_news() const noexcept {
  return registry_.sequence() != saved() || registry_.types().schemas().size() != saved_schemas_;
}

void Saver::autosave(Clock::time_point now) {
  if (saving_ || !stopped_.empty() || !displaced_.empty()) return;
  if (file_.is_new()) return save_new(now);
  if (is_long() && now >= retry_) {
    warn_of_size();
    return save_by_itself(now);
  }
  if (lagged_ && queue_.is_idle()) return save_by_itself(now);
  if (host_.autosave.count() == 0) return;
  if (!next_save_) {
    if (has_news()) next_save_ = now + save_every_;
    return;
  }
  if (now >= *next_save_) save_by_itself(now);
}

void Saver::save_new(Clock::time_point now) {
  if (host_.durability == Durability::checkpoint || now < retry_) return;
  const Report report = save();
  autosave_error_ = report ? std::string() : report.error().what();
  if (!report) retry_ = now + retry_after;
}

void Saver::save_by_itself(Clock::time_point now) {
  next_save_.reset();
  (void)begin([this, now](const Report& report) {
    autosave_error_ = report ? std::string() : report.error().what();
    if (!report) retry_ = now + retry_after;
  });
  save_every_ = std::max<std::chrono::nanoseconds>(host_.autosave, rest_after_copy * (Clock::now() - now));
}

void Saver::warn_of_size() {
  if (std::exchange(warned_of_size_, true) || !host_.warn) return;
  host_.warn(size_warning() + ": the world is saved now");
}

/// Only issues a warning, because this process cannot stop a reader in another process.
void Saver::warn_of_held() {
  const bool much = size_.is_much(held_bytes());
  if (!much) warned_of_held_ = false;
  if (much && !std::exchange(warned_of_held_, true) && host_.warn) host_.warn(held_text());
}

std::string Saver::held_text() const {
  return "another program reads the file as it was: " + file_.path() + "-wal keeps " + mebibytes(held_bytes()) +
         ", and grows until that ends";
}

std::string Saver::size_warning() const {
  if (is_long()) return text_of(size_) + ", of " + mebibytes(size_.bytes_max()) + " that are allowed";
  return size_.is_much(held_bytes()) ? held_text() : std::string();
}

/// Limits the size of the journal. At the limit, the world waits for the current save, and
/// recording stops if that save fails.
void Saver::keep_size() {
  if (!recorder_ || !size_.is_full()) return;
  if (saving_ && host_.disk_lags == DiskLags::go_on) {
    if (!recorder_->paused()) stop_recording(text_of(size_) + ", which is the limit, and it is still being written");
    return;
  }
  wait_for_saving();
  if (!size_.is_full() || autosave_error_.empty() || failed_.load(std::memory_order_acquire)) return;
  fail(file_.path() + ": " + text_of(size_) +
       ", which is the limit, and the world could not be saved: " + autosave_error_);
}

void Saver::write_due(Clock::time_point now) {
  if (file_.displaced()) rescue(now);
  look_at_file(now);
  autosave(now);
  warn_of_held();
  if (!recorder_) return;
  keep_size();
  notice_failure();
  constexpr std::size_t much = 1u << 20;
  const std::size_t bytes = recorder_->waiting_bytes();
  if (bytes == 0) return;
  const bool may = host_.durability == Durability::each_flush || now >= next_;
  if (bytes < much && !(may && queue_.is_idle())) return;
  next_ = now + host_.batch_for;
  put_in_time();
}

std::optional<Saver::Clock::time_point> Saver::due() const {
  auto save = saving_ ? std::nullopt : next_save_;
  if (!saving_ && is_long()) save = save ? std::min(*save, retry_) : retry_;
  // While a write is in progress, the next event is its completion.
  if (!recorder_ || recorder_->waiting_bytes() == 0 || !queue_.is_idle()) return save;
  return save ? std::min(*save, next_) : next_;
}

WorldError Saver::stopped_error() const {
  if (!stopped_.empty()) return {WorldErrorCode::stopped, file_.path(), stopped_};
  return {WorldErrorCode::displaced, file_.path(), displaced_.substr(file_.path().size() + 2)};
}

Saver::Report Saver::save() {
  if (!stopped_.empty()) return std::unexpected(stopped_error());
  return save_now();
}

Saver::Report Saver::save_now() {
  wait_for_saving();
  put_all();
  queue_.drain();
  end_merge();
  if (file_.displaced()) {
    rescue(Clock::time_point::max());
    return std::unexpected(stopped_error());
  }
  // Changes made from now on must have a version that differs from the version of the values in
  // this save.
  const std::uint64_t version = registry_.host().begin_version();
  size_.save_begun();
  CheckpointStamp stamp = host_.stamp();
  std::vector<EditHistory::Saved> steps = take_steps();
  const std::size_t own = steps.size();
  add_change(stamp, steps);
  stamp.steps = steps;
  auto report = file_.save(stamp, [&](StateSink& sink) { registry_.save(sink); });
  if (!report) {
    steps.resize(own);
    put_back(std::move(steps));
    notice_failure();
    if (!file_.displaced()) return report;
    rescue(Clock::time_point::max());
    return std::unexpected(stopped_error());
  }
  note_saved(version);
  const bool replaced = change_.act == LevelAct::drop || change_.act == LevelAct::replace;
  change_ = {};
  held_.store(file_.held_bytes(), std::memory_order_relaxed);
  raise_saved(report->sequence);
  saved_schemas_ = registry_.types().schemas().size();
  next_save_.reset();
  autosave_error_.clear();
  if (!recorder_) begin_recording();
  if (recorder_ && (failed_ || recorder_->paused() || replaced)) {
    recorder_->pause();
    recorder_->resume(host_.stamp().tick);
  }
  mended();
  return report;
}

bool Saver::begin(std::function<void(Report)> then, bool whole) {
  if (saving_) return false;
  if (!stopped_.empty() || !displaced_.empty()) {
    then(std::unexpected(stopped_error()));
    return true;
  }
  if (file_.is_new()) {
    then(save());
    return true;
  }
  notice_failure();
  put_in_time();
  lagged_ = false;
  const std::uint64_t version = registry_.host().begin_version();
  size_.save_begun();
  saved_schemas_ = registry_.types().schemas().size();
  StateCopy rows =
      file_.preserve([&](StateSink& sink) { registry_.save(sink); }, saved_version_, host_.preserved_bytes_max, used_);
  CheckpointStamp stamp = host_.stamp();
  std::vector<EditHistory::Saved> steps = take_steps();
  const std::size_t own = steps.size();
  add_change(stamp, steps);
  saving_ = std::make_unique<Saving>(registry_, std::move(rows), std::move(stamp), std::move(steps), own, version,
                                     std::move(then));
  saving_->whole = whole;
  // Start recording here, on the assumption that this checkpoint will succeed.
  if (!recorder_)
    begin_recording();
  else if (recorder_->paused())
    recorder_->resume(saving_->stamp.tick);
  queue_.add_steps([this, &own = *saving_] { return step(own); });
  return true;
}

SaveSlice Saver::slice() const {
  if (host_.durability != Durability::each_flush) return {.merges = Merges::by_caller};
  // An edit that is waiting to become durable must also wait for the current step, so steps are
  // short and end early if a group is pending.
  return {.bytes = step_size_.bytes(Clock::now()),
          .time = std::chrono::milliseconds(5),
          .hurries = [this] { return queue_.waits_for_step(); },
          .merges = Merges::by_caller};
}

void Saver::begin_merge() {
  file_.begin_merge();
  merged_.store(false, std::memory_order_relaxed);
  merges_.add(0, [this] {
    file_.merge_beside();
    merged_.store(true, std::memory_order_release);
    queue_.go_on();
  });
}

void Saver::end_merge() {
  if (!file_.is_merging()) return;
  merges_.drain();
  file_.end_merge();
  held_.store(file_.held_bytes(), std::memory_order_relaxed);
}

void Saver::merge() {
  if (merged_.load(std::memory_order_acquire)) end_merge();
  // Before waiting, report which inputs are already durable.
  if (file_.pressure() == Pressure::all_wait && host_.wake) host_.wake();
  while (file_.pressure() == Pressure::all_wait) {
    if (!file_.is_merging()) begin_merge();
    end_merge();
  }
  // While a save is being written, larger amounts are merged at once.
  const bool is_short = host_.durability == Durability::each_flush && !in_steps_;
  if (file_.merge_is_due(file_.pressure() != Pressure::none ? MergeAt::any
                         : is_short                         ? MergeAt::little
                                                            : MergeAt::usual))
    begin_merge();
}

StepResult Saver::step(Saving& of) {
  if (in_steps_) {
    merge();
    if (file_.is_merging() && file_.pressure() != Pressure::none) return StepResult::wait;
  }
  const auto begun = Clock::now();
  in_steps_ = do_step(of);
  step_size_.made_step(begun, Clock::now());
  if (!in_steps_) return StepResult::over;
  merge();
  return StepResult::more;
}

bool Saver::do_step(Saving& of) {
  const auto over = [&](std::expected<std::optional<CheckpointReport>, WorldError> written) {
    held_.store(file_.held_bytes(), std::memory_order_relaxed);
    if (written && *written) raise_saved((*written)->sequence);
    of.written = std::move(written);
    // From this point on, the world thread may access `of`.
    of.done.store(true, std::memory_order_release);
    return false;
  };
  if (of.is_current) {
    // The next checkpoint removes the remaining rows.
    const auto more = file_.remove_past(slice());
    return more && *more ? true : over(std::move(of.written));
  }
  if (!of.begun) {
    of.begun = true;
    if (failed_ || of.whole) {
      // The records that follow suit this checkpoint only: the journal has a gap before it, or the
      // checkpoint replaces the state. So nothing else may be written until it is complete.
      auto written = file_.save(of.stamp, of.copied);
      if (written && *written)
        failed_ = false;
      else if (of.whole)
        fail(file_.path() + ": the state that replaces the previous one could not be saved" +
             (written ? std::string() : ": " + written.error().detail()));
      return over(std::move(written));
    }
    of.between.store(true, std::memory_order_release);
    file_.begin_save(of.stamp, of.copied);
  }
  auto done = file_.step_save(slice());
  if (!done) return over(std::unexpected(std::move(done.error())));
  switch (done->state) {
    case SaveStep::State::more: return true;
    case SaveStep::State::stale: return over(std::optional<CheckpointReport>());
    case SaveStep::State::done: break;
  }
  raise_saved(done->report.sequence);
  of.written = std::optional(std::move(done->report));
  of.is_current = true;
  if (host_.wake) host_.wake();  // a question may be waiting for saved()
  return true;
}

std::vector<EditHistory::Saved> Saver::take_steps() {
  return host_.history ? host_.history->take_changes() : std::vector<EditHistory::Saved>();
}

void Saver::put_back(std::vector<EditHistory::Saved> steps) {
  if (!steps.empty()) host_.history->put_back(std::move(steps));
}

void Saver::note_saved(std::uint64_t version) {
  saved_version_ = version;
  given_up_ = 0;
  size_.save_succeeded();
  warned_of_size_ = false;
  retry_ = {};
}

void Saver::wait_for_saving() {
  // If the save was abandoned, restart it. The world does not change in the meantime, so the new
  // save is not abandoned.
  while (saving_) {
    queue_.drain();
    end_saving();
  }
}

void Saver::look() {
  if (saving_ && saving_->done.load(std::memory_order_acquire)) end_saving();
}

void Saver::end_saving() {
  const std::unique_ptr<Saving> over = std::move(saving_);
  const bool given_up = over->copied.preserver()->given_up();
  used_.emplace(over->give_back());
  if (!over->written || !*over->written) {
    over->steps.resize(over->own);
    put_back(std::move(over->steps));
  } else if (over->stamp.level != LevelAct::none) {
    change_ = {};
  }
  if (!over->written) {
    given_up_ = 0;
    saved_schemas_ = 0;  // the schemas may not be in the file
    notice_failure();
    lagged_ = lagged_ || over->whole;
    return over->then(std::unexpected(std::move(over->written.error())));
  }
  if (!failed_) {
    failed_seen_ = false;
    autosave_error_.clear();
  }
  if (*over->written) note_saved(over->version);
  notice_failure();
  if (!*over->written && given_up) return begin_again(*over);
  // Another program wrote to the file, so write the complete current state.
  over->then(*over->written ? Report(**over->written) : save());
}

void Saver::begin_again(Saving& over) {
  // Number of saves that may be abandoned in a row. After that, the world waits for the next save,
  // so that even a constantly changing world is saved.
  constexpr int waits_after = 2;
  const bool waits = ++given_up_ > waits_after;
  if (host_.warn)
    host_.warn("a save was given up: more than " + kibibytes(host_.preserved_bytes_max) +
               " changed before they were written: " + (waits ? "the world waits for the next" : "it is begun again"));
  if (waits) return over.then(save());
  begin(std::move(over.then), over.whole);
}

std::uint64_t Saver::preserved_bytes() const noexcept { return saving_ ? saving_->copied.preserver()->bytes() : 0; }

std::uint64_t Saver::spare_bytes() const noexcept {
  const StateCopy* const copy = saving_ ? &saving_->copied : used_ ? &*used_ : nullptr;
  return spare_.bytes() + (copy ? copy->preserver()->spare_bytes() : 0);
}

}  // namespace muster

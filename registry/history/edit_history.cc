#include "registry/history/edit_history.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "messages/batch_builder.h"
#include "messages/require.h"
#include "registry/history/description.h"
#include "registry/history/inverse.h"
#include "registry/history/parked.h"
#include "registry/history/places.h"
#include "registry/history/recording.h"
#include "registry/history/step_parts.h"

namespace muster {

using history::Inverse;
using history::Part;
using HistoryStepData = history::Step;

class EditHistory::Impl final : private InputSink {
 public:
  Impl(EntityRegistry& registry, std::uint64_t bytes_max)
      : registry_(registry), bytes_max_(bytes_max), recording_(registry) {}

  ~Impl() override {
    if (of_run_) registry_.host().remove_sink(*this);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // --- runs

  /// Keeps the inputs of steps from now on, and what sessions mark.
  void begin_run() {
    of_run_ = true;
    registry_.host().add_sink(*this);
  }
  std::vector<const HistoryStepData*> run_steps() const;
  std::vector<const HistoryStepData*> marks() const;

  history::RowsNow now() const noexcept { return history::RowsNow(registry_); }

  // --- recording ---

  /// The edits of one input. They become a step, or a part of one, when the input has ended.
  struct Open {
    HistoryStepData step;
    std::unique_ptr<history::StepParts> parts;
    StepAct act = StepAct::edit;
    std::uint64_t of = 0;
    bool in_step = false;  // between step_begins() and step_ends()
    bool exists = false;
  };
  void begin(const Sender& by, StepAct act);
  void before(const Edit& edit);
  void after(const Edit& edit, const Refusal& refusal);
  void step_begins(const Sender& by, const StepView& step);
  std::span<const std::byte> take_back();
  void step_ends(bool applied);
  /// Puts the newest input on a stack, unless it is still being applied.
  void close();

  // --- stacks ---

  struct Stacks {
    std::deque<HistoryStepData*> undo, redo;  // the newest step is the last one
    std::uint64_t version = 0;
    // The parts of the newest step, if it belongs to a gesture.
    std::unique_ptr<history::StepParts> gesture;
    std::uint64_t gesture_step = 0;
  };
  static std::deque<HistoryStepData*>& stack(Stacks& of, HistoryAct act) {
    return act == HistoryAct::undo ? of.undo : of.redo;
  }
  const Stacks* find(std::uint64_t user) const {
    const auto at = users_.find(user);
    return at == users_.end() ? nullptr : &at->second;
  }
  /// Adds a step that is to be on top of its stack.
  void put(HistoryStepData step);
  /// Adds the parts of `step` to the newest step of its user. Returns false if it has another
  /// gesture.
  bool join(HistoryStepData& step);
  /// Removes a step from everything except its stack.
  void forget(HistoryStepData& step);
  void drop_newest(Stacks& of, std::deque<HistoryStepData*>& stack);
  void drop_redo(std::uint64_t user);
  void meet_limit();

  UndoReport apply(HistoryAct act, const Sender& by, Conflicts conflicts, bool dry, bool only_newest,
                   const HistorySight* sight);
  std::uint32_t release_ids();
  void clear();

  EntityRegistry& registry_;
  const std::uint64_t bytes_max_;
  history::Recording recording_;
  Open open_;
  std::vector<std::byte> taken_back_;
  std::map<std::uint64_t, HistoryStepData> steps_;  // by number
  std::map<std::uint64_t, Stacks> users_;
  history::Places places_;
  history::Parked parked_;
  std::uint64_t bytes_ = 0;
  std::uint32_t dropped_ = 0;        // steps that exceeded the limit since the last release_ids()
  std::vector<Entity> released_;     // that no step can revive
  bool look_for_parked_ = true;      // true if ids may be parked for steps that are not known
  std::set<std::uint64_t> changed_;  // numbers of steps, for take_changes()

  // Steps of the last run, for take_changes()
  std::map<std::uint64_t, std::vector<std::byte>> also_;

  bool of_run_ = false;
  // In a run: the input that is being delivered, and the one of open_.
  std::vector<history::SentInput> sent_;
  std::map<std::uint64_t, HistoryStepData> marks_;  // each contains a KeepEdits and no parts

 private:
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override;
  void on_withdrawn(const Envelope& envelope) noexcept override;
  bool wants_receipts(InputKind) const noexcept override { return false; }
};

void EditHistory::Impl::on_input(const Envelope& envelope, std::span<const std::byte> batch) {
  // A step is closed when the next one begins.
  std::erase_if(sent_, [&](const auto& input) { return !open_.exists || input.sequence != open_.step.sequence; });
  if (batch.empty()) return;
  const TypeId type = BatchView(batch).type();
  if (!history::is_edit(type) && type != TypeTraits<muster::Step>::id && type != TypeTraits<KeepEdits>::id) return;
  history::SentInput sent{.sequence = envelope.sequence, .bytes = {batch.begin(), batch.end()}};
  if (type != TypeTraits<KeepEdits>::id) return sent_.push_back(std::move(sent));
  HistoryStepData mark;
  mark.number = mark.sequence = envelope.sequence;
  mark.user = envelope.user;
  mark.session = envelope.session;
  mark.inputs.push_back(std::move(sent));
  marks_.insert_or_assign(mark.number, std::move(mark));
  changed_.insert(envelope.sequence);
}

void EditHistory::Impl::on_withdrawn(const Envelope& envelope) noexcept {
  std::erase_if(sent_, [&](const auto& input) { return input.sequence == envelope.sequence; });
  marks_.erase(envelope.sequence);
}

std::vector<const HistoryStepData*> EditHistory::Impl::run_steps() const {
  std::vector<const HistoryStepData*> steps;
  for (const auto& [number, step] : steps_)
    if (!step.redo && !step.inputs.empty()) steps.push_back(&step);
  return steps;
}

std::vector<const HistoryStepData*> EditHistory::Impl::marks() const {
  std::vector<const HistoryStepData*> marks;
  for (const auto& [number, mark] : marks_) marks.push_back(&mark);
  return marks;
}

// --- recording ---

void EditHistory::Impl::begin(const Sender& by, StepAct act) {
  open_ = {};
  open_.exists = true;
  open_.act = act;
  open_.step.number = open_.step.sequence = by.sequence;
  open_.step.user = by.user;
  open_.step.session = by.session;
  open_.parts = std::make_unique<history::StepParts>(open_.step, act != StepAct::edit);
  recording_.begin_step(act != StepAct::edit);
}

void EditHistory::Impl::before(const Edit& edit) {
  if (!open_.in_step && (!open_.exists || open_.step.sequence != edit.by.sequence || open_.step.user != edit.by.user)) {
    close();
    begin(edit.by, StepAct::edit);
  }
  recording_.before(edit);
}

void EditHistory::Impl::after(const Edit& edit, const Refusal& refusal) {
  recording_.after(edit, refusal.code != RefusalCode::none, [&](Part part) { open_.parts->add(std::move(part)); });
}

void EditHistory::Impl::step_begins(const Sender& by, const StepView& step) {
  close();
  begin(by, step.act());
  open_.in_step = true;
  open_.of = step.of();
  open_.step.label = step.label();
  if (step.act() == StepAct::edit) open_.step.gesture = step.gesture();
}

std::span<const std::byte> EditHistory::Impl::take_back() {
  taken_back_ = Inverse(registry_, places_, parked_).take_back(open_.step);
  return taken_back_;
}

void EditHistory::Impl::step_ends(bool applied) {
  open_.in_step = false;
  if (!applied) open_ = {};
  close();
}

void EditHistory::Impl::close() {
  if (!open_.exists || open_.in_step) return;
  Open ended = std::exchange(open_, {});
  ended.parts.reset();
  HistoryStepData& step = ended.step;
  if (step.gesture == 0) std::erase_if(step.parts, [](const Part& part) { return part.idle(); });
  const bool changes = step.active_parts() != 0;
  const auto sent = std::ranges::find(sent_, step.sequence, &history::SentInput::sequence);
  if (changes && ended.act == StepAct::edit && sent != sent_.end()) {
    step.texts = history::texts_of(registry_, sent->bytes);
    step.inputs.push_back(std::move(*sent));
    sent_.erase(sent);
    history::describe_run_step(step, now());
  }
  if (ended.act != StepAct::edit) {
    Stacks& of = users_[step.user];
    auto& from = ended.act == StepAct::undo ? of.undo : of.redo;
    if (of_run_ && !from.empty() && from.back()->number >= ended.of) {
      // A redone edit can be kept, as it could before it was undone.
      const auto taken = std::ranges::find(from, ended.of, &HistoryStepData::number);
      if (taken != from.end()) {
        step.inputs = std::move((*taken)->inputs);
        step.texts = std::move((*taken)->texts);
        step.what = std::move((*taken)->what);
        step.names = std::move((*taken)->names);
      }
    }
    // The steps above were passed over.
    while (ended.of != 0 && !from.empty() && from.back()->number >= ended.of) drop_newest(of, from);
    step.redo = ended.act == StepAct::undo;
    if (changes) put(std::move(step));
  } else if (changes) {
    drop_redo(step.user);
    if (!join(step)) put(std::move(step));
  }
  meet_limit();
}

// --- stacks ---

void EditHistory::Impl::put(HistoryStepData made) {
  // Numbers ascend unless an input is applied twice.
  if (!steps_.empty()) made.number = std::max(made.number, steps_.rbegin()->first + 1);
  HistoryStepData& step = steps_[made.number];
  step = std::move(made);
  Stacks& of = users_[step.user];
  (step.redo ? of.redo : of.undo).push_back(&step);
  ++of.version;
  for (const Part& part : step.parts)
    if (!part.idle()) places_.add(step.user, part);
  parked_.add(step);
  step.memory = step.measure();
  bytes_ += step.memory;
  changed_.insert(step.number);
}

bool EditHistory::Impl::join(HistoryStepData& step) {
  Stacks& of = users_[step.user];
  if (step.gesture == 0 || of.undo.empty()) return false;
  HistoryStepData& newest = *of.undo.back();
  if (newest.gesture != step.gesture || newest.session != step.session) return false;
  if (!of.gesture || of.gesture_step != newest.number) {
    of.gesture = std::make_unique<history::StepParts>(newest);
    of.gesture_step = newest.number;
  }
  parked_.add(step);  // the new parts are those of `newest` afterward
  bytes_ -= newest.memory;
  for (Part& part : step.parts) {
    std::uint64_t before = 0;
    of.gesture->add(
        std::move(part),
        [&](const Part& known) {
          before = known.memory();
          if (!known.idle()) places_.remove(newest.user, known);
        },
        [&](const Part& known) {
          newest.memory += known.memory() - before;
          if (!known.idle()) places_.add(newest.user, known);
        });
  }
  for (history::SentInput& input : step.inputs) {
    newest.memory += sizeof input + input.bytes.size();
    newest.inputs.push_back(std::move(input));
  }
  for (auto& name : step.names)
    if (std::ranges::find(newest.names, name) == newest.names.end()) newest.names.push_back(std::move(name));
  for (std::string& text : step.texts)
    if (std::ranges::find(newest.texts, text) == newest.texts.end()) newest.texts.push_back(std::move(text));
  bytes_ += newest.memory;
  newest.sequence = step.sequence;
  if (!step.label.empty()) newest.label = std::move(step.label);
  changed_.insert(newest.number);
  ++of.version;
  if (newest.active_parts() == 0) drop_newest(of, of.undo);
  return true;
}

void EditHistory::Impl::forget(HistoryStepData& step) {
  for (const Part& part : step.parts)
    if (!part.idle()) places_.remove(step.user, part);
  parked_.remove(step, released_);
  bytes_ -= step.memory;
  changed_.insert(step.number);
  steps_.erase(step.number);
}

void EditHistory::Impl::drop_newest(Stacks& of, std::deque<HistoryStepData*>& stack) {
  HistoryStepData& step = *stack.back();
  stack.pop_back();
  if (of.gesture_step == step.number) of.gesture.reset();
  ++of.version;
  forget(step);
}

void EditHistory::Impl::drop_redo(std::uint64_t user) {
  Stacks& of = users_[user];
  while (!of.redo.empty()) drop_newest(of, of.redo);
}

void EditHistory::Impl::meet_limit() {
  while (bytes_ > bytes_max_ && !steps_.empty()) {
    HistoryStepData& step = steps_.begin()->second;
    Stacks& of = users_[step.user];
    // Numbers ascend in each stack, so the oldest step of all is the oldest of its stack.
    (step.redo ? of.redo : of.undo).pop_front();
    if (of.gesture_step == step.number) of.gesture.reset();
    ++of.version;
    ++dropped_;
    forget(step);
  }
}

UndoReport EditHistory::Impl::apply(HistoryAct act, const Sender& by, Conflicts conflicts, bool dry, bool only_newest,
                                    const HistorySight* sight) {
  close();
  UndoReport nothing{.sequence = registry_.sequence()};
  const auto user = users_.find(by.user);
  if (user == users_.end()) return nothing;
  const auto& from = stack(user->second, act);
  for (std::size_t left = from.size(); left > 0; --left) {
    const HistoryStepData& step = *from[left - 1];
    Inverse inverse(registry_, places_, parked_, sight);
    UndoReport report = inverse.undo(step, act == HistoryAct::undo ? StepAct::undo : StepAct::redo, conflicts);
    report.passed_over = nothing.passed_over;
    report.sequence = nothing.sequence;
    const bool passes_over = report.done == 0 && !only_newest;
    if (passes_over && nothing.passed_over++ > 0) continue;
    report.what = description(step, now(), sight);
    if (passes_over) {
      nothing.label = std::move(report.label);
      nothing.what = std::move(report.what);
      nothing.skipped = std::move(report.skipped);
      continue;
    }
    if (report.done == 0 || dry) return report;
    const Receipt receipt = registry_.host().push_batch(inverse.batch(), by);
    report.sequence = receipt.sequence;
    // The messages suit the state they were made for. If one is refused anyway, the registry has
    // taken back the others.
    if (receipt.refused != 0) report.done = 0;
    return report;
  }
  return nothing;
}

std::uint32_t EditHistory::Impl::release_ids() {
  close();
  meet_limit();  // what was loaded may exceed it
  const Storage& storage = std::as_const(registry_).host().storage();
  if (std::exchange(look_for_parked_, false)) {
    released_.clear();
    const auto indices = static_cast<std::uint32_t>(storage.ids().indices());
    for (std::uint32_t index = 1; index < indices; ++index) {
      const Entity e{index, storage.ids().slot(index).generation};
      if (storage.in_state(e, IdState::parked)) released_.push_back(e);
    }
  }
  std::erase_if(released_, [&](Entity e) { return !storage.in_state(e, IdState::parked) || parked_.contains(e); });
  if (!released_.empty()) {
    // In the same order as if the ids had been looked for.
    std::ranges::sort(released_);
    const auto doubles = std::ranges::unique(released_);
    released_.erase(doubles.begin(), doubles.end());
    BatchBuilder batch;
    batch.append_table(TypeTraits<ReleaseIds>::id, {}, encode(ReleaseIds{.ids = released_}));
    registry_.host().push_batch(batch.bytes());
    released_.clear();
  }
  return std::exchange(dropped_, 0);
}

void EditHistory::Impl::clear() {
  open_ = {};
  for (const auto& [number, step] : steps_) changed_.insert(number);
  steps_.clear();
  for (auto& [user, of] : users_) {
    const std::uint64_t version = of.version + 1;
    of = {};
    of.version = version;
  }
  places_.clear();
  parked_.clear();
  bytes_ = 0;
  released_.clear();
  marks_.clear();
  look_for_parked_ = true;
}

EditHistory::EditHistory(EntityRegistry& registry, std::uint64_t bytes_max)
    : impl_(std::make_unique<Impl>(registry, bytes_max)) {
  registry.host().set_edit_log(this);
}

void EditHistory::begin_run() {
  require(!level_, "EditHistory::begin_run: a run is on");
  impl_->close();
  level_ = std::exchange(impl_, std::make_unique<Impl>(impl_->registry_, impl_->bytes_max_));
  impl_->begin_run();
  // The ids that only the level's steps can revive stay parked.
  impl_->look_for_parked_ = false;
  // The versions differ from those that followers have seen.
  for (const auto& [user, of] : level_->users_) impl_->users_[user].version = of.version + 1;
}

void EditHistory::end_run() {
  require(level_ != nullptr, "EditHistory::end_run: there is no run");
  impl_->close();
  for (const auto& [user, of] : impl_->users_) {
    Impl::Stacks& own = level_->users_[user];
    own.version = std::max(own.version, of.version) + 1;
  }
  impl_ = std::exchange(level_, nullptr);
}

std::vector<RunEdit> EditHistory::run_edits(std::uint32_t offset, std::uint32_t limit) const {
  impl_->close();
  return history::listed(impl_->run_steps(), impl_->marks(), offset, limit, impl_->now().types());
}

std::string EditHistory::find_run_edits(KeepSelection& selection) const {
  impl_->close();
  const auto steps = impl_->run_steps();
  if (std::string why = history::find_named(selection, steps); !why.empty()) return why;
  return history::selects(selection, steps, impl_->now().types()) ? std::string() : "the run has no such edits";
}

EditHistory::~EditHistory() { impl_->registry_.host().set_edit_log(nullptr); }

UndoReport EditHistory::apply(HistoryAct act, const Sender& by, Conflicts conflicts, bool dry, bool only_newest,
                              const HistorySight* sight) {
  return impl_->apply(act, by, conflicts, dry, only_newest, sight);
}

std::uint32_t EditHistory::release_ids() { return impl_->release_ids(); }

std::vector<EditHistory::Made> EditHistory::made() const {
  impl_->close();
  std::vector<Made> all;
  for (const auto& [number, step] : impl_->steps_) {
    if (step.redo) continue;
    for (const Part& part : step.parts) {
      if (part.kind == history::PartKind::created) all.push_back({step.user, part.entity});
      if (part.kind == history::PartKind::defined && part.details && !part.after.empty())
        all.push_back({step.user, {}, part.details->name});
    }
  }
  return all;
}

std::uint32_t EditHistory::drop_steps(std::uint64_t user) {
  impl_->close();
  const auto of = impl_->users_.find(user);
  if (of == impl_->users_.end()) return 0;
  std::uint32_t dropped = 0;
  for (auto* const stack : {&of->second.undo, &of->second.redo})
    for (; !stack->empty(); ++dropped) impl_->drop_newest(of->second, *stack);
  return dropped;
}

void EditHistory::keep_until(std::uint64_t sequence) {
  impl_->close();
  for (auto& [user, of] : impl_->users_)
    for (auto* const stack : {&of.undo, &of.redo})
      while (!stack->empty() && stack->back()->sequence > sequence) impl_->drop_newest(of, *stack);
  impl_->look_for_parked_ = true;
}

std::uint32_t EditHistory::steps(std::uint64_t user, HistoryAct act) const noexcept {
  impl_->close();
  const auto* const of = impl_->find(user);
  return static_cast<std::uint32_t>(!of ? 0 : act == HistoryAct::undo ? of->undo.size() : of->redo.size());
}

std::vector<HistoryStep> EditHistory::list(std::uint64_t user, std::uint32_t offset, std::uint32_t limit,
                                           const HistorySight* sight) const {
  impl_->close();
  std::vector<HistoryStep> listed;
  const auto* const of = impl_->find(user);
  if (!of) return listed;
  const std::size_t all = of->redo.size() + of->undo.size();
  for (std::size_t i = offset; i < all && listed.size() < limit; ++i) {
    const bool redo = i < of->redo.size();
    const HistoryStepData& step = redo ? *of->redo[i] : *of->undo[all - 1 - i];
    listed.push_back({step.sequence, step.label, step.active_parts(), redo, description(step, impl_->now(), sight)});
  }
  return listed;
}

std::uint64_t EditHistory::version(std::uint64_t user) const noexcept {
  impl_->close();
  const auto* const of = impl_->find(user);
  return of ? of->version : 0;
}

std::uint64_t EditHistory::bytes() const noexcept {
  impl_->close();
  return impl_->bytes_;
}

std::vector<EditHistory::Saved> EditHistory::take_changes() {
  impl_->close();
  std::vector<Saved> changes;
  for (const std::uint64_t number : std::exchange(impl_->changed_, {})) {
    const auto step = impl_->steps_.find(number), mark = impl_->marks_.find(number);
    changes.push_back({number, step != impl_->steps_.end()   ? encode(step->second)
                               : mark != impl_->marks_.end() ? encode(mark->second)
                                                             : std::vector<std::byte>{}});
  }
  for (auto& [number, bytes] : std::exchange(impl_->also_, {})) changes.push_back({number, std::move(bytes), true});
  return changes;
}

void EditHistory::also_save(std::vector<Saved> steps) {
  for (Saved& step : steps) impl_->also_.insert_or_assign(step.number, std::move(step.bytes));
}

std::vector<EditHistory::Saved> EditHistory::all() const {
  impl_->close();
  std::vector<Saved> steps;
  steps.reserve(impl_->steps_.size());
  for (const auto& [number, step] : impl_->steps_) steps.push_back({number, encode(step)});
  for (const auto& [number, mark] : impl_->marks_) steps.push_back({number, encode(mark)});
  std::ranges::sort(steps, {}, &Saved::number);
  return steps;
}

void EditHistory::put_back(std::vector<Saved> changes) {
  for (Saved& change : changes)
    if (change.of_last_run)
      impl_->also_.emplace(change.number, std::move(change.bytes));
    else  // the step may have been dropped since, and is then saved as such
      impl_->changed_.insert(change.number);
}

std::expected<void, std::string> EditHistory::load(std::span<const Saved> steps) {
  clear();
  impl_->changed_.clear();
  impl_->look_for_parked_ = level_ == nullptr;
  std::uint64_t previous = 0;
  const auto refuse = [&](std::string why) {
    clear();
    impl_->changed_.clear();
    return std::unexpected(std::move(why));
  };
  for (const Saved& saved : steps) {
    if (saved.number <= previous)
      return refuse("step " + std::to_string(saved.number) + " of the saved history is not in order");
    previous = saved.number;
    auto step = history::decode(saved.number, saved.bytes);
    if (!step) return refuse(std::move(step.error()));
    if (step->parts.empty())
      impl_->marks_.insert_or_assign(saved.number, std::move(*step));
    else
      impl_->put(std::move(*step));
  }
  impl_->changed_.clear();
  return {};
}

void EditHistory::clear() { impl_->clear(); }

void EditHistory::before(const Edit& edit) { impl_->before(edit); }
void EditHistory::after(const Edit& edit, const Refusal& refusal) { impl_->after(edit, refusal); }
void EditHistory::step_begins(const Sender& by, const StepView& step) { impl_->step_begins(by, step); }
std::span<const std::byte> EditHistory::take_back() { return impl_->take_back(); }
void EditHistory::step_ends(bool applied) { impl_->step_ends(applied); }

}  // namespace muster

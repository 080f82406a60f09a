// Runs a random program on the naive model and on four registries: a plain one, one with different
// settings, one that loads what the first one saved and has a third set of settings, and one that
// replays what the first one's sink received.
#include <algorithm>
#include <functional>

#include "tests/model/participant.h"

#include "registry/delivery/executor.h"
#include "registry/host.h"
#include "registry/profile.h"
#include "tests/model/program.h"
#include "tests/model/settings.h"
#include "tests/model/trial_types.h"

namespace naive {

namespace {

/// Describes the first row that differs; empty if there is none.
std::string compare(const StateRows& expected, const StateRows& found) {
  for (const auto& [key, bytes] : expected)
    if (const auto at = found.find(key); at == found.end() || at->second != bytes) {
      if (at == found.end()) return muster::StateError{key, "lacking"}.text();
      const auto first = std::ranges::mismatch(bytes, at->second).in1 - bytes.begin();
      return muster::StateError{key, "other bytes from " + std::to_string(first) + " on"}.text();
    }
  for (const auto& [key, bytes] : found)
    if (!expected.contains(key)) return muster::StateError{key, "a row too many"}.text();
  return {};
}

/// Runs one program.
class Run {
 public:
  Run(const Program& program, bool trace) : program_(program), trace_(trace) {
    model_ = std::make_unique<Model>(trial_types(), program.cascade_messages_max, program.carried_messages_max);
    for (std::size_t lane = 0; lane < lane_count; ++lane) model_->lanes.push_back({lane_session(lane), {}});
    registry_ = std::make_unique<Participant>(plain_way(program).options);
    if (program.other_way) other_ = begin(other_way(program, 0), other_way_);
    if (program.replayed) replayed_ = begin(other_way(program, 0xfeed), replayed_way_);
  }

  Report run() {
    for (std::size_t i = 0; i < program_.steps.size() && !report_.failure; ++i) {
      running(program_.seed, i, name(program_.steps[i].what));
      step(i);
      report_.steps = i + 1;
      const bool last = i + 1 == program_.steps.size();
      if (!report_.failure && (i % 20 == 19 || last)) check_state(i);
    }
    if (program_.executor) report_.covered["passes spread"] = registry_->registry.profile().pass_counters().spread;
    registry_.reset();
    other_.reset();
    loaded_.reset();
    replayed_.reset();
    if (!report_.failure && Voice::alive() + Spark::alive() != 0)
      fail(program_.steps.size() - 1, "runtime components outlive their registries");
    report_.covered.merge(model_->covered);
    return std::move(report_);
  }

 private:
  void fail(std::size_t step, std::string what) {
    if (!report_.failure && !what.empty()) report_.failure = Failure{step, std::move(what)};
  }

  std::unique_ptr<Participant> begin(const Way& way, Way& kept) {
    kept = way;
    auto made = std::make_unique<Participant>(way.options);
    made->registry.profile().record_causes(way.causes == Way::Recorded::always);
    made->registry.profile().observe(way.figures == Way::Recorded::always);
    if (!way.options.shortcuts) ++report_.covered["way: no shortcuts"];
    if (way.causes == Way::Recorded::always) ++report_.covered["way: causes recorded"];
    if (way.causes == Way::Recorded::now_and_then) ++report_.covered["way: causes recorded now and then"];
    if (way.figures != Way::Recorded::never) ++report_.covered["way: figures kept"];
    if (way.options.segment_bytes == 1024) ++report_.covered["way: segments of 1024 bytes"];
    if (way.options.segment_bytes == 1u << 20) ++report_.covered["way: segments of a megabyte"];
    if (way.disturbed) ++report_.covered["way: disturbed by pushes that a sink refuses"];
    return made;
  }
  /// Does what a way requires between two steps. Waiting messages would all be delivered before a
  /// push in vain.
  void vary(Participant& participant, const Way& way, Random& random) {
    if (way.causes == Way::Recorded::now_and_then && random.percent(15))
      participant.registry.profile().record_causes(random.percent(50));
    if (way.figures == Way::Recorded::now_and_then && random.percent(15))
      participant.registry.profile().observe(random.percent(50));
    if (way.disturbed && !model_->waiting() && random.percent(5))
      participant.push_in_vain(random.one_of<std::size_t>({1, 100, 1000, 40'000}));
    if (way.elsewhere && random.percent(10)) {
      ++report_.covered["way: another state in its place, and back"];
      if (const std::string wrong = participant.go_elsewhere(random); !wrong.empty())
        fail(report_.steps, prefix(participant) + wrong);
    }
  }

  void step(std::size_t i) {
    const Step& s = program_.steps[i];
    Do what = s.what;
    // Worlds stay small, so that they can be compared often.
    const std::size_t most = program_.crowd ? 3000 : 250;
    if (model_->row_order().size() > most &&
        (what == Do::create || what == Do::create_many || what == Do::push || what == Do::spawn || what == Do::merge))
      what = Do::destroy;
    // Messages that wait behind a limit are gone after the next input, so chance alone would rarely
    // reload at such a moment.
    if (model_->carried() && s.seed % 8 == 0) what = Do::reload;
    const Situation situation{*model_, subscribed_, granted_, program_.crowd, program_.enableable};
    const Action action = decide(what, s.seed, situation);
    if (trace_) report_.trace.push_back(describe(action));
    ++report_.covered[std::string("step: ") + name(what)];
    count(action);

    if (what == Do::reload) return reload(i);
    Random random(s.seed + 1);
    if (other_) vary(*other_, other_way_, random);
    if (loaded_) vary(*loaded_, loaded_way_, random);
    const std::size_t memory = other_ ? other_->registry.host().memory_waiting() : 0;
    Outcome expected;
    carried_before_ = model_->carried();
    active_recorder = &recorder_;
    if (what == Do::subscribe)
      expected.number = subscribe(action, i);
    else if (what == Do::unsubscribe)
      unsubscribe(action.number);
    else if (what == Do::dismiss)
      dismiss(static_cast<std::uint32_t>(action.number));
    else
      expected = perform(*model_, action);
    for (Participant* participant : participants()) {
      const Outcome found = participant->perform(action, i);
      if (const std::string difference = compare(expected, found); !difference.empty())
        fail(i, prefix(*participant) + difference);
      if (replayed_ && participant == registry_.get()) recorded_ = participant->inputs;
      compare_records(i, *participant);
      if (const std::string unmarked = participant->marks.check(); !unmarked.empty()) fail(i, "marks: " + unmarked);
    }
    if (replayed_) replay(i, action);
    if (what == Do::grant)
      for (std::uint32_t n = 0; n < action.number; ++n) granted_.push_back({expected.made[0].index + n, 1});
    if (!model_->gone.empty()) ++report_.covered["manager: told of deaths"];
    model_->inputs.clear();
    model_->gone.clear();
    recorder_.log.clear();
    if (other_ && other_->registry.host().memory_waiting() < memory) ++report_.covered["memory of a storm given back"];
    const std::uint64_t hash = registry_->registry.hash();
    if (replayed_ && replay_whole_ && replayed_->registry.hash() != hash) fail(i, "replayed: another hash");
    report_.hash = (report_.hash ^ hash) * 0x100000001b3ull + 1;
    for (Participant* participant : participants()) {
      if (participant->registry.sequence() != model_->sequence) fail(i, prefix(*participant) + "another sequence");
      if (participant->registry.hash() != hash) {
        if (const std::string difference = compare(*model_, *registry_, false); !difference.empty())
          fail(i, difference);
        fail(i, prefix(*participant) + "another hash");
      }
    }
    if (model_->carried() && s.seed % 4 == 0) {
      compare_saved(i);
      ++report_.covered["saved bytes compared while a cut cascade waits"];
    }
  }

  /// Performs actions that made no input on the replaying registry too; everything else reaches it
  /// through the inputs.
  void replay(std::size_t i, const Action& action) {
    if (!is_input(action.what)) {
      // A handler comes or goes now. Work that went on without an input since the last one goes on
      // later in the replaying registry, with different handlers.
      replay_differs_ = replay_differs_ || replay_behind_;
      (void)replayed_->perform(action, i);
    }
    replayed_->replay(recorded_);
    const auto say = [&](const std::string& difference) {
      if (!difference.empty() && !replay_differs_) fail(i, "replayed: " + difference);
    };
    say(compare(model_->inputs, replayed_->inputs));
    say(replayed_->trouble);
    say(replayed_->marks.check());
    for (const Input& input : recorded_) {
      if (input.envelope.resumed > 0) ++report_.covered["replay: a cut cascade that was gone on with"];
      if (input.envelope.kind == muster::InputKind::inbox) ++report_.covered["replay: a batch of a lane"];
      replay_ended_ = input.envelope.kind != muster::InputKind::post && input.envelope.kind != muster::InputKind::inbox;
    }
    // A posted message becomes an input when it is delivered. A spawn from an unknown template may
    // continue waiting work without an input; the next input shows that.
    const bool own_input =
        !recorded_.empty() &&
        (action.what != Do::spawn ||
         (replay_ended_ && muster::BatchView(recorded_.back().bytes).type() == muster::TypeTraits<muster::Spawn>::id));
    const bool nothing_went_on = carried_before_ == 0 && model_->carried() == 0;
    replay_behind_ = !own_input && (replay_behind_ || carried_before_ != 0);
    replay_whole_ =
        !replay_differs_ && replay_ended_ && model_->posted() == 0 && (own_input || (replay_whole_ && nothing_went_on));
    if (replay_whole_) ++report_.covered["replay: the same state"];
    replayed_->inputs.clear();
    replayed_->recorder.log.clear();
    replayed_->recorder.ledger->told.clear();
  }

  /// Checks that all registries save the same state as the first.
  void compare_saved(std::size_t i) {
    const StateRows saved = registry_->save();
    if (replayed_ && replay_whole_)
      if (const std::string difference = compare(saved, replayed_->save()); !difference.empty())
        fail(i, "replayed: saved " + difference);
    for (const Participant* participant : participants())
      if (participant != registry_.get())
        if (const std::string difference = compare(saved, participant->save()); !difference.empty())
          fail(i, prefix(*participant) + "saved " + difference);
  }
  std::string prefix(const Participant& participant) const {
    return &participant == loaded_.get()  ? "loaded registry: "
           : &participant == other_.get() ? "registry in another way: "
                                          : "";
  }

  std::vector<Participant*> participants() {
    std::vector<Participant*> all{registry_.get()};
    if (other_) all.push_back(other_.get());
    if (loaded_) all.push_back(loaded_.get());
    return all;
  }
  void compare_records(std::size_t i, Participant& participant) {
    const auto say = [&](const std::string& difference) {
      if (!difference.empty()) fail(i, prefix(participant) + difference);
    };
    if (!participant.recorder.quiet) say(compare(recorder_, participant.recorder, &participant == loaded_.get()));
    if (participant.recorder.ledger->told != model_->gone)
      say("a manager was told of other deaths, or in another order");
    participant.recorder.ledger->told.clear();
    say(compare(model_->inputs, participant.inputs));
    say(participant.trouble);
    participant.recorder.log.clear();
    participant.inputs.clear();
  }

  void check_state(std::size_t i) {
    for (Participant* participant : participants()) {
      const std::string difference = compare(*model_, *participant, participant == loaded_.get());
      if (!difference.empty()) fail(i, prefix(*participant) + difference);
    }
    compare_saved(i);
    std::uint64_t voices = 0;
    for (const Entity e : model_->row_order())
      voices += model_->find(e)->components.count(id_of<Voice>) + model_->find(e)->components.count(id_of<Spark>);
    voices *= participants().size();
    for (const Participant* participant : participants()) voices += participant->values_elsewhere();
    if (voices + (replayed_ ? replayed_values() : 0) != Voice::alive() + Spark::alive())
      fail(i, "another number of runtime values is alive than entities have");
  }

  /// Returns the runtime values of the replaying registry, which may be behind.
  std::uint64_t replayed_values() const {
    std::uint64_t values = 0;
    replayed_->registry.each<const Voice>([&](Entity, const Voice&) { ++values; });
    replayed_->registry.each<const Spark>([&](Entity, const Spark&) { ++values; });
    return values;
  }

  std::uint64_t subscribe(const Action& action, std::uint64_t slot) {
    Handler handler = handler_kinds()[action.kind].model(recorder_);
    handler.name = action.text;
    handler.priority = action.options.priority;
    handler.before = action.options.before;
    handler.after = action.options.after;
    const std::uint64_t ordinal = model_->subscribe(std::move(handler));
    if (!ordinal) return 0;
    subscribed_.push_back({slot, ordinal, action.kind, action.text, action.options});
    ++report_.covered[std::string("handler: ") + handler_kinds()[action.kind].name];
    return 1;
  }
  void unsubscribe(std::uint64_t slot) {
    const auto at = std::ranges::find(subscribed_, slot, &Subscribed::slot);
    if (at == subscribed_.end()) return;
    model_->unsubscribe(at->ordinal);
    subscribed_.erase(at);
  }

  void dismiss(std::uint32_t slot) {
    const auto at = recorder_.late.find(slot);
    if (at == recorder_.late.end()) return;
    model_->unsubscribe(at->second.ordinal);
    recorder_.late.erase(at);
    ++report_.covered["handler that was begun inside a handler: ended from outside"];
  }

  /// Subscribes the active handlers, in their original order.
  void subscribe_again(Participant& loaded) {
    std::map<std::uint64_t, std::function<void()>> all;
    for (const Subscribed& each : subscribed_) all[each.ordinal] = [&] { loaded.subscribe(each); };
    for (const auto& [slot, late] : recorder_.late)
      all[late.ordinal] = [&, slot] { install_late(loaded.registry, loaded.recorder, slot, late); };
    for (const auto& [ordinal, again] : all) again();
  }

  /// Saves, loads into a new registry with the same handlers, and continues with both.
  void reload(std::size_t i) {
    check_state(i);
    if (report_.failure) return;
    if (model_->requests_wait()) {  // waiting requests for handlers would be lost
      ++report_.covered["not loaded: handlers wait to begin or end"];
      return;
    }
    // Handlers that were refused, or ended by other handlers, are removed on both sides: ending a
    // handler sends a message.
    std::erase_if(recorder_.late, [&](const auto& slot) { return !model_->subscribed(slot.second.ordinal); });
    std::vector<Participant*> all = participants();
    if (replayed_) all.push_back(replayed_.get());
    for (Participant* participant : all)
      std::erase_if(participant->recorder.late, [&](const auto& slot) { return !recorder_.late.contains(slot.first); });
    const StateRows saved = registry_->save();
    // The state is loaded into a new registry, or into one with a different state, whose handlers,
    // sinks and lanes stay.
    Random random(program_.steps[i].seed + 2);
    const bool in_place = loaded_ && random.percent(70), waits = model_->waiting();
    if (!in_place) loaded_.reset();
    const Way way = in_place ? loaded_way_ : program_.other_way ? other_way(program_, i + 1) : plain_way(program_);
    std::unique_ptr<Participant> loaded = in_place ? std::move(loaded_) : begin(way, loaded_way_);
    if (in_place && !waits) {  // waiting messages could request handlers, which stay
      if (!saved_before_.empty() && random.percent(50)) {
        RowsSource before(saved_before_);
        if (const auto done = loaded->registry.load(before); !done)
          return fail(i, "load what was saved before: " + done.error().text());
      }
      loaded->live_elsewhere(random);
    }
    if (in_place) {
      loaded->recorder.log.clear();
      loaded->recorder.restored.clear();
      loaded->recorder.ledger->told.clear();
      loaded->inputs.clear();
      ++report_.covered["loaded into a registry that has another state"];
    } else {
      subscribe_again(*loaded);
    }
    saved_before_ = waits ? StateRows() : saved;
    loaded->recorder.begins = registry_->recorder.begins;
    RowsSource source(saved);
    if (const auto done = loaded->registry.load(source); !done) return fail(i, "load: " + done.error().text());
    for (std::size_t lane = 0; lane < lane_count && !in_place; ++lane)
      for (const auto& [batch, request] : model_->lanes[lane].second) {
        Action put{.what = Do::put, .batch = batch, .request = request, .lane = lane};
        loaded->perform(put, 0);
      }
    if (loaded->registry.hash() != registry_->registry.hash()) return fail(i, "loaded: another hash");
    if (const std::string difference = compare(saved, loaded->save()); !difference.empty())
      return fail(i, "saved again: " + difference);
    if (model_->timers.size() != static_cast<std::size_t>(std::ranges::count_if(saved, [](const auto& row) {
          return row.first.section == muster::StateSection::timers;
        })))
      return fail(i, "another number of timers was saved");
    loaded_ = std::move(loaded);
    loaded_->marks.begin();
    std::vector<Entity> voices;
    for (const Entity e : model_->row_order())
      if (model_->find(e)->components.contains(id_of<Voice>)) voices.push_back(e);
    if (loaded_->recorder.restored != voices) fail(i, "restore hooks came for others, or in another order");
    model_->renew(id_of<Voice>, false, restored);
    model_->renew(id_of<Spark>, false, restored);
    check_state(i);
    if (!model_->ledger.empty()) ++report_.covered["saved and loaded with what a manager holds"];
    if (!model_->templates().empty()) ++report_.covered["saved and loaded with templates"];
    if (!recorder_.late.empty()) ++report_.covered["saved and loaded with handlers begun inside handlers"];
    ++report_.covered["saved and loaded"];
    if (model_->carried()) ++report_.covered["saved and loaded with carried messages"];
    if (model_->carried() && (way.causes == Way::Recorded::always || other_way_.causes == Way::Recorded::always))
      ++report_.covered["saved and loaded with carried messages, causes recorded in one"];
    if (model_->posted()) ++report_.covered["saved and loaded with posts waiting"];
    if (!model_->timers.empty()) ++report_.covered["saved and loaded with timers waiting"];
  }

  void count(const Action& a) {
    const auto message = [&](const Message& m) {
      static constexpr const char* to[] = {"one entity", "a span", "the world", "parts of a line", "a later time"};
      ++report_.covered[std::string("message to ") + to[static_cast<int>(m.to)]];
      ++report_.covered["message: " + trial_types().at(m.type).name];
      if (m.is_table) ++report_.covered["table"];
    };
    if (a.batch.size() > 1 && a.batch[0].to == Message::To::one)
      ++report_.covered["batch with a payload for each target"];
    if (a.what == Do::define) {
      static constexpr const char* from[] = {"nothing", "an entity", "a base, plus and minus components"};
      ++report_.covered[std::string("template made from ") + from[static_cast<int>(a.how)]];
    }
    if (a.what == Do::push || a.what == Do::post) message(a.message);
    for (const Message& m : a.batch) message(m);
    for (const Messages& batch : a.batches)
      for (const Message& m : batch) message(m);
    const char* const way = a.what == Do::push_several   ? "pushed"
                            : a.what == Do::post_several ? "posted"
                            : a.what == Do::put_several  ? "put into a lane"
                                                         : nullptr;
    if (way && a.batches.empty()) ++report_.covered[std::string("span of no batch: ") + way];
    if (way && a.batches.size() > 1) ++report_.covered[std::string("span of several batches: ") + way];
  }

  const Program& program_;
  bool trace_;
  Report report_;
  Recorder recorder_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Participant> registry_, other_, loaded_, replayed_;
  Way other_way_, loaded_way_, replayed_way_;
  std::vector<Input> recorded_;     // of the last step, from registry_
  std::size_t carried_before_ = 0;  // of the last step
  bool replay_ended_ = true;        // the last input ends a call
  bool replay_behind_ = false;      // a cut cascade continued after the last input
  bool replay_differs_ = false;     // handlers came or went meanwhile
  bool replay_whole_ = true;        // replayed_ has the state that registry_ has
  std::vector<Subscribed> subscribed_;
  std::vector<Entity> granted_;
  StateRows saved_before_;
};

}  // namespace

Report run(const Program& program, bool trace) { return Run(program, trace).run(); }

}  // namespace naive

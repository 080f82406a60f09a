#include "tests/model/program.h"

#include <chrono>

#include "tests/model/participant.h"
#include "tests/model/settings.h"
#include "tests/model/trial_types.h"

namespace naive {

namespace {

/// How often each kind of step comes, of the sum.
constexpr std::pair<Do, unsigned> weights[] = {
    {Do::push, 20},       {Do::post, 16},   {Do::post_later, 4}, {Do::push_batch, 16},  {Do::post_batch, 5},
    {Do::put, 7},         {Do::flush, 6},   {Do::advance, 5},    {Do::cancel, 1},       {Do::create, 12},
    {Do::create_many, 2}, {Do::destroy, 2}, {Do::set, 5},        {Do::remove, 3},       {Do::reparent, 6},
    {Do::rename, 4},      {Do::intern, 1},  {Do::grant, 2},      {Do::return_grant, 1}, {Do::subscribe, 3},
    {Do::unsubscribe, 1}};

Do any_step(Random& random) {
  unsigned sum = 0;
  for (const auto& [what, weight] : weights) sum += weight;
  auto roll = random.below(sum);
  for (const auto& [what, weight] : weights) {
    if (roll < weight) return what;
    roll -= weight;
  }
  return Do::flush;
}

/// Runs one program.
class Run {
 public:
  Run(const Program& program, bool trace) : program_(program), trace_(trace) {
    model_ = std::make_unique<Model>(trial_types(), program.cascade_messages_max);
    for (std::size_t lane = 0; lane < lane_count; ++lane) model_->lanes.push_back({lane_author(lane), {}});
    registry_ = std::make_unique<Participant>(program.cascade_messages_max);
  }

  Report run() {
    for (std::size_t i = 0; i < program_.steps.size() && !report_.failure; ++i) {
      running(program_.seed, i, name(program_.steps[i].what));
      step(i);
      report_.steps = i + 1;
      const bool last = i + 1 == program_.steps.size();
      if (!report_.failure && (i % 20 == 19 || last)) check_state(i);
    }
    report_.covered.merge(model_->covered);
    return std::move(report_);
  }

 private:
  void fail(std::size_t step, std::string what) {
    if (!report_.failure && !what.empty()) report_.failure = Failure{step, std::move(what)};
  }

  void step(std::size_t i) {
    const Step& s = program_.steps[i];
    Do what = s.what;
    // Worlds stay small enough to be compared often.
    const std::size_t most = program_.crowd ? 3000 : 250;
    if (model_->row_order().size() > most && (what == Do::create || what == Do::create_many || what == Do::push))
      what = Do::destroy;
    const Situation situation{*model_, subscribed_, granted_, program_.crowd};
    const Action action = decide(what, s.seed, situation);
    if (trace_) report_.trace.push_back(describe(action));
    ++report_.covered[std::string("step: ") + name(what)];
    count(action);

    if (what == Do::reload) return reload(i);
    Outcome expected;
    active_recorder = &recorder_;
    if (what == Do::subscribe)
      expected.number = subscribe(action, i);
    else if (what == Do::unsubscribe)
      unsubscribe(action.number);
    else
      expected = perform(*model_, action);
    for (Participant* participant : participants()) {
      const Outcome found = participant->perform(action, i);
      fail(i, who(participant) + compare(expected, found));
      compare_records(i, *participant);
    }
    if (what == Do::grant)
      for (std::uint32_t n = 0; n < action.number; ++n) granted_.push_back({expected.made[0].index + n, 1});
    model_->inputs.clear();
    recorder_.log.clear();
    const std::uint64_t hash = registry_->registry.hash();
    report_.hash = (report_.hash ^ hash) * 0x100000001b3ull + 1;
    if (loaded_ && loaded_->registry.hash() != hash) {
      fail(i, "the loaded registry has another hash");
      fail(i, "saved: " + compare(*model_, registry_->registry));
    }
  }

  std::string who(const Participant* participant) {
    at_loaded_ = participant == loaded_.get();
    return {};
  }
  std::vector<Participant*> participants() {
    std::vector<Participant*> all{registry_.get()};
    if (loaded_) all.push_back(loaded_.get());
    return all;
  }
  void compare_records(std::size_t i, Participant& participant) {
    const std::string prefix = &participant == loaded_.get() ? "loaded registry: " : "";
    const auto say = [&](const std::string& difference) {
      if (!difference.empty()) fail(i, prefix + difference);
    };
    say(compare(recorder_, participant.recorder));
    say(compare(model_->inputs, participant.inputs));
    say(participant.trouble);
    participant.recorder.log.clear();
    participant.inputs.clear();
  }

  void check_state(std::size_t i) {
    for (Participant* participant : participants()) {
      const std::string difference = compare(*model_, participant->registry);
      if (!difference.empty()) fail(i, (participant == loaded_.get() ? "loaded registry: " : "") + difference);
    }
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

  /// Saves, loads into a new registry with the same handlers, and goes on with both.
  void reload(std::size_t i) {
    check_state(i);
    if (report_.failure) return;
    const StateRows saved = registry_->save();
    auto loaded = std::make_unique<Participant>(program_.cascade_messages_max);
    for (const Subscribed& each : subscribed_) loaded->subscribe(each);
    loaded->recorder.begins = registry_->recorder.begins;
    RowsSource source(saved);
    if (const auto done = loaded->registry.load(source); !done) return fail(i, "load: " + done.error().text());
    for (std::size_t lane = 0; lane < lane_count; ++lane)
      for (const auto& [batch, request] : model_->lanes[lane].second) {
        Action put{.what = Do::put, .batch = batch, .request = request, .lane = lane};
        loaded->perform(put, 0);
      }
    if (loaded->registry.hash() != registry_->registry.hash()) return fail(i, "loaded: another hash");
    const StateRows again = loaded->save();
    if (again != saved) {
      for (const auto& [key, bytes] : saved)
        if (const auto at = again.find(key); at == again.end() || at->second != bytes)
          return fail(i, "saved again, it has other bytes: " + muster::StateError{key, ""}.text());
      return fail(i, "saved again, it has more rows");
    }
    if (model_->timers.size() != static_cast<std::size_t>(std::ranges::count_if(saved, [](const auto& row) {
          return row.first.section == muster::StateSection::timers;
        })))
      return fail(i, "another number of timers was saved");
    loaded_ = std::move(loaded);
    check_state(i);
    ++report_.covered["saved and loaded"];
    if (model_->carried()) ++report_.covered["saved and loaded with carried messages"];
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
    if (a.what == Do::push || a.what == Do::post) message(a.message);
    for (const Message& m : a.batch) message(m);
  }

  const Program& program_;
  bool trace_;
  bool at_loaded_ = false;
  Report report_;
  Recorder recorder_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Participant> registry_, loaded_;
  std::vector<Subscribed> subscribed_;
  std::vector<Entity> granted_;
};

}  // namespace

Program make_program(std::uint64_t seed) {
  Random random(seed);
  Program made;
  made.seed = seed;
  made.cascade_messages_max = random.percent(60) ? 10'000'000 : random.one_of<std::uint64_t>({3, 7, 40});
  made.crowd = seed % 20 == 0;
  const auto add = [&](Do what) { made.steps.push_back({what, random.next()}); };
  for (std::uint64_t i = 6 + random.below(24); i > 0; --i) add(Do::subscribe);
  for (std::uint64_t i = 6; i > 0; --i) add(random.percent(80) ? Do::create : Do::create_many);
  add(Do::grant);
  for (std::uint64_t i = made.crowd ? 4 : 0; i > 0; --i) add(i % 2 ? Do::destroy : Do::create_many);
  const std::size_t first = made.steps.size();
  const std::size_t count = 200 + random.below(60);
  while (made.steps.size() < first + count) add(any_step(random));
  // Save and load at a random tick, or twice.
  for (std::uint64_t i = random.below(3); i > 0; --i) made.steps[first + random.below(count)].what = Do::reload;
  return made;
}

Report run(const Program& program, bool trace) { return Run(program, trace).run(); }

Program shrink(Program failing) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(20);
  const auto fails = [](const Program& p) { return run(p).failure; };
  if (const auto failure = fails(failing)) failing.steps.resize(failure->step + 1);
  for (std::size_t size = std::max<std::size_t>(failing.steps.size() / 2, 1); Clock::now() < until;) {
    bool smaller = false;
    for (std::size_t at = 0; at < failing.steps.size() && Clock::now() < until;) {
      Program tried = failing;
      const auto from = tried.steps.begin() + static_cast<std::ptrdiff_t>(at);
      tried.steps.erase(from, from + static_cast<std::ptrdiff_t>(std::min(size, tried.steps.size() - at)));
      if (const auto failure = fails(tried)) {
        tried.steps.resize(failure->step + 1);
        failing = std::move(tried);
        smaller = true;
      } else {
        at += size;
      }
    }
    if (size == 1 && !smaller) break;
    if (!smaller || size > failing.steps.size()) size = std::max<std::size_t>(size / 2, 1);
  }
  return failing;
}

std::string explain(const Program& failing) {
  const Report report = run(failing, true);
  std::string text = "program of seed " + std::to_string(failing.seed) + ", " + std::to_string(failing.steps.size()) +
                     " steps, at most " + std::to_string(failing.cascade_messages_max) + " messages per cascade\n";
  for (std::size_t i = 0; i < report.trace.size(); ++i)
    text += "  " + std::to_string(i) + ". " + report.trace[i] + "\n";
  if (report.failure) text += "  step " + std::to_string(report.failure->step) + ": " + report.failure->what + "\n";
  return text;
}

const std::vector<std::string>& features() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> made;
    for (const auto& [what, weight] : weights) made.push_back(std::string("step: ") + name(what));
    for (const HandlerKind& kind : handler_kinds()) made.push_back(std::string("handler: ") + kind.name);
    for (const char* each : {"saved and loaded",
                             "saved and loaded with carried messages",
                             "saved and loaded with posts waiting",
                             "saved and loaded with timers waiting",
                             "cascade cut short",
                             "carried messages overtaken",
                             "timer fell due",
                             "timer cancelled",
                             "message consumed",
                             "pass skipped by on_begin",
                             "pass of a message that a handler changes",
                             "handler of a structure message",
                             "component read from an ancestor",
                             "component read from the ancestor with another",
                             "component looked up by id",
                             "handler skipped: no such ancestor",
                             "name clash: suffix taken",
                             "subtree destroyed",
                             "row moved by Set",
                             "SetField applied",
                             "SetFieldIf applied",
                             "subtree moved to another depth",
                             "id reused",
                             "order of handlers contradicts itself",
                             "message to one entity",
                             "message to a span",
                             "message to the world",
                             "message to parts of a line",
                             "message to a later time",
                             "table",
                             "followed: Added",
                             "followed: Removed",
                             "followed: Changed",
                             "refused: dead_entity",
                             "refused: id_not_granted",
                             "refused: missing_component",
                             "refused: unknown_component",
                             "refused: unknown_field",
                             "refused: name_taken",
                             "refused: bad_name",
                             "refused: cycle",
                             "refused: value_mismatch",
                             "refused: bad_value",
                             "refused in a cascade: cycle"})
      made.emplace_back(each);
    return made;
  }();
  return all;
}

}  // namespace naive

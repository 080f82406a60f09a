// The slice is replayed by two registries in lockstep if it is checked: one that does every tick
// twice (Synctest), and a twin that does not (ReplayTwin). The first finds what changes from call
// to call, and the second what differs between processes, such as addresses.
#include "server/world/replay/replay.h"

#include <bit>
#include <optional>
#include <set>
#include <utility>

#include "registry/host.h"
#include "server/world/journal/code_identity.h"
#include "server/world/journal/record_reader.h"
#include "server/world/replay/recorded_run.h"
#include "server/world/replay/replay_twin.h"
#include "server/world/replay/replay_world.h"

namespace muster {
namespace {

class Replay {
 public:
  Replay(const Slice& slice, const ReplayInstall& install, const ReplayOptions& options)
      : slice_(slice), install_(install), options_(options), world_(options.workers, options.check) {}

  Replayed run() {
    report_.tick = slice_.tick;
    if (auto loaded = world_.load(slice_, install_, options_.any_code); !loaded) return loaded;
    if (auto fits = check_handlers(); !fits) return fits;
    if (options_.check) {
      twin_.emplace(install_, options_.install_again, options_.any_code);
      if (auto loaded = twin_->begin(slice_); !loaded) return loaded;
      synctest_.emplace(world_.registry);
      twins_.emplace(world_.registry, twin_->registry(), &*synctest_);
    }
    begin_tick();
    for (const JournalGroup& group : slice_.groups) {
      if (auto taken = take(group); !taken) return taken;
      if (at_end_) break;
    }
    recorded_.compare_state();
    end_tick();
    report_.sequence = world_.registry.sequence();
    report_.hash = world_.registry.hash();
    recorded_.finish();
    return {};
  }
  ReplayReport& report() { return report_; }

 private:
  /// Without a game's handlers, its inputs do nothing, and nothing can differ.
  Replayed check_handlers() {
    if (slice_.groups.empty()) return {};
    const std::string& recorded = slice_.groups.front().code;
    const std::string now = code_identity(options_.code, world_.registry);
    if (recorded == now) return {};
    report_.recorded_by = recorded;
    report_.replayed_by = now;
    const std::string_view handlers = handlers_part(recorded);
    if (!options_.any_code || !handlers_part(now).starts_with("0 ") || handlers.starts_with("0 ")) return {};
    return replay_fault(WorldErrorCode::setup,
                        "there are no handlers here, so that nothing could differ, but its inputs were recorded with " +
                            std::string(handlers.substr(0, handlers.rfind(' '))) + " (" + recorded +
                            "). Name the plugins with --plugin");
  }
  Replayed take(const JournalGroup& group) {
    const std::string place = "journal group " + std::to_string(group.id);
    const auto damaged = [&](const std::string& what) { return replay_fault(WorldErrorCode::damaged, place + what); };
    EntityRegistry& registry = world_.registry;
    if (group.first != registry.sequence() + 1)
      return damaged(": begins with input " + std::to_string(group.first) + ", where " +
                     std::to_string(registry.sequence() + 1) + " comes next");
    if (!options_.any_code) {
      if (const std::string now = code_identity(options_.code, registry); group.code != now)
        return replay_fault(WorldErrorCode::incompatible,
                            place + ": another build wrote it (" + group.code + ") than runs now (" + now + ")");
      if (group.types != registry.types().fingerprint())
        return replay_fault(WorldErrorCode::incompatible, place + ": the types are others than when it was written");
    }
    if (group.types != registry.types().fingerprint()) recorded_.types_differ();
    RecordReader reader(group.records, group.first);
    for (;;) {
      const auto read = reader.next(registry.types());
      if (!read) return damaged(", " + read.error().text);
      if (!*read) break;
      if (auto done = replay(**read); !done) return damaged(", " + done.error().what);
      if (at_end_) return {};
    }
    if (registry.sequence() == group.last) return {};
    return damaged(": ends with input " + std::to_string(registry.sequence()) + ", not " + std::to_string(group.last));
  }
  /// Calls act for this registry, and at the end of the tick for the twin.
  template <class F>
  void both(F act) {
    act(world_.registry);
    if (twins_) twin_->later(std::move(act));
  }
  Replayed replay(const JournalRecord& record) {
    switch (record.kind) {
      case JournalRecord::Kind::tick:
        ++report_.ticks;
        report_.tick = record.tick;
        recorded_.compare_hashes();
        break;
      case JournalRecord::Kind::schema: {
        const auto error = std::make_shared<std::string>();
        both([error, schema = record.schema](EntityRegistry& registry) {
          if (auto added = registry.types().add_schema(schema); !added) *error = added.error().text();
        });
        if (!error->empty()) return replay_fault(WorldErrorCode::damaged, "the schema does not fit: " + *error);
        break;
      }
      case JournalRecord::Kind::counters:
        both([counters = record.counters](EntityRegistry& registry) { registry.host().set_counters(counters); });
        break;
      case JournalRecord::Kind::cut:
        both([cut = record.cut](EntityRegistry& registry) { registry.host().expect_cut(cut); });
        break;
      case JournalRecord::Kind::input:
        recorded_.compare_state();
        if (record.envelope.kind == InputKind::advance) {
          end_tick();
          at_end_ = report_.tick >= options_.to_tick;
          if (at_end_) break;
          begin_tick();
          in_tick_.ticks = 1;
        }
        // The bytes of the batch are in the group, which outlives the replay.
        both([record](EntityRegistry& registry) {
          for (const CascadeCut& cut : record.cuts) registry.host().expect_cut(cut);
          registry.host().replay(record.envelope, record.batch);
        });
        ++report_.inputs;
        ++in_tick_.inputs;
        break;
    }
    return {};
  }

  void begin_tick() {
    in_tick_ = {};
    not_begun_.clear();
    if (synctest_)
      if (const auto kept = synctest_->begin(); !kept) not_begun_ = kept.error();
    if (twins_) twins_->begin();
  }
  void end_tick() {
    if (twins_) twin_->do_all();
    std::optional<SyncDifference> apart, again;
    if (synctest_) {
      auto found = synctest_->end();
      if (!found || !not_begun_.empty()) {
        if (in_tick_.inputs > 0) tell(found ? not_begun_ : found.error());
        add(report_.not_twice);
      } else {
        add(report_.twice);
        again = std::move(*found);
      }
    }
    // If results differ, they differ from the twin's, too. Otherwise, they are compared with it.
    const auto results_differ = [](const std::optional<SyncDifference>& found) {
      return found && found->float_mode.empty();
    };
    if (twins_ && !results_differ(again)) {
      apart = twins_->end();
      add(report_.second);
    }
    if (again) note(*again, ComparedWith::repetition);
    if (apart) note(*apart, ComparedWith::second_registry);
    in_tick_ = {};
    // Later inputs would differ as a consequence. At times, the twin begins anew although nothing
    // differs, because handlers may remember what they should not.
    constexpr std::uint64_t anew_from = 4;
    constexpr std::size_t anew_max = 64;  // because of differences
    const bool differs = results_differ(apart) || results_differ(again);
    if (differs) ++differing_ticks_;
    const bool is_due = !slice_.in_run && report_.ticks >= anew_from && std::has_single_bit(report_.ticks);
    if (!twins_ || !(differs || is_due)) return;
    twins_.reset();
    if (slice_.in_run || differing_ticks_ > anew_max) return;
    if (const auto begun = twin_->begin_like(world_); begun)
      twins_.emplace(world_.registry, twin_->registry(), &*synctest_);
    else
      tell("a second registry cannot begin with the state of tick " + std::to_string(report_.tick) + ": " +
           begun.error().what);
  }
  void add(ReplayCount& count) const noexcept {
    count.inputs += in_tick_.inputs;
    count.ticks += in_tick_.ticks;
  }

  void note(const SyncDifference& found, ComparedWith with) {
    const std::string value = found.handler + ' ' + found.message + ' ' + found.component + ' ' + found.field;
    if (report_.differences.size() < ReplayReport::listed_max && noted_.insert(value).second)
      report_.differences.push_back({.tick = report_.tick, .found = found, .with = with});
  }
  void tell(const std::string& why) {
    if (told_.insert(why).second) report_.not_compared.push_back(why);
  }

  const Slice& slice_;
  const ReplayInstall& install_;
  const ReplayOptions& options_;
  ReplayWorld world_;
  std::optional<ReplayTwin> twin_;
  std::optional<Synctest> synctest_;
  std::optional<TwinTest> twins_;
  ReplayReport report_;
  std::set<std::string> noted_, told_;
  std::size_t differing_ticks_ = 0;
  ReplayCount in_tick_;    // inputs since begin_tick()
  std::string not_begun_;  // the reason why they are not done twice, if that is known already
  RecordedRun recorded_{slice_, options_.hashes, world_.registry, report_};
  bool at_end_ = false;
};

}  // namespace

std::expected<ReplayReport, WorldError> replay(const std::string& path, const Slice& slice,
                                               const ReplayInstall& install, const ReplayOptions& options) {
  Replay one(slice, install, options);
  if (auto done = one.run(); !done) return std::unexpected(WorldError(done.error().code, path, done.error().what));
  return std::move(one.report());
}

}  // namespace muster

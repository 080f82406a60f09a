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
    end_tick();
    report_.sequence = world_.registry.sequence();
    report_.hash = world_.registry.hash();
    if (synctest_) report_.compared = synctest_->repeated();
    return {};
  }
  ReplayReport& report() { return report_; }

 private:
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
        compare_hashes();
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
        if (record.envelope.kind == InputKind::advance) {
          end_tick();
          at_end_ = report_.tick >= options_.to_tick;
          if (at_end_) break;
          begin_tick();
        }
        // The bytes of the batch are in the group, which outlives the replay.
        both([record](EntityRegistry& registry) {
          for (const CascadeCut& cut : record.cuts) registry.host().expect_cut(cut);
          registry.host().replay(record.envelope, record.batch);
        });
        ++report_.inputs;
        break;
    }
    return {};
  }

  void begin_tick() {
    if (synctest_)
      if (const auto kept = synctest_->begin(); !kept) tell(kept.error());
    if (twins_) twins_->begin();
  }
  void end_tick() {
    if (twins_) twin_->do_all();
    std::optional<SyncDifference> apart, again;
    if (synctest_) {
      auto found = synctest_->end();
      if (!found)
        tell(found.error());
      else
        again = std::move(*found);
    }
    // If results differ, they differ from the twin's, too. Otherwise, they are compared with it.
    const auto results_differ = [](const std::optional<SyncDifference>& found) {
      return found && found->float_mode.empty();
    };
    if (twins_ && !results_differ(again)) apart = twins_->end();
    if (again) note(*again);
    if (apart) note(*apart);
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
  /// Compares the changes since the last tick with those that were recorded.
  void compare_hashes() {
    if (next_hash_ >= options_.hashes.size()) return;
    EntityRegistry& registry = world_.registry;
    const auto at = [&](const TickHash& hash) { return std::pair(hash.sequence, hash.tick); };
    const auto now = std::pair(registry.sequence(), report_.tick);
    while (next_hash_ < options_.hashes.size() && at(options_.hashes[next_hash_]) < now) ++next_hash_;
    // The first recorded tick may have begun before the checkpoint.
    const bool is_first = hashed_since_ == 0;
    const std::uint64_t since = std::exchange(hashed_since_, registry.host().begin_version());
    if (is_first || next_hash_ >= options_.hashes.size() || at(options_.hashes[next_hash_]) != now) return;
    const auto& recorded = options_.hashes[next_hash_].columns;
    const auto made = hash_changed_columns(registry, since);
    ++report_.hashes;
    if (made == recorded) return;
    for (const auto* const columns : {&recorded, &made})
      for (const auto& [name, number] : *columns) {
        const auto one = recorded.find(name), other = made.find(name);
        if (one != recorded.end() && other != made.end() && one->second == other->second) continue;
        SyncDifference found;
        found.first_sequence = found.last_sequence = registry.sequence();
        found.component = name;
        found.part = "the values of " + name + " that were recorded and those of the replay";
        for (const Handler* const handler : registry.host().handlers().handlers())
          for (const Term& term : handler->terms)
            if (const TypeDescriptor* const type = registry.types().find(term.type);
                type && type->name == name && term.access == Access::write)
              found.suspects.push_back('"' + handler->name + '"');
        note(found);
      }
    next_hash_ = options_.hashes.size();  // what comes now differs as a consequence
  }
  void note(const SyncDifference& found) {
    const std::string value = found.handler + ' ' + found.message + ' ' + found.component + ' ' + found.field;
    if (report_.differences.size() < ReplayReport::listed_max && noted_.insert(value).second)
      report_.differences.push_back({.tick = report_.tick, .found = found});
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
  std::size_t next_hash_ = 0;
  std::uint64_t hashed_since_ = 0;  // version
  std::size_t differing_ticks_ = 0;
  bool at_end_ = false;
};

}  // namespace

std::string ReplayDifference::text() const { return "tick " + std::to_string(tick) + ": " + found.text(); }

std::expected<ReplayReport, WorldError> replay(const std::string& path, const Slice& slice,
                                               const ReplayInstall& install, const ReplayOptions& options) {
  Replay one(slice, install, options);
  if (auto done = one.run(); !done) return std::unexpected(WorldError(done.error().code, path, done.error().what));
  return std::move(one.report());
}

}  // namespace muster

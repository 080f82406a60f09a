// Answers questions about the whole world: saves, plugins, schemas, ids, and statistics.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "registry/apply/timers.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "server/figures/figures.h"
#include "server/questions/answer_sources.h"
#include "server/questions/question_table.h"

namespace muster {
namespace {

class Saving final : public SeldomWork {
 public:
  explicit Saving(const Asked& asked) : SeldomWork(asked, asked.of().seldom) {}

 private:
  Progress piece() override {
    sequence_ = asked_.registry.sequence();
    // The session may end before the world has been saved, which destroys this object. Another save
    // may also be in progress.
    const bool begun = asked_.of().world.begin_save([to = saved_](WorldSide::Saved saved) { *to = std::move(saved); });
    return begun ? Progress::again : Progress::elsewhere;
  }
  Progress finish(Steps&) override {
    if (!*saved_) return Progress::elsewhere;
    if (**saved_)
      asked_.answer(session::Saved{.sequence = sequence_});
    else
      asked_.fault(fault_of(session::FaultCode::failed, "save_failed", (*saved_)->error()));
    return Progress::done;
  }

  std::uint64_t sequence_ = 0;
  const std::shared_ptr<std::optional<WorldSide::Saved>> saved_ = std::make_shared<std::optional<WorldSide::Saved>>();
};

void reload(const Asked& asked, const std::string& plugin) {
  const auto done = asked.of().world.reload(plugin);
  if (!done) return asked.fault(fault_of(session::FaultCode::failed, "reload_failed", done.error()));
  asked.of().desk.learn_types();
  session::Reloaded reloaded;
  reloaded.sequence = asked.registry.sequence();
  for (const ReloadedPlugin& each : *done) {
    reloaded.plugins.push_back(each.name);
    reloaded.builds.push_back(each.build);
    reloaded.builds_before.push_back(each.build_before);
    reloaded.changed.push_back(each.changed ? 1 : 0);
  }
  asked.answer(reloaded);
}

void add_schema(const Asked& asked, std::span<const std::uint8_t> bfbs) {
  if (const std::string* const error = asked.of().world.recording_error())
    return asked.fault(not_recorded_fault(*error));
  EntityRegistry& registry = asked.registry;
  const std::size_t before = registry.types().types().size();
  std::uint64_t bytes = bfbs.size();
  for (const auto& schema : registry.types().schemas()) bytes += schema.size();
  if (bytes > asked.limits.schemas_bytes_max)
    return asked.fault(fault_of(session::FaultCode::refused, "schemas_bytes_max",
                                "the world's schemas would have " + std::to_string(bytes) + " bytes; " +
                                    std::to_string(asked.limits.schemas_bytes_max) + " are allowed"));
  if (auto added = registry.types().add_schema(std::as_bytes(bfbs)); !added) {
    session::Fault fault = fault_of(session::FaultCode::refused, "bad_schema",
                                    "the schema does not fit this world: " + added.error().text());
    fault.field = added.error().field;
    return asked.fault(fault);
  }
  asked.of().desk.learn_types();
  asked.answer(session::SchemaAdded{.types = static_cast<std::uint32_t>(registry.types().types().size() - before)});
}

/// Requires seldom work only if the hash was requested.
class Informing final : public SeldomWork {
 public:
  Informing(const Asked& asked, bool with_hash) : SeldomWork(asked, asked.of().seldom) {
    if (!with_hash) skip_pieces();
  }

 private:
  Progress piece() override {
    answer(asked_.registry.hash());
    return Progress::done;
  }
  Progress finish(Steps& steps) override {
    if (const auto why = waits()) return *why;
    steps.spend_bytes(4096);
    answer(0);
    return Progress::done;
  }
  void answer(std::uint64_t hash) const {
    const EntityRegistry& registry = asked_.registry;
    const AnswerSources& of = asked_.of();
    const WorldFacts& facts = of.world.facts();
    session::Info info;
    info.sequence = registry.sequence();
    info.clock_ns = registry.now_ns();
    info.hash = hash;
    // The number of entities, like the hash, depends on what is hidden.
    info.entities = asked_.sight ? 0 : static_cast<std::uint32_t>(registry.entity_count());
    info.types = static_cast<std::uint32_t>(asked_.type_count());
    info.sessions = static_cast<std::uint32_t>(of.desk.present().size());
    info.watches = of.watches.count();
    info.uptime_ns = of.desk.uptime_ns();
    info.hz = facts.hz;
    info.world = facts.world;
    info.server = facts.program;
    info.plugins = of.world.plugins();
    const session::Durable durable = of.durable.state();
    info.durable_sequence = durable.sequence;
    info.saved_sequence = durable.saved_sequence;
    info.durability = durable.durability;
    info.autosave_ns = durable.autosave_ns;
    info.error = durable.error;
    info.save_error = text_of(of.world.save_error());
    // The size of the files depends on it, too.
    if (info.save_error.empty() && !asked_.sight) info.save_error = of.world.size_warning();
    if (const std::optional<Run> run = of.world.run()) {
      info.playing = true;
      info.level_tick = run->tick;
    }
    asked_.answer(info);
  }
};

std::vector<session::TimeCount> time_counts(const TimeCounts& times) {
  std::vector<session::TimeCount> counts;
  for (std::uint32_t i = 0; i < TimeCounts::classes; ++i)
    if (times.count(i) > 0) counts.push_back({.below_ns = TimeCounts::end_of(i), .count = times.count(i)});
  return counts;
}

}  // namespace

std::unique_ptr<SeldomWork> begin_seldom(const Asked& asked, const session::Save&) {
  return std::make_unique<Saving>(asked);
}

std::unique_ptr<SeldomWork> begin_seldom(const Asked& asked, const session::Reload& what) {
  return seldom_once(asked, asked.of().seldom, [asked, what] { reload(asked, what.plugin); });
}

std::unique_ptr<SeldomWork> begin_seldom(const Asked& asked, const session::AddSchema& what) {
  return seldom_once(asked, asked.of().seldom, [asked, what] { add_schema(asked, what.bytes); });
}

std::unique_ptr<SeldomWork> begin_seldom(const Asked& asked, const session::GetInfo& what) {
  return std::make_unique<Informing>(asked, what.hash == 1 && !asked.sight);
}

void answer_once(const Asked& asked, const session::RequestGrant& what, Steps& steps) {
  steps.spend(std::min(what.count, asked.limits.grant_count_max) / 8);
  if (const auto granted = asked.of().desk.grant(asked.to(), what.count))
    asked.answer(*granted);
  else
    asked.fault(granted.error());
}

void answer_once(const Asked& asked, const session::GetLoad&, Steps&) {
  const EntityRegistry& registry = asked.registry;
  const AnswerSources& of = asked.of();
  session::Load load;
  load.sequence = registry.sequence();
  load.processor_ns = of.world.processor_ns();
  load.memory_bytes = resident_bytes();
  if (const TimeCounts* const ticks = of.world.tick_times()) {
    load.ticks = time_counts(*ticks);
    load.tick_ns_max = ticks->longest_ns();
  }
  const std::shared_ptr<Seat> seat = asked.to().seat();
  load.edits = time_counts(seat->edit_waits);
  load.edit_ns_max = seat->edit_waits.longest_ns();
  load.entities = static_cast<std::uint32_t>(registry.entity_count());
  load.archetypes = static_cast<std::uint32_t>(registry.host().storage().archetypes().size());
  load.texts = static_cast<std::uint32_t>(registry.host().texts().size());
  load.timers = static_cast<std::uint32_t>(registry.host().timers().size());
  load.templates = static_cast<std::uint32_t>(registry.host().template_count());
  load.questions = static_cast<std::uint32_t>(of.desk.questions_waiting());
  asked.answer(load);
}

}  // namespace muster

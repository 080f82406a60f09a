// The world side of a desk, built from functions that a test sets. A function that is not set has
// WorldSide's default behavior.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/session/world_side.h"

namespace muster::testing {

class HandWorld final : public WorldSide {
 public:
  WorldFacts known;
  std::function<void()> on_wake = [] {};
  std::function<void(std::chrono::nanoseconds)> on_wake_in;
  std::function<void(const std::string&)> on_warn;
  std::function<void(const TypeTable&)> on_types;
  std::function<std::uint64_t()> gives_durable, gives_saved, gives_processor_ns;
  std::function<std::string()> gives_hang, gives_size_warning;
  std::function<EditHistory*()> gives_history;
  std::function<Saved()> on_save;  ///< done at once
  std::function<const std::string*()> gives_error, gives_save_error;
  std::function<Pace()> gives_pace;
  std::function<std::expected<void, PaceFault>(const Pace&)> on_pace;
  std::function<std::uint64_t()> gives_tick;
  std::function<const TimeCounts&()> gives_tick_times;
  std::function<std::vector<std::string>()> gives_plugins;
  std::function<std::expected<std::vector<ReloadedPlugin>, std::string>(std::string_view)> on_reload;

  std::uint64_t its_epoch = 0, its_lineage = 1;
  std::function<AppliedRequests*()> gives_applied_requests;
  std::function<std::optional<Run>()> gives_run;
  std::function<std::vector<KeepReport>()> gives_kept;
  std::function<std::expected<void, std::string>(bool)> on_set_run;  ///< done at once

  std::uint64_t epoch() const override { return its_epoch; }
  std::uint64_t lineage() const override { return its_lineage; }
  AppliedRequests* applied_requests() override { return gives_applied_requests ? gives_applied_requests() : nullptr; }
  std::optional<Run> run() const override { return gives_run ? gives_run() : std::nullopt; }
  void set_run(bool on, RunDone then) override {
    if (on_set_run)
      then(on_set_run(on));
    else
      WorldSide::set_run(on, std::move(then));
  }
  std::vector<KeepReport> kept() const override { return gives_kept ? gives_kept() : WorldSide::kept(); }
  const WorldFacts& facts() const noexcept override { return known; }
  void wake() override { on_wake(); }
  void wake_in(std::chrono::nanoseconds time) override {
    if (on_wake_in) on_wake_in(time);
  }
  void tell_types(const TypeTable& types) override {
    if (on_types) on_types(types);
  }
  void warn(const std::string& line) override {
    if (on_warn) on_warn(line);
  }
  std::uint64_t durable_sequence() const override { return gives_durable ? gives_durable() : 0; }
  std::uint64_t saved_sequence() const override { return gives_saved ? gives_saved() : WorldSide::saved_sequence(); }
  std::uint64_t processor_ns() const override { return gives_processor_ns ? gives_processor_ns() : 0; }
  std::string hang() const override { return gives_hang ? gives_hang() : std::string(); }
  bool begin_save(const std::function<void(Saved)>& then) override {
    then(on_save ? on_save() : Saved());
    return true;
  }
  const std::string* recording_error() const override { return gives_error ? gives_error() : nullptr; }
  const std::string* save_error() const override { return gives_save_error ? gives_save_error() : nullptr; }
  std::string size_warning() const override { return gives_size_warning ? gives_size_warning() : std::string(); }
  EditHistory* history() override { return gives_history ? gives_history() : nullptr; }
  std::optional<Pace> pace() const override { return gives_pace ? std::optional(gives_pace()) : std::nullopt; }
  std::expected<void, PaceFault> set_pace(const Pace& pace) override { return on_pace(pace); }
  std::uint64_t tick() const override { return gives_tick ? gives_tick() : 0; }
  const TimeCounts* tick_times() const override { return gives_tick_times ? &gives_tick_times() : nullptr; }
  std::vector<std::string> plugins() const override {
    return gives_plugins ? gives_plugins() : std::vector<std::string>();
  }
  std::expected<std::vector<ReloadedPlugin>, std::string> reload(std::string_view which) override {
    return on_reload ? on_reload(which) : WorldSide::reload(which);
  }
};

}  // namespace muster::testing

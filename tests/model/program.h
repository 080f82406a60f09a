// Random programs: generated from a seed, run side by side on the naive model and the registry, and
// shrunk when they fail.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/steps/actions.h"

namespace naive {

struct Step {
  Do what = Do::flush;
  std::uint64_t seed = 0;
};
struct Program {
  std::uint64_t seed = 0;
  std::uint64_t cascade_messages_max = 10'000'000;
  std::uint64_t carried_messages_max = 10'000'000;
  bool crowd = false;  ///< few programs have thousands of entities: many chunks, ids used again
  /// Also draws spans of several batches and floods of messages. False in the first 200 programs,
  /// so that they do not change.
  bool wide = false;
  bool enableable = false;  ///< also draws components that come and go without moving their rows
  bool other_way = true;    ///< a second registry runs beside the first with a different setup
  bool replayed = false;    ///< another registry replays only what the first one's sink received
  std::vector<Step> steps;
  muster::Executor* executor = nullptr;  ///< of its registries; several workers share every pass
};
Program make_program(std::uint64_t seed);
/// Settings that must not affect a registry's results: how it is created and what is recorded
/// meanwhile.
struct Way {
  enum class Recorded : std::uint8_t { never, always, now_and_then };
  muster::RegistryOptions options;
  Recorded causes = Recorded::never, figures = Recorded::never;
  /// Pushes that the sink refuses use memory before and between the steps.
  bool disturbed = false;
  /// Between steps the registry sometimes gets another state, in which something happens, and then
  /// its own state again.
  bool elsewhere = false;
};
/// Returns the default settings.
Way plain_way(const Program& program);
/// Returns different settings, drawn from a separate generator, so that the program stays the same.
Way other_way(const Program& program, std::uint64_t number);
/// Returns the weight of each kind of step; `wide` programs have more kinds.
std::span<const std::pair<Do, unsigned>> step_weights(bool wide);

struct Failure {
  std::size_t step = 0;
  std::string what;
};
struct Report {
  std::optional<Failure> failure;
  std::uint64_t hash = 0;   ///< combined from the registry's hashes after every step
  std::uint64_t steps = 0;  ///< completed
  std::map<std::string, std::uint64_t> covered;
  std::vector<std::string> trace;  ///< each step in words, if requested
};
Report run(const Program& program, bool trace = false);

/// Removes steps as long as the program still fails.
Program shrink(Program failing);
/// Describes the program and its failure.
std::string explain(const Program& failing);

/// Returns the features that the first 200 programs must have covered at least once.
const std::vector<std::string>& features();
/// Returns the additional features that the first 300 programs with enableable components must have
/// covered.
const std::vector<std::string>& enableable_features();
/// Returns the additional features that the first 100 wide programs must have covered.
const std::vector<std::string>& wide_features();

}  // namespace naive

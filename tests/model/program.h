// Random programs: made from a seed, run on the naive model and the registry side by side, made small when they fail.
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
  bool crowd = false;  ///< few programs have thousands of entities: many chunks, ids used again
  /// Spans of several batches and floods of messages too. Not in the first 200 programs, which stay what they were.
  bool wide = false;
  bool enableable = false;  ///< components that come and go without their rows moving are drawn too
  bool other_way = true;    ///< a second registry runs beside the first in another way
  bool replayed = false;    ///< another one is given what the first one's sink was told, and nothing else
  std::vector<Step> steps;
  muster::Executor* executor = nullptr;  ///< of its registries; with several workers every pass is spread over them
};
Program make_program(std::uint64_t seed);
/// What must make no difference to a registry: how it is made and what is recorded meanwhile.
struct Way {
  enum class Recorded : std::uint8_t { never, always, now_and_then };
  muster::RegistryOptions options;
  Recorded causes = Recorded::never, figures = Recorded::never;
  /// Pushes that its sink refuses use memory before and between the steps.
  bool disturbed = false;
  /// Between steps it now and then gets another state, in which something happens, and then its own one again.
  bool elsewhere = false;
};
/// The plain way.
Way plain_way(const Program& program);
/// Any other one; drawn from a generator of its own, so that the program stays the same.
Way other_way(const Program& program, std::uint64_t number);
/// How often each kind of step comes, of the sum; `wide` ones have more kinds.
std::span<const std::pair<Do, unsigned>> step_weights(bool wide);

struct Failure {
  std::size_t step = 0;
  std::string what;
};
struct Report {
  std::optional<Failure> failure;
  std::uint64_t hash = 0;   ///< over the registry's hashes after every step
  std::uint64_t steps = 0;  ///< done
  std::map<std::string, std::uint64_t> covered;
  std::vector<std::string> trace;  ///< what each step was, if asked for
};
Report run(const Program& program, bool trace = false);

/// Leaves out steps as long as the program still fails.
Program shrink(Program failing);
/// The program in words, and why it fails.
std::string explain(const Program& failing);

/// What the first 200 programs must have met at least once.
const std::vector<std::string>& features();
/// What the first 300 programs with enableable components must have met besides.
const std::vector<std::string>& enableable_features();
/// What the first 100 wide programs must have met besides.
const std::vector<std::string>& wide_features();

}  // namespace naive

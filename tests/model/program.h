// Random programs: made from a seed, run on the naive model and the registry side by side, made small when they fail.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/actions.h"

namespace naive {

struct Step {
  Do what = Do::flush;
  std::uint64_t seed = 0;
};
struct Program {
  std::uint64_t seed = 0;
  std::uint64_t cascade_messages_max = 10'000'000;
  bool crowd = false;  ///< few programs have thousands of entities: many chunks, ids used again
  std::vector<Step> steps;
  muster::Executor* executor = nullptr;  ///< of its registries; with several workers every pass is spread over them
};
Program make_program(std::uint64_t seed);
/// How each registry of a program is made: the place to vary what must make no difference.
muster::RegistryOptions registry_options(const Program& program);
/// How often each kind of step comes, of the sum.
std::span<const std::pair<Do, unsigned>> step_weights();

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

/// What every suite of programs must have met at least once.
const std::vector<std::string>& features();

}  // namespace naive

#include "tests/model/program.h"

#include <chrono>

namespace naive {

namespace {

Do any_step(Random& random, bool wide) {
  unsigned sum = 0;
  for (const auto& [what, weight] : step_weights(wide)) sum += weight;
  auto roll = random.below(sum);
  for (const auto& [what, weight] : step_weights(wide)) {
    if (roll < weight) return what;
    roll -= weight;
  }
  return Do::flush;
}

}  // namespace

Program make_program(std::uint64_t seed) {
  Random random(seed);
  Program made;
  made.seed = seed;
  made.cascade_messages_max = random.percent(60) ? 10'000'000 : random.one_of<std::uint64_t>({3, 7, 40});
  if (seed % 4 == 1) made.carried_messages_max = 2 + seed % 23;
  made.crowd = seed % 20 == 0;
  made.wide = seed > 200;
  made.replayed = seed % 3 == 1;
  const auto add = [&](Do what) { made.steps.push_back({what, random.next()}); };
  for (std::uint64_t i = 8 + random.below(40); i > 0; --i) add(Do::subscribe);
  for (std::uint64_t i = 6; i > 0; --i) add(random.percent(80) ? Do::create : Do::create_many);
  add(Do::grant);
  for (std::uint64_t i = made.crowd ? 4 : 0; i > 0; --i) add(i % 2 ? Do::destroy : Do::create_many);
  const std::size_t first = made.steps.size();
  const std::size_t count = 200 + random.below(60);
  while (made.steps.size() < first + count) add(any_step(random, made.wide));
  // Save and load at a random tick, or twice.
  for (std::uint64_t i = random.below(3); i > 0; --i) made.steps[first + random.below(count)].what = Do::reload;
  return made;
}

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

}  // namespace naive

// Ways of running a program, which must make no difference.
#include "tests/model/program.h"

namespace naive {

Way plain_way(const Program& program) {
  return {.options = {.cascade_messages_max = program.cascade_messages_max,
                      .carried_messages_max = program.carried_messages_max,
                      .executor = program.executor,
                      .pass_serial_below_ns = 0,
                      .on_warning = [](const std::string&) {}}};  // cascades are cut on purpose
}

Way other_way(const Program& program, std::uint64_t number) {
  Random random((program.seed + 1) * 0x9e3779b97f4a7c15ull + number);
  using enum Way::Recorded;
  Way way = plain_way(program);
  way.options.shortcuts = random.percent(50);
  way.options.segment_bytes =
      random.one_of<std::size_t>({1024, 1024, 4096, 65536, muster::Arena::segment_bytes_default, 1u << 20});
  way.causes = random.one_of({never, always, now_and_then});
  way.figures = random.one_of({never, never, always, now_and_then});
  way.disturbed = random.percent(50);
  way.elsewhere = random.percent(50);
  return way;
}

}  // namespace naive

// Shared libraries that are no plugins, or none of ours. Which one: WRONG.
#include <cstdint>

#if WRONG == 6
#include "server/plugins/plugin_digest.h"
#endif

#if WRONG == 1  // no entry point
extern "C" int something_else() { return 1; }
#else

namespace game {
int nobody_has_this(int);
}

struct MusterPlugin;  // whose beginning are the arrays

extern "C" const MusterPlugin* muster_plugin() {
  // | interface 4 | layout 4 | headers 8 | pointers, all null |
  [[maybe_unused]] alignas(8) static constexpr std::uint32_t old_interface[64] = {1};
  [[maybe_unused]] alignas(8) static constexpr std::uint32_t other_headers[64] = {3, 1, 0x89abcdef, 0x01234567};
#if WRONG == 6
  [[maybe_unused]] alignas(8) static constexpr std::uint32_t other_layout[64] = {
      3, 1, static_cast<std::uint32_t>(muster_plugin_headers), muster_plugin_headers >> 32};
  return reinterpret_cast<const MusterPlugin*>(other_layout);
#elif WRONG == 2
  return nullptr;
#elif WRONG == 3
  return reinterpret_cast<const MusterPlugin*>(old_interface);
#elif WRONG == 4
  return reinterpret_cast<const MusterPlugin*>(other_headers);
#elif WRONG == 5
  return reinterpret_cast<const MusterPlugin*>(game::nobody_has_this(1) == 2 ? old_interface : other_headers);
#endif
}
#endif

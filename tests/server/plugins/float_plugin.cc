// A plugin that is compiled, or linked, so that floats have other bits.
#include <muster/plugin.h>

#if defined FLUSHES && defined __SSE__
#include <immintrin.h>

namespace {
/// As the start-up code does that -ffast-math links in.
[[maybe_unused]] const unsigned flushed = [] {
  _mm_setcsr(_mm_getcsr() | 0x8040);
  return 0u;
}();
}  // namespace
#endif

namespace {
muster::Handlers install(muster::EntityRegistry&) { return {}; }
}  // namespace

extern "C" const MusterPlugin* muster_plugin() {
  static constexpr MusterPlugin plugin = muster::plugin_of<install>("floats", "floats 1");
  return &plugin;
}

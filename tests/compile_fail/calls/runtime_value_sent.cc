// expect: the value of a runtime component is never sent; pass Has<T>{} instead
// The bytes of a C++ value mean nothing elsewhere, so Create and Set carry its presence only.
#include <muster/registry.h>

struct Sound {
  void* voice = nullptr;
};
template <>
struct muster::RuntimeTraits<Sound> {
  static constexpr std::string_view name = "test.Sound";
};
muster::Entity spelled(muster::EntityRegistry& registry) { return registry.create(muster::Has<Sound>{}); }
#ifdef VIOLATION
muster::Entity unspelled(muster::EntityRegistry& registry) { return registry.create(Sound{}); }
#endif

// The types of tests/messages/test_types.fbs, written by hand so that these tests need no generator.
#pragma once

#include <cstdint>

#include "schema/descriptor.h"

namespace test {

struct Damage {  // message
  float amount = 1;
  std::uint32_t zero = 0;
  muster::Entity from;
};
struct Tick {  // message
  double dt = 0;
};
struct Nudge {  // message, 12 bytes: items have padding behind it
  float x = 0, y = 0, z = 0;
};
struct alignas(16) Wide {  // message, aligned to 16
  std::uint64_t low = 0, high = 0;
};
struct Make {  // message that carries components
  muster::Entity parent;
};
struct Health {  // component
  float value = 100;
};
struct alignas(8) Tag64 {  // component
  std::uint64_t bits = 0;
};
struct alignas(16) Matrix {  // component, aligned to 16
  float m[4] = {};
};

}  // namespace test

#define MUSTER_TEST_TYPE(T, R)                                    \
  template <>                                                     \
  struct muster::TypeTraits<test::T> {                            \
    static constexpr std::string_view name = "test." #T;          \
    static constexpr muster::TypeId id = muster::hash32(name);    \
    static constexpr muster::TypeRole role = muster::TypeRole::R; \
  };
MUSTER_TEST_TYPE(Damage, message)
MUSTER_TEST_TYPE(Tick, message)
MUSTER_TEST_TYPE(Nudge, message)
MUSTER_TEST_TYPE(Wide, message)
MUSTER_TEST_TYPE(Make, message)
MUSTER_TEST_TYPE(Health, component)
MUSTER_TEST_TYPE(Tag64, component)
MUSTER_TEST_TYPE(Matrix, component)
#undef MUSTER_TEST_TYPE

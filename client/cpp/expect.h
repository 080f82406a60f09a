// Makes the expectations of an edit, for Client::push_if and Client::dry_run:
//
//   client.push_if({expect_parent(orc, town), expect_value(orc, game::Health{.value = 30})},
//                  orc, muster::Destroy{});
//
// If the world is not as expected, the edit fails with `refused`, and nothing of it is applied.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "messages/session.h"

namespace muster {

/// The entity has the component, with this value.
template <ComponentType C>
session::Expectation expect_value(Entity e, const C& value) {
  session::Expectation made{.entity = e, .component = TypeTraits<C>::id};
  made.value.resize(sizeof value);
  std::memcpy(made.value.data(), &value, sizeof value);
  return made;
}
template <ComponentType C>
session::Expectation expect_present(Entity e) {
  return {.what = session::Expect::present, .entity = e, .component = TypeTraits<C>::id};
}
template <ComponentType C>
session::Expectation expect_absent(Entity e) {
  return {.what = session::Expect::absent, .entity = e, .component = TypeTraits<C>::id};
}
/// Nil means that the entity is a root.
inline session::Expectation expect_parent(Entity e, Entity parent) {
  return {.what = session::Expect::parent, .entity = e, .parent = parent};
}
/// An empty name means that the entity has none.
inline session::Expectation expect_name(Entity e, std::string name) {
  return {.what = session::Expect::name, .entity = e, .name = std::move(name)};
}
/// Expects this number of entities below `e`, at any depth.
inline session::Expectation expect_descendants(Entity e, std::uint32_t count) {
  return {.what = session::Expect::descendants, .entity = e, .count = count};
}

}  // namespace muster

// The types of test_types.fbs, and the bytes of a batch that a test writes.
#pragma once

#include <catch2/catch.hpp>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/type_table.h"
#include "tests/messages/test_types.h"

namespace test {

/// One of them is enough for all: they come with their schema.
inline const muster::TypeTable& types() {
  static muster::TypeTable table;
  static const bool added = table.add<Damage>().has_value();
  REQUIRE(added);
  return table;
}

/// The bytes of the one batch that `write` makes.
template <class Write>
std::vector<std::byte> batch(Write&& write) {
  muster::BatchBuilder to;
  write(to);
  REQUIRE(to.batches() == 1);
  return {to.bytes().begin(), to.bytes().end()};
}

}  // namespace test

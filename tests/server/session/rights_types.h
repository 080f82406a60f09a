// The types of a game whose messages and components need different rights.
#pragma once

#include <catch2/catch.hpp>

#include "messages/type_table.h"
#include "schema/session.h"
#include "tests/server/rights.h"

namespace muster::test {

inline const TypeTable& types() {
  static const TypeTable& made = [] -> const TypeTable& {
    static TypeTable table;
    REQUIRE(table.add<rights::EditData>());
    REQUIRE(table.add<session::Hello>());
    return table;
  }();
  return made;
}

}  // namespace muster::test

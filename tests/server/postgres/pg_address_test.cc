#include "server/postgres/pg_address.h"

#include <catch2/catch.hpp>

namespace muster::test {

TEST_CASE("an address of PostgreSQL names a database and a world", "[postgres]") {
  const auto read = read_pg_address("postgres://ann@db.example:5433/worlds/town?sslmode=require");
  REQUIRE(read);
  CHECK(read->connection == "postgresql://ann@db.example:5433/worlds?sslmode=require");
  CHECK(read->world == "town");
  CHECK(read->shown == "postgres://ann@db.example:5433/worlds/town");
  CHECK(is_pg_address("postgresql://h/d/w"));
  CHECK_FALSE(is_pg_address("town.muster"));
}

TEST_CASE("the password of an address is not shown", "[postgres]") {
  const auto read = read_pg_address("postgres://ann:s3cret@db/worlds/town");
  REQUIRE(read);
  CHECK(read->connection == "postgresql://ann:s3cret@db/worlds");
  CHECK(read->shown == "postgres://ann@db/worlds/town");
  CHECK(shown_pg_address("postgresql://ann:s3cret@db:5433/worlds/town?password=s3cret") ==
        "postgres://ann@db:5433/worlds/town");
  CHECK(shown_pg_address("postgres://ann:s3cret@db") == "postgres://ann@db");
  CHECK(shown_pg_address("postgres://db:5433/worlds/town") == "postgres://db:5433/worlds/town");
  CHECK(shown_pg_address("town.muster") == "town.muster");
}

TEST_CASE("a world's name in an address may have any characters, some as %XX", "[postgres]") {
  CHECK(read_pg_address("postgres://h/d/a%2Fb%20%22c%C3%A4").value().world == "a/b \"c\xc3\xa4");
  CHECK(read_pg_address("postgres://h/d/Town's").value().world == "Town's");
}

TEST_CASE("an address that names no world is refused with what is wrong", "[postgres]") {
  for (const auto& [address, wrong] :
       {std::pair("postgres://h/d", "postgres://HOST/DATABASE/WORLD"),
        std::pair("postgres://h", "postgres://HOST/DATABASE/WORLD"),
        std::pair("postgres://h//w", "postgres://HOST/DATABASE/WORLD"), std::pair("postgres://h/d/", "missing"),
        std::pair("postgres://h/d/a/b", "%2F"), std::pair("postgres://h/d/a%2", "two digits"),
        std::pair("postgres://h/d/a%zz", "two digits"), std::pair("postgres://h/d/a%00", "not UTF-8"),
        std::pair("postgres://h/d/a%ff", "not UTF-8"), std::pair("postgres://h/d/pg_a", "PostgreSQL itself"),
        std::pair("postgres://h/d/public", "PostgreSQL itself")}) {
    INFO(address);
    const auto read = read_pg_address(address);
    REQUIRE_FALSE(read);
    CHECK(read.error().find(wrong) != std::string::npos);
  }
  CHECK_FALSE(read_pg_address("postgres://h/d/" + std::string(64, 'w')));
  CHECK(read_pg_address("postgres://h/d/" + std::string(63, 'w')));
}

}  // namespace muster::test

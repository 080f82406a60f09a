// Names that schemac tells apart or refuses. tests/schema/drawn draws many more.
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <string>

#include "tests/schema/run_schemac.h"

namespace {

/// Writes these files and runs schemac on `file`.
test::Said compile(const test::Folder& folder, const std::map<std::string, std::string>& files, const std::string& file,
                   const std::string& arguments = "--check") {
  for (const auto& [path, text] : files) {
    std::filesystem::create_directories(std::filesystem::path(folder / path).parent_path());
    test::write_file(folder / path, text);
  }
  return test::run_schemac_alone(folder, file + " " + arguments);
}

const std::string with_muster = "include \"schema/muster.fbs\";\n";

struct Refused {
  std::map<std::string, std::string> files;
  std::string file, error;
};

}  // namespace

TEST_CASE("A schema whose header or module would not compile is refused with file, line and type", "[clashes]") {
  const auto [files, file, error] = GENERATE(values<Refused>({
      {{{"types.fbs", "include \"units/types.fbs\"; namespace g; struct H { top:u.M; }"},
        {"units/types.fbs", "namespace u; struct M { v:int; }"}},
       "types.fbs",
       "types.fbs:1:9: types.fbs: units/types.fbs and types.fbs would both become types.h and types.ts; rename one of "
       "them"},
      {{{"game.fbs", "include \"units/types.fbs\"; struct A { x:int; }"},
        {"units/types.fbs", "include \"../types.fbs\";"},
        {"types.fbs", "namespace u; struct M { v:int; }"}},
       "game.fbs",
       "game.fbs:1:9: types.fbs: units/types.fbs and types.fbs would both become types.h and types.ts; rename "
       "one of "
       "them"},
      {{{"game.fbs", "include \"muster.fbs\"; namespace g; struct A { x:int; }"},
        {"muster.fbs", "namespace u; struct M { v:int; }"}},
       "game.fbs",
       "game.fbs:1:9: muster.fbs: muster.fbs is the name of Muster's own schema; rename this one"},
      {{{"box.fbs", "include \"lid.fbs\"; namespace g; table Box { l:Lid; }"},
        {"lid.fbs", "include \"box.fbs\"; namespace g; table Lid { b:Box; }"}},
       "box.fbs",
       "box.fbs:1:9: lid.fbs: files include each other: box.fbs -> lid.fbs -> box.fbs; declare their types in one "
       "file"},
      {{{"time.fbs", "namespace g; struct A { x:int; }"}},
       "time.fbs",
       "time.fbs:1:1: time.fbs: its header time.h would be included in place of <time.h>; rename it"},
      {{{"a.fbs", "namespace g;\nstruct class { x:int; }\nstruct class_ { x:int; }"}},
       "a.fbs",
       "a.fbs:3:8: g.class_: C++ would have one name, g::class_, for the type g.class_ and for the type g.class; "
       "rename one "
       "of them"},
      {{{"a.fbs", "namespace g;\ntable X { x:int; }\n  struct XView { x:int; }"}},
       "a.fbs",
       "a.fbs:3:10: g.XView: C++ would have one name, g::XView, for the type g.XView and for the view of the table "
       "g.X; "
       "rename one of them"},
      {{{"a.fbs", "namespace g;\nstruct a { x:int; }\nnamespace g.a; struct B { x:int; }"}},
       "a.fbs",
       "a.fbs:2:8: g.a: C++ would have one name, g::a, for the namespace g.a and for the type g.a; rename one of them"},
      {{{"a.fbs", "namespace muster.game;\nstruct A { x:int; }"}},
       "a.fbs",
       "a.fbs:2:8: muster.game.A: the namespace muster is for Muster's own schemas; use another one"},
      {{{"a.fbs", "struct muster { x:int; }"}},
       "a.fbs",
       "a.fbs:1:8: muster: the namespace muster is for Muster's own schemas; use another one"},
      {{{"a.fbs", with_muster + "namespace g; struct A (component, was: \"g.O\") { x:int; }\nstruct B (component, was: "
                                "\"g.O\") { x:int; }"}},
       "a.fbs",
       "a.fbs:3:8: g.B: was 'g.O' is also the older name of g.A"},
      {{{"a.fbs", with_muster + "namespace g; table A (message) { x:int (was: \"o\");\n y:int (was: \"o\"); }"}},
       "a.fbs",
       "a.fbs:3:2: g.A.y: was 'o' is also the older name of x"},
      {{{"a.fbs", with_muster + "namespace g; enum E : ubyte (native_type: \"int x; enum E\") { a }"}},
       "a.fbs",
       "a.fbs:2:19: g.E: native_type is not the name of an enum class, as in \"game::Team\""},
  }));
  const test::Folder folder;
  const test::Said said = compile(folder, files, file);
  CHECK(said.errors == error + "\n");
  CHECK(said.code == 1);
}

TEST_CASE("Names that C++ cannot use get an underscore, and stay apart from others", "[clashes]") {
  const test::Folder folder;
  const test::Said said = compile(
      folder,
      {{"a.fbs", with_muster + "namespace time.std; enum E : ubyte { none, class, class_, NAN, __linux__ }\n"
                               "enum any : ubyte (bit_flags) { a }\nstruct A (component) { kind:E; std:int; }\n"
                               "table to (message) { e:E = class; class:int; class_:int; from:muster.Entity; }"}},
      "a.fbs", "-o a.h");
  CHECK(said.errors.find("error") == std::string::npos);
  REQUIRE(said.code == 0);
  const std::string header = test::read_file(folder / "a.h");
  for (const char* text :
       {"namespace time_::std_ {", "  class__ = 1,\n  class_ = 2,\n  NAN_ = 3,\n  __linux___ = 4,",
        "enum class any_ :", "std::int32_t std_ = 0;", "std::int32_t class__ = 0;", "::muster::Entity from = {};",
        "E e = E::class__;", "write_table(::muster::TableEncoder& to, const ::time_::std_::to& from"}) {
    INFO(text);
    CHECK(header.find(text) != std::string::npos);
  }
}

TEST_CASE("A global name of a function that compilers know without a header gets an underscore", "[clashes]") {
  const test::Folder folder;
  const test::Said said = compile(
      folder, {{"a.fbs", "namespace isnan; struct isnan { conj:int; }\nnamespace g.isinf; struct A { x:int; }"}},
      "a.fbs", "-o a.h");
  INFO(said.errors);
  REQUIRE(said.code == 0);
  const std::string header = test::read_file(folder / "a.h");
  for (const char* text : {"namespace isnan_ {", "struct isnan {", " conj = 0;", "namespace g::isinf {"}) {
    INFO(text);
    CHECK(header.find(text) != std::string::npos);
  }
}

TEST_CASE("A table that is called like a function of its view is named from the global namespace in it", "[clashes]") {
  const test::Folder folder;
  const test::Said said = compile(
      folder, {{"a.fbs", "namespace g; table decode { x:int; }\ntable from { x:int; }\ntable Plain { x:int; }"}},
      "a.fbs", "-o a.h");
  INFO(said.errors);
  REQUIRE(said.code == 0);
  const std::string header = test::read_file(folder / "a.h");
  for (const char* text : {"  ::g::decode decode() const;", "  ::g::decode out;", "  ::g::from decode() const;",
                           "  ::g::from out;", "  Plain decode() const;", "  Plain out;"}) {
    INFO(text);
    CHECK(header.find(text) != std::string::npos);
  }
}

TEST_CASE("Padding has the name of no type that the struct uses", "[clashes]") {
  const test::Folder folder;
  const test::Said said = compile(folder,
                                  {{"a.fbs",
                                    "namespace g; enum padding4_ : int { a }\nstruct padding1_ { x:long; }\n"
                                    "struct A { kind:padding4_; y:long; }\nstruct B { x:byte; y:padding1_; }"}},
                                  "a.fbs", "-o a.h");
  INFO(said.errors);
  REQUIRE(said.code == 0);
  const std::string header = test::read_file(folder / "a.h");
  CHECK(header.find("  std::uint8_t padding4__[4] = {};") != std::string::npos);
  CHECK(header.find("  std::uint8_t padding1__[7] = {};") != std::string::npos);
}

TEST_CASE("A type of another namespace is named from the global namespace", "[clashes]") {
  const test::Folder folder;
  const test::Said said =
      compile(folder,
              {{"a.fbs", with_muster +
                             "namespace math; struct Vec { x:float; }\nnamespace game.math; struct Curve { k:float; }\n"
                             "namespace game; struct Place (component) { at:math.Vec; bend:math.Curve; }"}},
              "a.fbs", "-o a.h");
  INFO(said.errors);
  REQUIRE(said.code == 0);
  const std::string header = test::read_file(folder / "a.h");
  CHECK(header.find("  ::math::Vec at = {};\n  ::game::math::Curve bend = {};\n") != std::string::npos);
}

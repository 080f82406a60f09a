#include <catch2/catch.hpp>
#include <unordered_map>

#include "schema/hash.h"
#include "tests/schema/run_schemac.h"

namespace {

const std::string attributes =
    "attribute \"component\"; attribute \"message\"; attribute \"tag\"; attribute \"default\"; attribute \"unit\"; "
    "attribute \"range\"; attribute \"color\"; attribute \"text\"; attribute \"asset\"; attribute \"remote\"; "
    "attribute \"journal\"; attribute \"was\"; attribute \"enableable\"; attribute \"answer\"; "
    "attribute \"cost\"; attribute \"see\"; attribute \"mine\"; namespace g; ";

struct Wrong {
  const char* schema;
  const char* error;
};

}  // namespace

TEST_CASE("schemac names file, type and field of what is wrong and exits with 1", "[errors]") {
  const Wrong wrong = GENERATE(values<Wrong>({
      // Defaults.
      {"struct A { v:int (range: \"0, 100\", default: \"120\"); }", "g.A.v: default 120 is outside the range 0..100"},
      {"struct A { v:float (range: \"0.5, 1\"); }", "g.A.v: default 0 is outside the range 0.5..1"},
      {"struct A { v:[int:2] (range: \"0,9\", default: \"1, 10\"); }", "g.A.v: default 10 is outside the range 0..9"},
      {"struct A { v:int (default: \"many\"); }", "g.A.v: default 'many' is not a number of type int"},
      {"struct A { v:int (default: \"1.5\"); }", "g.A.v: default '1.5' is not a number of type int"},
      {"struct A { v:ubyte (default: \"256\"); }", "g.A.v: default '256' is not a number of type ubyte"},
      {"struct A { v:ubyte (default: \"-1\"); }", "g.A.v: default '-1' is not a number of type ubyte"},
      {"struct A { v:float (default: \"inf\"); }", "g.A.v: default 'inf' is not a finite number"},
      {"struct A { v:bool (default: \"yes\"); }", "g.A.v: default 'yes' is not true or false"},
      {"struct A { v:[int:3] (default: \"1, 2\"); }", "g.A.v: default has 2 values where 3 are needed"},
      {"struct V { x:int; y:int; } struct A { v:V (default: \"1\"); }",
       "g.A.v: default has 1 values where 2 are needed"},
      {"struct V { t:ulong (text); } struct A { v:V (default: \"1\"); }",
       "g.A.v: a struct that holds a text or an entity takes no default as a whole"},
      {"enum E:byte { a, b } struct A { e:E (default: \"c\"); }", "g.A.e: default 'c' is not a value of g.E"},
      {"enum E:byte { a, b } struct A { e:E (default: \"2\"); }", "g.A.e: default '2' is not a value of g.E"},
      {"enum E:ubyte (bit_flags) { a, b } struct A { e:E (default: \"a|8\"); }",
       "g.A.e: default 'a|8' is not a value of g.E"},
      {"table A { v:int (default: \"1\"); }",
       "g.A.v: attribute 'default' is for structs; a table's field has its default after '='"},
      {"table A { v:int = 5 (range: \"0,4\"); }", "g.A.v: default 5 is outside the range 0..4"},
      // Attributes.
      {"struct A (mine) { v:int; }", "g.A: unknown attribute 'mine'"},
      {"struct A { v:int (mine); }", "g.A.v: unknown attribute 'mine'"},
      {"enum E:byte (mine) { a }", "g.E: unknown attribute 'mine'"},
      {"enum E:byte (range: \"0,1\") { a }", "g.E: attribute 'range' does not belong to an enum"},
      {"struct A (default: \"1\") { v:int; }", "g.A: attribute 'default' belongs to a field, not to a type"},
      {"struct A (enableable) { v:int; }", "g.A: attribute 'enableable' needs a component"},
      {"namespace game; struct Shield (component, enableable) { v:int; } struct C3u5eemc (component) { v:int; }",
       "game.Shield: is enableable, and who has it would be kept under an id of game.C3u5eemc; rename one of them"},
      {"struct A (message, enableable) { v:int; }", "g.A: attribute 'enableable' needs a component"},
      {"struct A { v:int (enableable); }", "g.A.v: attribute 'enableable' belongs to a type, not to a field"},
      {"struct A { v:int (component); }", "g.A.v: attribute 'component' belongs to a type, not to a field"},
      {"struct A { v:int (text); }", "g.A.v: attribute 'text' needs a field of type ulong"},
      {"struct A { v:ulong (asset); }", "g.A.v: attribute 'asset' requires 'text'"},
      {"struct A { v:bool (range: \"0,1\"); }", "g.A.v: attribute 'range' needs a field that is a number"},
      {"struct A { v:ulong (range: \"0,1\", text); }", "g.A.v: attribute 'range' needs a field that is a number"},
      {"struct A { v:int (range: \"5\"); }", "g.A.v: range '5' is not two numbers, as in \"0, 100\""},
      {"struct A { v:int (range: \"5,1\"); }", "g.A.v: range '5,1' has its lower bound above its upper one"},
      {"struct A { v:bool (color); }", "g.A.v: attribute 'color' needs a number or a struct of numbers"},
      {"struct A { v:[ulong:2] (text, default: \"x\"); }", "g.A.v: an array of texts has no default but empty"},
      {"struct A (component, remote: \"me\") { v:int; }",
       "g.A: remote 'me' is none of none, view, edit, control, admin"},
      {"struct A (component, see: \"none\") { v:int; }", "g.A: see 'none' is none of view, edit, control, admin"},
      {"struct A (message, see: \"me\") { v:int; }", "g.A: see 'me' is none of view, edit, control, admin"},
      {"struct A (see: \"view\") { v:int; }", "g.A: attribute 'see' needs a component or a message"},
      {"struct A { v:int (see: \"view\"); }", "g.A.v: attribute 'see' belongs to a type, not to a field"},
      {"struct A (message, journal: \"no\") { v:int; }", "g.A: journal 'no' is none of always, latest, never"},
      {"table A (message, journal: \"\") { v:int; }", "g.A: journal '' is none of always, latest, never"},
      {"struct A (component, journal: \"never\") { v:int; }",
       "g.A: attribute 'journal' needs a message: a component is kept by the messages that change it"},
      {"struct A (remote: \"view\") { v:int; }", "g.A: attribute 'remote' needs a component or a message"},
      {"struct A (component, was: \"1 2\") { v:int; }", "g.A: was '1 2' is not a type's full name"},
      {"struct A { v:int (was: \"1\"); }", "g.A.v: was '1' is not a field's name"},
      {"enum E:byte (component) { a }", "g.E: attribute 'component' does not belong to an enum"},
      {"enum E:byte (was: \"F\") { a }", "g.E: attribute 'was' does not belong to an enum"},
      {"enum E:byte { a } struct A { e:E (range: \"0,1\"); }",
       "g.A.e: attribute 'range' needs a field that is a number"},
      {"struct A { v:int (range: \"0,1,2\"); }", "g.A.v: range '0,1,2' is not two numbers, as in \"0, 100\""},
      {"struct A { v:float (range: \"0,inf\"); }", "g.A.v: range '0,inf' is not two numbers, as in \"0, 100\""},
      {"struct A { v:int (range: \",1\"); }", "g.A.v: range ',1' is not two numbers, as in \"0, 100\""},
      {"enum E:ulong { a } struct A { e:E (text); }", "g.A.e: attribute 'text' needs a field of type ulong"},
      {"table A { e:string (text); }", "g.A.e: attribute 'text' needs a field of type ulong"},
      {"table A { e:string (color); }", "g.A.e: attribute 'color' needs a number or a struct of numbers"},
      {"struct A (journal: \"never\") { v:int; }", "g.A: attribute 'journal' needs a component or a message"},
      {"struct A (component, remote: \"\") { v:int; }", "g.A: remote '' is none of none, view, edit, control, admin"},
      {"struct A { v:int (remote: \"view\"); }", "g.A.v: attribute 'remote' belongs to a type, not to a field"},
      // Questions.
      {"struct A { v:int (answer: \"B\"); }", "g.A.v: attribute 'answer' belongs to a type, not to a field"},
      {"enum E:byte (cost: \"once\") { a }", "g.E: attribute 'cost' does not belong to an enum"},
      {"struct B (message) { v:int; } struct A (message, answer: \"B\", cost: \"once\") { v:int; }",
       "g.A: attribute 'answer' is for the questions of muster.session, which the server answers"},
      {"namespace muster.session; struct B (message) { v:int; } struct A (message, answer: \"B\") { v:int; }",
       "muster.session.A: attribute 'answer' requires 'cost'"},
      {"namespace muster.session; struct A (message, cost: \"once\") { v:int; }",
       "muster.session.A: attribute 'cost' requires 'answer'"},
      {"namespace muster.session; struct A (message, answer: \"A\", cost: \"cheap\") { v:int; }",
       "muster.session.A: cost 'cheap' is none of door, once, slices, seldom"},
      {"namespace muster.session; struct A (message, answer: \"[A\", cost: \"once\") { v:int; }",
       "muster.session.A: answer '[A' is not a message's name, as in \"Children\" or \"[Templates]\""},
      {"namespace muster.session; struct A (message, answer: \"B\", cost: \"once\") { v:int; }",
       "muster.session.A: its answer 'B' is not in the schema"},
      {"namespace muster.session; struct B { v:int; } struct A (message, answer: \"B\", cost: \"once\") { v:int; }",
       "muster.session.A: its answer muster.session.B is not a message"},
      {"namespace muster.session; struct A (answer: \"A\", cost: \"once\") { v:int; }",
       "muster.session.A: attribute 'answer' needs a message"},
      {"namespace muster.session; struct A (message, remote: \"none\", answer: \"A\", cost: \"once\") { v:int; }",
       "muster.session.A: a question needs a right to ask it, not remote \"none\""},
      {"struct A (unit: \"m\") { v:int; }", "g.A: attribute 'unit' belongs to a field, not to a type"},
      {"struct A { v:int (default: \"0x\"); }", "g.A.v: default '0x' is not a number of type int"},
      {"struct A { v:float (default: \"nan\"); }", "g.A.v: default 'nan' is not a finite number"},
      {"struct A { v:[float:2] (default: \"1,2,3\"); }", "g.A.v: default has 3 values where 2 are needed"},
      {"struct A { v:byte (default: \"128\"); }", "g.A.v: default '128' is not a number of type byte"},
      {"struct A { v:short (default: \"32768\"); }", "g.A.v: default '32768' is not a number of type short"},
      {"struct A { v:ushort (default: \"65536\"); }", "g.A.v: default '65536' is not a number of type ushort"},
      {"struct A { v:uint (default: \"-1\"); }", "g.A.v: default '-1' is not a number of type uint"},
      {"struct A { v:long (default: \"x\"); }", "g.A.v: default 'x' is not a number of type long"},
      {"struct A { v:ulong (default: \"-1\"); }", "g.A.v: default '-1' is not a number of type ulong"},
      {"struct A { v:double (default: \"x\"); }", "g.A.v: default 'x' is not a number of type double"},
      {"table A { t:ulong = 5 (text); }", "g.A.t: a text in a table has no default but empty"},
      // Roles and kinds.
      {"struct A (component, message) { v:int; }", "g.A: a type cannot be both component and message"},
      {"table A (component) { v:int; }", "g.A: a component must be a struct, not a table"},
      {"table A (tag) { v:int; }", "g.A: a component must be a struct, not a table"},
      {"table B { x:int; } union U { B } table A { u:U; }", "g.A.u: unions are not supported"},
  }));
  const test::Folder folder;
  test::write_file(folder / "wrong.fbs", attributes + wrong.schema);
  const test::Said said = test::run_schemac(folder, "wrong.fbs --check");
  // Everything is in the first line; the columns differ.
  CHECK(said.errors.starts_with("wrong.fbs:1:"));
  CHECK(said.errors.substr(said.errors.find(' ')) == " " + std::string(wrong.error) + "\n");
  CHECK(said.code == 1);
}

TEST_CASE("The line and column of an error are those of the field, the value or the type", "[errors]") {
  const auto [schema, error] = GENERATE(table<std::string, std::string>({
      {"struct A {\n  /* x:int; */ x:int; // v:int\n  v:int (default: \"many\");\n}", "wrong.fbs:5:3: g.A.v: default"},
      {"struct B { v:int; }\n struct A (message, component) { v:int; }", "wrong.fbs:4:9: g.A: a type cannot"},
      {"namespace g.h;\ntable T {\n\n  u:int = 5 (range: \"0,4\"); }", "wrong.fbs:6:3: g.h.T.u: default 5"},
      {"enum E : byte (range: \"0,1\") { a }", "wrong.fbs:3:6: g.E: attribute 'range'"},
      {"include \"inner.fbs\";", "inner.fbs:2:12: i.A.v: default"},
  }));
  const test::Folder folder;
  test::write_file(folder / "inner.fbs",
                   "include \"schema/muster.fbs\"; namespace i;\nstruct A { v:int (default: \"many\"); }");
  const bool is_inner = schema.starts_with("include");
  test::write_file(folder / "wrong.fbs", (is_inner ? schema : std::string()) +
                                             "include \"schema/muster.fbs\";\nnamespace g;\n" +
                                             (is_inner ? std::string() : schema));
  const test::Said said = test::run_schemac(folder, "wrong.fbs --check");
  CHECK_THAT(said.errors, Catch::StartsWith(error));
  CHECK(said.code == 1);
}

TEST_CASE("Attributes that hold at the edge are taken", "[errors]") {
  const char* const schema =
      GENERATE("struct A { v:int (range: \"0,0\"); }", "struct A { v:float (range: \"0.5,0.5\", default: \"0.5\"); }",
               "struct A { v:int (range: \"-5,100\", default: \"-5\"); }",
               "struct A { v:int (range: \"-5,100\", default: \"100\"); }", "struct A { v:ubyte (default: \"255\"); }",
               "struct A { v:byte (default: \"-128\"); }", "table A { v:int = 4 (range: \"0,4\"); }",
               "struct A { v:[int:3] (default: \"7\"); }", "struct A { v:int (default: \" 0xff \"); }",
               "struct A { v:int (default: \"+5\"); }", "struct A { v:bool (default: \"0\"); }",
               "struct A { v:int (range: \" -1 , 1\"); }", "struct A { v:int (was: \"_b.c9\"); }",
               "struct A { v:[ubyte:4] (color); }", "table A { v:[ulong] (text, asset); }", "struct A (tag) { v:int; }",
               "enum E:ulong (bit_flags) { a, b = 63 } struct A { e:E (default: \"a|b\"); }");
  const test::Folder folder;
  test::write_file(folder / "right.fbs", attributes + schema);
  const test::Said said = test::run_schemac(folder, "right.fbs --check");
  CHECK(said.errors == "");
  CHECK(said.code == 0);
}

TEST_CASE("A default of muster.Entity is refused", "[errors]") {
  const test::Folder folder;
  test::write_file(folder / "wrong.fbs",
                   "include \"schema/muster.fbs\"; namespace g; struct A { e:muster.Entity (default: \"1\"); }");
  const test::Said said = test::run_schemac(folder, "wrong.fbs --check");
  CHECK(said.errors == "wrong.fbs:1:54: g.A.e: a field of type muster.Entity has no default but nil\n");
  CHECK(said.code == 1);
}

TEST_CASE("What flatc refuses is shown with file, line and field, with exit code 1", "[errors]") {
  const auto [schema, error] = GENERATE(table<std::string, std::string>({
      {"\nstruct A { x:int ; }  }", "wrong.fbs:2:23: g.A.x: "},
      {"\nstruct A { x:int }", "wrong.fbs:2:18: g.A.x: expecting: ; instead got: }\n"},
      {"\ntable A {\n s:string = \"hi\"; }", "wrong.fbs:3:"},
  }));
  const test::Folder folder;
  test::write_file(folder / "wrong.fbs", attributes + schema);
  const test::Said said = test::run_schemac(folder, "wrong.fbs --check");
  CHECK_THAT(said.errors, Catch::StartsWith(error));
  CHECK(said.code == 1);
}

TEST_CASE("Of what flatc refuses with few words schemac names line, column and field, and says what to write",
          "[errors]") {
  const Wrong wrong = GENERATE(values<Wrong>({
      {"  name:string;",
       "4:8: g.A.name: a struct cannot hold a string; make the struct a table, or write `ulong (text)` for a text that "
       "many share"},
      {"  name:[string:3];",
       "4:8: g.A.name: a struct cannot hold a string; make the struct a table, or write `ulong (text)` for a text that "
       "many share"},
      {"  v:[int];",
       "4:5: g.A.v: a struct cannot hold a vector; give it a length, `[int:4]`, or make the struct a table"},
      {"  t:T;", "4:5: g.A.t: a struct cannot hold a table (g.T); make that a struct, or this a table"},
      {"  x:int; // as of old\n /* and\n more */ e:Entity;",
       "6:12: g.A.e: no type is called Entity here; write `muster.Entity`"},
      {"  n:uint32_t;", "4:5: g.A.n: no type is called uint32_t; write `uint`"},
      {"  n:std::uint8_t;", "4:5: g.A.n: no type is called std::uint8_t; write `ubyte`"},
      {"  x:float = 5;",
       "4:11: g.A.x: a struct's field has its default as an attribute: write `x:float (default: \"5\");`"},
      {"  x:float=-.5 (unit:\"m\");",
       "4:10: g.A.x: a struct's field has its default as an attribute: write `x:float (default: \"-.5\");`"},
      {"  f:Foo;", "4:5: g.A.f: no type is called Foo in this schema, nor in what it includes"},
      {"  x:float (rnage: \"0,1\");", "4:12: g.A.x: the attribute `rnage` is not declared; did you mean `range`?"},
      {"  x:float (defualt: \"1\");", "4:12: g.A.x: the attribute `defualt` is not declared; did you mean `default`?"},
      {"  x:float (depracated);",
       "4:12: g.A.x: the attribute `depracated` is not declared; did you mean `deprecated`?"},
      {"  x:float (mass: \"1\");",
       "4:12: g.A.x: the attribute `mass` is not declared; write `attribute \"mass\";` above, or mend its name"},
      {"  f:Tt;", "4:5: g.A.f: no type is called Tt in this schema, nor in what it includes"},
      {"  f:flaot;", "4:5: g.A.f: no type is called flaot; did you mean `float`?"},
      {"  f:Wheal;", "4:5: g.A.f: no type is called Wheal; did you mean `Wheel`?"},
      {"  f:muster.Entty;", "4:5: g.A.f: no type is called muster.Entty; did you mean `muster.Entity`?"},
  }));
  const test::Folder folder;
  test::write_file(folder / "wrong.fbs",
                   "include \"schema/muster.fbs\";\nnamespace g; table T { x:int; } struct Wheel { x:int; }\nstruct A "
                   "(component) {\n" +
                       std::string(wrong.schema) + "\n}\n");
  const test::Said said = test::run_schemac(folder, "wrong.fbs --check");
  CHECK_THAT(said.errors, Catch::EndsWith("wrong.fbs:" + std::string(wrong.error) + "\n"));
  CHECK(said.code == 1);
}

TEST_CASE("Of a type that flatc refuses schemac says what it lacks", "[errors]") {
  const Wrong wrong = GENERATE(values<Wrong>({
      {"struct Burning (tag) {}",
       "2:8: g.Burning: a struct has at least one field; give a tag an unused one: `nothing:ubyte;`"},
      {"struct Burning (tag) {\n}",
       "2:8: g.Burning: a struct has at least one field; give a tag an unused one: `nothing:ubyte;`"},
      {"struct Empty (message) { }",
       "2:8: g.Empty: a struct has at least one field; give it an unused one: `nothing:ubyte;`"},
      {"enum Rank { soldier, sergeant }",
       "2:6: g.Rank: an enum names the type of its numbers: write `enum Rank : ubyte {`"},
      {"enum Flags (bit_flags) { a, b }",
       "2:6: g.Flags: an enum names the type of its numbers: write `enum Flags : ubyte {`"},
      {"enum Rank : Byte { a }", "2:13: g.Rank: no type is called Byte; did you mean `byte`?"},
      {"enum Rank : uint8_t { a }", "2:13: g.Rank: no type is called uint8_t; write `ubyte`"},
      {"enum Rank : float { a }", "2:13: g.Rank: the numbers of an enum are integers, not float; write `ubyte`"},
      {"struct A (componnent) { x:int; }",
       "2:11: g.A: the attribute `componnent` is not declared; did you mean `component`?"},
      {"table A (mesage) { x:int; }", "2:10: g.A: the attribute `mesage` is not declared; did you mean `message`?"},
      {"attribute \"armour\"; struct A (armor) { x:int; }",
       "2:31: g.A: the attribute `armor` is not declared; did you mean `armour`?"},
  }));
  const test::Folder folder;
  test::write_file(folder / "wrong.fbs",
                   "include \"schema/muster.fbs\"; namespace g;\n" + std::string(wrong.schema) + "\n");
  const test::Said said = test::run_schemac(folder, "wrong.fbs --check");
  CHECK_THAT(said.errors, Catch::EndsWith("wrong.fbs:" + std::string(wrong.error) + "\n"));
  CHECK(said.code == 1);
}

TEST_CASE("Fields that schemac explains nothing of are those that flatc takes", "[errors]") {
  const test::Folder folder;
  test::write_file(folder / "other.fbs",
                   "namespace g.inner; enum E : ubyte { a, b } struct V { x:float; } table B { t:[string]; }");
  test::write_file(
      folder / "wrong.fbs",
      "include \"schema/muster.fbs\"; include \"other.fbs\"; namespace g.inner.deep; struct A (component) { "
      "v:V; w:[g.inner.V:2]; e:E (default: \"b\"); who:muster.Entity; n:[int8:3]; } table C (message) { "
      "b:[B]; s:string; v:V; x:int = 5 (deprecated); } struct Z { x:int }");
  const test::Said said = test::run_schemac(folder, "wrong.fbs --check");
  CHECK_THAT(said.errors, Catch::EndsWith(": g.inner.deep.Z.x: expecting: ; instead got: }\n"));
}

TEST_CASE("A forgotten include and a folder that -I does not name are said", "[errors]") {
  const test::Folder folder;
  test::write_file(folder / "wrong.fbs", "namespace g;\nstruct A (component) { x:float; }");
  CHECK_THAT(test::run_schemac(folder, "wrong.fbs --check").errors,
             Catch::EndsWith("wrong.fbs:2:11: g.A: the attribute `component` is not declared; write `include "
                             "\"schema/muster.fbs\";` at the file's beginning\n"));
  test::write_file(folder / "wrong.fbs", "include \"parts/wheel.fbs\"; struct A { x:float; }");
  CHECK_THAT(test::run_schemac(folder, "wrong.fbs --check").errors,
             Catch::Contains("wrong.fbs:1:9: there is no parts/wheel.fbs in ., " SOURCE_ROOT) &&
                 Catch::EndsWith("; name the folder that holds it with -I\n"));
  // In an included file.
  test::write_file(folder / "inner.fbs", "namespace g;\nstruct A { x:f32; }");
  test::write_file(folder / "wrong.fbs", "include \"inner.fbs\";");
  const test::Said said = test::run_schemac(folder, "wrong.fbs --check");
  CHECK_THAT(said.errors, Catch::EndsWith("inner.fbs:2:14: g.A.x: no type is called f32; write `float`\n"));
  CHECK(said.code == 1);
}

TEST_CASE("A TMPDIR without room is no fault of the schema", "[errors]") {
  const test::Folder folder;
  test::write_file(folder / "right.fbs",
                   "include \"schema/muster.fbs\"; namespace g; struct A (component) { x:float; }");
  // No file can have a byte, as on a full disk.
  const std::string command = "cd '" + folder.path().string() +
                              "' && ( trap '' XFSZ; ulimit -f 0; '" SCHEMAC "' --flatc '" FLATC "' -I '" SOURCE_ROOT
                              "' right.fbs --check; echo \"exit code $?\" ) 2>&1 | cat >said";
  REQUIRE(std::system(command.c_str()) == 0);
  const std::string said = test::read_file(folder / "said");
  CHECK_THAT(said, Catch::Contains("right.fbs: cannot write to "));
  CHECK_THAT(said, Catch::EndsWith("exit code 2\n"));
}

TEST_CASE("Two names with one hash cannot be in one schema", "[errors]") {
  // A birthday among a few hundred thousand names.
  std::unordered_map<std::uint32_t, int> seen;
  std::string first, second;
  for (int i = 0; first.empty(); ++i) {
    if (i == 2'000'000) FAIL("no collision found");
    const auto [at, fresh] = seen.emplace(muster::hash32("g.T" + std::to_string(i)), i);
    if (!fresh) first = "T" + std::to_string(at->second), second = "T" + std::to_string(i);
  }
  if (second < first) std::swap(first, second);  // types are in the order of their names
  const test::Folder folder;
  test::write_file(folder / "wrong.fbs",
                   attributes + "struct " + first + " { v:int; } struct " + second + " { v:int; }");
  const test::Said said = test::run_schemac(folder, "wrong.fbs --check");
  CHECK(said.errors.starts_with("wrong.fbs:1:"));
  CHECK(said.errors.substr(said.errors.find(' ')) ==
        " g." + second + ": has the same type id as g." + first + " (their names have one hash); rename one of them\n");
  CHECK(said.code == 1);
}

TEST_CASE("Two parts of a struct whose paths have one hash are refused, wherever they are", "[errors]") {
  const auto said = [](const std::string& structs) {
    const test::Folder folder;
    test::write_file(folder / "wrong.fbs", attributes + structs);
    const test::Said told = test::run_schemac(folder, "wrong.fbs --check");
    CHECK(told.code == (told.errors.empty() ? 0 : 1));
    return told.errors;
  };
  const std::string why = " (their names have one hash); rename one of them\n";
  CHECK(said("struct T { yaczfa:int; other:int; glbppa:int; }") ==
        "wrong.fbs: g.T.glbppa: has the same field id as yaczfa" + why);
  // One of them is in a nested struct, or is an element of an array.
  CHECK(said("struct In { hpqr:int; } struct T { in:In; biev:[int:3]; }") ==
        "wrong.fbs: g.T.biev[0]: has the same field id as in.hpqr" + why);
  CHECK(said("struct T { yaczfa:int; } struct U { glbppa:int; }").empty());
}

TEST_CASE("A default whose hash is that of no text is refused", "[errors]") {
  const test::Folder folder;
  test::write_file(folder / "wrong.fbs",
                   attributes + "struct T (component) { a:ulong (text, default: \"77kepQFQ8Kl\"); }");
  const test::Said said = test::run_schemac(folder, "wrong.fbs --check");
  CHECK_THAT(said.errors, Catch::Contains("default '77kepQFQ8Kl' has the hash 0, which means no text; choose another"));
  CHECK(said.code == 1);
}

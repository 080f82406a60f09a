#include <catch2/catch.hpp>
#include <cstdlib>
#include <regex>

#include "tests/schema/run_schemac.h"

namespace {

/// The header without the bytes of the binary schema, which are flatc's business and not the same in all its versions.
std::string without_schema_bytes(std::string text) {
  const std::size_t begin = text.find("alignas(16) inline constexpr unsigned char bfbs_");
  const std::size_t end = text.find("\";\n", begin);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  text.replace(begin, end + 3 - begin, "(the binary schema)\n");
  text = std::regex_replace(text, std::regex("bfbs_[0-9a-f]{16}"), "bfbs_HASH");
  return std::regex_replace(text, std::regex("HASH_and_zero, [0-9]+"), "HASH_and_zero, SIZE");
}

/// The module without the bytes of the binary schema.
std::string without_schema_text(std::string text) {
  const std::size_t begin = text.find("export const schema = '");
  REQUIRE(begin != std::string::npos);
  text.replace(begin, text.find(";\n", begin) - begin, "export const schema = '(the binary schema)'");
  return text;
}

constexpr const char* everything = "'" SOURCE_ROOT "/tests/golden/everything.fbs'";

}  // namespace

TEST_CASE("The header of a schema with everything is the golden one", "[golden]") {
  const test::Folder folder;
  const test::Said said = test::run_schemac(folder, std::string(everything) + " --in-tree -o everything.h");
  INFO(said.errors);
  REQUIRE(said.code == 0);
  const std::string header = without_schema_bytes(test::read_file(folder / "everything.h"));
  const std::filesystem::path golden = SOURCE_ROOT "/tests/golden/everything.h.golden";
  // MUSTER_UPDATE_GOLDEN=1 writes what schemac writes now; read the difference before committing it.
  if (std::getenv("MUSTER_UPDATE_GOLDEN") != nullptr) test::write_file(golden, header);
  CHECK(header == test::read_file(golden));
}

TEST_CASE("The same schema gives the same header, whether from the .fbs or from the .bfbs, from wherever it is run",
          "[golden]") {
  const test::Folder folder, other;
  REQUIRE(test::run_schemac(folder, std::string(everything) + " -o one.h --bfbs everything.bfbs").code == 0);
  REQUIRE(test::run_schemac(other, std::string(everything) + " -o two.h").code == 0);
  REQUIRE(test::run_schemac(folder, "everything.bfbs -o three.h").code == 0);
  const std::string one = test::read_file(folder / "one.h");
  CHECK(one.size() > 1000);
  CHECK(one == test::read_file(other / "two.h"));
  CHECK(one == test::read_file(folder / "three.h"));
}

TEST_CASE("The TypeScript of a schema with everything is the golden one", "[golden]") {
  const test::Folder folder;
  const test::Said said = test::run_schemac(folder, std::string(everything) + " --ts everything.ts");
  INFO(said.errors);
  REQUIRE(said.code == 0);
  const std::string module = without_schema_text(test::read_file(folder / "everything.ts"));
  const std::filesystem::path golden = SOURCE_ROOT "/tests/golden/everything.ts.golden";
  if (std::getenv("MUSTER_UPDATE_GOLDEN") != nullptr) test::write_file(golden, module);
  CHECK(module == test::read_file(golden));
}

TEST_CASE("Header and module may be written at once, and depend on the same files", "[golden]") {
  const test::Folder folder;
  test::write_file(folder / "inner.fbs", "namespace a; struct In { x:int; }");
  test::write_file(folder / "outer.fbs", "include \"inner.fbs\"; namespace a; struct Out { i:In; }");
  REQUIRE(test::run_schemac(folder, "outer.fbs --ts outer.ts --depfile outer.d").code == 0);
  CHECK(test::read_file(folder / "outer.d") == "outer.ts: \\\n  inner.fbs \\\n  outer.fbs\n");
  REQUIRE(test::run_schemac(folder, "outer.fbs -o outer.h --ts both.ts").code == 0);
  CHECK(test::read_file(folder / "both.ts") == test::read_file(folder / "outer.ts"));
  CHECK(test::read_file(folder / "outer.h").find("struct Out ") != std::string::npos);
}

TEST_CASE("Names that collide in a TypeScript module are told apart", "[golden]") {
  const test::Folder folder;
  test::write_file(folder / "inner.fbs", "namespace a; struct In { x:int; }");
  test::write_file(folder / "outer.fbs",
                   "include \"inner.fbs\"; namespace a; struct inner { i:In; } struct string { x:int; }"
                   "namespace a.b; struct Flash { x:int; } namespace c; struct Flash { f:a.b.Flash; s:a.string; }"
                   "enum Wide : ulong { none = 0, all = 18446744073709551615 }");
  const test::Said said = test::run_schemac(folder, "outer.fbs --ts outer.ts");
  INFO(said.errors);
  REQUIRE(said.code == 0);
  const std::string module = test::read_file(folder / "outer.ts");
  const auto has = [&](const char* text) {
    INFO(text);
    CHECK(module.find(text) != std::string::npos);
  };
  has("import type * as inner_ from './inner.js';\n");
  has("export interface inner {\n  i: inner_.In;\n}\n");
  has("export interface string_ {\n");
  has("export interface a_b_Flash {\n");
  has("export interface c_Flash {\n  f: a_b_Flash;\n  s: string_;\n}\n");
  has("  all: 18446744073709551615n,\n");
  CHECK(module.find("export interface In ") == std::string::npos);
}

TEST_CASE("The depfile names the schema and all that it includes", "[golden]") {
  const test::Folder folder;
  test::write_file(folder / "inner.fbs", "namespace a; struct In { x:int; }");
  test::write_file(folder / "outer.fbs", "include \"inner.fbs\"; namespace a; struct Out { i:In; }");
  REQUIRE(test::run_schemac(folder, "outer.fbs -o outer.h --depfile outer.d").code == 0);
  CHECK(test::read_file(folder / "outer.d") == "outer.h: \\\n  inner.fbs \\\n  outer.fbs\n");
  const std::string header = test::read_file(folder / "outer.h");
  CHECK(header.find("#include \"inner.h\"") != std::string::npos);
  CHECK(header.find("struct In ") == std::string::npos);
}

TEST_CASE("A header includes those of Muster as <muster/...> and those of the game beside it", "[golden]") {
  const test::Folder folder;
  std::filesystem::create_directory(folder / "schema");
  // The game has a schema of the name of one of Muster's, which is not taken for that.
  test::write_file(folder / "schema/users.fbs", "namespace a; struct In { x:int; }");
  test::write_file(folder / "a.fbs",
                   "include \"schema/muster.fbs\"; include \"schema/scene.fbs\"; include \"schema/users.fbs\";"
                   "namespace a; struct A (component) { i:In; e:muster.Entity; s:scene.Light; } table B { s:string; }");
  const auto includes = [&](const std::string& arguments) {
    const test::Said said = test::run_schemac_alone(folder, arguments);
    INFO(said.errors);
    REQUIRE(said.code == 0);
    std::string found;
    const std::string header = test::read_file(folder / "a.h");
    const std::regex include("#include (\\S+\\.h\\S)\n");
    for (auto at = std::sregex_iterator(header.begin(), header.end(), include); at != std::sregex_iterator(); ++at)
      found += (*at)[1].str() + " ";
    return found;
  };
  // Muster's own schemas are found from the place of schemac.
  const std::string expected =
      "<muster/schema/builtin.h> <muster/schema/descriptor.h> <muster/schema/table.h> <muster/schema/muster.h> "
      "<muster/schema/scene.h> \"users.h\" ";
  CHECK(includes("a.fbs -o a.h --bfbs a.bfbs") == expected);
  CHECK(includes("a.bfbs -o a.h") == expected);
  CHECK(includes("-I '" SOURCE_ROOT "' a.fbs -o a.h") == expected);
  CHECK(includes("--in-tree a.fbs -o a.h") ==
        "\"schema/builtin.h\" \"schema/descriptor.h\" \"schema/table.h\" \"schema/muster.h\" \"scene.h\" \"users.h\" ");
}

TEST_CASE("schemac says what is wrong with its command line and exits with 2", "[cli]") {
  const test::Folder folder;
  const auto [arguments, text] = GENERATE(table<std::string, std::string>({
      {"", "schemac: no schema given; schemac --help says how\n"},
      {"a.fbs", "schemac: nothing to write (-o, --ts), and no --check\n"},
      {"a.txt --check", "schemac: a.txt is neither a .fbs nor a .bfbs\n"},
      {"a.fbs b.fbs", "schemac: one schema at a time, not a.fbs and b.fbs\n"},
      {"--frob", "schemac: unknown option --frob\n"},
      {"a.fbs -o", "schemac: option -o needs a value\n"},
      {"a.fbs --check", "a.fbs: no such file\n"},
      {"a.bfbs --check", "a.bfbs: cannot read it: No such file or directory\n"},
  }));
  const test::Said said = test::run_schemac(folder, arguments);
  CHECK(said.errors == text);
  CHECK(said.code == 2);
}

TEST_CASE("schemac that cannot run flatc or write its header says so and exits with 2", "[cli]") {
  const test::Folder folder;
  test::write_file(folder / "a.fbs", "namespace a; struct A { x:int; }");
  test::Said said = test::run_schemac(folder, "a.fbs --check --flatc ./no-such-flatc");
  CHECK(said.errors.starts_with("a.fbs: cannot run ./no-such-flatc"));
  CHECK(said.code == 2);
  said = test::run_schemac(folder, "a.fbs -o missing/a.h");
  CHECK(said.errors == "missing/a.h: cannot write it: No such file or directory\n");
  CHECK(said.code == 2);
}

TEST_CASE("Paths in a depfile are written as make reads them, and --help says how schemac is used", "[cli]") {
  const test::Folder folder;
  std::filesystem::create_directory(folder / "a $b#");
  test::write_file(folder / "a $b#/in.fbs", "namespace a; struct A { x:int; }");
  REQUIRE(test::run_schemac(folder, "'a $b#/in.fbs' -o 'o $b#.h' --depfile d").code == 0);
  CHECK(test::read_file(folder / "d") == "o\\ $$b\\#.h: \\\n  a\\ $$b\\#/in.fbs\n");
  for (const char* option : {"--help", "-h"}) {
    const test::Said said = test::run_schemac(folder, option);
    CHECK(said.code == 0);
    CHECK(said.output.starts_with("schemac [options] SCHEMA.fbs -o HEADER.h --ts MODULE.ts\n"));
  }
  const test::Said nameless = test::run_schemac(folder, "'a $b#/in.fbs' --check -o missing/a.h");
  CHECK(nameless.code == 0);  // nothing is written
}

TEST_CASE("A header that would be as it was is not written again, and includes are looked for where they may be",
          "[cli]") {
  const test::Folder folder;
  std::filesystem::create_directory(folder / "far");
  test::write_file(folder / "far/in.fbs", "namespace a; struct In { x:int; }");
  test::write_file(folder / "a.fbs", "include \"in.fbs\"; namespace a; struct A { i:In; }");
  CHECK(test::run_schemac(folder, "a.fbs -o a.h").code == 1);
  REQUIRE(test::run_schemac(folder, "a.fbs -I far -o a.h").code == 0);
  const std::string header = test::read_file(folder / "a.h");
  std::filesystem::permissions(folder / "a.h", std::filesystem::perms::owner_read);
  const auto before = std::filesystem::last_write_time(folder / "a.h");
  REQUIRE(test::run_schemac(folder, "a.fbs -I far -o a.h").code == 0);
  CHECK(std::filesystem::last_write_time(folder / "a.h") == before);
  CHECK(test::read_file(folder / "a.h") == header);
}

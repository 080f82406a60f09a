// Questions: what the attributes `answer` and `cost` become.
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "schema/load.h"
#include "schema/session.h"
#include "tests/schema/run_schemac.h"

using namespace muster;

namespace {

Schema session_schema() {
  auto schema = load_schema(std::as_bytes(TypeTraits<session::Hello>::schema));
  REQUIRE(schema.has_value());
  return std::move(*schema);
}

const char* const some_questions =
    "attribute \"message\"; attribute \"remote\"; attribute \"answer\"; attribute \"cost\"; namespace muster.session; "
    "struct Row (message, remote: \"none\") { v:int; }\n"
    "/// Gives a row. Or none.\n struct One (message, remote: \"view\", answer: \"Row\", cost: \"once\") { v:int; } "
    "struct Many (message, remote: \"edit\", answer: \"[muster.session.Row]\", cost: \"slices\") { v:int; } "
    "struct Rare (message, remote: \"admin\", answer: \"Row\", cost: \"seldom\") { v:int; } "
    "struct Near (message, remote: \"view\", answer: \"Near\", cost: \"door\") { v:int; }";

}  // namespace

TEST_CASE(
    "every message that a client sends to the server is a question, but for edits and those of the connection itself",
    "[questions]") {
  const Schema schema = session_schema();
  std::map<TypeId, const QuestionDescriptor*> questions;
  for (const QuestionDescriptor& question : schema.questions)
    CHECK(questions.emplace(question.question, &question).second);
  std::set<std::string> others;
  for (const TypeDescriptor& type : schema.types)
    if (type.name.starts_with("muster.session.") && type.remote != RemoteRight::none && type.role != TypeRole::plain &&
        !questions.contains(type.id))
      others.insert(type.name);
  CHECK(others == std::set<std::string>{"muster.session.Credit", "muster.session.EditIf", "muster.session.EnterEpoch",
                                        "muster.session.Goodbye", "muster.session.Hello", "muster.session.Proof"});
  CHECK(questions.size() == 53);
}

TEST_CASE("the traits of a question are those of its attributes", "[questions]") {
  STATIC_REQUIRE(std::is_same_v<AnswerTo<session::ListChildren>, session::Children>);
  STATIC_REQUIRE(QuestionTraits<session::ListChildren>::cost == QuestionCost::slices);
  STATIC_REQUIRE(std::is_same_v<AnswerTo<session::ListTemplates>, std::vector<session::Templates>>);
  STATIC_REQUIRE(std::is_same_v<AnswerTo<session::GetText>, InternText>);
  STATIC_REQUIRE(QuestionTraits<session::Heartbeat>::cost == QuestionCost::door);
  STATIC_REQUIRE_FALSE(QuestionType<session::Hello>);
  STATIC_REQUIRE_FALSE(QuestionType<session::Children>);
}

TEST_CASE("schemac writes a handler's declaration by its cost, a table, a page and keys that know their answer",
          "[questions]") {
  const ::test::Folder folder;
  ::test::write_file(folder / "asked.fbs", some_questions);
  const ::test::Said said = ::test::run_schemac_alone(
      folder, "asked.fbs --in-tree --ts asked.ts --questions table.h --questions-page table.md");
  CHECK(said.errors.empty());
  REQUIRE(said.code == 0);
  const std::string table = ::test::read_file(folder / "table.h");
  for (const char* const line :
       {"void answer_once(const Asked& asked, const session::One& what, Steps& steps);\n",
        "std::unique_ptr<Inquiry> begin_slices(const Asked& asked, const session::Many& what);\n",
        "std::unique_ptr<SeldomWork> begin_seldom(const Asked& asked, const session::Rare& what);\n",
        "    case TypeTraits<session::One>::id: f.template operator()<session::One>(); return true;\n"}) {
    CAPTURE(line);
    CHECK(table.find(line) != std::string::npos);
  }
  const std::size_t door = table.find("bool with_door_question");
  REQUIRE(door != std::string::npos);
  CHECK(table.find("TypeTraits<session::Near>") > door);
  CHECK(table.rfind("TypeTraits<session::Rare>") < door);
  CHECK(::test::read_file(folder / "table.md") ==
        "| question | right | answer | cost | |\n|---|---|---|---|---|\n"
        "| `Many` | edit | `Row`, one or several frames | slices |  |\n"
        "| `Near` | view | `Near` | door |  |\n"
        "| `One` | view | `Row` | once | Gives a row. |\n"
        "| `Rare` | admin | `Row` | seldom |  |\n");
  const std::string keys = ::test::read_file(folder / "asked.ts");
  CHECK(keys.find("export const One: QuestionKey<One, Row> = {") != std::string::npos);
  CHECK(keys.find("export const Many: QuestionKey<Many, Row[]> = {") != std::string::npos);
  CHECK(keys.find("export const Row: TypeKey<Row> = {") != std::string::npos);
  CHECK(keys.find("  several: true,\n  answer: () => Row,\n") != std::string::npos);
}

TEST_CASE("a module has the types of its parts too, and imports none of them", "[questions]") {
  const ::test::Folder folder;
  ::test::write_file(folder / "part.fbs", "namespace parts; struct Inner { v:int; }");
  ::test::write_file(folder / "whole.fbs",
                     "include \"part.fbs\"; namespace whole; struct Outer { inner:parts.Inner; }");
  REQUIRE(::test::run_schemac_alone(folder, "whole.fbs --ts apart.ts").code == 0);
  REQUIRE(::test::run_schemac_alone(folder, "whole.fbs --ts together.ts --ts-with part.fbs").code == 0);
  const std::string apart = ::test::read_file(folder / "apart.ts"),
                    together = ::test::read_file(folder / "together.ts");
  CHECK(apart.find("import type * as part from './part.js';") != std::string::npos);
  CHECK(apart.find("export interface Inner") == std::string::npos);
  CHECK(together.find("import") == std::string::npos);
  CHECK(together.find("export interface Inner") != std::string::npos);
  CHECK(together.find("  inner: Inner;") != std::string::npos);
}

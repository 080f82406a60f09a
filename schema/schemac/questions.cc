#include "schema/schemac/questions.h"

#include <algorithm>
#include <vector>

#include "schema/kinds.h"
#include "schema/schemac/output.h"

namespace muster::schemac {
namespace {

/// Returns the first sentence of a comment as one line.
std::string first_sentence(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  const std::size_t end = text.find(". ");
  if (end != std::string::npos) text.resize(end + 1);
  while (text.ends_with(' ')) text.pop_back();
  std::string shown;
  for (const char c : text) shown += c == '|' ? std::string("\\|") : std::string(1, c);
  return shown;
}

/// Returns the name of a type in muster.session, as used in namespace muster.
std::string session_name(const Output& out, TypeId id) { return "session::" + cpp_last_name(out.type(id).name); }

std::string declaration(const Output& out, const QuestionDescriptor& question) {
  const std::string parameters = "(const Asked& asked, const " + session_name(out, question.question) + "& what";
  switch (question.cost) {
    case QuestionCost::once: return "void answer_once" + parameters + ", Steps& steps);\n";
    case QuestionCost::slices: return "std::unique_ptr<Inquiry> begin_slices" + parameters + ");\n";
    case QuestionCost::seldom: return "std::unique_ptr<SeldomWork> begin_seldom" + parameters + ");\n";
    case QuestionCost::door: break;
  }
  return {};
}

/// Writes a function template that finds a question's type Q by id and calls f<Q>().
std::string finder(const Output& out, const std::string& name, const std::vector<QuestionDescriptor>& questions) {
  std::string text = "template <class F>\nbool " + name + "(TypeId type, F&& f) {\n  switch (type) {\n";
  for (const QuestionDescriptor& question : questions) {
    const std::string asked = session_name(out, question.question);
    text += "    case TypeTraits<" + asked + ">::id: f.template operator()<" + asked + ">(); return true;\n";
  }
  return text + "    default: return false;\n  }\n}\n";
}

}  // namespace

std::string write_question_table(const HeaderInput& input) {
  Output out(input.schema);
  std::vector<QuestionDescriptor> at_door, of_world;
  for (const QuestionDescriptor& question : input.schema.questions)
    (question.cost == QuestionCost::door ? at_door : of_world).push_back(question);
  out << "// Written by schemac from " << input.stem << ".fbs: change that instead.\n"
      << "//\n"
      << "// The handlers of all questions, and the table that finds them. Each handler is defined once, in the file "
         "of its\n"
      << "// subject: one that is missing, or defined twice, does not link.\n"
      << "#pragma once\n\n#include <memory>\n\n#include \"messages/session.h\"\n"
      << "#include \"server/questions/inquiry.h\"\n#include \"server/questions/seldom_work.h\"\n\n";
  out.enter("muster");
  for (const QuestionDescriptor& question : of_world) out << declaration(out, question);
  out << "\n/// Calls f<Q>() for the question of this type id, if the world answers it. False: it does not.\n"
      << finder(out, "with_world_question", of_world)
      << "\n/// Calls f<Q>() for the question of this type id, if the door answers it. False: it does not.\n"
      << finder(out, "with_door_question", at_door);
  out.leave();
  std::string text = out.take();
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::string write_question_page(const HeaderInput& input) {
  Output out(input.schema);
  std::string text = "| question | right | answer | cost | |\n|---|---|---|---|---|\n";
  const auto short_name = [](const std::string& name) {
    return name.starts_with("muster.session.") ? name.substr(name.rfind('.') + 1) : name;
  };
  for (const QuestionDescriptor& question : input.schema.questions) {
    const TypeDescriptor& asked = out.type(question.question);
    text += "| `" + short_name(asked.name) + "` | " + std::string(right_name(asked.remote)) + " | `" +
            short_name(out.type(question.answer).name) + "`" + (question.several ? ", one or several frames" : "") +
            " | " + std::string(cost_name(question.cost)) + " | " + first_sentence(asked.doc) + " |\n";
  }
  return text;
}

}  // namespace muster::schemac

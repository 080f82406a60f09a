#include "server/desk/template_questions.h"

#include <algorithm>

#include "registry/entity_registry.h"
#include "registry/templates/template_file.h"
#include "server/session/judge.h"

namespace muster {
namespace {

session::Templates about(const EntityRegistry& registry, std::vector<std::string> names) {
  session::Templates templates;
  templates.sequence = registry.sequence();
  std::ranges::sort(names);
  for (std::string& name : names) {
    const auto known = registry.find_template(name);
    if (!known) continue;
    templates.nodes.push_back(known->size());
    templates.names.push_back(std::move(name));
  }
  return templates;
}

void get_template(const EntityRegistry& registry, Session& to, std::uint64_t request, const std::string& name) {
  const auto definition = registry.template_definition(name);
  if (!definition) {
    session::Fault fault = fault_of(session::FaultCode::not_found, "unknown_template",
                                    "the world has no template called \"" + name + "\"");
    fault.field = "name";
    return to.outgoing->fault(fault, request);
  }
  answer(to, request, definition->decode());
}

void read_templates(EntityRegistry& registry, Session& to, std::uint64_t request, const session::ReadTemplates& asked) {
  const auto bad = [&](const TemplateError& error) {
    to.outgoing->fault(fault_of(session::FaultCode::refused, "bad_templates", error.text()), request);
  };
  const auto trees = read_templates(asked.text, asked.file, registry);
  if (!trees) return bad(trees.error());
  // What a file brings needs the same rights as a DefineTemplate of it.
  for (const TemplateTree& tree : *trees)
    if (const auto definition = tree.compile())
      if (auto lacking = template_right_fault(*definition, registry.types(), to.role))
        return to.outgoing->fault(std::move(*lacking), request);
  auto names = define_templates(registry, *trees, asked.file);
  if (!names) return bad(names.error());
  answer(to, request, about(registry, std::move(*names)));
}

}  // namespace

bool answer_template_question(EntityRegistry& registry, Session& to, std::uint64_t request, BatchView question) {
  switch (question.type()) {
    case TypeTraits<session::ListTemplates>::id: {
      const auto names = registry.template_names();
      answer(to, request, about(registry, {names.begin(), names.end()}));
      return true;
    }
    case TypeTraits<session::GetTemplate>::id:
      get_template(registry, to, request, session::read<session::GetTemplate>(question).name);
      return true;
    case TypeTraits<session::ReadTemplates>::id:
      read_templates(registry, to, request, session::read<session::ReadTemplates>(question));
      return true;
    default: return false;
  }
}

}  // namespace muster

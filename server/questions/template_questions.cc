#include "server/questions/template_questions.h"

#include <algorithm>

#include "registry/entity_registry.h"
#include "registry/templates/template_file.h"
#include "server/questions/answers.h"
#include "server/session/judge.h"

namespace muster {
namespace {

/// Some templates by name, in as many frames as it takes.
class TemplateList final : public Inquiry {
 public:
  TemplateList(Asked asked, std::vector<std::string> names) : asked_(std::move(asked)), names_(std::move(names)) {
    std::ranges::sort(names_);
  }
  Progress go_on(Steps& steps) override {
    const EntityRegistry& registry = asked_.registry;
    while (true) {
      for (; next_ < names_.size() && bytes_ < asked_.limits.page_bytes_max; ++next_) {
        if (!steps.left()) return Progress::again;
        steps.spend(3);
        const auto known = registry.find_template(names_[next_]);
        if (!known) continue;
        page_.nodes.push_back(known->size());
        page_.names.push_back(names_[next_]);
        bytes_ += 16 + names_[next_].size();
      }
      if (!asked_.has_room(bytes_)) return Progress::room;
      const bool last = next_ == names_.size();
      page_.sequence = registry.sequence();
      steps.spend_bytes(bytes_);
      answer(asked_.to(), asked_.request, page_, last ? 0 : std::uint32_t{frame_more});
      if (last) return Progress::done;
      page_ = {};
      bytes_ = 0;
    }
  }

 private:
  const Asked asked_;
  std::vector<std::string> names_;
  std::size_t next_ = 0, bytes_ = 0;
  session::Templates page_;
};

std::unique_ptr<Inquiry> begin_get_template(const Asked& asked, const std::string& name) {
  const std::size_t bytes = asked.registry.template_batch(name).size();
  if (bytes == 0) {
    session::Fault fault = fault_of(
        session::FaultCode::not_found, "unknown_template",
        "the world has no template called \"" + std::string(shown_name(name, asked.limits.name_bytes_max)) + "\"");
    fault.field = "name";
    return refuse(asked, fault);
  }
  return std::make_unique<Once>(
      asked,
      [asked, name](Steps&) {
        // As it was defined, byte for byte: nothing need be decoded.
        const auto batch = asked.registry.template_batch(name);
        if (!batch.empty()) return asked.to().outgoing->control(batch, asked.request);
        asked.fault(fault_of(session::FaultCode::not_found, "unknown_template", "the template was forgotten just now"));
      },
      bytes);
}

/// What is read is defined at once: the templates of a file come together, or none does.
class ReadingTemplates final : public Inquiry {
 public:
  ReadingTemplates(Asked asked, session::ReadTemplates what, Seldom& seldom, AdmitTemplates admit)
      : asked_(std::move(asked)), what_(std::move(what)), seldom_(seldom), admit_(std::move(admit)) {}
  Progress go_on(Steps& steps) override {
    if (!list_) {
      if (!asked_.has_room(4096)) return Progress::room;
      if (!seldom_.due(Seldom::Clock::now())) return Progress::later;
      const TemplateLimits limits{.nodes_max = asked_.limits.template_nodes_max,
                                  .bytes_max = asked_.limits.template_bytes_max,
                                  .compares_max = 500ull * asked_.limits.template_nodes_max,
                                  .name_bytes_max = asked_.limits.name_bytes_max};
      steps.spend_bytes(16 * what_.text.size());
      std::expected<std::vector<std::string>, session::Fault> names;
      seldom_.run([&] { names = define(limits); });
      if (!names) {
        asked_.fault(names.error());
        return Progress::done;
      }
      for (const std::string& name : *names)
        if (const auto known = asked_.registry.find_template(name)) steps.spend(10 * known->size());
      list_ = std::make_unique<TemplateList>(asked_, std::move(*names));
    }
    return list_->go_on(steps);
  }

 private:
  std::expected<std::vector<std::string>, session::Fault> define(const TemplateLimits& limits) {
    EntityRegistry& registry = asked_.registry;
    const auto bad = [](const TemplateError& error) {
      return std::unexpected(fault_of(session::FaultCode::refused, "bad_templates", error.text()));
    };
    const auto trees = read_templates(what_.text, what_.file, registry, limits);
    if (!trees) return bad(trees.error());
    // What a file brings needs the same rights as a DefineTemplate of it.
    BatchBuilder definitions(256u << 20);  // one batch
    for (const TemplateTree& tree : *trees) {
      const auto definition = tree.compile();
      if (!definition) continue;
      if (auto lacking = template_right_fault(*definition, registry.types(), asked_.to().role))
        return std::unexpected(std::move(*lacking));
      session::append(definitions, *definition);
    }
    if (!definitions.empty())
      if (auto fault = admit_(definitions.front())) return std::unexpected(std::move(*fault));
    auto names = define_templates(registry, *trees, what_.file);
    if (!names) return bad(names.error());
    return std::move(*names);
  }

  const Asked asked_;
  const session::ReadTemplates what_;
  Seldom& seldom_;
  const AdmitTemplates admit_;
  std::unique_ptr<TemplateList> list_;
};

}  // namespace

std::unique_ptr<Inquiry> begin_read_templates(const Asked& asked, session::ReadTemplates what, Seldom& seldom,
                                              AdmitTemplates admit) {
  return std::make_unique<ReadingTemplates>(asked, std::move(what), seldom, std::move(admit));
}

std::unique_ptr<Inquiry> begin_template_question(const Asked& asked, BatchView question) {
  switch (question.type()) {
    case TypeTraits<session::ListTemplates>::id: {
      const auto names = asked.registry.template_names();
      return std::make_unique<TemplateList>(asked, std::vector<std::string>(names.begin(), names.end()));
    }
    case TypeTraits<session::GetTemplate>::id:
      return begin_get_template(asked, session::read<session::GetTemplate>(question).name);
    default: return nullptr;
  }
}

}  // namespace muster

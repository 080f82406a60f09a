#include "server/questions/template_questions.h"

#include <algorithm>
#include <chrono>
#include <utility>

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

/// Read template by template: a ms or one template, then as long as others may need. What was read is defined at once: the
/// templates of a file come together, or none does.
class ReadingTemplates final : public Inquiry {
 public:
  ReadingTemplates(Asked asked, session::ReadTemplates what, Seldom& seldom, AdmitTemplates admit)
      : asked_(std::move(asked)), what_(std::move(what)), seldom_(seldom), admit_(std::move(admit)) {}
  Progress go_on(Steps& steps) override {
    while (!list_ && !wrong_) {
      if (!asked_.has_room(4096)) return Progress::room;
      if (!seldom_.due(Seldom::Clock::now())) return Progress::later;
      seldom_.run([&] {
        const auto begun = Seldom::Clock::now();
        while (!list_ && !wrong_ && Seldom::Clock::now() - begun < std::chrono::milliseconds(1)) do_next();
      });
      if (!list_ && !wrong_) return Progress::later;
      steps.spend(asked_.limits.slice_steps / 8);
    }
    if (list_) return list_->go_on(steps);
    asked_.fault(*wrong_);
    return Progress::done;
  }

 private:
  /// Of a file, or of one template.
  void do_next() {
    if (!trees_) {
      if (!file_) file_ = std::make_unique<TemplateFile>(what_.text, what_.file, asked_.registry, limits());
      if (file_->go_on()) return;
      auto trees = file_->take();
      file_.reset();
      if (trees)
        trees_ = std::move(*trees);
      else
        wrong_ = bad(trees.error());
    } else if (next_ < trees_->size()) {
      compile((*trees_)[next_++]);
    } else {
      define();
    }
  }
  /// What a file brings needs the same rights as a DefineTemplate of it.
  void compile(const TemplateTree& tree) {
    const auto definition = tree.compile();
    if (!definition) return;
    wrong_ = template_right_fault(*definition, asked_.registry.types(), asked_.to().role);
    session::append(definitions_, *definition);
    BatchBuilder alone(256u << 20);
    session::append(alone, *definition);
    defined_.emplace_back(tree.name(), std::vector<std::byte>(alone.bytes().begin(), alone.bytes().end()));
  }
  void define() {
    EntityRegistry& registry = asked_.registry;
    if (!definitions_.empty()) wrong_ = admit_(definitions_.front());
    std::vector<std::string> names;
    for (const auto& [name, batch] : defined_) {
      if (wrong_) return;
      // The server's own input, for that user.
      const Receipt receipt = registry.push_batch(batch, 0, 0, asked_.to().user);
      if (receipt.refused > 0) wrong_ = bad(refused_definition(registry, receipt, what_.file, name));
      names.push_back(name);
    }
    if (!wrong_) list_ = std::make_unique<TemplateList>(asked_, std::move(names));
  }
  static session::Fault bad(const TemplateError& error) {
    return fault_of(session::FaultCode::refused, "bad_templates", error.text());
  }
  TemplateLimits limits() const {
    return {.nodes_max = asked_.limits.template_nodes_max,
            .bytes_max = asked_.limits.template_bytes_max,
            .compares_max = 500ull * asked_.limits.template_nodes_max,
            .name_bytes_max = asked_.limits.name_bytes_max};
  }

  const Asked asked_;
  const session::ReadTemplates what_;
  Seldom& seldom_;
  const AdmitTemplates admit_;
  std::unique_ptr<TemplateFile> file_;
  std::optional<std::vector<TemplateTree>> trees_;
  std::size_t next_ = 0;                                                 // of the trees, to be compiled
  BatchBuilder definitions_{256u << 20};                                 // of all of them, in one batch
  std::vector<std::pair<std::string, std::vector<std::byte>>> defined_;  // each with its name
  std::optional<session::Fault> wrong_;
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

// Answers questions about templates.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/templates/template_file.h"
#include "server/questions/answer_sources.h"
#include "server/questions/answers.h"
#include "server/questions/question_table.h"
#include "server/session/judge.h"

namespace muster {
namespace {

/// Returns true if the user may see all types in a template.
bool may_see_template(const Asked& asked, const std::string& name) {
  if (!asked.sight) return true;
  const auto definition = asked.registry.host().template_definition(name);
  if (!definition) return true;
  const auto is_hidden = [&](const TemplateValueView& value) { return asked.sight->hidden()->contains(value.type()); };
  for (const TemplateNodeView node : definition->nodes()) {
    for (const TemplateValueView value : node.components())
      if (is_hidden(value)) return false;
    for (const TemplateValueView value : node.messages())
      if (is_hidden(value)) return false;
  }
  return true;
}

/// Sends templates in order of name, in one or more frames.
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
        const auto known = registry.host().find_template(names_[next_]);
        if (!known || !may_see_template(asked_, names_[next_])) continue;
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

/// Reads the templates in pieces that each take about one millisecond or process one template, and
/// then defines all of them together. As a result, either all templates of a file are defined or
/// none are.
class ReadingTemplates final : public SeldomWork {
 public:
  ReadingTemplates(const Asked& asked, const session::ReadTemplates& what)
      : SeldomWork(asked, asked.of().seldom, asked.limits.slice_steps / 8), what_(what) {}

 private:
  Progress piece() override {
    const auto begun = Seldom::Clock::now();
    while (!list_ && !wrong_ && Seldom::Clock::now() - begun < std::chrono::milliseconds(1)) do_next();
    return list_ || wrong_ ? Progress::again : Progress::later;
  }
  Progress finish(Steps& steps) override {
    if (list_) return list_->go_on(steps);
    asked_.fault(*wrong_);
    return Progress::done;
  }
  /// Parses part of the file, or compiles one template.
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
  /// Reading templates from a file requires the same rights as a DefineTemplate with the same
  /// contents.
  void compile(const TemplateTree& tree) {
    const auto definition = tree.compile();
    if (!definition) return;
    wrong_ = template_right_fault(*definition, asked_.registry.types(), asked_.to().rights);
    session::append(definitions_, *definition);
    BatchBuilder alone(256u << 20);
    session::append(alone, *definition);
    defined_.emplace_back(tree.name(), std::vector<std::byte>(alone.bytes().begin(), alone.bytes().end()));
  }
  void define() {
    EntityRegistry& registry = asked_.registry;
    if (!definitions_.empty()) wrong_ = asked_.of().desk.admit(asked_.to(), definitions_.front());
    std::vector<std::string> names;
    for (const auto& [name, batch] : defined_) {
      if (wrong_) return;
      // The server pushes the definition on behalf of the user.
      const Receipt receipt = registry.host().push_batch(batch, {.user = asked_.to().user});
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

  const session::ReadTemplates what_;
  std::unique_ptr<TemplateFile> file_;
  std::optional<std::vector<TemplateTree>> trees_;
  std::size_t next_ = 0;  // next tree to compile
  // Contains all trees in a single batch.
  BatchBuilder definitions_{256u << 20};
  std::vector<std::pair<std::string, std::vector<std::byte>>> defined_;  // definitions by name
  std::optional<session::Fault> wrong_;
  std::unique_ptr<TemplateList> list_;
};

}  // namespace

std::unique_ptr<SeldomWork> begin_seldom(const Asked& asked, const session::ReadTemplates& what) {
  if (asked.epoch != asked.of().desk.epoch())
    return seldom_once(asked, asked.of().seldom, [asked] { asked.fault(epoch_over_fault()); });
  return std::make_unique<ReadingTemplates>(asked, what);
}

std::unique_ptr<Inquiry> begin_slices(const Asked& asked, const session::ListTemplates&) {
  const auto names = asked.registry.host().template_names();
  return std::make_unique<TemplateList>(asked, std::vector<std::string>(names.begin(), names.end()));
}

std::unique_ptr<Inquiry> begin_slices(const Asked& asked, const session::GetTemplate& what) {
  const std::string& name = what.name;
  const std::size_t bytes = asked.registry.host().template_batch(name).size();
  if (bytes == 0 || !may_see_template(asked, name)) {
    session::Fault fault = fault_of(
        session::FaultCode::not_found, "unknown_template",
        "the world has no template called \"" + std::string(shown_name(name, asked.limits.name_bytes_max)) + "\"");
    fault.field = "name";
    return refuse(asked, fault);
  }
  return once(
      asked,
      [asked, name](Steps&) {
        // Send the definition's bytes unchanged, without decoding them.
        const auto batch = asked.registry.host().template_batch(name);
        if (!batch.empty()) return asked.to().outgoing()->control(batch, asked.request);
        asked.fault(fault_of(session::FaultCode::not_found, "unknown_template", "the template was just removed"));
      },
      bytes);
}

}  // namespace muster

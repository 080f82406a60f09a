#include "registry/templates/template_file.h"

#include <algorithm>
#include <initializer_list>
#include <set>

#include "messages/value_text.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/storage/names.h"
#include "registry/templates/template_json.h"
#include "registry/templates/template_values.h"

namespace muster {

std::string TemplateError::text() const {
  return file + ':' + std::to_string(line) + ": " + (path.empty() ? "" : path + ": ") + what;
}

using Kind = Json::Kind;
using Node = TemplateTree::Node;

namespace {

using template_text::joined;

/// Suggests a known name that is similar to an unknown one.
std::string suggestion(std::string_view name, std::vector<std::string_view> known) {
  const std::string nearest = nearest_name(name, known);
  return nearest.empty() ? "" : "; did you mean " + quoted(nearest) + "?";
}

}  // namespace

class TemplateFile::Reader {
 public:
  Reader(Json root, std::string_view file, const EntityRegistry& registry, const TemplateLimits& limits)
      : root_(std::move(root)), checks_(file, limits), registry_(registry) {}

  bool go_on() {
    if (next_ == 0 && !templates(root_)) return false;
    if (next_ < sources_.size()) build(next_++, root_.line);
    return next_ < sources_.size() && !checks_.failed();
  }
  std::expected<std::vector<TemplateTree>, TemplateError> take() {
    if (checks_.failed()) return std::unexpected(checks_.error());
    std::vector<TemplateTree> made;
    for (Source& source : sources_) made.push_back(std::move(*source.tree));
    return made;
  }

 private:
  struct Source {
    std::string name;
    const Json* json;
    enum class State : std::uint8_t { waiting, building, done } state = State::waiting;
    std::optional<TemplateTree> tree;
    TemplateTree::Size size = {};  // size of the tree
  };

  bool templates(const Json& root) {
    if (!checks_.expect(root, Kind::object, "an object", "", "the file") ||
        !checks_.fields(root, {"templates"}, "a file", ""))
      return false;
    const Json* list = root.find("templates");
    if (!list) return checks_.fail(root.line, "", "the file has no 'templates'");
    if (!checks_.expect(*list, Kind::array, "a list of templates", "", "'templates'")) return false;
    for (const Json& item : list->items) {
      if (!checks_.expect(item, Kind::object, "an object", "", "a template")) return false;
      const Json* name = item.find("name");
      if (!name || name->kind != Kind::string || name->text.empty())
        return checks_.fail(item.line, "", "a template needs a 'name'");
      if (!checks_.check_name(name->text, name->line, "") || !checks_.compare(sources_.size(), name->line, ""))
        return false;
      for (const Source& other : sources_)
        if (other.name == name->text)
          return checks_.fail(name->line, name->text, "there are two templates with this name");
      sources_.push_back({name->text, &item, Source::State::waiting, {}, {}});
    }
    return true;
  }

  bool build(std::size_t i, std::uint32_t line) {
    if (sources_[i].state == Source::State::done) return true;
    chain_.push_back(sources_[i].name);
    if (sources_[i].state == Source::State::building) {
      const auto first = std::ranges::find(chain_, chain_.back());
      return checks_.fail(line, *first, "its bases are circular: " + joined({first, chain_.end()}, " -> "));
    }
    sources_[i].state = Source::State::building;
    TemplateTree tree(sources_[i].name);
    TemplateValues values(checks_, registry_, tree);
    if (!checks_.count({.nodes = 1, .bytes = 0}, line, tree.name())) return false;
    if (!node(values, tree.root(), *sources_[i].json, tree.name(), false) || !values.resolve()) return false;
    if (const auto compiled = tree.compile(); !compiled)
      return checks_.fail(sources_[i].json->line, tree.name(),
                          std::string(std::string_view(compiled.error()).substr(tree.name().size() + 2)));
    sources_[i].size = tree.size();
    sources_[i].tree = std::move(tree);
    sources_[i].state = Source::State::done;
    chain_.pop_back();
    return true;
  }

  // --- nodes ---

  bool node(TemplateValues& values, Node& into, const Json& json, const std::string& path, bool is_override) {
    const bool good = is_override
                          ? checks_.fields(json, {"path", "remove", "bases", "components", "messages", "children"},
                                           "an override", path)
                          : checks_.fields(json, {"name", "bases", "components", "messages", "children", "overrides"},
                                           "a node", path);
    if (!good) return false;
    if (const Json* bases = json.find("bases")) {
      if (!checks_.expect(*bases, Kind::array, "a list of names", path, "'bases'")) return false;
      for (const Json& base : bases->items)
        if (!this->base(values, into, base, path)) return false;
    }
    if (const Json* components = json.find("components")) {
      if (!checks_.expect(*components, Kind::object, "an object with a member per component", path, "'components'"))
        return false;
      for (const Json::Member& member : components->members)
        if (!values.component(into, member, path)) return false;
    }
    if (const Json* children = json.find("children")) {
      if (!checks_.expect(*children, Kind::array, "a list of nodes", path, "'children'")) return false;
      if (!this->children(values, into, *children, path)) return false;
    }
    if (const Json* messages = json.find("messages")) {
      if (!checks_.expect(*messages, Kind::array, "a list of messages", path, "'messages'")) return false;
      for (const Json& item : messages->items)
        if (!values.message(into, item, path)) return false;
    }
    if (const Json* overrides = json.find("overrides")) {
      if (!checks_.expect(*overrides, Kind::array, "a list of overrides", path, "'overrides'")) return false;
      for (const Json& item : overrides->items)
        if (!override_(values, into, item, path)) return false;
    }
    return true;
  }

  bool base(TemplateValues& values, Node& into, const Json& json, const std::string& path) {
    if (!checks_.expect(json, Kind::string, "a template's name", path, "a base")) return false;
    if (!checks_.compare(sources_.size() + chain_.size(), json.line, path)) return false;
    const auto here = std::ranges::find(sources_, json.text, &Source::name);
    if (here != sources_.end()) {
      if (!build(static_cast<std::size_t>(here - sources_.begin()), json.line)) return false;
      if (!checks_.count(here->size, json.line, path)) return false;
      return values.tree().merge(into, *here->tree, checks_.compares_left()) ||
             checks_.too_many_compares(json.line, path);
    }
    if (const auto defined = registry_.host().template_definition(json.text)) {
      const TemplateTree::Size size{.nodes = defined->nodes().size(),
                                    .bytes = registry_.host().template_batch(json.text).size()};
      if (!checks_.count(size, json.line, path)) return false;
      return values.tree().merge(into, TemplateTree::read(*defined), checks_.compares_left()) ||
             checks_.too_many_compares(json.line, path);
    }
    std::vector<std::string_view> known;
    // Skips templates that are under construction and have this base, directly or indirectly,
    // because they cannot be the base that the file means.
    for (const Source& source : sources_)
      if (source.state != Source::State::building) known.push_back(source.name);
    return checks_.fail(json.line, path, "unknown base " + quoted(json.text) + suggestion(json.text, std::move(known)));
  }

  bool children(TemplateValues& values, Node& into, const Json& list, const std::string& path) {
    std::set<std::string_view> names;
    for (const Json& item : list.items) {
      if (!checks_.expect(item, Kind::object, "an object", path, "a child")) return false;
      std::string name;
      if (const Json* given = item.find("name")) {
        if (!checks_.expect(*given, Kind::string, "a string", path, "'name'")) return false;
        name = given->text;
        if (!checks_.check_name(name, given->line, path) || !checks_.compare(names.size(), given->line, path))
          return false;
        if (!name.empty() && !names.insert(given->text).second)
          return checks_.fail(given->line, path, "two children are named " + quoted(name));
      }
      if (!checks_.compare(into.children().size(), item.line, path)) return false;
      Node* child = into.child(name);
      if (!child && !checks_.count({.nodes = 1, .bytes = 0}, item.line, path)) return false;
      if (!child) child = &values.tree().add_child(into, name);
      if (!node(values, *child, item, path + '/' + (name.empty() ? "#" : escape_name(name)), false)) return false;
    }
    return true;
  }

  bool override_(TemplateValues& values, Node& into, const Json& json, const std::string& path) {
    if (!checks_.expect(json, Kind::object, "an object", path, "an override")) return false;
    const Json* where = json.find("path");
    if (!where || where->kind != Kind::string || where->text.empty())
      return checks_.fail(json.line, path, "an override needs a 'path'");
    Node* above = nullptr;
    Node* at = &into;
    std::string so_far = path;
    for (const std::string& step : path_names(where->text)) {
      above = at;
      if (!checks_.compare(at->children().size() + 1, where->line, path)) return false;
      at = at->child(step);
      if (!at) {
        std::vector<std::string> names;
        for (const Node& child : above->children())
          if (!child.name().empty()) names.push_back(child.name());
        return checks_.fail(where->line, path,
                            "override path " + quoted(where->text) + " does not exist: " + so_far + " has no child " +
                                quoted(step) + (names.empty() ? "" : "; it has " + joined(names)));
      }
      so_far += '/' + escape_name(step);
    }
    if (const Json* remove = json.find("remove")) {
      if (remove->text != "true" && remove->text != "false")
        return checks_.fail(remove->line, so_far, "'remove' is " + remove->shown() + ": expected true or false");
      if (remove->text == "true") {
        if (!above) return checks_.fail(remove->line, so_far, "a node cannot remove itself");
        if (json.members.size() > 2) return checks_.fail(json.line, so_far, "a removed node cannot have other fields");
        values.tree().remove_child(*above, at->key());
        return true;
      }
    }
    return node(values, *at, json, so_far, true);
  }

  const Json root_;
  TemplateChecks checks_;
  const EntityRegistry& registry_;
  std::vector<Source> sources_;
  std::size_t next_ = 0;
  std::vector<std::string> chain_;
};

TemplateFile::TemplateFile(std::string_view text, std::string_view file, const EntityRegistry& registry,
                           const TemplateLimits& limits) {
  auto json = parse_json(text);
  if (json)
    reader_ = std::make_unique<Reader>(std::move(*json), file, registry, limits);
  else
    reader_ = std::unexpected(TemplateError{std::string(file), json.error().line, {}, json.error().what});
}
TemplateFile::~TemplateFile() = default;

bool TemplateFile::go_on() { return reader_ && (*reader_)->go_on(); }

std::expected<std::vector<TemplateTree>, TemplateError> TemplateFile::take() {
  if (!reader_) return std::unexpected(reader_.error());
  return (*reader_)->take();
}

std::expected<std::vector<TemplateTree>, TemplateError> read_templates(std::string_view text, std::string_view file,
                                                                       const EntityRegistry& registry,
                                                                       const TemplateLimits& limits) {
  TemplateFile read(text, file, registry, limits);
  while (read.go_on()) {
  }
  return read.take();
}

std::expected<std::vector<std::string>, TemplateError> define_templates(EntityRegistry& registry, std::string_view text,
                                                                        std::string_view file,
                                                                        const TemplateLimits& limits) {
  const auto trees = read_templates(text, file, registry, limits);
  if (!trees) return std::unexpected(trees.error());
  return define_templates(registry, *trees, file);
}

std::expected<std::vector<std::string>, TemplateError> define_templates(EntityRegistry& registry,
                                                                        std::span<const TemplateTree> trees,
                                                                        std::string_view file) {
  std::vector<std::string> names;
  for (const TemplateTree& tree : trees) {
    const Receipt receipt = registry.define_template(tree);
    if (receipt.refused) return std::unexpected(refused_definition(registry, receipt, file, tree.name()));
    names.push_back(tree.name());
  }
  return names;
}

TemplateError refused_definition(const EntityRegistry& registry, const Receipt& receipt, std::string_view file,
                                 std::string_view name) {
  const TypeDescriptor* type = registry.types().find(receipt.refusal.type);
  return {
      std::string(file), 0, std::string(name),
      std::string("refused: ") + muster::name(receipt.refusal.code) + (type ? " (" + type->name + ")" : std::string())};
}

}  // namespace muster

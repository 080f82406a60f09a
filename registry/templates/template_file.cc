#include "registry/templates/template_file.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "messages/value_text.h"
#include "registry/entity_registry.h"
#include "registry/storage/names.h"
#include "registry/templates/template_json.h"

namespace muster {

std::string TemplateError::text() const {
  return file + ':' + std::to_string(line) + ": " + (path.empty() ? "" : path + ": ") + what;
}

namespace {

using Kind = Json::Kind;
using Node = TemplateTree::Node;

std::string joined(std::span<const std::string> parts, const char* between = ", ") {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

std::string quoted(std::string_view text) { return "'" + printable(text) + "'"; }

/// What is meant by a name that is not known.
std::string suggestion(std::string_view name, std::vector<std::string_view> known) {
  const std::string nearest = nearest_name(name, known);
  return nearest.empty() ? "" : "; did you mean " + quoted(nearest) + "?";
}

/// A field that will hold another node's id, as it was written.
struct Named {
  std::uint32_t node;  // key of the node whose value it is
  bool message;
  std::size_t index;  // of the message; of a component its type
  std::uint32_t offset;
  std::string target;
  std::uint32_t line;
  std::string path;
};

class FileReader {
 public:
  FileReader(std::string_view file, const EntityRegistry& registry, const TemplateLimits& limits)
      : file_(file), registry_(registry), limits_(limits), compares_left_(limits.compares_max) {}

  std::expected<std::vector<TemplateTree>, TemplateError> run(const Json& root) {
    std::vector<TemplateTree> made;
    if (templates(root))
      for (std::size_t i = 0; i < sources_.size() && !failed_; ++i) build(i, root.line);
    if (failed_) return std::unexpected(std::move(error_));
    for (Source& source : sources_) made.push_back(std::move(*source.tree));
    return made;
  }

 private:
  struct Source {
    std::string name;
    const Json* json;
    enum class State : std::uint8_t { waiting, building, done } state = State::waiting;
    std::optional<TemplateTree> tree;
    TemplateTree::Size size = {};  // of the tree
  };
  /// What is being built: one template.
  struct Building {
    TemplateTree& tree;
    std::vector<Named> named;
  };
  /// One value that is being read.
  struct Target {
    Building& building;
    const TypeDescriptor& type;
    TemplateTree::Value& value;
    std::uint32_t node;
    bool message;
    std::size_t index;
  };

  bool fail(std::uint32_t line, const std::string& path, std::string what) {
    if (!failed_) error_ = {file_, line, path, std::move(what)};
    failed_ = true;
    return false;
  }

  /// Nodes and bytes that are about to be added to a template.
  bool count(const TemplateTree::Size& more, std::uint32_t line, const std::string& path) {
    if (more.nodes > limits_.nodes_max - nodes_)
      return fail(
          line, path,
          "the file's templates come to more than " + std::to_string(limits_.nodes_max) + " nodes, bases worked in");
    if (more.bytes > limits_.bytes_max - bytes_)
      return fail(line, path,
                  "the file's templates come to more than " + std::to_string(limits_.bytes_max) +
                      " bytes of values, bases worked in");
    nodes_ += more.nodes;
    bytes_ += more.bytes;
    return true;
  }
  /// Names that are about to be compared.
  bool compare(std::uint64_t names, std::uint32_t line, const std::string& path) {
    if (names > compares_left_) return too_many_compares(line, path);
    compares_left_ -= names;
    return true;
  }
  bool too_many_compares(std::uint32_t line, const std::string& path) {
    return fail(line, path, "the file has too many names side by side to look through them all");
  }
  bool check_name(const std::string& name, std::uint32_t line, const std::string& path) {
    if (name.size() <= limits_.name_bytes_max) return true;
    return fail(line, path,
                "a name has " + std::to_string(name.size()) + " bytes; " + std::to_string(limits_.name_bytes_max) +
                    " are allowed");
  }

  bool expect(const Json& json, Kind kind, const char* wanted, const std::string& path, const char* field) {
    if (json.kind == kind) return true;
    return fail(json.line, path, std::string(field) + " is " + json.shown() + ": expected " + wanted);
  }
  bool fields(const Json& json, std::initializer_list<std::string_view> known, const char* of,
              const std::string& path) {
    for (const Json::Member& member : json.members)
      if (std::ranges::find(known, member.name) == known.end()) {
        std::vector<std::string> names(known.begin(), known.end());
        return fail(member.line, path, "unknown field " + quoted(member.name) + ": " + of + " has " + joined(names));
      }
    return true;
  }

  bool templates(const Json& root) {
    if (!expect(root, Kind::object, "an object", "", "the file") || !fields(root, {"templates"}, "a file", ""))
      return false;
    const Json* list = root.find("templates");
    if (!list) return fail(root.line, "", "the file has no 'templates'");
    if (!expect(*list, Kind::array, "a list of templates", "", "'templates'")) return false;
    for (const Json& item : list->items) {
      if (!expect(item, Kind::object, "an object", "", "a template")) return false;
      const Json* name = item.find("name");
      if (!name || name->kind != Kind::string || name->text.empty())
        return fail(item.line, "", "a template needs a 'name'");
      if (!check_name(name->text, name->line, "") || !compare(sources_.size(), name->line, "")) return false;
      for (const Source& other : sources_)
        if (other.name == name->text) return fail(name->line, name->text, "there are two templates of this name");
      sources_.push_back({name->text, &item, Source::State::waiting, {}, {}});
    }
    return true;
  }

  bool build(std::size_t i, std::uint32_t line) {
    if (sources_[i].state == Source::State::done) return true;
    chain_.push_back(sources_[i].name);
    if (sources_[i].state == Source::State::building) {
      const auto first = std::ranges::find(chain_, chain_.back());
      return fail(line, *first, "its bases lead back to itself: " + joined({first, chain_.end()}, " -> "));
    }
    sources_[i].state = Source::State::building;
    TemplateTree tree(sources_[i].name);
    Building building{tree, {}};
    if (!count({.nodes = 1, .bytes = 0}, line, tree.name())) return false;
    if (!node(building, tree.root(), *sources_[i].json, tree.name(), false) || !resolve(building)) return false;
    if (const auto compiled = tree.compile(); !compiled)
      return fail(sources_[i].json->line, tree.name(),
                  std::string(std::string_view(compiled.error()).substr(tree.name().size() + 2)));
    sources_[i].size = tree.size();
    sources_[i].tree = std::move(tree);
    sources_[i].state = Source::State::done;
    chain_.pop_back();
    return true;
  }

  // --- nodes ---

  bool node(Building& building, Node& into, const Json& json, const std::string& path, bool is_override) {
    const bool good =
        is_override
            ? fields(json, {"path", "remove", "bases", "components", "messages", "children"}, "an override", path)
            : fields(json, {"name", "bases", "components", "messages", "children", "overrides"}, "a node", path);
    if (!good) return false;
    if (const Json* bases = json.find("bases")) {
      if (!expect(*bases, Kind::array, "a list of names", path, "'bases'")) return false;
      for (const Json& base : bases->items)
        if (!this->base(building, into, base, path)) return false;
    }
    if (const Json* components = json.find("components")) {
      if (!expect(*components, Kind::object, "an object with a member per component", path, "'components'"))
        return false;
      for (const Json::Member& member : components->members)
        if (!component(building, into, member, path)) return false;
    }
    if (const Json* children = json.find("children")) {
      if (!expect(*children, Kind::array, "a list of nodes", path, "'children'")) return false;
      if (!this->children(building, into, *children, path)) return false;
    }
    if (const Json* messages = json.find("messages")) {
      if (!expect(*messages, Kind::array, "a list of messages", path, "'messages'")) return false;
      for (const Json& item : messages->items)
        if (!message(building, into, item, path)) return false;
    }
    if (const Json* overrides = json.find("overrides")) {
      if (!expect(*overrides, Kind::array, "a list of overrides", path, "'overrides'")) return false;
      for (const Json& item : overrides->items)
        if (!override_(building, into, item, path)) return false;
    }
    return true;
  }

  bool base(Building& building, Node& into, const Json& json, const std::string& path) {
    if (!expect(json, Kind::string, "a template's name", path, "a base")) return false;
    if (!compare(sources_.size() + chain_.size(), json.line, path)) return false;
    const auto here = std::ranges::find(sources_, json.text, &Source::name);
    if (here != sources_.end()) {
      if (!build(static_cast<std::size_t>(here - sources_.begin()), json.line)) return false;
      if (!count(here->size, json.line, path)) return false;
      return building.tree.merge(into, *here->tree, compares_left_) || too_many_compares(json.line, path);
    }
    if (const auto defined = registry_.template_definition(json.text)) {
      const TemplateTree::Size size{.nodes = defined->nodes().size(),
                                    .bytes = registry_.template_batch(json.text).size()};
      if (!count(size, json.line, path)) return false;
      return building.tree.merge(into, TemplateTree::read(*defined), compares_left_) ||
             too_many_compares(json.line, path);
    }
    std::vector<std::string_view> known;
    for (const Source& source : sources_) known.push_back(source.name);
    return fail(json.line, path, "unknown base " + quoted(json.text) + suggestion(json.text, std::move(known)));
  }

  bool children(Building& building, Node& into, const Json& list, const std::string& path) {
    std::vector<std::string_view> names;
    for (const Json& item : list.items) {
      if (!expect(item, Kind::object, "an object", path, "a child")) return false;
      std::string name;
      if (const Json* given = item.find("name")) {
        if (!expect(*given, Kind::string, "a text", path, "'name'")) return false;
        name = given->text;
        if (!check_name(name, given->line, path) || !compare(names.size(), given->line, path)) return false;
        if (!name.empty() && std::ranges::find(names, name) != names.end())
          return fail(given->line, path, "two children are named " + quoted(name));
        names.push_back(given->text);
      }
      if (!compare(into.children.size(), item.line, path)) return false;
      Node* child = into.child(name);
      if (!child && !count({.nodes = 1, .bytes = 0}, item.line, path)) return false;
      if (!child) child = &building.tree.add_child(into, name);
      if (!node(building, *child, item, path + '/' + (name.empty() ? "#" : escape_name(name)), false)) return false;
    }
    return true;
  }

  bool override_(Building& building, Node& into, const Json& json, const std::string& path) {
    if (!expect(json, Kind::object, "an object", path, "an override")) return false;
    const Json* where = json.find("path");
    if (!where || where->kind != Kind::string || where->text.empty())
      return fail(json.line, path, "an override needs a 'path'");
    Node* above = nullptr;
    Node* at = &into;
    std::string so_far = path;
    for (const std::string& step : path_names(where->text)) {
      above = at;
      if (!compare(at->children.size() + 1, where->line, path)) return false;
      at = at->child(step);
      if (!at) {
        std::vector<std::string> names;
        for (const Node& child : above->children)
          if (!child.name.empty()) names.push_back(child.name);
        return fail(where->line, path,
                    "override " + quoted(where->text) + " leads nowhere: " + so_far + " has no child " + quoted(step) +
                        (names.empty() ? "" : "; it has " + joined(names)));
      }
      so_far += '/' + escape_name(step);
    }
    if (const Json* remove = json.find("remove")) {
      if (remove->text != "true" && remove->text != "false")
        return fail(remove->line, so_far, "'remove' is " + remove->shown() + ": expected true or false");
      if (remove->text == "true") {
        if (!above) return fail(remove->line, so_far, "a node cannot take itself away");
        if (json.members.size() > 2) return fail(json.line, so_far, "a node that is taken away has nothing else");
        std::erase_if(above->children, [&](const Node& child) { return child.key == at->key; });
        return true;
      }
    }
    return node(building, *at, json, so_far, true);
  }

  // --- values ---

  bool component(Building& building, Node& into, const Json::Member& member, const std::string& path) {
    const auto type = find_component(registry_.types(), member.name);
    if (!type) return fail(member.line, path, type.error().text);
    if ((*type)->id == TypeTraits<Name>::id || (*type)->id == TypeTraits<ChildOf>::id)
      return fail(member.line, path, (*type)->name + " is kept by the registry itself");
    if (member.value.kind == Kind::null) {
      forget(building, into.key, false, (*type)->id, 0, (*type)->size);
      if (building.tree.remove(into, (*type)->id)) return true;
      return fail(member.line, path, "there is no " + (*type)->name + " to take away");
    }
    if (!expect(member.value, Kind::object, "an object of fields, or null", path, (*type)->name.c_str())) return false;
    TemplateTree::Value* value = into.component((*type)->id);
    if (!value && !count({.nodes = 0, .bytes = (*type)->size}, member.line, path)) return false;
    if (!value) {
      value = &building.tree.set(into, (*type)->id, (*type)->fingerprint, (*type)->default_bytes);
      std::ranges::fill(value->given, std::uint8_t{0});
    }
    default_texts(building.tree, **type);
    Target target{building, **type, *value, into.key, false, (*type)->id};
    return object(target, member.value, "", path);
  }

  bool message(Building& building, Node& into, const Json& json, const std::string& path) {
    if (!expect(json, Kind::object, "an object with 'type' and 'value'", path, "a message") ||
        !fields(json, {"type", "value"}, "a message", path))
      return false;
    const Json* name = json.find("type");
    if (!name || name->kind != Kind::string) return fail(json.line, path, "a message needs a 'type'");
    const auto found = find_message(registry_.types(), name->text);
    if (!found) return fail(name->line, path, found.error().text);
    const TypeDescriptor& type = **found;
    if (is_builtin(type.id)) return fail(name->line, path, type.name + " cannot be an initial message");
    const Json* value = json.find("value");
    const Json none{.kind = Kind::object, .line = json.line, .text = {}, .items = {}, .members = {}};
    if (!value) value = &none;
    if (!expect(*value, Kind::object, "an object of fields", path, type.name.c_str())) return false;
    if (!type.is_table && !count({.nodes = 0, .bytes = type.size}, name->line, path)) return false;
    if (type.is_table) return table_message(building, into, type, *value, path);
    default_texts(building.tree, type);
    Target target{building, type, building.tree.add_message(into, type.id, type.fingerprint, type.default_bytes),
                  into.key, true, into.messages.size() - 1};
    return object(target, *value, "", path);
  }

  bool table_message(Building& building, Node& into, const TypeDescriptor& type, const Json& json,
                     const std::string& path) {
    FieldTexts assignments;
    for (const Json::Member& member : json.members) {
      std::string text;
      if (member.value.kind == Kind::array) {
        for (const Json& item : member.value.items)
          text += (text.empty() ? "" : ", ") + (item.kind == Kind::string ? in_quotes(item.text) : item.text);
      } else {
        text = member.value.kind == Kind::string ? in_quotes(member.value.text) : member.value.text;
      }
      assignments.emplace_back(member.name, std::move(text));
    }
    References references(registry_, building.tree);
    const auto table = parse_table(registry_.types(), type, assignments, references);
    if (!table) return fail(json.line, path, table.error().text);
    if (!count({.nodes = 0, .bytes = table->size()}, json.line, path)) return false;
    if (references.node) return fail(json.line, path, "a table cannot refer to a node of the template");
    building.tree.add_message(into, type.id, type.fingerprint, *table);
    return true;
  }

  bool object(Target& target, const Json& json, const std::string& prefix, const std::string& path) {
    for (const Json::Member& member : json.members)
      if (!field(target, member.value, prefix + member.name, member.line, path)) return false;
    return true;
  }

  bool field(Target& target, const Json& json, const std::string& name, std::uint32_t line, const std::string& path) {
    const TypeTable& types = registry_.types();
    if (target.type.tag) return fail(line, path, target.type.name + " is a tag: it has no fields");
    const auto place = types.place(target.type, name);
    if (!place) return fail(line, path, place.error());
    if (json.kind == Kind::object) {
      if (place->field->kind != FieldKind::structure || place->count != 1)
        return fail(line, path, target.type.name + '.' + name + " is no struct");
      return object(target, json, name + '.', path);
    }
    if (json.kind == Kind::array) {
      if (!place->field->is_array || name.ends_with(']'))
        return fail(line, path, target.type.name + '.' + name + " is no array");
      if (json.items.size() != place->count)
        return fail(line, path,
                    target.type.name + '.' + name + " has " + std::to_string(place->count) + " elements, not " +
                        std::to_string(json.items.size()));
      for (std::size_t i = 0; i < json.items.size(); ++i)
        if (!field(target, json.items[i], name + '[' + std::to_string(i) + ']', json.items[i].line, path)) return false;
      return true;
    }
    if (json.kind == Kind::null) return fail(line, path, target.type.name + '.' + name + " cannot be null");
    const auto parts = leaves(types, *place, name);
    const bool entity =
        std::ranges::any_of(parts, [](const Leaf& leaf) { return leaf.field->kind == FieldKind::entity; });
    if (parts.size() > 1 && entity)
      return fail(line, path, target.type.name + '.' + name + " holds an entity: write it as an object");
    const bool text = parts.size() == 1 && parts[0].field->kind == FieldKind::text;
    if (text && json.kind != Kind::string)
      return fail(line, path, target.type.name + '.' + name + " is " + json.shown() + ": expected a text in quotes");
    References references(registry_, target.building.tree);
    std::vector<std::byte> changed = target.value.bytes;
    const auto read =
        parse_place(types, target.type, *place, name, text ? in_quotes(json.text) : json.text, changed, references);
    if (!read) return fail(line, path, read.error().text);
    const std::uint32_t bytes = place->size;  // of a whole array, where that was named
    target.value.put(place->offset, std::span(changed).subspan(place->offset, bytes));
    forget(target.building, target.node, target.message, target.index, place->offset, bytes);
    if (references.node)
      target.building.named.push_back(
          {target.node, target.message, target.index, place->offset, std::move(*references.node), line, path});
    return true;
  }

  static std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out + '"';
  }

  /// Nodes that were named for a part of a value which is written again.
  static void forget(Building& building, std::uint32_t node, bool message, std::size_t index, std::uint32_t offset,
                     std::uint32_t bytes) {
    std::erase_if(building.named, [&](const Named& named) {
      return named.node == node && named.message == message && named.index == index && named.offset >= offset &&
             named.offset < offset + bytes;
    });
  }

  /// The contents of text fields that have a default.
  void default_texts(TemplateTree& tree, const TypeDescriptor& type) {
    for (const FieldDescriptor& field : type.fields) {
      if (field.kind == FieldKind::text) tree.text(field.default_text);
      if (field.kind == FieldKind::structure)
        if (const TypeDescriptor* inner = registry_.types().find(field.type)) default_texts(tree, *inner);
    }
  }

  /// Fields that name nodes come to refer to them, now that all nodes are there.
  bool resolve(Building& building) {
    for (const Named& named : building.named) {
      if (!compare(building.tree.keys(), named.line, named.path)) return false;
      Node* holder = building.tree.find(named.node);
      if (!holder) continue;  // it was taken away again
      const Node* target = building.tree.find(named.target);
      if (!target)
        return fail(named.line, named.path,
                    quoted(named.target) + " is no node of " + building.tree.name() +
                        "; entities of the world are written as /path or as an id");
      TemplateTree::Value* value =
          named.message ? &holder->messages[named.index] : holder->component(static_cast<TypeId>(named.index));
      if (value) value->references.push_back({named.offset, target->key});
    }
    return true;
  }

  /// What values refer to: texts are kept by the tree, entities are those of the world or nodes.
  class References final : public ValueReferences {
   public:
    References(const EntityRegistry& registry, TemplateTree& tree) : registry_(registry), tree_(tree) {}
    ValueResult<Entity> find_entity(std::string_view text) override {
      Entity id;
      if (parse_id(text, id)) return id;
      if (!text.starts_with('/')) {
        node = std::string(text);
        return Entity{};
      }
      if (const Entity found = registry_.find_path(text)) return found;
      return std::unexpected(
          ValueError{ValueError::Kind::unknown_reference, "there is no entity " + quoted(text) + " in the world"});
    }
    ValueResult<Text> intern(std::string_view text) override { return tree_.text(text); }
    std::string text(Text) override { return {}; }

    std::optional<std::string> node;

   private:
    const EntityRegistry& registry_;
    TemplateTree& tree_;
  };

  std::string file_;
  const EntityRegistry& registry_;
  std::vector<Source> sources_;
  std::vector<std::string> chain_;
  const TemplateLimits limits_;
  std::uint64_t nodes_ = 0, bytes_ = 0;  // of what was built
  std::uint64_t compares_left_;
  bool failed_ = false;
  TemplateError error_;
};

}  // namespace

std::expected<std::vector<TemplateTree>, TemplateError> read_templates(std::string_view text, std::string_view file,
                                                                       const EntityRegistry& registry,
                                                                       const TemplateLimits& limits) {
  const auto json = parse_json(text);
  if (!json) return std::unexpected(TemplateError{std::string(file), json.error().line, {}, json.error().what});
  return FileReader(file, registry, limits).run(*json);
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
    const Receipt receipt = registry.define(tree);
    if (receipt.refused) {
      const TypeDescriptor* type = registry.types().find(receipt.refusal.type);
      return std::unexpected(TemplateError{
          std::string(file), 0, tree.name(),
          std::string("refused: ") + name(receipt.refusal.code) + (type ? " (" + type->name + ")" : std::string())});
    }
    names.push_back(tree.name());
  }
  return names;
}

}  // namespace muster

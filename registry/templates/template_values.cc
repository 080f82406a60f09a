#include "registry/templates/template_values.h"

#include <algorithm>
#include <optional>

#include "messages/value_text.h"

namespace muster {

using Kind = Json::Kind;
using Node = TemplateTree::Node;

namespace template_text {

std::string joined(std::span<const std::string> parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

}  // namespace template_text

using template_text::joined;

// --- checks ---

bool TemplateChecks::fail(std::uint32_t line, const std::string& path, std::string what) {
  if (!failed_) error_ = {file_, line, path, std::move(what)};
  failed_ = true;
  return false;
}

bool TemplateChecks::count(const TemplateTree::Size& more, std::uint32_t line, const std::string& path) {
  if (more.nodes > limits_.nodes_max - nodes_)
    return fail(
        line, path,
        "the file's templates have more than " + std::to_string(limits_.nodes_max) + " nodes, including their bases'");
  if (more.bytes > limits_.bytes_max - bytes_)
    return fail(line, path,
                "the file's templates have more than " + std::to_string(limits_.bytes_max) +
                    " bytes of values, including their bases'");
  nodes_ += more.nodes;
  bytes_ += more.bytes;
  return true;
}
bool TemplateChecks::too_many_compares(std::uint32_t line, const std::string& path) {
  return fail(line, path, "the file has too many sibling names to compare");
}
bool TemplateChecks::check_name(const std::string& name, std::uint32_t line, const std::string& path) {
  if (name.size() <= limits_.name_bytes_max) return true;
  return fail(
      line, path,
      "a name has " + std::to_string(name.size()) + " bytes; the limit is " + std::to_string(limits_.name_bytes_max));
}

bool TemplateChecks::expect(const Json& json, Kind kind, const char* wanted, const std::string& path,
                            const char* field) {
  if (json.kind == kind) return true;
  return fail(json.line, path, std::string(field) + " is " + json.shown() + ": expected " + wanted);
}
bool TemplateChecks::fields(const Json& json, std::initializer_list<std::string_view> known, const char* of,
                            const std::string& path) {
  for (const Json::Member& member : json.members)
    if (std::ranges::find(known, member.name) == known.end()) {
      std::vector<std::string> names(known.begin(), known.end());
      return fail(member.line, path, "unknown field " + quoted(member.name) + ": " + of + " has " + joined(names));
    }
  return true;
}

// --- values ---

namespace {

std::string as_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// Resolves references in values. Texts are stored in the tree. Entities are either nodes of the
/// tree or entities of the world.
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

}  // namespace

bool TemplateValues::component(Node& into, const Json::Member& member, const std::string& path) {
  const auto type = find_component(registry_.types(), member.name);
  if (!type) return fail(member.line, path, type.error().text);
  if ((*type)->id == TypeTraits<Name>::id || (*type)->id == TypeTraits<ChildOf>::id)
    return fail(member.line, path, (*type)->name + " is managed by the registry itself");
  if (member.value.kind == Kind::null) {
    forget(into.key(), false, (*type)->id, 0, (*type)->size);
    if (tree_.remove(into, (*type)->id)) return true;
    return fail(member.line, path, "there is no " + (*type)->name + " to remove");
  }
  if (!checks_.expect(member.value, Kind::object, "an object of fields, or null", path, (*type)->name.c_str()))
    return false;
  TemplateTree::Value* value = into.component((*type)->id);
  if (!value && !checks_.count({.nodes = 0, .bytes = (*type)->size}, member.line, path)) return false;
  if (!value) {
    value = &tree_.set(into, (*type)->id, (*type)->fingerprint, (*type)->default_bytes);
    std::ranges::fill(value->given, std::uint8_t{0});
  }
  default_texts(**type);
  Target target{**type, *value, into.key(), false, (*type)->id};
  return object(target, member.value, "", path);
}

bool TemplateValues::message(Node& into, const Json& json, const std::string& path) {
  if (!checks_.expect(json, Kind::object, "an object with 'type' and 'value'", path, "a message") ||
      !checks_.fields(json, {"type", "value"}, "a message", path))
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
  if (!checks_.expect(*value, Kind::object, "an object of fields", path, type.name.c_str())) return false;
  if (!type.is_table && !checks_.count({.nodes = 0, .bytes = type.size}, name->line, path)) return false;
  if (type.is_table) return table_message(into, type, *value, path);
  default_texts(type);
  Target target{type, tree_.add_message(into, type.id, type.fingerprint, type.default_bytes), into.key(), true,
                into.messages.size() - 1};
  return object(target, *value, "", path);
}

bool TemplateValues::table_message(Node& into, const TypeDescriptor& type, const Json& json, const std::string& path) {
  FieldTexts assignments;
  for (const Json::Member& member : json.members) {
    std::string text;
    if (member.value.kind == Kind::array) {
      for (const Json& item : member.value.items)
        text += (text.empty() ? "" : ", ") + (item.kind == Kind::string ? as_string(item.text) : item.text);
    } else {
      text = member.value.kind == Kind::string ? as_string(member.value.text) : member.value.text;
    }
    assignments.emplace_back(member.name, std::move(text));
  }
  References references(registry_, tree_);
  const auto table = parse_table(registry_.types(), type, assignments, references);
  if (!table) return fail(json.line, path, table.error().text);
  if (!checks_.count({.nodes = 0, .bytes = table->size()}, json.line, path)) return false;
  if (references.node) return fail(json.line, path, "a table cannot refer to a node of the template");
  tree_.add_message(into, type.id, type.fingerprint, *table);
  return true;
}

bool TemplateValues::object(Target& target, const Json& json, const std::string& prefix, const std::string& path) {
  for (const Json::Member& member : json.members)
    if (!field(target, member.value, prefix + member.name, member.line, path)) return false;
  return true;
}

bool TemplateValues::field(Target& target, const Json& json, const std::string& name, std::uint32_t line,
                           const std::string& path) {
  const TypeTable& types = registry_.types();
  if (target.type.tag) return fail(line, path, target.type.name + " is a tag: it has no fields");
  const auto place = types.place(target.type, name);
  if (!place) return fail(line, path, place.error());
  if (json.kind == Kind::object) {
    if (place->field->kind != FieldKind::structure || place->count != 1)
      return fail(line, path, target.type.name + '.' + name + " is not a struct");
    return object(target, json, name + '.', path);
  }
  if (json.kind == Kind::array) {
    if (!place->field->is_array || name.ends_with(']'))
      return fail(line, path, target.type.name + '.' + name + " is not an array");
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
    return fail(line, path, target.type.name + '.' + name + " is " + json.shown() + ": expected a quoted string");
  References references(registry_, tree_);
  std::vector<std::byte> changed = target.value.bytes;
  const auto read =
      parse_place(types, target.type, *place, name, text ? as_string(json.text) : json.text, changed, references);
  if (!read) return fail(line, path, read.error().text);
  const std::uint32_t bytes = place->size;  // if the field is an array, the size of the whole array
  target.value.put(place->offset, std::span(changed).subspan(place->offset, bytes));
  forget(target.node, target.message, target.index, place->offset, bytes);
  if (references.node)
    named_.push_back(
        {target.node, target.message, target.index, place->offset, std::move(*references.node), line, path});
  return true;
}

void TemplateValues::forget(std::uint32_t node, bool message, std::size_t index, std::uint32_t offset,
                            std::uint32_t bytes) {
  std::erase_if(named_, [&](const Named& named) {
    return named.node == node && named.message == message && named.index == index && named.offset >= offset &&
           named.offset < offset + bytes;
  });
}

void TemplateValues::default_texts(const TypeDescriptor& type) {
  for (const FieldDescriptor& field : type.fields) {
    if (field.kind == FieldKind::text) tree_.text(field.default_text);
    if (field.kind == FieldKind::structure)
      if (const TypeDescriptor* inner = registry_.types().find(field.type)) default_texts(*inner);
  }
}

bool TemplateValues::resolve() {
  for (const Named& named : named_) {
    if (!checks_.compare(tree_.keys(), named.line, named.path)) return false;
    Node* holder = tree_.find(named.node);
    if (!holder) continue;  // the node has been removed since then
    const Node* target = tree_.find(named.target);
    if (!target)
      return fail(named.line, named.path,
                  quoted(named.target) + " is not a node of " + tree_.name() +
                      "; write entities of the world as /path or as an id");
    TemplateTree::Value* value =
        named.message ? &holder->messages[named.index] : holder->component(static_cast<TypeId>(named.index));
    if (value) value->references.push_back({named.offset, target->key()});
  }
  return true;
}

}  // namespace muster

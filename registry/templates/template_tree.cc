#include "registry/templates/template_tree.h"

#include <algorithm>

#include "registry/entity_registry.h"
#include "registry/host.h"

namespace muster {

std::vector<std::string> path_names(std::string_view path) {
  std::vector<std::string> names;
  if (path.empty() || path == ".") return names;
  names.emplace_back();
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '\\' && i + 1 < path.size())
      names.back() += path[++i];
    else if (path[i] == '/')
      names.emplace_back();
    else
      names.back() += path[i];
  }
  return names;
}

// --- values ---

void TemplateTree::Value::put(std::uint32_t offset, std::span<const std::byte> part) {
  std::memcpy(bytes.data() + offset, part.data(), part.size());
  std::fill_n(given.begin() + offset, part.size(), std::uint8_t{1});
  std::erase_if(references, [&](const Reference& r) { return r.offset >= offset && r.offset < offset + part.size(); });
}

void TemplateTree::Value::merge(const Value& over) {
  for (std::size_t i = 0; i < bytes.size() && i < over.bytes.size(); ++i)
    if (over.given[i]) {
      bytes[i] = over.bytes[i];
      given[i] = 1;
    }
  std::erase_if(references, [&](const Reference& r) { return over.given[r.offset] != 0; });
  for (const Reference& r : over.references)
    if (over.given[r.offset]) references.push_back(r);
}

TemplateTree::Value* TemplateTree::Node::component(TypeId type) noexcept {
  const auto at = std::ranges::find(components, type, &Value::type);
  return at == components.end() ? nullptr : &*at;
}

TemplateTree::Node* TemplateTree::Node::child(std::string_view child_name) {
  if (child_name.empty()) return nullptr;
  const auto fits = [&](const Node& child) {
    ++compared_;
    return child.name_ == child_name;
  };
  const auto search = [&]() -> Node* {
    const auto at = std::ranges::find_if(children_, fits);
    return at == children_.end() ? nullptr : &*at;
  };
  constexpr std::size_t few = 16;  // maximum number of children that are scanned without an index
  if (children_.size() <= few) return search();
  for (; indexed_ < children_.size(); ++indexed_)
    if (const std::uint64_t hash = hash64(children_[indexed_].name_); !by_name_.find(hash))
      by_name_.put(hash, static_cast<std::uint32_t>(indexed_));
  const std::uint32_t* known = by_name_.find(hash64(child_name));
  if (!known) return nullptr;
  // A different name may have the same hash.
  return fits(children_[*known]) ? &children_[*known] : search();
}

TemplateTree::Node* TemplateTree::Node::child(std::uint32_t child_key) noexcept {
  const auto at = std::ranges::lower_bound(children_, child_key, {}, &Node::key_);
  return at == children_.end() || at->key_ != child_key ? nullptr : &*at;
}

TemplateTree::Value& TemplateTree::set(Node& node, TypeId type, std::uint64_t fingerprint,
                                       std::span<const std::byte> value) {
  Value* known = node.component(type);
  if (!known) known = &node.components.emplace_back();
  *known = {type, fingerprint, {value.begin(), value.end()}, std::vector<std::uint8_t>(value.size(), 1), {}};
  return *known;
}

bool TemplateTree::remove(Node& node, TypeId type) {
  return std::erase_if(node.components, [&](const Value& value) { return value.type == type; }) != 0;
}

TemplateTree::Value& TemplateTree::add_message(Node& node, TypeId type, std::uint64_t fingerprint,
                                               std::span<const std::byte> value) {
  return node.messages.emplace_back(
      Value{type, fingerprint, {value.begin(), value.end()}, std::vector<std::uint8_t>(value.size(), 1), {}});
}

Text TemplateTree::text(std::string_view content) {
  const Text text = text_of(content);
  if (content.empty()) return text;
  const std::uint32_t* known = text_numbers_.find(text.hash);
  if (!known) text_numbers_.put(text.hash, static_cast<std::uint32_t>(texts_.size()));
  // Two texts with the same hash are both kept, so that the registry will refuse them.
  if (!known || (texts_[*known] != content && std::ranges::find(texts_, content) == texts_.end()))
    texts_.emplace_back(content);
  return text;
}

// --- nodes ---

TemplateTree::Node* TemplateTree::find(std::string_view path) {
  Node* node = &root_;
  for (const std::string& step : path_names(path))
    if (node = node->child(step); !node) return nullptr;
  return node;
}

TemplateTree::Node* TemplateTree::find(std::uint32_t key) {
  if (key >= parents_.size()) return nullptr;
  std::vector<std::uint32_t> steps;
  for (; key != 0; key = parents_[key]) steps.push_back(key);
  Node* node = &root_;
  for (; node && !steps.empty(); steps.pop_back()) node = node->child(steps.back());
  return node;
}

TemplateTree::Node& TemplateTree::at(std::string_view path) {
  Node* node = &root_;
  for (std::string& step : path_names(path)) {
    Node* next = node->child(step);
    node = next ? next : &add_child(*node, std::move(step));
  }
  return *node;
}

TemplateTree::Node& TemplateTree::add_child(Node& parent, std::string name) {
  const std::uint32_t above = parent.key_;
  Node& child = parent.children_.emplace_back();
  child.key_ = static_cast<std::uint32_t>(parents_.size());
  child.name_ = std::move(name);
  parents_.push_back(above);
  return child;
}

void TemplateTree::remove_child(Node& parent, std::uint32_t key) {
  std::erase_if(parent.children_, [&](const Node& child) { return child.key_ == key; });
  parent.by_name_.clear();
  parent.indexed_ = 0;
}

// --- merging trees ---

bool TemplateTree::mirror(Node& into, const Node& from, std::map<std::uint32_t, std::uint32_t>& keys,
                          std::uint64_t& compares_left) {
  keys[from.key_] = into.key_;
  for (const Node& child : from.children_) {
    // Count each name twice: once for the lookup here and once for filling the index.
    const std::uint64_t compares = 2 * (into.children_.size() + 1);
    if (compares_left < compares) return false;
    compares_left -= compares;
    Node* known = into.child(child.name_);
    if (!mirror(known ? *known : add_child(into, child.name_), child, keys, compares_left)) return false;
  }
  return true;
}

void TemplateTree::fill(Node& into, const Node& from, const std::map<std::uint32_t, std::uint32_t>& keys) {
  const auto moved = [&](Value value) {
    for (Reference& reference : value.references)
      if (const auto at = keys.find(reference.node); at != keys.end()) reference.node = at->second;
    return value;
  };
  for (const Value& component : from.components) {
    if (Value* known = into.component(component.type))
      known->merge(moved(component));
    else
      into.components.push_back(moved(component));
  }
  for (const Value& message : from.messages) into.messages.push_back(moved(message));
  for (const Node& child : from.children_) fill(*into.child(keys.at(child.key_)), child, keys);
}

void TemplateTree::merge(Node& node, const TemplateTree& over) {
  std::uint64_t compares_left = ~std::uint64_t{0};
  require(merge(node, over, compares_left), "TemplateTree::merge: too many names");
}

bool TemplateTree::merge(Node& node, const TemplateTree& over, std::uint64_t& compares_left) {
  const std::uint64_t texts = over.texts_.size() * (texts_.size() + over.texts_.size());
  if (compares_left < texts) return false;
  compares_left -= texts;
  std::map<std::uint32_t, std::uint32_t> keys;
  if (!mirror(node, over.root_, keys, compares_left)) return false;
  fill(node, over.root_, keys);
  for (const std::string& content : over.texts_) text(content);
  needs_.insert(needs_.end(), over.needs_.begin(), over.needs_.end());
  return true;
}

TemplateTree::Size TemplateTree::size() const noexcept {
  Size size;
  const auto add = [&size](auto&& self, const Node& node) -> void {
    ++size.nodes;
    for (const Value& value : node.components) size.bytes += value.bytes.size();
    for (const Value& value : node.messages) size.bytes += value.bytes.size();
    for (const Node& child : node.children()) self(self, child);
  };
  add(add, root_);
  return size;
}

// --- to and from the message ---

namespace {

/// The nodes in pre-order, together with the numbers of their parents.
struct Flat {
  std::vector<const TemplateTree::Node*> nodes;
  std::vector<std::uint32_t> parents;
  std::map<std::uint32_t, std::uint32_t> numbers;  // keyed by node key

  void add(const TemplateTree::Node& node, std::uint32_t parent) {
    const auto number = static_cast<std::uint32_t>(nodes.size());
    numbers[node.key()] = number;
    nodes.push_back(&node);
    parents.push_back(parent);
    for (const TemplateTree::Node& child : node.children()) add(child, number);
  }
};

std::string shown(const std::string& name) { return name.empty() ? "an unnamed node" : "'" + name + "'"; }

}  // namespace

std::expected<DefineTemplate, std::string> TemplateTree::compile() const {
  Flat flat;
  flat.add(root_, 0);
  std::string problem;
  const auto value = [&](const Value& from, const Node& node) {
    TemplateValue made;
    made.type = from.type;
    made.fingerprint = from.fingerprint;
    made.value.resize(from.bytes.size());
    if (!from.bytes.empty()) std::memcpy(made.value.data(), from.bytes.data(), from.bytes.size());
    for (std::uint32_t i = 0; i < from.given.size(); ++i) {
      if (!from.given[i]) continue;
      if (!made.given.empty() && made.given.back().offset + made.given.back().bytes == i)
        ++made.given.back().bytes;
      else
        made.given.push_back({.offset = i, .bytes = 1});
    }
    for (const Reference& reference : from.references) {
      const auto number = flat.numbers.find(reference.node);
      if (number == flat.numbers.end())
        problem = shown(node.name()) + " refers to a node that was removed";
      else
        made.references.push_back({.offset = reference.offset, .node = number->second});
    }
    std::ranges::sort(made.references, {}, &TemplateReference::offset);
    return made;
  };
  DefineTemplate made;
  made.name = name_;
  made.texts = texts_;
  std::ranges::sort(made.texts);
  for (std::size_t i = 0; i < flat.nodes.size(); ++i) {
    const Node& from = *flat.nodes[i];
    TemplateNode node;
    node.parent = flat.parents[i];
    if (i > 0) node.name = from.name();
    for (const Value& component : from.components) node.components.push_back(value(component, from));
    std::ranges::sort(node.components, {}, &TemplateValue::type);
    for (const Value& message : from.messages) node.messages.push_back(value(message, from));
    std::vector<std::string_view> names;
    for (const Node& child : from.children())
      if (!child.name().empty()) names.push_back(child.name());
    std::ranges::sort(names);
    if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
      problem = shown(from.name()) + " has two children named '" + std::string(*twice) + "'";
    made.nodes.push_back(std::move(node));
  }
  if (!problem.empty()) return std::unexpected(name_ + ": " + problem);
  return made;
}

TemplateTree TemplateTree::read(DefineTemplateView defined) {
  TemplateTree tree{std::string(defined.name())};
  for (const std::string_view content : defined.texts()) tree.text(content);
  const auto value = [](TemplateValueView from) {
    Value made;
    made.type = from.type();
    made.fingerprint = from.fingerprint();
    made.bytes.resize(from.value().size());
    if (!made.bytes.empty()) std::memcpy(made.bytes.data(), from.value().data(), made.bytes.size());
    made.given.assign(made.bytes.size(), 0);
    for (const TemplateSpan& span : from.given()) std::fill_n(made.given.begin() + span.offset, span.bytes, 1);
    for (const TemplateReference& reference : from.references())
      made.references.push_back({reference.offset, reference.node});
    return made;
  };
  // The node numbers become keys. Children are added after their siblings, which preserves
  // pre-order: the parent of a node is the previous node or one of that node's ancestors. Adding a
  // child moves only nodes below the parent.
  std::vector<Node*> line{&tree.root_};
  for (std::uint32_t i = 0; i < defined.nodes().size(); ++i) {
    const TemplateNodeView from = defined.nodes()[i];
    if (i > 0) {
      while (line.size() > 1 && line.back()->key_ != from.parent()) line.pop_back();
      line.push_back(&tree.add_child(*line.back(), std::string(from.name())));
    }
    Node* const node = line.back();
    for (const TemplateValueView component : from.components()) node->components.push_back(value(component));
    for (const TemplateValueView message : from.messages()) node->messages.push_back(value(message));
  }
  return tree;
}

TemplateTree TemplateTree::of(const EntityRegistry& registry, Entity top, std::string name) {
  TemplateTree tree(std::move(name));
  std::map<Entity, std::uint32_t> keys;
  const auto shape = [&](auto&& self, Entity e, Node& node) -> void {
    keys[e] = node.key();
    for (Entity child = registry.first_child(e); child; child = registry.next_sibling(child))
      self(self, child, tree.add_child(node, std::string(registry.name(child))));
  };
  const auto values = [&](auto&& self, Entity e, Node& node) -> void {
    for (const TypeId type : registry.host().components(e)) {
      if (type == TypeTraits<Name>::id || type == TypeTraits<ChildOf>::id) continue;
      const TypeDescriptor& known = *registry.types().find(type);
      const std::byte* bytes = known.tag ? known.default_bytes.data() : registry.find(e, type);
      Value& value = tree.set(node, type, known.fingerprint, {bytes, known.size});
      if (known.tag) continue;
      for (const std::uint32_t offset : known.entity_offsets) {
        Entity to;
        std::memcpy(&to, bytes + offset, sizeof to);
        const auto inside = keys.find(to);
        if (inside == keys.end()) continue;
        value.put(offset, std::as_bytes(std::span(&nil_, 1)));
        value.references.push_back({offset, inside->second});
      }
      for (const std::uint32_t offset : known.text_offsets) {
        Text text;
        std::memcpy(&text, bytes + offset, sizeof text);
        tree.text(registry.text(text));
      }
    }
    std::size_t i = 0;
    for (Entity child = registry.first_child(e); child; child = registry.next_sibling(child))
      self(self, child, node.children()[i++]);
  };
  if (!registry.alive(top)) return tree;
  shape(shape, top, tree.root_);
  values(values, top, tree.root_);
  return tree;
}

}  // namespace muster

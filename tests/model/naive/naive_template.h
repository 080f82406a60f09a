// A template as the naive model has it: a tree of values with what each says itself. A node is referred to by its key.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "registry/apply/receipt.h"
#include "tests/model/naive/naive_messages.h"

namespace naive {

struct TemplatePart {
  Bytes bytes;                             ///< the struct's; of a message that is a table the FlatBuffer
  std::vector<bool> given;                 ///< beside bytes
  std::map<std::size_t, unsigned> refers;  ///< offset of a muster.Entity -> key of the node it means
  bool table = false;
};

struct TemplateNode {
  unsigned key = 0;  ///< of the root 0
  std::string name;
  std::map<TypeId, TemplatePart> components;
  std::vector<std::pair<TypeId, TemplatePart>> messages;
  std::vector<TemplateNode> children;
};

struct TemplateSpec {
  std::string name;
  bool forgets = false;  ///< there are no nodes: the template of this name is no more
  TemplateNode root;
  unsigned next_key = 1;
  std::set<std::string> texts;
};

/// The nodes in pre-order, the number of each one's parent, and numbers by key.
struct Flat {
  explicit Flat(const TemplateSpec& spec);
  std::vector<const TemplateNode*> nodes;
  std::vector<std::uint32_t> parents;
  std::map<unsigned, std::uint32_t> numbers;

 private:
  void add(const TemplateNode& node, std::uint32_t parent);
};

/// Lays one tree over another: components byte by byte as far as `over` gives them, children by name, messages behind
/// those that are there.
void lay(TemplateSpec& base, const TemplateSpec& over);
/// What DefineTemplate is refused for.
muster::Refusal judge(const TemplateSpec& spec, const Types& types);
/// Bytes of a part where nodes have become these entities.
Bytes filled(const TemplatePart& part, const Flat& flat, std::span<const Entity> ids);

}  // namespace naive

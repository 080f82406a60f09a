// The commands for templates: templates, define, merge.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"
#include "messages/json_writer.h"
#include "messages/utf8.h"
#include "schema/hash.h"

namespace muster::cli {
namespace {

std::vector<TypeId> types_of(const TemplateNode& node) {
  std::vector<TypeId> types;
  for (const TemplateValue& value : node.components) types.push_back(value.type);
  return types;
}

/// For each node, returns its depth below the first node. The nodes are in pre-order.
std::vector<std::size_t> depths(const DefineTemplate& what) {
  std::vector<std::size_t> depths(what.nodes.size(), 0);
  for (std::size_t i = 1; i < what.nodes.size(); ++i)
    depths[i] = what.nodes[i].parent < i ? depths[what.nodes[i].parent] + 1 : 0;
  return depths;
}

void list(const Common& common, const session::Templates& all, std::string_view none) {
  JsonWriter out;
  out.open_array();
  Columns columns({"TEMPLATE", "ENTITIES"});
  for (std::size_t i = 0; i < all.names.size() && i < all.nodes.size(); ++i) {
    columns.add({all.names[i], std::to_string(all.nodes[i])});
    out.open_object().member("name", all.names[i]).member("entities", all.nodes[i]).close_object();
  }
  if (common.json) return print_line(out.close_array().text());
  columns.print_or(none);
}

}  // namespace

void templates(const Common& common, const std::string& name) {
  RemoteWorld world(connect(common.where));
  if (name.empty()) return list(common, must(world.client().templates()), "the world has no templates");
  const DefineTemplate what = must(world.client().ask(session::GetTemplate{.name = name}));
  const std::vector<std::size_t> depth = depths(what);
  JsonWriter out;
  out.open_object().member("name", what.name).key("nodes").open_array();
  Columns columns({"ENTITY", "COMPONENTS", "MESSAGES"});
  for (std::size_t i = 0; i < what.nodes.size(); ++i) {
    const TemplateNode& node = what.nodes[i];
    std::string messages;
    for (const TemplateValue& message : node.messages) {
      const TypeDescriptor* type = world.types().find(message.type);
      messages += (messages.empty() ? "" : ", ") + (type ? type->name : "#" + std::to_string(message.type));
    }
    const std::string components = world.component_names(types_of(node));
    columns.add({std::string(2 * depth[i], ' ') + (i == 0 ? what.name : node.name), components, messages});
    out.open_object().member("name", node.name).member("parent", node.parent);
    out.member("components", components).member("messages", messages).close_object();
  }
  common.json ? print_line(out.close_array().close_object().text()) : columns.print();
}

void define(const Common& common, const std::vector<std::string>& files) {
  RemoteWorld world(connect(common.where));
  session::Templates all;
  for (const std::string& path : files) {
    std::error_code failure;
    if (std::filesystem::exists(path, failure) && !std::filesystem::is_regular_file(path, failure))
      fail(Exit::bad_file, path + " is not a regular file");
    std::ifstream file(path, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (!file) fail(Exit::bad_file, path + " cannot be read");
    if (is_utf16(text)) fail(Exit::bad_file, path + " is UTF-16, not UTF-8");
    if (const std::string fault = text_fault(text); !fault.empty()) fail(Exit::bad_file, path + " " + fault);
    const session::Templates defined = must(world.client().read_templates(text, path));
    all.names.insert(all.names.end(), defined.names.begin(), defined.names.end());
    all.nodes.insert(all.nodes.end(), defined.nodes.begin(), defined.nodes.end());
    all.sequence = defined.sequence;
  }
  world.wait_until_durable(common, all.sequence);
  list(common, all, "nothing was defined");
}

void merge(const Common& common, const std::string& name, const std::string& what_name) {
  RemoteWorld world(connect(common.where));
  const DefineTemplate what = must(world.client().ask(session::GetTemplate{.name = what_name}));
  const NamedEntity top = world.find(name);
  // If a child with the node's name already exists, the node refers to that child. Otherwise, the
  // node creates a new entity.
  std::vector<Entity> ids(what.nodes.size());
  if (!ids.empty()) ids[0] = top.entity;
  std::size_t missing = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0 && !ids[i]) ++missing;
    if (!ids[i]) continue;
    world.each_child(ids[i], [&](const Child& child) {
      for (std::size_t below = i + 1; below < ids.size(); ++below)
        if (what.nodes[below].parent == i && !child.name.empty() && what.nodes[below].name == child.name)
          ids[below] = child.entity;
    });
  }
  const std::vector<Entity> fresh = world.grant(missing);
  std::size_t next = 0;
  for (Entity& id : ids)
    if (!id) id = fresh[next++];
  BatchBuilder builder;
  builder.append_shared(std::span<const Entity>(ids), MergeTemplate{.what = Text{hash64(what_name)}});
  const auto ack = must(world.client().push_batch(builder.bytes()));
  world.wait_until_durable(common, ack.sequence);
  if (common.json) {
    JsonWriter out;
    out.open_object().member("sequence", ack.sequence).member("id", id_text(top.entity));
    return print_line(out.member("template", what_name).member("created", missing).close_object().text());
  }
  print_line(top.text() + "  merged with " + what_name + ", " + std::to_string(missing) + " created");
}

}  // namespace muster::cli

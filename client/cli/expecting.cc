// Sends edits that may expect something of the world, or only asks what they would do.
#include <algorithm>
#include <cstring>
#include <string>

#include "client/cli/failure.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"
#include "messages/json_writer.h"
#include "messages/step_batches.h"
#include "schema/hash.h"
#include "schema/quoted.h"

namespace muster::cli {
namespace {

const char* change_text(std::uint8_t change) {
  switch (static_cast<session::Changing>(change)) {
    case session::Changing::created: return "created";
    case session::Changing::destroyed: return "destroyed";
    case session::Changing::changed: break;
  }
  return "changed";
}

void print_would(const Common& common, const session::WouldChange& would) {
  const std::size_t rows = std::min({would.entities.size(), would.changes.size(), would.names.size()});
  const std::size_t losses = std::min(would.lost_managers.size(), would.lost_entities.size());
  if (common.json) {
    JsonWriter out;
    out.open_object().member("sequence", would.sequence).member("created", would.created);
    out.member("destroyed", would.destroyed).member("changed", would.changed).key("entities").open_array();
    for (std::size_t i = 0; i < rows; ++i) {
      out.open_object().member("id", id_text(would.entities[i])).member("name", would.names[i]);
      out.member("change", change_text(would.changes[i])).close_object();
    }
    out.close_array().key("lost").open_array();
    for (std::size_t i = 0; i < losses; ++i)
      out.open_object()
          .member("manager", would.lost_managers[i])
          .member("entities", would.lost_entities[i])
          .close_object();
    return print_line(out.close_array().close_object().text());
  }
  Columns columns({});
  for (std::size_t i = 0; i < rows; ++i)
    columns.add({change_text(would.changes[i]), id_text(would.entities[i]), would.names[i]});
  columns.print();
  const std::uint64_t all = std::uint64_t{would.created} + would.destroyed + would.changed;
  if (rows < all) print_line("and " + std::to_string(all - rows) + " more");
  for (std::size_t i = 0; i < losses; ++i)
    print_line("undo could not bring back the data of " + printable(would.lost_managers[i]) + " for " +
               plural(would.lost_entities[i], "entity", "entities"));
  print_line("would create " + std::to_string(would.created) + ", destroy " + std::to_string(would.destroyed) +
             " and change " + plural(would.changed, "entity", "entities") + "; nothing was changed");
}

/// Adds the value that an entity has to the text of an error.
ClientError with_value(RemoteWorld& world, ClientError error) {
  const session::Fault& fault = error.fault;
  if (fault.reason != "value_mismatch" || fault.value.empty()) return error;
  const TypeDescriptor* const type = world.types().find(fault.type);
  if (!type) return error;
  std::vector<std::byte> value(type->size);
  std::string text;
  if (fault.field.empty()) {
    if (fault.value.size() != value.size()) return error;
    std::memcpy(value.data(), fault.value.data(), value.size());
    text = value_line(world.types(), *type, value.data(), world);
  } else {
    const auto place = world.types().place(*type, fault.field);
    if (!place || place->size != fault.value.size()) return error;
    std::memcpy(value.data() + place->offset, fault.value.data(), place->size);
    for (const Leaf& leaf : leaves(world.types(), *place, fault.field))
      text += (text.empty() ? "" : ", ") + leaf_text(leaf, value.data(), world);
  }
  error.text += ": it is " + text;
  return error;
}

/// Returns the edit and the texts that it needs as one Step.
std::vector<std::byte> with_texts(std::span<const std::byte> batch, const std::vector<std::string>& texts) {
  BatchBuilder parts;
  for (const std::string& text : texts) session::append(parts, InternText{.text = text});
  for_each_batch(batch, [&](const BatchView& each) { parts.append_batch(each); });
  Step step;
  step.batches = step_bytes(parts.bytes());
  BatchBuilder builder;
  session::append(builder, step);
  const auto bytes = builder.bytes();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::optional<Result<Acknowledged>> send_edit(RemoteWorld& world, const Common& common, bool dry,
                                              std::span<const std::byte> batch,
                                              const std::vector<session::Expectation>& expected) {
  Client& client = world.client();
  if (dry) {
    std::vector<std::byte> step;
    if (!world.held_texts().empty()) batch = step = with_texts(batch, world.held_texts());
    auto would = client.dry_run(batch, expected);
    if (!would) would = std::unexpected(with_value(world, would.error()));
    print_would(common, must(std::move(would)));
    return std::nullopt;
  }
  Result<Acknowledged> answer = expected.empty() ? client.push_batch(batch) : client.push_batch_if(expected, batch);
  if (!answer) return std::unexpected(with_value(world, answer.error()));
  return answer;
}

session::Expectation expected_field(RemoteWorld& world, const NamedEntity& entity, const TypeDescriptor& component,
                                    const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos)
    fail(Exit::usage, "--expect " + quoted(assignment) + " is not FIELD=VALUE, such as value=30");
  const std::string path = assignment.substr(0, equals);
  const auto place = world.types().place(component, path);
  if (!place) fail(Exit::usage, place.error());
  std::vector<std::byte> value = component.default_bytes;
  must(parse_place(world.types(), component, *place, path, assignment.substr(equals + 1), value, world));
  session::Expectation made{.entity = entity.entity, .component = component.id, .field = hash32(path)};
  const auto* const at = reinterpret_cast<const std::uint8_t*>(value.data()) + place->offset;
  made.value.assign(at, at + place->size);
  return made;
}

}  // namespace muster::cli

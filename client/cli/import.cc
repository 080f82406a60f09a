// `muster import` imports a model file into a world. The world does not need to exist yet, and it
// does not need a running server.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/interrupt.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"
#include "client/cli/server_process.h"
#include "client/cli/unfinished_world.h"
#ifdef MUSTER_HAVE_IMPORT
#include "client/import/model.h"
#include "client/import/model_messages.h"
#endif

namespace muster::cli {

#ifdef MUSTER_HAVE_IMPORT

namespace {

namespace fs = std::filesystem;

/// Adds to the world any types that an import needs and the world does not have yet.
void teach_types(RemoteWorld& world) {
  if (missing_import_types(world.types()).empty()) return;
  session::AddSchema schema;
  const auto bfbs = TypeTraits<scene::Transform>::schema;
  schema.bytes.assign(bfbs.begin(), bfbs.end());
  BatchBuilder builder;
  session::append(builder, schema);
  const std::uint64_t request = must(world.client().send(builder.bytes()));
  must(world.client().wait(request));
  if (const std::string missing = missing_import_types(world.types()); !missing.empty()) fail(Exit::refused, missing);
}

struct Counts {
  std::size_t meshes = 0, lights = 0, cameras = 0, parts = 0;
};
Counts count(const ImportedModel& model) {
  Counts counts;
  for (const ImportedEntity& entity : model.entities) {
    counts.meshes += entity.mesh ? 1 : 0;
    counts.lights += entity.light ? 1 : 0;
    counts.cameras += entity.camera ? 1 : 0;
    counts.parts += entity.is_part ? 1 : 0;
  }
  return counts;
}

/// Destroys entities from last to first, in batches whose cost is below the server's limit for one
/// edit. In `all`, parents come before their children. Returns the number of entities that were
/// alive. On failure, stops and sets `failed` to the error.
std::size_t destroy_in_pieces(Client& client, const std::vector<Entity>& all, std::optional<ClientError>& failed) {
  const std::vector<Entity> leaves_first(all.rbegin(), all.rend());
  std::span<const Entity> entities(leaves_first);
  std::size_t destroyed = 0;
  for (std::size_t at_once = 20'000; !entities.empty();) {
    at_once = std::min(at_once, entities.size());
    BatchBuilder piece;
    piece.append_shared(entities.first(at_once), Destroy{});
    const auto ack = client.push_batch(piece.bytes());
    if (!ack && ack.error().kind == ClientError::Kind::refused && at_once > 1) {
      at_once /= 2;
      continue;
    }
    if (!ack) {
      failed = ack.error();
      break;
    }
    destroyed += ack->handled;
    entities = entities.subspan(at_once);
  }
  return destroyed;
}

/// Sends the messages of an import, and tracks how many of them were accepted.
class Sending {
 public:
  explicit Sending(Client& client) : client_(client) {}

  /// Posts one batch, unless an earlier batch has failed or a signal has arrived.
  void post(BatchView batch) {
    // Create the root only after all texts have been accepted, and the other entities only after
    // the root has been accepted.
    const bool is_create = batch.type() == TypeTraits<Create>::id;
    if (is_create && created_batches_++ < 2) settle();
    if (!failed_ && interrupted()) failed_ = Failure{Exit::refused, "interrupted", false, interrupt_signal()};
    if (failed_) return;
    const auto request = client_.post_batch(batch.bytes());
    if (!request) {
      fail_by(request.error());
      return;
    }
    requests_.push_back({*request, is_create});
    if (requests_.size() >= 64) settle();
  }
  void settle() {
    for (const auto& [request, is_create] : std::exchange(requests_, {})) {
      const auto ack = client_.wait_ack(request);
      if (!ack)
        fail_by(ack.error());
      else if (is_create)
        made_ += ack->handled;
    }
  }
  const std::optional<Failure>& failed() const { return failed_; }
  std::size_t made() const { return made_; }

 private:
  struct Posted {
    std::uint64_t request;
    bool is_create;
  };
  void fail_by(const ClientError& error) {
    if (!failed_) failed_ = Failure{exit_of(error), error.text, error.kind == ClientError::Kind::late};
  }

  Client& client_;
  std::vector<Posted> requests_;
  std::optional<Failure> failed_;
  std::size_t created_batches_ = 0, made_ = 0;
};

/// Sends the model. On failure, removes the entities imported so far, unless the whole world will
/// be discarded, and throws a Failure. The Failure states whether any imported entities remain in
/// the world.
void send(RemoteWorld& world, const ImportedModel& model, const ModelPlacement& placement,
          const std::vector<Entity>& ids, bool is_thrown_away) {
  Client& client = world.client();
  BatchBuilder batches(std::min<std::size_t>(client.welcome().frame_bytes_max / 2, 1u << 20));
  append_model(batches, model, placement, ids);
  Sending sending(client);
  batches.for_each([&](BatchView batch) { sending.post(batch); });
  sending.settle();
  if (!sending.failed()) return;
  const Failure& failure = *sending.failed();
  const auto fail_with = [&](const std::string& text) {
    throw Failure{failure.exit, text, failure.late, failure.signal};
  };
  std::optional<ClientError> kept;
  std::size_t destroyed = 0;
  if (!is_thrown_away) destroyed = destroy_in_pieces(client, ids, kept);
  const std::size_t made = std::max(sending.made(), destroyed);
  const bool is_known = !kept || kept->kind == ClientError::Kind::refused;
  if (!kept || (is_known && made == 0)) fail_with("nothing was imported: " + failure.text);
  const std::string root = id_text(ids.front()), early = "the import ended early: " + failure.text;
  if (!is_known)
    fail_with(early + "\na part of it may be in the world, at and below " + root + "; if so, muster destroy " + root +
              " removes it");
  fail_with(early + "\n" + std::to_string(made - destroyed) + " of its " + plural(ids.size(), "entity", "entities") +
            " are in the world, at and below " + root + ", and could not be destroyed: " + kept->text +
            "\nmuster destroy " + root +
            " removes them; if they are too many for one edit, destroy those below it first");
}

/// Fails if importing the model would exceed the nesting depth that a server allows.
void check_depth(RemoteWorld& world, const ImportedModel& model, const NamedEntity& parent) {
  if (!parent.entity) return;
  const std::size_t levels =
      std::ranges::max_element(model.entities, {}, &ImportedEntity::depth)->depth + std::size_t{1};
  const std::size_t above = must(world.client().show(parent.entity)).about.depth;
  if (above + levels > ModelLimits().depth_max)
    fail(Exit::refused, "nothing was imported: the model has " + plural(levels, "level", "levels") + " and " +
                            parent.text() + " is " + plural(above, "level", "levels") +
                            " below its root; a world takes " + std::to_string(ModelLimits().depth_max));
}

/// Imports the model into a world that already has a running server.
NamedEntity bring_in(RemoteWorld& world, const ImportedModel& model, const Import& asked, const fs::path& folder,
                     bool is_thrown_away) {
  teach_types(world);
  ModelPlacement placement;
  if (!asked.under.empty()) {
    const NamedEntity parent = world.find_or_root(asked.under);
    check_depth(world, model, parent);
    placement.parent = parent.entity;
  }
  std::error_code error;
  const fs::path relative = fs::relative(asked.file, folder, error);
  placement.asset = (error || relative.empty() ? fs::path(asked.file) : relative).generic_string();
  std::unordered_set<std::string> taken;
  world.each_child(placement.parent, [&](const Child& child) { taken.insert(child.name); });
  const std::string wanted = asked.name.empty() ? fs::path(asked.file).stem().string() : asked.name;
  placement.root_name = free_name(wanted, [&](std::string_view name) { return taken.contains(std::string(name)); });
  if (!asked.name.empty() && placement.root_name != asked.name)
    fail(Exit::refused, "the name \"" + printable(asked.name) + "\" is taken; leave --name out, or \"" +
                            printable(placement.root_name) + "\" is free");
  const std::vector<Entity> ids = world.grant(model.entities.size());
  send(world, model, placement, ids, is_thrown_away);
  NamedEntity root{ids.front(), {}};
  if (const auto shown = world.client().show(root.entity)) root.path = shown->about.path;
  if (const auto saved = world.client().ask<session::Save>(); !saved)
    fail(exit_of(saved.error()),
         is_thrown_away ? "nothing was imported: " + saved.error().text
                        : "imported as " + root.text() + ", but the world could not be saved: " + saved.error().text);
  return root;
}

/// Returns the command-line arguments for a server that is started for an import. The server must
/// accept at least one name per node of the model.
std::vector<std::string> import_arguments(const ServerChoice& choice) {
  std::vector<std::string> arguments = server_arguments(choice);
  for (const std::string limit : {"texts_max=1000000", "texts_bytes_max=268435456"})
    arguments.insert(arguments.end(), {"--limit", limit});
  return arguments;
}

/// Makes the server save the world and exit. On failure, the error begins with `what`.
void stop(ServerProcess& server, const std::string& what) {
  try {
    server.stop();
  } catch (Failure& failure) {
    failure.text = what + failure.text;
    throw;
  }
}

/// Imports the model into a new world. The world file gets its final name only after the import is
/// complete.
NamedEntity import_into_new(const Common& common, const ImportedModel& model, const Import& asked,
                            const fs::path& folder, const ServerChoice& choice) {
  UnfinishedWorld unfinished(asked.world);
  NamedEntity root;
  try {
    ServerProcess server(common.where, unfinished.path(), import_arguments(choice));
    {
      RemoteWorld world(connect_to_world(common.where, unfinished.path()));
      root = bring_in(world, model, asked, folder, true);
    }
    stop(server, "nothing was imported: ");
    if (interrupted()) fail_of_interrupt("nothing was imported: interrupted");
    unfinished.finish();
  } catch (Failure& failure) {
    failure.text = unfinished.renamed(std::move(failure.text));
    throw;
  }
  return root;
}

NamedEntity import_into(const Common& common, const ImportedModel& model, const Import& asked, const fs::path& folder,
                        const ServerChoice& choice) {
  const bool elsewhere = !common.where.connect.empty();
  const bool is_running = elsewhere || is_served(asked.world);
  if (is_running && (!choice.schemas.empty() || !choice.plugins.empty()))
    fail(Exit::usage,
         "the world is already served: --schema and --plugin only apply to a server that this command starts");
  if (!is_running && UnfinishedWorld::fits(asked.world)) return import_into_new(common, model, asked, folder, choice);
  std::optional<ServerProcess> server;
  if (!is_running) server.emplace(common.where, asked.world, import_arguments(choice));
  NamedEntity root;
  {
    RemoteWorld world(elsewhere ? connect(common.where) : connect_to_world(common.where, asked.world));
    root = bring_in(world, model, asked, folder, false);
  }
  if (server) stop(*server, "imported as " + root.text() + ", but ");
  return root;
}

/// Returns the world given by --world or MUSTER_WORLD. If neither is given, returns the world in
/// the current folder that has a running server.
std::string world_to_import_into(const Where& where) {
  if (std::string meant = world_meant(where); !meant.empty()) return meant;
  try {
    return world_served_here();
  } catch (Failure& failure) {
    failure.text += ". To import into a new world, or one that is not served: muster import FILE WORLD";
    throw;
  }
}

bool is_outside(const fs::path& file, const fs::path& folder) {
  std::error_code error;
  const fs::path relative = fs::relative(file, folder, error);
  return error || relative.empty() || *relative.begin() == "..";
}

}  // namespace

void import(const Common& common, const Import& asked, const ServerChoice& choice) {
  const auto model = read_model(asked.file);
  if (!model) fail(Exit::bad_file, model.error().text());
  const bool elsewhere = !common.where.connect.empty();
  if (!asked.world.empty() && elsewhere) fail(Exit::usage, "import takes a world file or --connect, not both");
  if (!asked.world.empty() && !common.where.world.empty())
    fail(Exit::usage, "import takes a world file or --world, not both");

  Import into = asked;
  if (into.world.empty() && !elsewhere) into.world = world_to_import_into(common.where);
  end_on_interrupt();
  const Counts counts = count(*model);
  const fs::path folder = elsewhere ? fs::current_path() : fs::path(path_served(into.world)).parent_path();
  std::vector<std::string> warnings = model->warnings;
  if (!elsewhere && counts.meshes > 0 && is_outside(into.file, folder))
    warnings.push_back("the editor's page draws models of the world's folder only: move " + into.file +
                       " and what belongs to it into " + folder.string() + ", and import it from there");
  const NamedEntity root = import_into(common, *model, into, folder, choice);
  if (common.json) {
    JsonWriter out;
    out.open_object().member("id", id_text(root.entity)).member("path", root.path);
    out.member("entities", model->entities.size()).member("nodes", model->entities.size() - counts.parts);
    out.member("meshes", counts.meshes).member("lights", counts.lights).member("cameras", counts.cameras);
    out.key("warnings").open_array();
    for (const std::string& warning : warnings) out.value(warning);
    return print_line(out.close_array().close_object().text());
  }
  for (const std::string& warning : warnings) std::fprintf(stderr, "muster: %s\n", printable(warning).c_str());
  print_line("imported " + printable(asked.file) + " as " + root.text() + ": " +
             plural(model->entities.size(), "entity", "entities") + ", " + plural(counts.meshes, "mesh", "meshes") +
             ", " + plural(counts.lights, "light", "lights") + ", " + plural(counts.cameras, "camera", "cameras"));
}

#else

void import(const Common&, const Import&, const ServerChoice&) {
  fail(Exit::usage, "this muster was built without Assimp, pugixml or nlohmann-json, so it cannot import");
}

#endif

}  // namespace muster::cli

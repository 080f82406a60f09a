// `muster new` and `muster import`: worlds that need not be served yet.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"
#include "client/cli/server_process.h"
#ifdef MUSTER_HAVE_IMPORT
#include "client/import/model.h"
#include "client/import/model_messages.h"
#endif

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> arguments(const ServerChoice& choice) {
  std::vector<std::string> made;
  for (const std::string& schema : choice.schemas) {
    if (!fs::exists(schema)) fail(Exit::bad_file, "there is no schema file " + schema);
    made.insert(made.end(), {"--schema", schema});
  }
  for (const std::string& folder : choice.include_folders) made.insert(made.end(), {"-I", folder});
  for (const std::string& plugin : choice.plugins) {
    if (!fs::exists(plugin)) fail(Exit::bad_file, "there is no plugin " + plugin);
    made.insert(made.end(), {"--plugin", plugin});
  }
  return made;
}

}  // namespace

void make_new(const Common& common, const std::string& path, const ServerChoice& choice) {
  if (fs::exists(path)) fail(Exit::refused, path + " is there already");
  const fs::path folder = fs::absolute(path).parent_path();
  if (!fs::is_directory(folder))
    fail(Exit::bad_file, "cannot make " + path + ": there is no folder " + folder.string());
  ServerProcess server(common.where, path, arguments(choice));
  {
    RemoteWorld world(connect_to_world(common.where, path));
    must(world.client().save());
  }
  server.stop();
  if (!common.json) return print_line("made " + path);
  JsonWriter out;
  print_line(out.open_object().member("world", fs::absolute(path).string()).close_object().text());
}

#ifdef MUSTER_HAVE_IMPORT

namespace {

/// The types an import needs; a world that lacks them is taught.
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

std::string plural(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + ' ' + (count == 1 ? one : many);
}

/// Sends the model; all of it, or none is left in the world.
void send(RemoteWorld& world, const ImportedModel& model, const ModelPlacement& placement,
          const std::vector<Entity>& ids) {
  Client& client = world.client();
  BatchBuilder batches(std::min<std::size_t>(client.welcome().frame_bytes_max / 2, 1u << 20));
  append_model(batches, model, placement, ids);
  std::optional<Failure> failed;
  std::vector<std::uint64_t> requests;
  const auto settle = [&] {
    for (const std::uint64_t request : requests) {
      const auto ack = client.wait_ack(request);
      if (!ack && !failed) failed = Failure{exit_of(ack.error()), ack.error().text};
    }
    requests.clear();
  };
  batches.for_each([&](BatchView batch) {
    if (failed) return;
    auto request = client.post_batch(batch.bytes());
    if (!request) {
      failed = Failure{exit_of(request.error()), request.error().text};
      return;
    }
    requests.push_back(*request);
    // The root alone is in the batch that may be refused for its name.
    if (requests.size() >= 64 || batch.type() == TypeTraits<Create>::id) settle();
  });
  settle();
  if (!failed) return;
  (void)client.destroy(ids.front());
  throw Failure{failed->exit, "nothing was imported: " + failed->text};
}

}  // namespace

void import(const Common& common, const Import& asked, const ServerChoice& choice) {
  const auto model = read_model(asked.file);
  if (!model) fail(Exit::bad_file, model.error().text());
  const bool elsewhere = !common.where.connect.empty();
  if (asked.world.empty() && !elsewhere) fail(Exit::usage, "import needs the world: muster import FILE WORLD");
  if (!asked.world.empty() && elsewhere) fail(Exit::usage, "import takes a world file or --connect, not both");

  std::unique_ptr<ServerProcess> server;
  if (!elsewhere && !is_served(asked.world))
    server = std::make_unique<ServerProcess>(common.where, asked.world, arguments(choice));
  else if (!choice.schemas.empty() || !choice.plugins.empty())
    fail(Exit::usage, "the world is served already: --schema and --plugin are for a server that is started");
  NamedEntity root;
  Counts counts;
  {
    RemoteWorld world(elsewhere ? connect(common.where) : connect_to_world(common.where, asked.world));
    teach_types(world);
    ModelPlacement placement;
    if (!asked.under.empty()) placement.parent = world.find_or_root(asked.under).entity;
    const fs::path folder = elsewhere ? fs::current_path() : fs::absolute(asked.world).parent_path();
    std::error_code error;
    const fs::path relative = fs::relative(asked.file, folder, error);
    placement.asset = (error || relative.empty() ? fs::path(asked.file) : relative).generic_string();
    std::vector<std::string> taken;
    world.each_child(placement.parent, [&](const Child& child) { taken.push_back(child.name); });
    const std::string wanted = asked.name.empty() ? fs::path(asked.file).stem().string() : asked.name;
    placement.root_name =
        free_name(wanted, [&](std::string_view name) { return std::ranges::find(taken, name) != taken.end(); });
    if (!asked.name.empty() && placement.root_name != asked.name)
      fail(Exit::refused, "the name \"" + printable(asked.name) + "\" is taken; leave --name out, or \"" +
                              printable(placement.root_name) + "\" is free");
    const std::vector<Entity> ids = world.grant(model->entities.size());
    send(world, *model, placement, ids);
    must(world.client().save());
    root = {ids.front(), must(world.client().show(ids.front())).about.path};
    counts = count(*model);
  }
  if (server) server->stop();

  if (common.json) {
    JsonWriter out;
    out.open_object().member("id", id_text(root.entity)).member("path", root.path);
    out.member("entities", model->entities.size()).member("nodes", model->entities.size() - counts.parts);
    out.member("meshes", counts.meshes).member("lights", counts.lights).member("cameras", counts.cameras);
    out.key("warnings").open_array();
    for (const std::string& warning : model->warnings) out.value(warning);
    return print_line(out.close_array().close_object().text());
  }
  for (const std::string& warning : model->warnings) std::fprintf(stderr, "muster: %s\n", printable(warning).c_str());
  print_line("imported " + asked.file + " as " + root.text() + ": " +
             plural(model->entities.size(), "entity", "entities") + ", " + plural(counts.meshes, "mesh", "meshes") +
             ", " + plural(counts.lights, "light", "lights") + ", " + plural(counts.cameras, "camera", "cameras"));
}

#else

void import(const Common&, const Import&, const ServerChoice&) {
  fail(Exit::usage, "this muster was built without Assimp or nlohmann-json, so it cannot import");
}

#endif

}  // namespace muster::cli

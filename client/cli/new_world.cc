// `muster new`.
#include <filesystem>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"
#include "client/cli/server_process.h"

namespace muster::cli {
namespace fs = std::filesystem;

void make_new(const Common& common, const std::string& path, const ServerChoice& choice) {
  std::error_code unreachable;  // ignored, because the server will report any error in the path
  if (fs::exists(path, unreachable)) fail(Exit::refused, path + " is there already");
  const fs::path folder = fs::absolute(path).parent_path();
  if (!fs::is_directory(folder))
    fail(Exit::bad_file, "cannot make " + path + ": there is no folder " + folder.string());
  ServerProcess server(common.where, path, server_arguments(choice));
  {
    RemoteWorld world(connect_to_world(common.where, path));
    must(world.client().ask<session::Save>());
  }
  server.stop();
  if (!common.json) {
    print_line("made " + path);
    if (choice.schemas.empty() && choice.plugins.empty())
      print_line("It has no components of a game yet. muster import FILE " + path +
                 " adds those of 3D scenes with a model; muster-server " + path +
                 " --schema FILE adds those of a schema.");
    return;
  }
  JsonWriter out;
  print_line(out.open_object().member("world", fs::absolute(path).string()).close_object().text());
}

}  // namespace muster::cli

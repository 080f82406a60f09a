// The commands play and stop. docs/runs.md explains levels and runs.
#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"

namespace muster::cli {

void set_run(const Common& common, bool on) {
  RemoteWorld world(connect(common.where));
  Client& client = world.client();
  const session::RunState state = must(on ? client.ask<session::Play>() : client.ask<session::StopPlaying>());
  if (common.json) {
    JsonWriter out;
    out.open_object().member("playing", state.playing).member("sequence", state.sequence);
    out.member("level_sequence", state.level_sequence).member("level_tick", state.level_tick);
    return print_line(out.close_object().text());
  }
  print_line(on ? "a run is on; `muster stop` brings the level back"
                : "the run has ended; the world is the level again");
}

std::string run_text(const session::RunState& state) {
  return "on; `muster stop` brings back the level of tick " + std::to_string(state.level_tick);
}

}  // namespace muster::cli

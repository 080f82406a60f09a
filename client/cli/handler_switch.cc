// `muster handler` switches handlers off and on. `muster drop-carried` drops the messages that a
// cut cascade carries over. Both take effect before those messages, so they stop a cascade without
// end.
#include <algorithm>
#include <string_view>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"
#include "schema/muster.h"

namespace muster::cli {
namespace {

/// Fails if no handler has this name, and names the one that is most like it.
void require_handler(RemoteWorld& world, const std::string& name) {
  std::vector<std::string> known;
  session::HandlerList page;
  session::ListHandlers question;
  do {
    page = must(world.client().ask(question));
    known.insert(known.end(), page.names.begin(), page.names.end());
    if (!page.handlers.empty()) question.after = page.handlers.back();
  } while (page.more && !page.handlers.empty());
  if (std::ranges::find(known, name) != known.end()) return;
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string nearest = nearest_name(name, names);
  fail(Exit::refused, "no handler is named '" + printable(name) + "'" +
                          (nearest.empty() ? "" : "; did you mean '" + printable(nearest) + "'?"));
}

void report(RemoteWorld& world, const Common& common, const session::Ack& ack, const std::string& line) {
  world.wait_until_durable(common, ack.sequence);
  JsonWriter out;
  if (common.json) out.open_object().member("sequence", ack.sequence).close_object();
  print_line(common.json ? out.text() : line);
}

}  // namespace

void switch_handler(const Common& common, const HandlerSwitch& order) {
  if (order.name.empty()) fail(Exit::usage, "handlers without a name cannot be switched");
  RemoteWorld world(connect(common.where));
  require_handler(world, order.name);
  const bool on = order.what == "on";
  const Text name = must(world.client().intern(order.name));
  const session::Ack ack = must(world.client().push(EnableHandler{.name = name, .enabled = on}));
  report(world, common, ack, printable(order.name) + (on ? " is on" : " is off"));
}

void drop_carried(const Common& common) {
  RemoteWorld world(connect(common.where));
  const session::Ack ack = must(world.client().push(DropCarried{}));
  report(world, common, ack, "no messages are carried over any more");
}

}  // namespace muster::cli

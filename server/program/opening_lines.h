// The lines that muster-server logs about a world that it has opened.
#pragma once

#include "server/world/world.h"

namespace muster {

/// Warns if other users of the machine can read the world, or put files next to it.
void warn_of_others(const World& world);
/// Warns that handlers of muster.Update are not called if the world has no ticks.
void warn_of_idle(const World& world, double hz);
/// Lists the values in the file that were invalid for their field and have been corrected. Such
/// values originate from plugin code.
void warn_of_mended(const World& world);
/// Says whether a run is on.
void tell_of_run(const World& world);
/// Logs the result of replaying the journal.
void tell_of_recovery(const World& world);

}  // namespace muster

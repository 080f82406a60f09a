// Headers for the registry and its world file. Requires SQLite, but no sockets.
#pragma once

#include <muster/registry.h>

#include "registry/history/edit_history.h"
#include "server/world/replay/replay.h"
#include "server/world/world.h"

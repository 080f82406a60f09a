// The registry with its world file. Links SQLite, but no sockets.
#pragma once

#include <muster/registry.h>

#include "server/world/world.h"

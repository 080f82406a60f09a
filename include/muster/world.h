// A registry with its file: the world. Links SQLite, no sockets.
#pragma once

#include <muster/registry.h>

#include "server/world/world.h"

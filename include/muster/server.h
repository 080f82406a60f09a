// Registry, world and server, for programs that serve their world.
#pragma once

#include <muster/world.h>

#include "server/plugins/plugins.h"
#include "server/server.h"

// World, registry and the remote door in one: for programs that serve their world.
#pragma once

#include <muster/world.h>

#include "server/plugins/plugins.h"
#include "server/server.h"

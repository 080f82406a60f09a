// World, registry and the remote door in one: for programs that serve their world.
#pragma once

#if __cplusplus <= 202002L
#error "Muster needs C++23: compile with -std=c++23"
#endif

#include "server/plugins/plugins.h"
#include "server/server.h"
#include "server/world/world.h"

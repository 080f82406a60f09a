// A registry with its file: the world. Links SQLite, no sockets.
#pragma once

#if __cplusplus <= 202002L
#error "Muster needs C++23: compile with -std=c++23"
#endif

#include "registry/entity_registry.h"
#include "server/world/world.h"

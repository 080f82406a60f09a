// Headers for programs that serve their own world: the registry, the world, and the server.
#pragma once

#if !__has_include("server/plugins/plugin_digest.h")
#error "<muster/server.h> needs Muster's server: link muster::server (CMake) or muster-server (Meson, pkg-config)"
#else

#include <muster/world.h>

#include "server/plugins/plugins.h"
#include "server/server.h"

#endif

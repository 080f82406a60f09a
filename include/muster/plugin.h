// Headers for plugins, which are shared libraries that muster-server loads.
#pragma once

#if !__has_include("server/plugins/plugin_digest.h")
#error "<muster/plugin.h> needs the flags of a plugin: link muster::plugin (CMake) or muster-plugin (Meson, pkg-config)"
#else

#include "schema/language.h"

#include "server/plugins/plugin.h"

#endif

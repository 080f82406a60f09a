// For shared libraries that muster-server loads.
#pragma once

#if __cplusplus <= 202002L
#error "Muster needs C++23: compile with -std=c++23"
#endif

#include "server/plugins/plugin.h"
